# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""host_tuning on a made-up tree: set, remembered, and set back byte for byte."""

from __future__ import annotations

import os

import pytest

SYSCTL = {"vm.swappiness": "1", "kernel.numa_balancing": "0"}
GOVERNORS = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
SYSFS = {GOVERNORS: "performance"}
START = {
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "ondemand performance \n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "userspace\n",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_available_governors": "userspace\n",
    "etc/systemd/system/foreign.service": "[Unit]\n",
}
UNIT = "etc/systemd/system/ascend-inference-tuning.service"
RECORD = "var/lib/ascend-inference/tuning.json"


@pytest.fixture
def root(tmp_path):
    for path, text in START.items():
        place = tmp_path / "root" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path / "root"


@pytest.fixture
def tune(run_module, root):
    def run(check=False, **options):
        return run_module("host_tuning", check=check, root=str(root), **options)

    return run


def content(root):
    return {
        os.path.relpath(os.path.join(folder, name), str(root)): open(os.path.join(folder, name)).read()
        for folder, _folders, names in os.walk(str(root))
        for name in names
    }


def test_settings_are_set_once_and_set_back_byte_for_byte(tune, root):
    promised = tune(check=True, sysctl=SYSCTL, sysfs=SYSFS)
    assert promised["changed"] and content(root) == START

    real = tune(sysctl=SYSCTL, sysfs=SYSFS)
    assert not real["failed"] and real["steps"] == promised["steps"] and real["diff"] == promised["diff"]
    found = content(root)
    assert found["proc/sys/vm/swappiness"] == "1\n" and found["proc/sys/kernel/numa_balancing"] == "0\n"
    assert found["sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"] == "performance\n"
    assert found["sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"] == "userspace\n", (
        "the driver does not offer it"
    )
    assert list(real["skipped"]) == ["/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"]
    assert real["unit"] and "swappiness" in found[UNIT] and "performance" in found[UNIT]
    assert (root / RECORD).stat().st_mode & 0o777 == 0o600

    assert not tune(sysctl=SYSCTL, sysfs=SYSFS)["changed"] and content(root) == found
    back = tune(check=True)
    assert back["changed"] and content(root) == found
    assert not tune()["failed"] and content(root) == START
    assert not tune()["changed"]


def test_a_setting_that_is_not_wanted_any_more_goes_back(tune, root):
    tune(sysctl=SYSCTL)
    less = tune(sysctl={"vm.swappiness": "10"})
    assert [step["path"] for step in less["steps"]] == ["/proc/sys/kernel/numa_balancing", "/proc/sys/vm/swappiness"]
    assert content(root)["proc/sys/kernel/numa_balancing"] == "1\n"
    tune()
    assert content(root) == START, "the oldest value counts, not the one in between"


def test_after_a_boot_the_same_settings_are_set_again_and_the_old_ones_stay_known(tune, root):
    tune(sysctl=SYSCTL)
    (root / "proc/sys/vm/swappiness").write_text("60\n")
    assert [step["before"] for step in tune(sysctl=SYSCTL)["steps"]] == ["60"]
    tune()
    assert content(root) == START


def test_what_others_changed_since_is_not_set_back(tune, root):
    tune(sysctl=SYSCTL)
    (root / "proc/sys/vm/swappiness").write_text("30\n")
    back = tune()
    assert "changed by others to '30'" in back["warnings"][0]
    assert content(root) == dict(START, **{"proc/sys/vm/swappiness": "30\n"})


def test_a_host_without_the_files_is_left_as_it_is(tune, root):
    found = tune(sysctl={"kernel.no_such": "1"}, sysfs={"/sys/none*/x": "1"})
    assert sorted(found["skipped"]) == ["/sys/none*/x", "kernel.no_such"] and found["steps"] == []
    assert set(content(root)) - set(START) == {UNIT}


@pytest.mark.parametrize(
    "options",
    [
        {"sysctl": {"vm.swappiness": "1; reboot"}},
        {"sysctl": {"../../etc/passwd": "1"}},
        {"sysfs": {"/etc/passwd": "x"}},
        {"sysfs": {"/sys/../etc/passwd": "x"}},
        {"sysfs": {"/sys/a b": "x"}},
        {"sysfs": {GOVERNORS: "$(id)"}},
    ],
)
def test_only_names_and_plain_values_reach_the_unit(tune, root, options):
    assert tune(**options)["failed"] and content(root) == START


def test_a_damaged_record_is_an_error_before_anything_changes(tune, root):
    tune(sysctl={"vm.swappiness": "1"})
    (root / RECORD).write_text("{")
    before = content(root)
    found = tune()
    assert found["failed"] and "damaged" in found["msg"] and content(root) == before
