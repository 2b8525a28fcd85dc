# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What units need to know of a host: their user and its home, the driver's group, and systemd's version. Runs on Python 3.7."""

from __future__ import annotations

import pwd

from ..tools.driver_group import driver_group
from ..tools.systemd_version import systemd_version


def account(user, group):
    # type: (str, str) -> t.Dict[str, t.Any]
    """``{user, group, exists, home, driver_group, systemd}``: what was asked, whether the user exists and its home ("" for none), the driver's group
    that the host has ("" for none), and the number of systemd's version (0 without systemd)."""
    try:
        exists, home = True, pwd.getpwnam(user).pw_dir
    except KeyError:
        exists, home = False, ""
    return {
        "user": user,
        "group": group,
        "exists": exists,
        "home": home,
        "driver_group": driver_group(group),
        "systemd": systemd_version(),
    }
