# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The group of the NPU driver: as the installer recorded it, else of the device files, else the usual one."""

from __future__ import annotations

import grp
import os

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import driver_group as module

IDS = {"root": 0, "npus": 900, "video": 44, "HwHiAiUser": 1000, "given": 901}
CASES = {
    "recorded": ("", "npus", "video", ("npus", "video", "HwHiAiUser"), "npus"),
    "recorded, but no such group": ("", "npus", "video", ("video", "HwHiAiUser"), "video"),
    "of the devices": ("", None, "video", ("video", "HwHiAiUser"), "video"),
    "devices of root": ("", None, "root", ("root", "HwHiAiUser"), "HwHiAiUser"),
    "recorded as root": ("", "root", None, ("root",), ""),
    "the usual one": ("", None, None, ("HwHiAiUser",), "HwHiAiUser"),
    "none": ("", "npus", None, ("root",), ""),
    "given": ("given", "npus", "video", ("npus", "video", "HwHiAiUser", "given"), "given"),
    "given, but no such group": ("given", "npus", "video", ("npus", "video"), ""),
}


@pytest.fixture(params=CASES, ids=str)
def host(request, tmp_path, monkeypatch):
    """A host with these groups, recorded group and group of the devices; and the expected answer."""
    given, recorded, opens, groups, expected = CASES[request.param]
    installed = tmp_path / "ascend_install.info"
    if recorded:
        installed.write_text(f"UserName=npu\nUserGroup={recorded}\nDriver_Install_Mode=normal\n")
    if opens:
        (tmp_path / "davinci_manager").write_text("")
        (tmp_path / "davinci0").write_text("")
    names = {IDS[name]: name for name in groups}

    def by_name(name):
        return grp.struct_group((name, "", {names[key]: key for key in names}[name], []))

    real = os.stat

    def stat_of(path, *args, **kwargs):
        found = real(path, *args, **kwargs)
        if os.path.basename(str(path)) == "davinci0":
            return os.stat_result([*found[:5], IDS[opens], *found[6:10]])
        return found

    monkeypatch.setattr(module.os, "stat", stat_of)
    monkeypatch.setattr(module.grp, "getgrnam", by_name)
    monkeypatch.setattr(module.grp, "getgrgid", lambda number: by_name(names[number]))
    return given, tmp_path, groups, opens, expected


def test_the_module_finds_the_group(host):
    given, folder, _groups, _opens, expected = host
    assert module.driver_group(given, str(folder / "ascend_install.info"), str(folder)) == expected
