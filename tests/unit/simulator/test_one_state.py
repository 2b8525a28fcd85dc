# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine and the simulated vendor tools share one state file: what one changes, the other feels."""

from __future__ import annotations

import subprocess

from ansible_collections.ascend.inference.tests.simulator import ascend_cluster
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import disaggregated


class Host:
    """A host of ascend_cluster, with the libraries of a FakeHost."""

    def __init__(self, fake, made):
        self.fake, self.made, self.address, self.root = fake, made, fake.address, fake.root
        with ascend_cluster.edit(made["state"]) as state:
            state["engine"] = fake.state["engine"]

    def environment(self, *devices, **more):
        return self.fake.environment(*devices, ASCEND_SIMULATOR_STATE=self.made["state"], **more)

    def tool(self, name, *words):
        argv = [f"{self.made['bin']}/{name}", *map(str, words)]
        return subprocess.run(argv, capture_output=True, text=True, input="y\n", check=False).stdout


def test_tools_and_engines_agree(cluster, prompt):
    made = ascend_cluster.cluster(cluster.folder, hosts=2, generation="a2", devices=8)
    first, second = (Host(cluster.host(n), made[f"node{n - 1}"]) for n in (1, 2))
    prefill, decode = cluster.pair(first, second)
    assert f" {prefill.process.pid} " in first.tool("npu-smi", "info")
    assert disaggregated(prefill, decode, f"one {prompt}")[1] == 200
    first.tool("hccn_tool", "-i", 0, "-tls", "-s", "enable", 1)
    assert disaggregated(prefill, decode, f"two {prompt}")[1] == 500
    assert "status: 103900" in decode.text
    second.tool("hccn_tool", "-i", 4, "-tls", "-s", "enable", 1)
    assert disaggregated(prefill, decode, f"three {prompt}")[1] == 200
    second.tool("hccn_tool", "-i", 4, "-ip", "-s", "address", "10.20.1.77", "netmask", "255.255.255.0")
    assert disaggregated(prefill, decode, f"four {prompt}")[1] == 200  # the tool keeps hccn.conf and device equal
    prefill.stop()
    assert "No running processes found in NPU 0" in first.tool("npu-smi", "info")
