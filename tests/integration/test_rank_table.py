# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLMDataDist's rank table as the role service writes it: from the simulated NPUs of all hosts, on each host.

Both hosts of the inventory are this machine and write the same files, so one fork does it; nothing is started.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, Run
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster

ROLE = "ascend.inference.service"
PLAN = "{{ vars | ascend.inference.launch_plan(hostvars, groups) }}"


class Site:
    def __init__(self, folder, root):
        self.folder, self.hosts = folder, ("node0", "node1")
        self.made = ascend_cluster.cluster(folder / "simulated", hosts=2, generation="a3", devices=2)
        self.root = root
        self.table = self.root / "deployments/inference/ranktable.json"
        variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "inference_release": "0.9.1",
            "inference_runtime": "supervisor",  # the login user owns the files; no service user is needed
            "inference_hardware": "a3",
            "inference_devices": 2,
            "inference_interface": "eth0",
            "inference_root": str(self.root),
            "inference_model": {"path": "/models/x", "name": "x"},
            "inference_kv_transfer": "llmdatadist",
            "inference_router": {"flavour": "none"},
            "inference_pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}},
            "service_timeout": 120,
        }
        groups = {
            kind: {"hosts": {name: {"ansible_host": f"192.0.2.{number}", "service_executables": self.tools(name)}}}
            for number, (kind, name) in enumerate(zip(("prefill", "decode"), self.hosts, strict=True), 1)
        }
        (folder / "inventory.yml").write_text(json.dumps({"all": {"vars": variables, "children": groups}}))
        tasks = [{"name": "Plan", "ansible.builtin.set_fact": {"service_plan": PLAN}}]
        tasks += [
            {"name": part, "ansible.builtin.include_role": {"name": ROLE, "tasks_from": part}}
            for part in ("generated", "files")
        ]
        book = {"name": "Test", "hosts": "all", "gather_facts": False, "tasks": tasks}
        (folder / "playbook.yml").write_text(json.dumps([book]))

    def tools(self, name):
        place = self.made[name]["bin"]
        return {"npu_smi": f"{place}/npu-smi", "hccn_tool": f"{place}/hccn_tool"}

    def play(self, *options):
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
        }
        argv = [str(PROGRAM), "--forks", "1", "-i", str(self.folder / "inventory.yml")]
        argv += [str(self.folder / "playbook.yml"), *options]
        done = subprocess.run(
            argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return Run(done.returncode, done.stdout)


@pytest.fixture
def site(tmp_path):
    (tmp_path / "simulated").mkdir()
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is too long for supervisord's socket
        yield Site(tmp_path, pathlib.Path(folder) / "root")


@pytest.mark.long  # molecule/llmdatadist_1p2d writes it from the addresses of three hosts
def test_the_table_is_written_from_all_hosts(site):
    with ascend_cluster.edit(site.made["node1"]["state"]) as state:
        right, state["devices"][1]["vnic"] = state["devices"][1]["vnic"], None
    run = site.play()
    assert run.code != 0 and "node1 device 1: device_ip is unknown" in run.text, run.output
    assert "hccn_tool -i 1 -vnic -g shows no address" in run.text
    assert not site.root.exists()

    with ascend_cluster.edit(site.made["node1"]["state"]) as state:
        state["devices"][1]["vnic"] = right
    run = site.play()
    assert run.code == 0, run.output
    table = json.loads(site.table.read_text())
    assert [item["device_ip"] for item in table["prefill_device_list"]] == ["192.0.2.199", "192.0.2.198"]
    assert [item["device_ip"] for item in table["decode_device_list"]] == ["192.1.2.199", "192.1.2.198"]
    assert [item["server_id"] for item in table["decode_device_list"]] == ["192.0.2.2"] * 2
    assert all(item["super_device_id"] and item["super_pod_id"] == "0" for item in table["prefill_device_list"])


@pytest.mark.long  # molecule/llmdatadist_1p2d changes an address of running engines
def test_a_changed_address_is_shown_with_its_restarts(site):
    assert site.play().code == 0
    table = json.loads(site.table.read_text())
    with ascend_cluster.edit(site.made["node1"]["state"]) as state:
        state["devices"][1]["vnic"]["address"] = "192.1.2.77"
    run = site.play("--check", "--diff")
    assert run.code == 0, run.output
    assert re.search(r'^\+ +"device_ip": "192\.1\.2\.77"', run.output, re.M), run.output
    # The digest in the scripts of both engines changes, so both are restarted; their environments do not change.
    assert len(re.findall(r"^\+write \S*/(?:prefill|decode)-0\.digest [0-9a-f]{64}", run.output, re.M)) == 2, run.output
    assert "environment.sh" not in "".join(re.findall(r"^changed: .*", run.output, re.M)) and run.changed == 1
    assert json.loads(site.table.read_text()) == table
