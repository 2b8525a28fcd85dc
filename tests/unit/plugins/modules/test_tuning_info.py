# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tuning_info on a made-up tree."""

from __future__ import annotations

import json
import os
import platform

import pytest

FILES = {
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/vm/nr_hugepages": "16\n",
    "proc/meminfo": "MemTotal: 1048576 kB\nHugePages_Total: 16\nHugepagesize: 2048 kB\n",
    "proc/interrupts": "      CPU0  CPU1\n 812:  5  0  ITS-MSI 1 Edge      sq_send_trigger_irq\n 813:  1  0 ITS-MSI 2 Edge  cq_update_irq\n"
    " 814:  5  0  ITS-MSI 3 Edge  sq_send_trigger_irq_old\n 55: 1 0 ITS-MSI 4 Edge  sq_send_trigger_irq\nNMI:   0   0   x\n",
    "proc/irq/812/smp_affinity_list": "0-3\n",
    "proc/irq/813/smp_affinity_list": "0,1,2,3\n",
    "proc/17/comm": "irqbalance\n",
    "proc/17/cmdline": "/usr/sbin/irqbalance\0--foreground\0--banirq=812\0--banirq\x00813\0",
    "proc/18/comm": "sh\n",
    "sys/devices/system/cpu/online": "0-3\n",
    "sys/devices/system/node/node0/cpulist": "0-1\n",
    "sys/devices/system/node/node1/cpulist": "2-3\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "ondemand\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_available_governors": "ondemand performance\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "sys/bus/pci/devices/0000:c1:00.0/msi_irqs/812": "",
    "sys/bus/pci/devices/0000:c1:00.0/msi_irqs/813": "",
    "sys/bus/pci/devices/0000:c1:00.0/msi_irqs/814": "",
    "sys/bus/pci/devices/0000:c1:00.0/numa_node": "1\n",
    "sys/bus/pci/devices/0000:c1:00.0/local_cpulist": "2-3\n",
    "sys/bus/pci/devices/0000:02:00.0/msi_irqs/55": "",  # without the second interrupt it is no such NPU
    "sys/bus/pci/devices/0000:00:00.0/numa_node": "0\n",
    "usr/bin/taskset": "",
    "usr/lib64/libjemalloc.so.2": "",
    "var/lib/ascend-inference/tuning.json": json.dumps(
        {"version": 1, "values": {"/proc/sys/vm/swappiness": {"old": "30\n", "new": "1"}}}
    ),
}


@pytest.fixture
def root(tmp_path):
    for path, text in FILES.items():
        place = tmp_path / "root" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path / "root"


def test_everything_that_tuning_concerns_is_read(run_module, root):
    found = run_module("tuning_info", root=str(root))
    shown = {name: found[name] for name in found if name not in ("failed", "msg", "warnings", "changed", "memory")}
    assert shown == {
        "machine": platform.machine(),
        "sysctl": {"vm.swappiness": "60", "vm.nr_hugepages": "16"},
        "governors": {"found": {"ondemand": 2}, "possible": True},
        "transparent_hugepages": {"enabled": "always"},
        "online": "0-3",
        "nodes": {"0": "0-1", "1": "2-3"},
        "interrupts": {
            "0000:c1:00.0": {
                "numbers": {"send": 812, "update": 813},
                "cpus": {"send": "0-3", "update": "0-3"},
                "node": 1,
                "near": "2-3",
            }
        },
        "irqbalance": {"active": True, "banned": [812, 813]},
        "jemalloc": "/usr/lib64/libjemalloc.so.2",
        "tools": ["taskset"],
        "remembered": {"/proc/sys/vm/swappiness": "30\n"},
        "boot": {"systemd": False, "unit": "ascend-inference-tuning.service", "present": False},
    }
    assert (found["memory"]["memory_total_mib"], found["memory"]["hugepage_size_kib"]) == (1024, 2048)


def test_a_host_with_the_unit_of_tuning(run_module, root):
    for folder in ("run/systemd/system", "etc/systemd/system"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "etc/systemd/system/ascend-inference-tuning.service").write_text("")
    boot = run_module("tuning_info", root=str(root))["boot"]
    assert (boot["systemd"], boot["present"]) == (True, True)


def test_an_empty_host_has_no_settings(run_module, tmp_path):
    found = run_module("tuning_info", root=str(tmp_path))
    assert not found["failed"] and found["interrupts"] == found["nodes"] == found["governors"] == {}
    assert found["irqbalance"] == {"active": False, "banned": []} and found["jemalloc"] == "" and found["tools"] == []


@pytest.mark.parametrize("text", ["{", "[]", '{"values": {"/x": 1}}', '{"values": 1}'])
def test_a_damaged_record_hides_nothing_else(run_module, root, text):
    (root / "var/lib/ascend-inference/tuning.json").write_text(text)
    found = run_module("tuning_info", root=str(root))
    assert not found["failed"] and found["remembered"] == {} and found["online"] == "0-3"


def test_a_governor_that_a_driver_does_not_offer_is_not_possible(run_module, root):
    (root / "sys/devices/system/cpu/cpu1/cpufreq/scaling_available_governors").write_text("ondemand\n")
    assert run_module("tuning_info", root=str(root))["governors"]["possible"] is False


@pytest.mark.parametrize("banned", ["\u00b2", "9" * 5000, "-1", "", "7x"])
def test_numbers_of_a_command_line_that_are_none_are_left_out(run_module, root, banned):
    (root / "proc/17/cmdline").write_text(f"irqbalance\0--banirq={banned}\0--banirq=813\0", encoding="utf-8")
    assert run_module("tuning_info", root=str(root))["irqbalance"] == {"active": True, "banned": [813]}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a process of another user")
def test_a_process_of_another_user_is_not_irqbalance(run_module, root):
    for path in ("proc/16", "proc/16/comm", "proc/16/cmdline"):
        (root / path).mkdir() if path == "proc/16" else (root / path).write_text("irqbalance\n")
        os.chown(str(root / path), 65534, 65534)
    assert run_module("tuning_info", root=str(root))["irqbalance"]["banned"] == [812, 813]
    for path in ("proc/17", "proc/17/comm"):
        os.chown(str(root / path), 65534, 65534)
    assert run_module("tuning_info", root=str(root))["irqbalance"] == {"active": False, "banned": []}


@pytest.mark.parametrize("folder", ["usr/local/bin", "usr/bin", "bin", "usr/sbin", "sbin"])
def test_programs_are_found_in_each_folder_of_programs(run_module, root, folder):
    (root / folder).mkdir(parents=True, exist_ok=True)
    for name in ("migratepages", "lscpu"):
        (root / folder / name).write_text("")
    (root / "opt/bin").mkdir(parents=True)
    (root / "usr/bin/taskset").unlink()
    (root / "opt/bin/taskset").write_text("")
    assert run_module("tuning_info", root=str(root))["tools"] == ["lscpu", "migratepages"]


def test_the_library_of_debian_comes_first(run_module, root):
    place = f"/usr/lib/{platform.machine()}-linux-gnu/libjemalloc.so.2"
    (root / place[1:]).parent.mkdir(parents=True)
    (root / place[1:]).write_text("")
    assert run_module("tuning_info", root=str(root))["jemalloc"] == place


def test_a_slash_behind_the_root_changes_nothing(run_module, root):
    assert run_module("tuning_info", root=f"{root}/") == run_module("tuning_info", root=str(root))


def test_all_settings_that_are_there_are_returned(run_module, root):
    for path, text in (
        ("proc/sys/kernel/numa_balancing", "1\n"),
        ("sys/kernel/mm/transparent_hugepage/defrag", "always defer [madvise] never\n"),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    found = run_module("tuning_info", root=str(root))
    assert found["sysctl"] == {"vm.swappiness": "60", "vm.nr_hugepages": "16", "kernel.numa_balancing": "1"}
    assert found["transparent_hugepages"] == {"enabled": "always", "defrag": "madvise"}


def test_a_kernel_without_nodes_has_one_with_all_processors(run_module, root):
    (root / "sys/devices/system/node/node0/cpulist").write_text("\n")
    assert run_module("tuning_info", root=str(root))["nodes"] == {"1": "2-3"}, "memory alone is no node of processors"
    for number in (0, 1):
        (root / f"sys/devices/system/node/node{number}/cpulist").unlink()
    assert run_module("tuning_info", root=str(root))["nodes"] == {"0": "0-3"}
    (root / "sys/devices/system/cpu/online").write_text("x\n")
    assert run_module("tuning_info", root=str(root))["nodes"] == {}


@pytest.mark.parametrize("text", ["-1\n", ""])
def test_a_device_without_a_node_says_so(run_module, root, text):
    (root / "sys/bus/pci/devices/0000:c1:00.0/numa_node").write_text(text)
    assert run_module("tuning_info", root=str(root))["interrupts"]["0000:c1:00.0"]["node"] == -1


def test_governors_are_counted_by_name(run_module, root):
    (root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").write_text("performance\n")
    (root / "sys/devices/system/cpu/cpufreq").mkdir()
    (root / "sys/devices/system/cpu/cpufreq/scaling_governor").write_text("x\n")
    found = run_module("tuning_info", root=str(root))["governors"]
    assert found == {"found": {"ondemand": 1, "performance": 1}, "possible": True}
    (root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors").write_text("powersave\n")
    assert run_module("tuning_info", root=str(root))["governors"]["possible"] is False, "one driver is enough"
