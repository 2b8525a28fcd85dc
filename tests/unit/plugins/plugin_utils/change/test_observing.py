# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLMDataDist's rank table is made of all hosts, although each host gets its own part of the plan."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.observing import PARTS
from ansible_collections.ascend.inference.plugins.plugin_utils.change.player import Refused, Run
from ansible_collections.ascend.inference.plugins.plugin_utils.change.store import Store
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

HOSTS = {"n1": "prefill", "n2": "decode"}


def planned(hardware):
    inventory = {
        name: {"groups": [group], "variables": {"ansible_host": f"10.0.0.{number}", "inference_devices": 2}}
        for number, (name, group) in enumerate(HOSTS.items(), 1)
    }
    description = {
        "inference_release": "0.10.1rc1",
        "inference_runtime": "systemd",
        "inference_hardware": hardware,
        "inference_interface": "eth0",
        "inference_kv_transfer": "llmdatadist",
        "inference_model": {"path": "/models/tiny", "name": "tiny"},
        "inference_pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}},
    }
    return launch_plan(description, inventory)


def made(folder, plan, answer, hosts=HOSTS, executables=None):
    """The rank table of the answers, and the calls on all hosts. ``answer``: takes host and module."""
    calls = []

    def run_on(host):
        def execute(module, arguments, dry):
            calls.append((host, module, arguments, dry))
            return answer(host, module)

        return Run(Store(str(folder)), {}, execute, print, print)

    options = {"executables": executables or {}, "timeout": "30"}
    for host, part in parts(plan):
        if host in hosts:
            assert PARTS["devices"](run_on(host), {"plan": part, "options": options}, host) == {"changed": False}
    return PARTS["generate"](run_on("n1"), {"plan": plan}, "n1")["rank_table"], calls


def addresses(host, module):
    """What the tool of the fabric answers; npu-smi shows no device."""
    devices = [{"device_id": device, "ip": {"address": f"10.20.{host[1]}.{device}"}} for device in (0, 1)]
    return {"changed": False, "devices": devices if module == "hccn_info" else [], "warnings": [object()]}


def test_the_table_has_the_devices_of_all_hosts(tmp_path):
    table, calls = made(tmp_path, planned("a2"), addresses, executables={"hccn_tool": "/opt/hccn_tool"})
    devices = table["prefill_device_list"] + table["decode_device_list"]
    assert [device["device_ip"] for device in devices] == ["10.20.1.0", "10.20.1.1", "10.20.2.0", "10.20.2.1"]
    given = {"executable": "/opt/hccn_tool", "timeout": 30, "devices": [0, 1], "gather": ["ip"]}
    assert calls == [(host, "hccn_info", given, True) for host in HOSTS]


def test_a3_asks_for_the_super_pod_and_the_virtual_nics(tmp_path):
    with pytest.raises(Refused, match="super"):
        made(tmp_path, planned("a3"), addresses)
    calls = []
    with pytest.raises(Refused):
        made(tmp_path, planned("a3"), lambda host, module: calls.append((host, module)) or addresses(host, module))
    assert calls == [(host, module) for host in HOSTS for module in ("npu_info", "hccn_info")]


def test_a_tool_that_failed_is_named_with_its_host(tmp_path):
    def answer(host, module):
        return addresses(host, module) if host == "n1" else {"failed": True, "msg": "no such program"}

    with pytest.raises(Refused, match="n2.*hccn_tool failed: no such program"):
        made(tmp_path, planned("a2"), answer)


def test_a_host_that_was_not_asked_is_named(tmp_path):
    with pytest.raises(Refused, match="n2.*run without --limit"):
        made(tmp_path, planned("a2"), addresses, hosts=["n1"])


def test_a_host_without_devices_is_not_asked(tmp_path):
    calls = []
    run = Run(Store(str(tmp_path)), {}, lambda *call: calls.append(call), print, print)
    options = {"executables": {}, "timeout": 30}
    assert PARTS["devices"](run, {"plan": planned("a2"), "options": options}, "n3") == {"changed": False}
    assert calls == []
