# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports are assigned once for each process: every number that a user names shows wherever it belongs."""

from __future__ import annotations

import json
import types

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.ports import _assigned as assigned
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import NEWEST, family

D = "inference_pools.decode"


def planned(name="p2p", **changes):
    plan = launch_plan(*family(name, changes.get("changes", {})))
    return {service["name"]: service for service in plan["services"]}


def flag(service, name):
    return service["argv"][service["argv"].index(f"--{name}") + 1]


def port(service, name):
    return next(item["first"] for item in service["ports"] if item["name"] == name)


def test_the_rendezvous_port_of_the_first_host_holds_for_all_ranks():
    found = planned(changes={f"{D}.hosts.node3.ports.dp_rpc": 12000})
    assert [flag(found[name], "data-parallel-rpc-port") for name in ("decode-0-0", "decode-0-1")] == ["12000", "12000"]
    assert port(found["decode-0-0"], "dp_rpc") == 12000


def test_another_host_may_repeat_the_rendezvous_port_but_not_change_it():
    same = {f"{D}.hosts.node3.ports.dp_rpc": 12000, f"{D}.hosts.node4.ports.dp_rpc": 12000}
    assert flag(planned(changes=same)["decode-0-1"], "data-parallel-rpc-port") == "12000"
    with pytest.raises(PlanError, match="processes of decode-0 connect to port 12000 of node3"):
        planned(changes={**same, f"{D}.hosts.node4.ports.dp_rpc": 12001})


def test_the_master_port_of_a_rank_over_two_hosts_is_one():
    wide = {
        f"{D}.data_parallel_size": 1,
        f"{D}.tensor_parallel_size": 32,
        "inference_pools.prefill.tensor_parallel_size": 32,
        "inference_pools.prefill.data_parallel_size": 1,
        "inference_pools.prefill.instances": 1,
        f"{D}.hosts.node3.ports.dp_rpc": 12000,
    }
    found = planned(changes=wide)
    assert [flag(found[name], "master-port") for name in ("decode-0-0", "decode-0-1")] == ["12000", "12000"]


def test_a_host_s_own_hccl_ports_show_in_its_environment_and_its_reserved_ports():
    found = planned(changes={f"{D}.hosts.node4.ports.hccl": 61000})
    assert found["decode-0-1"]["env"]["HCCL_IF_BASE_PORT"] == "61000"
    assert port(found["decode-0-1"], "hccl") == 61000
    assert found["decode-0-0"]["env"]["HCCL_IF_BASE_PORT"] == "60800"


def test_a_host_s_own_api_port_shows_in_flag_health_and_router():
    changes = {f"{D}.load_balancing": "external", f"{D}.hosts.node4.ports.api": 7900}
    found = planned(changes=changes)
    second = found["decode-0-17"]
    assert (second["host"], flag(second, "port"), port(second, "api")) == ("node4", "7901", 7901)
    assert second["health"]["url"].endswith(":7901/health")
    assert "7901" in found["router"]["argv"]
    assert port(found["decode-0-1"], "api") == 7301


def test_a_host_s_own_connector_port_shows_in_its_configuration():
    found = planned(changes={f"{D}.hosts.node4.ports.kv": 40000})
    own = json.loads(flag(found["decode-0-1"], "kv-transfer-config"))
    assert own["kv_port"] == "40000"
    assert port(found["decode-0-1"], "kv") == 40016


def test_a_list_at_a_host_has_one_number_for_each_of_its_instances():
    pool = "inference_pools.colocated"
    changes = {f"{pool}.instances": 4, f"{pool}.hosts.node2.ports.api": [7500, 7600]}
    found = planned("pooled", changes=changes)
    assert [(item, found[item]["host"], port(found[item], "api")) for item in ("colocated-1", "colocated-3")] == [
        ("colocated-1", "node2", 7500),
        ("colocated-3", "node2", 7600),
    ]


def test_a_list_at_a_host_that_is_too_short_is_refused():
    pool = "inference_pools.colocated"
    with pytest.raises(PlanError, match="2 first ports are listed for 3 instances") as refused:
        planned(
            "pooled",
            changes={
                f"{pool}.instances": 6,
                f"{pool}.tensor_parallel_size": 2,
                f"{pool}.hosts.node2.ports.api": [7500, 7600],
            },
        )
    assert [finding.path for finding in refused.value.findings] == [f"{pool}.hosts.node2.ports.api"]


@pytest.mark.parametrize("release", ["0.9.1", "0.11.0"])
def test_llmdatadist_gets_the_port_that_the_plan_opens(release):
    changes = {"inference_release": release, "inference_pools.decode.hosts.node2.ports.llmdatadist": 5700}
    engine = planned("llmdatadist", changes=changes)["decode-0"]
    assert port(engine, "llmdatadist") == 5700
    assert "5700" in [value for key, value in engine["env"].items() if key.endswith("LLMDD_RPC_PORT")]


@pytest.mark.parametrize("release", ["0.23.0", NEWEST])
@pytest.mark.parametrize("d2rh", [False, True])
@pytest.mark.parametrize("ranks", [1, 4, 25, 32])
@pytest.mark.parametrize("each", [1, 4, 8])
def test_connector_ports_of_two_instances_of_a_host_lie_apart(release, d2rh, ranks, each):
    """An instance has a port for each device, three with d2rh, and since MooncakeConnectorV2 one for each scheduler behind them."""
    release = RELEASES[release]
    ports = types.SimpleNamespace(api=(), kv=(), dp_rpc=(), hccl=(), bootstrap=(), llmdatadist=())
    pool = types.SimpleNamespace(devices_per_instance=ranks * each, data_parallel_size=ranks, hosts={}, ports=ports)
    process = types.SimpleNamespace(host=types.SimpleNamespace(name="n1", devices=(0,)), local_index=0, devices=(0,))
    first, second = (
        assigned(
            types.SimpleNamespace(
                pool=pool,
                kind="prefill",
                slot=slot,
                number=slot,
                first=process,
                processes=[process],
                workers=lambda _process: ranks * each,
            ),
            process,
            release,
            d2rh,
        ).kv
        for slot in (0, 1)
    )
    needed = 3 * ranks * each if d2rh else ranks * (each + release.scheduler_ports)
    assert second - first >= needed
    assert second - first < needed + 100, "ports are not wasted"
