# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of systemd."""

from __future__ import annotations

import re

from .runner import ToolMissing, find_executable, run

TIMEOUT = 30
VERSION = re.compile(r"^systemd ([0-9]+)", re.MULTILINE)


def systemd_version():
    # type: () -> int
    """The number of the version that ``systemctl --version`` prints; 0 without systemd."""
    try:
        output = run([find_executable("systemctl"), "--version"], TIMEOUT)
    except ToolMissing:
        return 0
    found = VERSION.search(output.stdout)
    return int(found.group(1)) if found else 0
