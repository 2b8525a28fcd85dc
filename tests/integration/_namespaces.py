# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of two hosts in network namespaces share."""

from __future__ import annotations

import subprocess
import time

# Ends with 0 in a namespace that has the address.
HELD = "from ansible_collections.ascend.inference.plugins.module_utils.host.virtual_address import holds; import sys; sys.exit(not holds(sys.argv[1]))"


def run(*argv):
    """Output of a command that has to succeed."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def until(is_so, seconds=10.0):
    """Seconds until something is so."""
    begin = time.monotonic()
    while not is_so():
        assert time.monotonic() - begin < seconds
        time.sleep(0.05)
    return time.monotonic() - begin
