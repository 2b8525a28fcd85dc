# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties that hold for every description that can be planned, whatever its sizes."""

from __future__ import annotations

import copy
import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

RELEASES = ("0.11.0", "0.13.0", "0.18.0", "0.23.0")
RELAXED = settings(  # the examples differ in each run
    max_examples=60 if os.environ.get("LONG") else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
ENGINES = ("prefill", "decode", "colocated")


@st.composite
def pools(draw, devices):
    tensor = draw(st.sampled_from([size for size in (1, 2, 4, 8, 16) if size <= devices]))
    return {
        "instances": draw(st.integers(1, 3)),
        "data_parallel_size": draw(st.sampled_from([1, 2, 3, 4, 8])),
        "tensor_parallel_size": tensor,
        "load_balancing": draw(st.sampled_from(["internal", "external"])),
        "expert_parallel": draw(st.booleans()),
    }


@st.composite
def deployments(draw):
    """Words and an inventory, with hosts of one pool or of both."""
    devices = draw(st.sampled_from([4, 8, 16]))
    count = draw(st.integers(2, 7))
    layout = draw(
        st.lists(st.sampled_from([["prefill"], ["decode"], ["decode", "prefill"]]), min_size=2, max_size=count)
    )
    groups = {group for item in layout for group in item}
    assume({"prefill", "decode"} <= groups)
    inventory = {
        f"node{number}": {
            "groups": groups_,
            "variables": {
                "ansible_host": f"10.1.0.{number}",
                "inference_interface": "eth1",
                "inference_devices": devices,
            },
        }
        for number, groups_ in enumerate(layout, 1)
    }
    words = {
        "inference_release": draw(st.sampled_from(RELEASES)),
        "inference_hardware": draw(st.sampled_from(["a2", "a3"])),
        "inference_model": {"path": "/models/moe", "name": "moe", "moe": "true"},
        "inference_kv_transfer": draw(st.sampled_from(["mooncake", "mooncake_layerwise", "mooncake+store"])),
        "inference_pools": {"prefill": draw(pools(devices)), "decode": draw(pools(devices))},
    }
    return words, inventory


def planned(words, inventory):
    """The plan, or a skipped example where the hosts do not suffice or a rule of sizes refuses it."""
    try:
        return launch_plan(words, inventory)
    except PlanError as error:
        ids = {finding.id for finding in error.findings}
        assert not {item for item in ids if item.startswith(("PORT", "DEV"))}, str(error)
        assume(False)
    raise AssertionError


def numbers(port):
    return range(port["first"], port["first"] + port["count"])


@RELAXED
@given(deployments())
def test_no_device_and_no_port_belongs_to_two_services_of_a_host(deployment):
    plan = planned(*deployment)
    devices, ports = {}, {}
    for service in plan["services"]:
        for device in service["devices"]:
            owner = devices.setdefault((service["host"], device), service["name"])
            assert owner == service["name"]
        for port in service["ports"]:
            for number in numbers(port):
                owner = ports.setdefault((service["host"], number), (service["name"], port["name"]))
                assert owner == (service["name"], port["name"])


@RELAXED
@given(deployments())
def test_no_planned_port_lies_where_engines_bind_at_random(deployment):
    plan = planned(*deployment)
    stride = 1000 if plan["release"] in ("0.11.0", "0.13.0") else 100
    for host in plan["hosts"]:
        if not host["devices"]:
            continue
        pools_ = [(20000, 20000 + stride * (max(host["devices"]) + 1)), (15000, 17000), (12300, 14300)]
        for service in plan["services"]:
            for port in service["ports"] if service["host"] == host["name"] else ():
                for first, last in pools_:
                    assert port["first"] > last or port["first"] + port["count"] - 1 < first, (service["name"], port)


@RELAXED
@given(deployments())
def test_ports_that_the_kernel_hands_out_are_reserved(deployment):
    plan = planned(*deployment)
    for host in plan["hosts"]:
        high = {
            number
            for service in plan["services"]
            if service["host"] == host["name"]
            for port in service["ports"]
            for number in numbers(port)
            if number >= 32768
        }
        assert high == set(host["reserved_ports"])


@RELAXED
@given(deployments())
def test_ranks_of_an_instance_partition_its_size(deployment):
    words, dummy = deployment
    plan = planned(*deployment)
    for kind, pool in words["inference_pools"].items():
        for instance in range(pool["instances"]):
            ranks = []
            for service in plan["services"]:
                if (service["kind"], service["instance"]) == (kind, instance):
                    ranks += list(ranks_of(service["argv"], pool))
            assert sorted(ranks) == list(range(pool["data_parallel_size"]))


def ranks_of(argv, pool):
    if pool["data_parallel_size"] == 1:
        return range(1)
    if "--data-parallel-rank" in argv:
        first = int(argv[argv.index("--data-parallel-rank") + 1])
        return range(first, first + 1)
    start = int(argv[argv.index("--data-parallel-start-rank") + 1]) if "--data-parallel-start-rank" in argv else 0
    return range(start, start + int(argv[argv.index("--data-parallel-size-local") + 1]))


@RELAXED
@given(deployments())
def test_every_engine_is_told_the_true_sizes_of_both_roles(deployment):
    words, dummy = deployment
    plan = planned(*deployment)
    for service in plan["services"]:
        if service["kind"] not in ENGINES:
            continue
        config = json.loads(service["argv"][service["argv"].index("--kv-transfer-config") + 1])
        child = config["kv_connector_extra_config"].get("connectors", [config])[0]
        for role, pool in words["inference_pools"].items():
            sizes = child["kv_connector_extra_config"][role]
            assert (sizes["dp_size"], sizes["tp_size"]) == (pool["data_parallel_size"], pool["tensor_parallel_size"])


@RELAXED
@given(deployments(), st.randoms(use_true_random=False))
def test_order_does_not_matter(deployment, random):
    words, inventory = deployment
    names, keys = list(inventory), list(words)
    random.shuffle(names)
    random.shuffle(keys)
    other = launch_or_none({key: words[key] for key in keys}, {name: inventory[name] for name in names})
    assert json.dumps(launch_or_none(words, inventory)) == json.dumps(other)


def launch_or_none(words, inventory):
    try:
        return launch_plan(words, inventory)
    except PlanError as error:
        return str(error)


@RELAXED
@given(deployments(), st.sampled_from(["prefill", "decode"]))
def test_one_instance_more_moves_nothing_that_runs(deployment, kind):
    words, inventory = deployment
    more = copy.deepcopy(words)
    more["inference_pools"][kind]["instances"] += 1
    before, after = planned(words, inventory), planned(more, inventory)
    now = {service["name"]: service for service in after["services"]}
    for service in before["services"]:
        if service["kind"] != "router":
            assert now[service["name"]]["digest"] == service["digest"]
            assert now[service["name"]]["ports"] == service["ports"]
            assert now[service["name"]]["host"] == service["host"]


@pytest.mark.parametrize("runtime", ["systemd", "docker", "supervisor"])
def test_the_same_input_gives_the_same_bytes(runtime):
    inventory = {
        f"n{number}": {
            "groups": ["prefill" if number < 3 else "decode"],
            "variables": {"ansible_host": f"10.0.0.{number}"},
        }
        for number in range(1, 5)
    }
    words = {
        "inference_model": {"path": "/models/moe", "name": "moe", "moe": "true"},
        "inference_runtime": runtime,
        "inference_pools": {
            "prefill": {"instances": 2, "data_parallel_size": 2, "tensor_parallel_size": 8},
            "decode": {"data_parallel_size": 32, "expert_parallel": True},
        },
    }
    assert json.dumps(launch_plan(words, inventory)) == json.dumps(launch_plan(copy.deepcopy(words), inventory))
