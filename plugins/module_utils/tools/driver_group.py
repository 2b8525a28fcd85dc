# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The group that may use the NPU driver, which services get as a supplementary group. Runs on Python 3.7."""

from __future__ import annotations

import contextlib
import glob
import grp
import os

INSTALLED = "/etc/ascend_install.info"  # written by the driver's installer: UserName=..., UserGroup=...
DEVICES = "/dev"
USUAL = "HwHiAiUser"  # the installer's default


def driver_group(given="", installed=None, devices=None):
    # type: (str, t.Optional[str], t.Optional[str]) -> str
    """The name of the group, or an empty string if this host has no such group.

    ``given`` is used if it is not empty. Otherwise: ``UserGroup`` of ``installed``, the group of ``devices``/davinci*, the
    installer's default. root's group is never the answer: services must not join it.
    """
    names = [given] if given else [_recorded(installed or INSTALLED), _of_devices(devices or DEVICES), USUAL]
    return next((name for name in names if name and (given or name != "root") and _exists(name)), "")


def _recorded(path):
    # type: (str) -> str
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            lines = [line.strip().partition("=") for line in handle]
    except OSError:
        return ""
    return next((value.strip() for name, _equals, value in lines if name.strip() == "UserGroup"), "")


def _of_devices(folder):
    # type: (str) -> str
    for path in sorted(glob.glob(os.path.join(folder, "davinci[0-9]*"))):
        with contextlib.suppress(OSError, KeyError):
            return grp.getgrgid(os.stat(path).st_gid).gr_name
    return ""


def _exists(name):
    # type: (str) -> bool
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True
