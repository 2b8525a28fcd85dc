# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two simulated hosts with three NPUs each, and the playbook fabric on them."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, Run
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster

HOSTS = ("node0", "node1")
DEVICES = 3


class Site:
    """The hosts, their inventory, and what they have."""

    def __init__(self, folder, root):
        self.folder, self.root = folder, root
        (folder / "simulated").mkdir()
        self.made = ascend_cluster.cluster(folder / "simulated", hosts=2, generation="a2", devices=DEVICES)
        for name in HOSTS:
            with ascend_cluster.edit(self.made[name]["state"]) as state:
                for device in state["devices"]:
                    device["tls"] = True
        variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "inference_runtime": "supervisor",
            "inference_hardware": "a2",
            "inference_devices": 2,  # the third device is in no plan, and is configured, too
            "inference_interface": "eth0",
            "inference_root": str(root),
            "inference_model": {"path": "/models/x", "name": "x"},
            "inference_router": {"flavour": "none"},
            "inference_pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}},
        }
        self.groups = {
            kind: {"hosts": {name: {"ansible_host": f"192.0.2.{number}", **self._paths(name)}}, "vars": {}}
            for number, (kind, name) in enumerate(zip(("prefill", "decode"), HOSTS, strict=True), 1)
        }
        self.variables = variables
        self.describe()

    def describe(self, groups=None, hosts=None, **variables):
        """Write the inventory, with ``inference_fabric`` by group and by host, and variables of all hosts."""
        for kind, group in self.groups.items():
            if kind in (groups or {}):
                group["vars"]["inference_fabric"] = groups[kind]
            for name, host in group["hosts"].items():
                if name in (hosts or {}):
                    host["inference_fabric"] = hosts[name]
        text = json.dumps({"all": {"vars": {**self.variables, **variables}, "children": self.groups}})
        (self.folder / "inventory.yml").write_text(text)

    def _paths(self, name):
        made = self.made[name]
        return {
            "host_check_executables": {"npu_smi": f"{made['bin']}/npu-smi", "hccn_tool": f"{made['bin']}/hccn_tool"},
            "host_check_hccn_conf": made["hccn_conf"],
            "inference_fabric_rollback_file": str(self.folder / name / "fabric.json"),
        }

    def everything(self):
        """State and hccn.conf of both hosts, as bytes."""
        return {
            name: [pathlib.Path(self.made[name][kind]).read_bytes() for kind in ("state", "hccn_conf")]
            for name in HOSTS
        }

    def locked(self):
        return deployment_lock.holder_of(str(self.root / "deployments/inference"))

    def devices(self, name):
        return json.loads(pathlib.Path(self.made[name]["state"]).read_text())["devices"]

    def play(self, *options, **variables):
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
        }
        argv = [str(PROGRAM), "-i", str(self.folder / "inventory.yml"), "-e", json.dumps(variables)]
        done = subprocess.run(
            [*argv, *options, "ascend.inference.fabric"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Run(done.returncode, done.stdout)


@contextlib.contextmanager
def made_site(folder):
    """The hosts with their files in a folder."""
    with tempfile.TemporaryDirectory() as root:  # folders of pytest are too long for supervisord's socket
        yield Site(folder, pathlib.Path(root) / "root")
