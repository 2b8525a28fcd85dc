# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine and the simulated vendor tools share one state file: what one changes, the other feels."""

from __future__ import annotations

import subprocess
import sys

from ansible_collections.ascend.inference.tests.simulator import ascend_cluster
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import disaggregated


def run(host, name, *arguments):
    """Standard output of a simulated vendor tool on this host."""
    argv = [sys.executable, f"{ascend_cluster.HERE}/ascend_tools.py", "--as", name, *map(str, arguments)]
    return subprocess.run(argv, env=host.environment(), capture_output=True, text=True, input="y\n", check=False).stdout


def test_tools_and_engines_agree(cluster, prompt):
    first, second = cluster.host(1), cluster.host(2)
    prefill, decode = cluster.pair(first, second)
    assert f" {prefill.process.pid} " in run(first, "npu-smi", "info")
    assert disaggregated(prefill, decode, f"one {prompt}")[1] == 200
    run(first, "hccn_tool", "-i", 0, "-tls", "-s", "enable", 1)
    assert disaggregated(prefill, decode, f"two {prompt}")[1] == 500
    assert "status: 103900" in decode.text
    run(second, "hccn_tool", "-i", 4, "-tls", "-s", "enable", 1)
    assert disaggregated(prefill, decode, f"three {prompt}")[1] == 200
    run(second, "hccn_tool", "-i", 4, "-ip", "-s", "address", "10.20.1.77", "netmask", "255.255.255.0")
    assert disaggregated(prefill, decode, f"four {prompt}")[1] == 200  # the tool keeps hccn.conf and device equal
    prefill.stop()
    assert "No running processes found in NPU 0" in run(first, "npu-smi", "info")
