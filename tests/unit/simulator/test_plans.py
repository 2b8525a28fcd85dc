# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the planner writes runs on the simulated hosts as it is: command lines, environment, files."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.simulator.fake_host import write_model
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import POOLS, Engine, disaggregated, text_of

PORTS = {
    "prefill": {"api": 23000, "kv": 23100, "dp_rpc": 23200, "hccl": 23300},
    "decode": {"api": 23400, "kv": 23500, "dp_rpc": 23600, "hccl": 23640},
}


def run(cluster, plan, hosts, name):
    """Start one service of a plan on its host."""
    service = next(service for service in plan["services"] if service["name"] == name)
    host = hosts[service["host"]]
    for file in service["files"]:
        path = pathlib.Path(file["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"], encoding="utf-8")
    environment = host.environment(**POOLS)
    for variable in list(environment):
        if variable.startswith(("VLLM_HOST", "HCCL_", "GLOO", "TP_", "PYTHONHASH", "ASCEND_RT")):
            del environment[variable]  # the plan has to set them
    environment.update(service["env"])
    log = cluster.folder / f"{name}.log"
    engine = Engine(host, service["argv"][2:], environment, log)
    cluster.engines.append(engine)
    return engine


@pytest.mark.parametrize("data", [1, 4])
def test_planned_pair_answers_as_one_engine(cluster, prompt, data):
    numbers = {"node1": 1, "node2": 2, "node3": 3} if data > 1 else {"node1": 1, "node2": 2}
    hosts = {name: cluster.host(number, generation="a2") for name, number in numbers.items()}
    model = write_model(cluster.folder / "model", n_routed_experts=8 if data > 1 else None)
    inventory = {
        name: {
            "groups": ["prefill" if name == "node1" else "decode"],
            "variables": {
                "ansible_host": host.address,
                "ansible_connection": "local",
                "inference_interface": "eth0",
                "inference_hardware": "a2",
                "inference_devices": 8,
            },
        }
        for name, host in hosts.items()
    }
    each = 8 if data > 1 else 4
    words = {
        "inference_release": "0.23.0",
        "inference_root": str(cluster.folder / "root"),
        "inference_model": {"path": str(model), "name": "it"},
        "inference_pools": {
            "prefill": {"tensor_parallel_size": each, "ports": PORTS["prefill"]},
            "decode": {"data_parallel_size": data, "tensor_parallel_size": 4, "ports": PORTS["decode"]},
        },
    }
    plan = launch_plan(words, inventory)
    names = [service["name"] for service in plan["services"] if service["kind"] in ("prefill", "decode")]
    assert len(names) == len(hosts)
    engines = {name: run(cluster, plan, hosts, name) for name in names}
    for engine in engines.values():
        engine.ready()
    prefill = engines[next(name for name in names if name.startswith("prefill"))]
    decode = engines[next(name for name in names if name.startswith("decode"))]
    for number in range(2 * data):  # round the ranks of both hosts
        probe = f"{number} {prompt}"
        _params, status, answer = disaggregated(prefill, decode, probe, name=f"p{number}")
        assert status == 200
        assert text_of(answer) == text_of(prefill.complete(probe))
    assert decode.counter("prompt_tokens_by_source_total", source="local_compute") == 0
