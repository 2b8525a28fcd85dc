# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role service makes LLMDataDist's rank table of all hosts, although each host gets its own part of the plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

ROOT = Path(__file__).resolve().parents[2]
TASKS = yaml.safe_load((ROOT / "roles/service/tasks/generated.yml").read_text(encoding="utf-8"))
HOSTS = {"n1": "prefill", "n2": "decode"}


@pytest.fixture(scope="module")
def plan():
    inventory = {
        name: {"groups": [group], "variables": {"ansible_host": f"10.0.0.{number}", "inference_devices": 2}}
        for number, (name, group) in enumerate(HOSTS.items(), 1)
    }
    description = {
        "inference_release": "0.10.1rc1",
        "inference_runtime": "systemd",
        "inference_hardware": "a2",
        "inference_interface": "eth0",
        "inference_kv_transfer": "llmdatadist",
        "inference_model": {"path": "/models/tiny", "name": "tiny"},
        "inference_pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}},
    }
    return launch_plan(description, inventory)


def made(folder, plan, answers):
    """Run the role's tasks, less its questions to devices, on all hosts; the finished process."""
    for name, part in parts(plan):
        (folder / f"{name}.json").write_text(json.dumps({"part": part, **answers[name]}), encoding="utf-8")
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    read = "{{ lookup('file', playbook_dir ~ '/' ~ inventory_hostname ~ '.json') | from_json }}"
    show = {
        "ansible.builtin.copy": {
            "content": "{{ __service_contents.rank_table | to_json }}",
            "dest": "{{ playbook_dir }}/{{ inventory_hostname }}.out",
        }
    }
    play = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {
            "ansible_python_interpreter": sys.executable,
            "__test": read,
            "service_plan": "{{ __test.part }}",
            "service_full_plan": "{{ lookup('file', playbook_dir ~ '/plan.json') | from_json }}",
            "__service_devices": [0, 1],
            "__service_npu": {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"},
            "__service_hccn": "{{ __test.hccn }}",
        },
        "tasks": [*[task for task in TASKS if "ansible.builtin.set_fact" in task], show],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
    argv = ["ansible-playbook", "--inventory", ",".join(HOSTS) + ",", "--connection", "local", str(folder / "play.yml")]
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}
    )


def answered(number):
    devices = [{"device_id": device, "ip": {"address": f"10.20.{number}.{device}"}} for device in (0, 1)]
    return {"hccn": {"changed": False, "devices": devices}}


def test_each_host_makes_the_table_of_all(plan, tmp_path):
    done = made(tmp_path, plan, {"n1": answered(1), "n2": answered(2)})
    assert done.returncode == 0, done.stdout
    tables = [json.loads((tmp_path / f"{name}.out").read_text()) for name in HOSTS]
    assert tables[0] == tables[1]
    devices = tables[0]["prefill_device_list"] + tables[0]["decode_device_list"]
    assert [device["device_ip"] for device in devices] == ["10.20.1.0", "10.20.1.1", "10.20.2.0", "10.20.2.1"]


def test_a_tool_that_failed_is_named_with_its_host(plan, tmp_path):
    done = made(tmp_path, plan, {"n1": answered(1), "n2": {"hccn": {"failed": False, "msg": "no such program"}}})
    assert done.returncode != 0
    assert "n2" in done.stdout and "hccn_tool failed: no such program" in " ".join(done.stdout.split())
