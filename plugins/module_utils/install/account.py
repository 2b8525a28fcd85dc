# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What units need to know of a host: whether their user exists, the driver's group, and systemd's version. Runs on Python 3.7."""

from __future__ import annotations

import pwd
import re

from ..tools.driver_group import driver_group
from ..tools.runner import ToolMissing, find_executable, run

TIMEOUT = 30
VERSION = re.compile(r"^systemd ([0-9]+)", re.MULTILINE)


def account(user, group):
    # type: (str, str) -> t.Dict[str, t.Any]
    """``{user, group, exists, driver_group, systemd}``: what was asked, whether the user exists, the driver's group that the host has ("" for none),
    and the number of systemd's version (0 without systemd)."""
    try:
        pwd.getpwnam(user)
        exists = True
    except KeyError:
        exists = False
    return {
        "user": user,
        "group": group,
        "exists": exists,
        "driver_group": driver_group(group),
        "systemd": systemd_version(),
    }


def systemd_version():
    # type: () -> int
    """The number of the version that ``systemctl --version`` prints; 0 without systemd."""
    try:
        output = run([find_executable("systemctl"), "--version"], TIMEOUT)
    except ToolMissing:
        return 0
    found = VERSION.search(output.stdout)
    return int(found.group(1)) if found else 0
