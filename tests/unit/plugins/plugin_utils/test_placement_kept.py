# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instances of the deployed plan keep their names, hosts, devices, ranks and ports when hosts and instances come and go."""

from __future__ import annotations

import copy
import os

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.begun import with_begun
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import (
    read_record,
    record_hosts,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.store_hosts import MASTERS
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

VARIABLES = {
    "inference_release": "0.18.0",
    "inference_hardware": "a2",
    "inference_model": {"path": "/models/m", "name": "m"},
    "inference_kv_transfer": "mooncake",
    "inference_interface": "eth0",
}


def inventory(**groups):
    """``prefill=("n1", "n2")``: hosts by group; a host's address is derived from its name alone."""
    names = sorted({name for members in groups.values() for name in members})
    return {
        name: {
            "groups": [group for group in groups if name in groups[group]],
            "variables": {"ansible_host": f"10.0.0.{sum(map(ord, name)) % 250 + 1}"},
        }
        for name in names
    }


def pools(prefill=1, decode=1, **more):
    return {
        "prefill": {"instances": prefill, "tensor_parallel_size": 8, **more},
        "decode": {"instances": decode, "tensor_parallel_size": 8, **more},
    }


def plan(hosts, sizes, deployed=None, **more):
    return launch_plan({**VARIABLES, "inference_pools": sizes, **more}, hosts, (), deployed and deployed["placement"])


def engines(found):
    """Each engine with all that a change of would restart or move it."""
    keys = ("host", "devices", "digest", "ports", "rank", "instance", "unit")
    return {
        service["name"]: {key: service[key] for key in keys}
        for service in found["services"]
        if service["kind"] in ("prefill", "decode", "colocated")
    }


def hosts_by_service(found):
    return {service["name"]: service["host"] for service in found["services"]}


def resumed(hosts, sizes, deployed, begun):
    """The plan after a run was killed that began with another plan."""
    return plan(hosts, sizes, {"placement": with_begun(deployed["placement"], begun["placement"])})


def test_an_instance_stays_where_a_killed_run_began_it_though_a_host_came_that_sorts_first():
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3"]), pools(1, 1))
    killed = plan(inventory(prefill=["n1"], decode=["n2", "n3"]), pools(1, 2), before)
    hosts = inventory(prefill=["n1"], decode=["a1", "n2", "n3"])
    assert hosts_by_service(plan(hosts, pools(1, 2), before))["decode-1"] == "a1", "else nothing is shown"
    after = resumed(hosts, pools(1, 2), before, killed)
    assert engines(after) == engines(killed)
    assert engines(resumed(hosts, pools(1, 1), before, killed)) == engines(before), "an addition that is undone is none"
    assert hosts_by_service(resumed(hosts, pools(1, 3), before, killed))["decode-2"] == "a1"


def test_a_killed_run_gives_no_place_that_a_deployed_instance_has():
    hosts = inventory(prefill=["n1"], decode=["n2", "n3"])
    before = plan(hosts, pools(1, 2))
    other = copy.deepcopy(before)
    for item in other["placement"]["instances"]:
        item["number"] += 5
    assert engines(resumed(hosts, pools(1, 2), before, other)) == engines(before)
    larger = resumed(inventory(prefill=["n1"], decode=["n2", "n3", "n4"]), pools(1, 3), before, other)
    assert {name: each for name, each in engines(larger).items() if name != "decode-2"} == engines(before)
    assert hosts_by_service(larger)["decode-2"] == "n4"


def test_an_instance_that_a_killed_run_moved_stays_moved_or_goes_back():
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3"]), pools(1, 2))
    killed = plan(inventory(prefill=["n1"], decode=["n2", "n4"]), pools(1, 2), before)
    assert hosts_by_service(killed)["decode-1"] == "n4"
    again = resumed(inventory(prefill=["n1"], decode=["a1", "n2", "n4"]), pools(1, 2), before, killed)
    assert engines(again) == engines(killed)
    assert engines(
        resumed(inventory(prefill=["n1"], decode=["n2", "n3", "n4"]), pools(1, 2), before, killed)
    ) == engines(before)


def test_a_host_that_sorts_first_moves_nobody():
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3"]), pools(1, 2))
    hosts = inventory(prefill=["n1", "a1"], decode=["n2", "n3", "a2"])
    assert engines(plan(hosts, pools(1, 2), before)) == engines(before)
    assert engines(plan(hosts, pools(1, 2))) != engines(before), "without the deployed plan it moves"
    after = plan(hosts, pools(2, 3), before)
    assert {name: engines(after)[name] for name in engines(before)} == engines(before)
    assert (hosts_by_service(after)["prefill-1"], hosts_by_service(after)["decode-2"]) == ("a1", "a2")
    assert hosts_by_service(after)["router"] == hosts_by_service(before)["router"] == "n1"


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_an_instance_that_needs_another_number_of_hosts_is_placed_anew(before, after):
    hosts = inventory(prefill=["n1", "n2"], decode=["n3", "n4"])
    deployed = plan(hosts, pools(data_parallel_size=before))
    wanted = pools(data_parallel_size=after)
    assert engines(plan(hosts, wanted, deployed)) == engines(plan(hosts, wanted))


def test_a_removed_host_s_instance_is_replaced_and_nobody_else_is_touched():
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3", "n4"]), pools(1, 3))
    after = plan(inventory(prefill=["n1"], decode=["n3", "n4", "n5"]), pools(1, 3), before)
    others = ("prefill-0", "decode-1", "decode-2")
    assert {name: engines(after)[name] for name in others} == {name: engines(before)[name] for name in others}
    assert hosts_by_service(after)["decode-0"] == "n5"


def test_fewer_instances_keep_the_lowest_numbers_that_can_stay():
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3", "n4"]), pools(1, 3))
    assert set(engines(plan(inventory(prefill=["n1"], decode=["n2", "n3", "n4"]), pools(1, 2), before))) == {
        "prefill-0",
        "decode-0",
        "decode-1",
    }
    gone = plan(inventory(prefill=["n1"], decode=["n3", "n4"]), pools(1, 2), before)
    assert {name: engines(gone)[name] for name in ("decode-1", "decode-2")} == {
        name: engines(before)[name] for name in ("decode-1", "decode-2")
    }
    assert "decode-0" not in engines(gone)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_the_instances_of_a_host_only_as_many_stay_as_the_user_allows(most):
    sizes = {name: {"instances": number, "tensor_parallel_size": 2} for name, number in (("prefill", 1), ("decode", 3))}
    before = plan(inventory(prefill=["n1"], decode=["n2"]), sizes)
    assert set(hosts_by_service(before)[f"decode-{number}"] for number in range(3)) == {"n2"}
    sizes["decode"]["instances_per_host"] = most
    after = plan(inventory(prefill=["n1"], decode=["n2", "n3", "n4"]), sizes, before)
    stay = [f"decode-{number}" for number in range(most)]
    assert [
        name for name, host in hosts_by_service(after).items() if name.startswith("decode") and host == "n2"
    ] == stay
    assert {name: engines(after)[name] for name in stay} == {name: engines(before)[name] for name in stay}


def sized(devices, **groups):
    """As ``inventory``, with the devices of some hosts."""
    found = inventory(**groups)
    for name, value in found.items():
        value["variables"]["inference_devices"] = devices.get(name, 8)
    return found


@pytest.mark.parametrize(
    ("size", "before", "after"),
    [
        ((8, 1), {"d1": [0, 1, 2, 3]}, {}),  # its other devices are repaired: it would have room for the whole instance
        (
            (4, 4),
            {"d2": 4, "d3": 4},
            {"d2": 4, "d3": 4, "d0": 4},
        ),  # unequal; with d0 each of four hosts would have a rank
        ((4, 4), {"d2": 4, "d3": 4}, {"d3": 4}),  # with the rest of d2, two hosts would do
    ],
)
def test_more_devices_or_hosts_do_not_change_on_how_many_hosts_an_instance_runs(size, before, after):
    sizes = pools()
    sizes["decode"].update(zip(("tensor_parallel_size", "data_parallel_size"), size, strict=True))
    names = {"d1", "d2", "d3"} if size[1] > 1 else {"d1", "d2"}
    first = plan(sized(before, prefill=["p1"], decode=names), sizes)
    assert len([name for name in engines(first) if name.startswith("decode-0")]) == len(names)
    second = plan(sized(after, prefill=["p1"], decode=names | set(after)), sizes, first)
    assert engines(second) == engines(first)
    assert engines(plan(sized(after, prefill=["p1"], decode=names | set(after)), sizes)) != engines(first), (
        "the first deployment"
    )


def test_the_end_of_the_smallest_hosts_moves_no_instance_of_the_others():
    sizes = pools(1, 2)
    sizes["decode"]["data_parallel_size"] = 2
    large = {"d3": 16, "d4": 16}
    first = plan(sized(large, prefill=["p1"], decode=["d1", "d2", "d3", "d4"]), sizes)
    sizes["decode"]["instances"] = 1
    second = plan(sized(large, prefill=["p1"], decode=["d3", "d4"]), sizes, first)
    assert {"decode-1-0", "decode-1-1", "prefill-0"} == set(engines(second))
    assert all(engines(first)[name] == found for name, found in engines(second).items())


def test_a_list_of_ports_has_one_for_each_number_that_is_kept():
    """The ports of decode-2 are the third ones of the list, also when decode-1 has gone with its host."""
    sizes = pools(1, 3)
    sizes["decode"]["ports"] = {"api": [7100, 7200, 7300]}
    first = plan(inventory(prefill=["n1"], decode=["n2", "n3", "n4"]), sizes)
    hosts = inventory(prefill=["n1"], decode=["n2", "n4"])
    sizes["decode"]["instances"] = 2
    second = plan(hosts, sizes, first)
    assert engines(second)["decode-2"] == engines(first)["decode-2"]
    sizes["decode"]["ports"]["api"] = [7100, 7300]
    with pytest.raises(
        PlanError, match=r"2 first ports are listed for the numbers 0 to 2 of instances that run\. \[PORT-LIST\]"
    ):
        plan(hosts, sizes, first)
    assert [port["first"] for port in engines(plan(hosts, sizes))["decode-1"]["ports"]][0] == 7300


def test_an_instance_of_several_hosts_stays_whole():
    sizes = {
        "prefill": {"tensor_parallel_size": 8},
        "decode": {"instances": 2, "tensor_parallel_size": 8, "data_parallel_size": 2},
    }
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3", "n4", "n5"]), sizes)
    after = plan(inventory(prefill=["n1"], decode=["a1", "n2", "n4", "n5", "n6"]), sizes, before)
    assert {name: engines(after)[name] for name in ("decode-1-0", "decode-1-1")} == {
        name: engines(before)[name] for name in ("decode-1-0", "decode-1-1")
    }
    assert [hosts_by_service(after)[name] for name in ("decode-0-0", "decode-0-1")] == ["a1", "n2"]


def test_an_instance_of_another_size_is_placed_again():
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3"]), pools(1, 2))
    sizes = {"prefill": {"tensor_parallel_size": 8}, "decode": {"instances": 4, "tensor_parallel_size": 4}}
    hosts = inventory(prefill=["n1"], decode=["n2", "n3"])
    assert engines(plan(hosts, sizes, before)) == engines(plan(hosts, sizes))


def test_devices_that_left_the_inventory_are_not_used():
    hosts = inventory(colocated=["n1", "n2"])
    sizes = {"colocated": {"instances": 2, "tensor_parallel_size": 4}}
    before = plan(hosts, sizes, inference_kv_transfer="none", inference_router={"flavour": "none"})
    hosts["n1"]["variables"]["inference_devices"] = [4, 5, 6, 7]
    after = plan(hosts, sizes, before, inference_kv_transfer="none", inference_router={"flavour": "none"})
    assert engines(after)["colocated-0"]["devices"] == [4, 5, 6, 7]
    assert engines(after)["colocated-1"] == engines(before)["colocated-1"]


def test_a_host_that_is_smaller_than_the_others_moves_nobody_else():
    """The smallest host decides on how many hosts an instance lies: a broken NPU would spread each instance over two hosts."""
    hosts = inventory(prefill=["n1"], decode=["n2", "n3"])
    before = plan(hosts, pools(1, 2))
    hosts["n3"]["variables"]["inference_devices"] = list(range(7))
    with pytest.raises(PlanError, match="no host has 8 free devices for instance 1 beside the 1 instance"):
        plan(hosts, pools(1, 2), before)
    after = plan(hosts, pools(1, 1), before)
    assert engines(after) == {name: item for name, item in engines(before).items() if name != "decode-1"}
    hosts["n4"] = {"groups": ["decode"], "variables": {"ansible_host": "10.0.0.4"}}
    hosts["a1"] = {"groups": ["decode"], "variables": {"ansible_host": "10.0.0.9", "inference_devices": 4}}
    after = plan(hosts, pools(1, 2), before)
    stay = ("prefill-0", "decode-0")
    assert {name: engines(after)[name] for name in stay} == {name: engines(before)[name] for name in stay}
    assert hosts_by_service(after)["decode-1"] == "n4"
    assert plan(hosts, pools(1, 2), after) == after


STORE = {"inference_kv_transfer": "mooncake+store"}
ROUTERS = {"inference_router": {"instances": 2, "balancer": "haproxy"}}
SEVERAL = {
    **STORE,
    "inference_release": "0.23.0.post1",
    "inference_store": {"ha": {"masters": 2, "etcd_endpoints": ["10.9.0.1:2379"], "oplog": False}},
}


@pytest.mark.parametrize("more", [{}, STORE, ROUTERS, SEVERAL], ids=["router", "store", "routers", "masters"])
def test_single_services_stay_on_a_host_that_loses_its_engines(more):
    """n2 keeps router and master from the time when its engine was the first one."""
    hosts = inventory(prefill=["n2", "n9"], decode=["n3"])
    before = plan(hosts, pools(2, 1), plan(inventory(prefill=["n2"], decode=["n3"]), pools(1, 1), **more), **more)
    record = copy.deepcopy(before["placement"])
    for row in record["instances"]:  # prefill-0 came later, to another host
        if row["kind"] == "prefill":
            row["number"] = 1 - row["number"]
    after = launch_plan({**VARIABLES, "inference_pools": pools(1, 1), **more}, hosts, (), record)
    left = {name: host for name, host in hosts_by_service(after).items() if name not in engines(after)}
    assert hosts_by_service(after)["prefill-0"] == "n9"
    assert left == {name: host for name, host in hosts_by_service(before).items() if name not in engines(before)}
    assert "n2" in left.values()


def test_single_services_leave_a_host_that_is_not_in_their_group():
    group = {"inference_router": {"group": "front"}}
    before = plan(inventory(prefill=["n1"], decode=["n2"], front=["n1"]), pools(), **group)
    assert hosts_by_service(before)["router"] == "n1"
    after = plan(inventory(prefill=["n1"], decode=["n2"], front=["n2"]), pools(), before, **group)
    assert hosts_by_service(after)["router"] == "n2"


def test_without_room_beside_the_others_the_message_names_the_variable():
    hosts = inventory(prefill=["n1"], decode=["n2"])
    half = {"prefill": {"tensor_parallel_size": 8}, "decode": {"instances": 2, "tensor_parallel_size": 4}}
    before = plan(hosts, half)
    with pytest.raises(
        PlanError,
        match=r"no host has 4 free devices for instance 2 beside the 2 instances(.|\n)*inference_keep_placement",
    ):
        plan(hosts, {**half, "decode": {"instances": 3, "tensor_parallel_size": 4}}, before)


def reverse(value):
    """The same value with the keys of all mappings in reverse order."""
    return {key: reverse(value[key]) for key in reversed(value)} if isinstance(value, dict) else value


def test_the_order_of_keys_in_the_inventory_restarts_nobody():
    sizes = pools(kv={"kv_load_failure_policy": "fail", "mooncake": {"b": 1, "a": {"d": 1, "c": 2}}})
    more = {
        "inference_args": {"speculative-config": {"method": "mtp", "num_speculative_tokens": 1}, "max-model-len": 4096},
        "inference_env": {"B": "1", "A": "2"},
    }
    hosts = inventory(prefill=["n1"], decode=["n2"])
    assert plan(hosts, reverse(sizes), **reverse(more)) == plan(hosts, sizes, **more)


@pytest.mark.parametrize(
    "value", [None, [], {}, {"instances": [{"kind": "x"}]}, {"instances": 3}, "text", {"instances": [], "router": "n1"}]
)
def test_a_file_that_holds_no_placement_is_ignored(value):
    assert read_record(value) is None


def test_a_record_survives_json():
    before = plan(inventory(prefill=["n1"], decode=["n2"]), pools())
    assert read_record(before["placement"]) == before["placement"]


def test_a_record_may_have_more_routers_than_a_store_has_masters():
    placement = plan(inventory(prefill=["n1"], decode=["n2"]), pools())["placement"]
    assert read_record({**placement, "routers": ["n1"] * 20})["routers"] == ["n1"] * 20
    assert read_record({**placement, "routers": ["n1"] * 256}) is None
    assert read_record({**placement, MASTERS: ["n1"] * 9}) is not None
    assert read_record({**placement, MASTERS: ["n1"] * 10}) is None


NAMES = [f"n{number}" for number in range(1, 7)]


@st.composite
def deployments(draw):
    """Pools and the hosts of each, possibly shared."""
    sizes = {
        kind: {
            "instances": draw(st.integers(1, 3)),
            "tensor_parallel_size": draw(st.sampled_from([1, 2, 4, 8])),
            "data_parallel_size": draw(st.sampled_from([1, 1, 2, 4])),
            "load_balancing": draw(st.sampled_from(["internal", "external"])),
        }
        for kind in ("prefill", "decode")
    }
    groups = {kind: draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)) for kind in sizes}
    return sizes, groups


def planned(groups, sizes, deployed=None):
    """The plan; an example that does not fit is skipped, one that breaks a rule of devices or ports is an error."""
    try:
        return plan(inventory(**groups), sizes, deployed)
    except PlanError as error:
        ids = {finding.id for finding in error.findings}
        assert not {item for item in ids if item.startswith(("PORT", "DEV"))}, str(error)
        assume(False)
    raise AssertionError


@given(deployments(), st.data())
@settings(
    max_examples=60 if os.environ.get("LONG") else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_who_can_stay_stays_and_the_result_is_stable(deployment, data):
    sizes, groups = deployment
    before = planned(groups, sizes)
    assert planned(groups, sizes, before) == before, "the deployed placement of the same inventory changes nothing"
    changed = copy.deepcopy(groups)
    kind = data.draw(st.sampled_from(sorted(sizes)))
    gone = data.draw(st.sampled_from([*groups[kind], ""]))
    changed[kind] = [name for name in changed[kind] if name != gone] + data.draw(
        st.lists(st.sampled_from(["a1", "b1", "n9"]), unique=True)
    )
    assume(changed[kind])
    after = planned(changed, sizes, before)
    assert planned(changed, sizes, after) == after, "a second run changes nothing"
    lost = {
        item["instance"] for name, item in engines(before).items() if name.startswith(kind) and item["host"] == gone
    }
    stay = {name for name, item in engines(before).items() if not (name.startswith(kind) and item["instance"] in lost)}
    assert {name: engines(after)[name] for name in stay} == {name: engines(before)[name] for name in stay}


def test_the_hosts_of_a_placement_with_what_runs_there():
    before = plan(inventory(prefill=["n1"], decode=["n2", "n3"]), pools(1, 2))
    assert record_hosts(before["placement"]) == {
        "n1": ["prefill-0", "router"],
        "n2": ["decode-0"],
        "n3": ["decode-1"],
    }


def test_on_a_shared_host_a_new_instance_of_the_last_pool_gets_the_highest_free_devices():
    """The first place of the second instance is taken by the first one; below it the other pool may grow."""
    hosts, sizes = inventory(prefill=["n1"], decode=["n1"]), pools(1, 1)
    for pool in sizes.values():
        pool["tensor_parallel_size"] = 2
    record = copy.deepcopy(plan(hosts, sizes)["placement"])
    first = next(row for row in record["instances"] if row["kind"] == "decode")
    assert first["hosts"] == [["n1", [6, 7]]]
    first["hosts"] = [["n1", [4, 5]]]
    sizes["decode"]["instances"] = 2
    after = launch_plan({**VARIABLES, "inference_pools": sizes}, hosts, (), record)
    places = {row["number"]: row["hosts"] for row in after["placement"]["instances"] if row["kind"] == "decode"}
    assert places == {0: [["n1", [4, 5]]], 1: [["n1", [6, 7]]]}
