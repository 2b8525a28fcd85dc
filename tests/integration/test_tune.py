# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role tune on a made-up tree: a profile is applied once, and none sets everything back byte for byte."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import play

PAGES = "sys/kernel/mm/transparent_hugepage"
START = {
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand\n",
    "sys/devices/system/cpu/online": "0-9\n",
    "proc/interrupts": " 812:  5  ITS-MSI 1 Edge  sq_send_trigger_irq\n 813:  5  ITS-MSI 1 Edge  cq_update_irq\n",
    "sys/bus/pci/devices/0000:c1:00.0/msi_irqs/812": "",
    "sys/bus/pci/devices/0000:c1:00.0/msi_irqs/813": "",
    "proc/irq/812/smp_affinity_list": "0-9\n",
    "proc/irq/813/smp_affinity_list": "0-9\n",
    f"{PAGES}/enabled": "always\n",
}
LATENCY = {
    "profile": "latency",
    "irqbalance": "leave",
    "housekeeping": 0,
    "huge_pages_mib": 0,
    "transparent_huge_pages": True,
}
NPU_SMI = """#!/bin/sh
cat <<'END'
+------------------------------------------------------------------------------------------------+
| npu-smi 25.5.0                   Version: 25.5.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 90.0        40                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3000 / 65536         |
+===========================+===============+====================================================+
END
"""


def plan(**tune):
    """What the role reads of a plan."""
    host = {"name": "localhost", "hardware": "a2", "address": "10.0.0.1", "tune": tune or {"profile": "safe"}}
    service = {"name": "prefill-0", "kind": "prefill", "host": "localhost", "devices": [0], "unit": "x", "files": []}
    facts = {name: False for name in ("contained", "own_user", "in_cluster")}
    return {
        "deployment": "inference",
        "engine": "vllm_ascend",
        "engine_facts": {"npus": True},
        "link": "auto",
        "hosts": [host],
        "services": [service],
        "runtime_facts": facts,
        "runtime_settings": {},
    }


def content(root):
    assert not (root / "var/lib/ascend-inference").exists() or (root / "var/lib/ascend-inference/tuning.json").exists()
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "host"
    for path, text in START.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "etc/systemd/system").mkdir(parents=True)
    return folder


def test_the_profile_none_sets_back_what_safe_set(tmp_path, root):
    run = play(tmp_path, "tune", facts=False, tune_root=str(root), tune_plan=plan())
    assert run.code == 0 and run.changed == 1, run.output
    found = content(root)
    assert [found[path] for path in list(START)[:3]] == ["1\n", "0\n", "performance\n"]
    assert "last until the next boot" in run.text

    run = play(tmp_path, "tune", facts=False, tune_root=str(root), tune_plan=plan(profile="none"))
    assert run.code == 0 and run.changed == 1 and content(root) == START, run.output


def test_latency_binds_interrupts_and_the_profile_none_frees_them(tmp_path, root):
    program = tmp_path / "npu-smi"
    program.write_text(NPU_SMI)
    program.chmod(0o755)
    options = {"tune_root": str(root), "tune_executables": {"npu_smi": str(program)}}
    promised = play(tmp_path, "tune", "--check", "--diff", facts=False, tune_plan=plan(**LATENCY), **options)
    assert promised.code == 0 and promised.changed == 1, promised.output
    assert "/proc/irq/813/smp_affinity_list" in promised.text
    assert content(root) == START

    run = play(tmp_path, "tune", facts=False, tune_plan=plan(**LATENCY), **options)
    assert run.code == 0 and run.changed == 1, run.output
    found = content(root)
    assert found["proc/irq/812/smp_affinity_list"] == "0\n" and found["proc/irq/813/smp_affinity_list"] == "1\n"
    assert found[f"{PAGES}/enabled"] == "madvise\n"

    again = play(tmp_path, "tune", facts=False, tune_plan=plan(**LATENCY), **options)
    assert again.code == 0 and again.changed == 0, again.output
    run = play(tmp_path, "tune", facts=False, tune_plan=plan(profile="none"), **options)
    assert run.code == 0 and run.changed == 1 and content(root) == START, run.output
