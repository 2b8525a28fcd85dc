# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A value that fits the first process of a pool and no other one is refused: launch scripts show the first one's values."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan import planner
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import D, P
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

APART_RANKS = {f"{D}.load_balancing": "external"}  # one process and one API of decode for each rank, 16 on a host
TWO_HOSTS = {f"{P}.instances": 1, f"{P}.data_parallel_size": 1, f"{P}.tensor_parallel_size": 32}
OTHER_CARD = {"node4.inference_interface": "enp2s0"}

# What is changed, the finding's id and path, and a part of its problem
FIRST_ONLY = {
    "port": ({**APART_RANKS, f"{D}.args.port": 7300}, "FLAG-DERIVED", f"{D}.args.port", "7300, 7301"),
    "port of one host": (
        {**APART_RANKS, f"{D}.hosts.node4.args.port": 7300},
        "FLAG-DERIVED",
        f"{D}.hosts.node4.args.port",
        "16 values",
    ),
    "rank": (
        {**APART_RANKS, f"{D}.args.data-parallel-rank": 0},
        "FLAG-DERIVED",
        f"{D}.args.data-parallel-rank",
        "32 values",
    ),
    "first rank": (
        {f"{D}.args.data-parallel-start-rank": 0},
        "FLAG-DERIVED",
        f"{D}.args.data-parallel-start-rank",
        "0, 16",
    ),
    "host": ({f"{P}.args.host": "10.1.0.1"}, "API-HOST", f"{P}.args.host", "10.1.0.2"),
    "address of another instance": (
        {f"{P}.args.data-parallel-address": "10.1.0.1"},
        "FLAG-DERIVED",
        f"{P}.args.data-parallel-address",
        "10.1.0.1, 10.1.0.2",
    ),
    "underscores": (
        {"inference_args.data_parallel_address": "10.1.0.1"},
        "FLAG-DERIVED",
        "inference_args.data_parallel_address",
        "10.1.0.2",
    ),
    "node": ({**TWO_HOSTS, f"{P}.args.node-rank": 0}, "FLAG-DERIVED", f"{P}.args.node-rank", "0, 1"),
    "number of nodes": ({**TWO_HOSTS, f"{P}.args.nnodes": 4}, "FLAG-DERIVED", f"{P}.args.nnodes", "2"),
    "interface": (
        {**OTHER_CARD, f"{D}.env.GLOO_SOCKET_IFNAME": "enp1s0"},
        "ENV-CARDS",
        f"{D}.env.GLOO_SOCKET_IFNAME",
        "on node4",
    ),
    "all interfaces": (
        {
            **OTHER_CARD,
            **{f"{D}.env.{name}_SOCKET_IFNAME": "enp1s0" for name in ("GLOO", "HCCL", "TP")},
        },
        "ENV-CARDS",
        f"{D}.env.GLOO_SOCKET_IFNAME",
        "inference_interface=enp2s0",
    ),
}


@pytest.mark.parametrize("name", FIRST_ONLY)
def test_what_fits_the_first_process_only_is_found(name):
    changes, rule, path, part = FIRST_ONLY[name]
    found = [item for item in judged("p2p", changes) if (item["id"], item["path"]) == (rule, path)]
    assert any(part in item["problem"] for item in found), judged("p2p", changes)


def test_the_rpc_port_of_one_instance_is_not_that_of_another_on_its_host():
    changes = {"inference_pools.colocated.data_parallel_size": 2, "inference_pools.colocated.tensor_parallel_size": 2}
    plan = launch_plan(*family("pooled", {**changes, "inference_pools.colocated.instances": 4}))
    port = plan["services"][1]["argv"][plan["services"][1]["argv"].index("--data-parallel-rpc-port") + 1]
    found = judged(
        "pooled",
        {
            **changes,
            "inference_pools.colocated.instances": 4,
            "inference_pools.colocated.args.data-parallel-rpc-port": int(port),
        },
    )
    assert "FLAG-DERIVED" in {item["id"] for item in found}


def test_the_connector_s_port_of_one_instance_is_not_that_of_another_on_its_host():
    pool = "inference_pools.prefill"
    changes = {f"{pool}.instances": 4, f"{pool}.data_parallel_size": 1}
    (first, *_rest) = [item for item in launch_plan(*family("p2p", changes))["services"] if item["kind"] == "prefill"]
    port = next(port["first"] for port in first["ports"] if port["name"] == "kv")
    found = judged("p2p", {**changes, f"{pool}.kv.kv_port": port})
    assert [(item["id"], item["path"]) for item in found] == [("KV-PORT-DERIVED", f"{pool}.kv.kv_port")]
    assert " of prefill-" in found[0]["problem"]


@pytest.mark.parametrize(
    "changes",
    [
        {f"{D}.args.host": "0.0.0.0"},  # what is compared, nothing is bound
        {f"{D}.args.host": None},  # vLLM's default: every address
        {f"{D}.hosts.node3.args.host": "10.1.0.3"},
        {f"{P}.hosts.node1.args.data-parallel-address": "10.1.0.1"},
        {f"{D}.args.data-parallel-address": "10.1.0.3"},  # one instance has one address
        {f"{D}.hosts.node4.args.data-parallel-start-rank": 16},
        {f"{D}.args.data-parallel-size-local": 16},
        {**TWO_HOSTS, f"{P}.args.nnodes": 2},
        {**OTHER_CARD, f"{D}.hosts.node4.env.GLOO_SOCKET_IFNAME": "enp2s0"},
    ],
)
def test_what_fits_each_process_passes(changes):
    assert judged("p2p", changes) == []


@pytest.mark.parametrize("flag", ["port", "data-parallel-rpc-port", "data-parallel-address"])
def test_a_process_without_what_its_record_says_is_refused(flag):
    (found,) = judged("p2p", {f"{D}.args.{flag}": None})
    assert (found["id"], found["path"]) == ("PROCESS-RECORD", f"{D}.args.{flag}")
    assert f"without --{flag}" in found["problem"]


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--port", "9999"),
        ("--host", "10.1.0.99"),
        ("--data-parallel-address", "10.1.0.9"),
        ("--data-parallel-start-rank", "3"),
    ],
)
def test_a_fault_of_the_renderer_is_found_by_the_invariant(monkeypatch, flag, value):
    rendered = planner.engine_services

    def wrong(context):
        services = rendered(context)
        argv = list(services[-1].argv)
        argv[argv.index(flag) + 1] = value
        return [*services[:-1], dataclasses.replace(services[-1], argv=tuple(argv))]

    monkeypatch.setattr(planner, "engine_services", wrong)
    changes = APART_RANKS if flag in ("--port", "--host") else {}
    found = [item for item in judged("p2p", changes) if item["id"] == "PROCESS-RECORD"]
    assert found and value in found[0]["problem"] and "decode-0" in found[0]["problem"]


def test_a_derived_port_of_the_connector_is_not_compared_with_that_of_another_process():
    """The user's own setting of a connector makes none of its derived ports a mistake."""
    pool = "inference_pools.prefill"
    changes = {f"{pool}.instances": 4, f"{pool}.data_parallel_size": 1, f"{pool}.kv.mooncake.qos_priority": 1}
    assert judged("p2p", changes) == []
