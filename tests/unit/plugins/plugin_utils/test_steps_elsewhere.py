# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of changes in which services move, swap their hosts, get other ports, or run elsewhere than planned."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.planned_steps import change, planned_steps
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import (
    ALONE,
    MOVED,
    OTHER,
    REASSIGNED,
    leaving_engines,
    steps,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_diff import plan_diff

TWO = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"]}
LIMIT = {"inference_args": {"max-num-seqs": 8}}
BLOCKS = {"inference_args": {"block-size": 64}}


def plan(groups, deployed=None, counts=None, pool=None, decode=None, **more):
    """One engine a host, unless ``counts`` has other numbers by pool."""
    pools = {
        kind: {"instances": (counts or {}).get(kind, len(groups[kind])), "tensor_parallel_size": 8, **(pool or {})}
        for kind in ("prefill", "decode")
    }
    pools["decode"].update(decode or {})
    variables = {
        "inference_release": "0.23.0",
        "inference_hardware": "a2",
        "inference_interface": "eth0",
        "inference_model": {"path": "/models/m", "name": "m", "moe": "true"},
        "inference_pools": pools,
        **more,
    }
    hosts = {name: [kind for kind in groups if name in groups[kind]] for kind in groups for name in groups[kind]}
    inventory = {
        name: {"groups": found, "variables": {"ansible_host": f"192.0.2.{ord(name[0]) - 90 + int(name[1:])}"}}
        for name, found in hosts.items()
    }
    return launch_plan(variables, inventory, (), deployed and deployed["placement"])


def urls(found, *names):
    return [engine["url"] for engine in found["members"]["engines"] if engine["name"] in names]


def pending(plan_, **by_host):
    """Nothing to do on any host of a plan but what is named."""
    nothing = {"down": [], "outdated": [], "other": []}
    return {host["name"]: {**nothing, **by_host.get(host["name"], {})} for host in plan_["hosts"]}


def test_an_engine_leaves_the_router_under_the_url_that_it_has_there():
    old = plan(TWO)
    new = plan(TWO, old, pool={"ports": {"api": [7900]}})
    first, second = change(new, old)["roll"]
    assert [engine["url"] for engine in first["leaving"]] == urls(old, "prefill-0", "decode-0")
    assert [engine["url"] for engine in first["engines"]] == urls(new, "prefill-0", "decode-0")
    assert first["upstream"] == urls(old, "prefill-1") and second["upstream"] == urls(new, "prefill-0")


def test_an_engine_that_an_interrupted_run_has_changed_has_its_new_url():
    old = plan(TWO)
    new = plan(TWO, old, pool={"ports": {"api": [7900]}})
    (step,) = steps(pending(new, d2={"outdated": ["decode-1"]}), new, old)["roll"]
    assert [engine["url"] for engine in step["leaving"]] == urls(old, "decode-1")
    assert step["upstream"] == urls(new, "prefill-0", "prefill-1")


def test_a_host_that_changes_its_pool_needs_no_pause():
    old = plan(TWO)
    new = plan({"prefill": ["p1"], "decode": ["d1", "d2", "p2"]}, old)
    here = pending(new, p2={"down": ["decode-2"], "other": []})
    here["p2"]["other"] = [service["unit"] for service in old["services"] if service["name"] == "prefill-1"]
    found = steps(here, new, old)
    assert (found["vacate"], found["refusals"], found["pauses"]) == ({"p2": ["prefill-1"]}, [], {})
    assert [engine["url"] for engine in found["withdrawn"]["engines"]] == urls(old, "prefill-1")
    assert (found["withdrawn"]["upstream"], found["withdrawn"]["pause"]) == (urls(old, "prefill-0"), False)
    lines = planned_steps(new, old)
    assert lines[1:] == [
        "  1. drain and stop prefill-1; instances that serve meanwhile: 1 of prefill",
        "  2. start decode-2, prove and add the engines to the router",
    ]


@pytest.mark.parametrize(
    ("groups", "more", "why"),
    [
        ({"prefill": ["d2"], "decode": ["d1", "p1", "p2"]}, {}, "every prefill engine goes"),
        ({"prefill": ["p1"], "decode": ["d1", "d2", "p2"]}, BLOCKS, "another KV cache"),
        (
            {"prefill": ["p1"], "decode": ["d1", "d2", "p2"]},
            {"inference_router": {"port": 8001}},
            "another address of the router",
        ),
    ],
)
def test_a_host_changes_its_pool_with_a_pause_if(groups, more, why):
    old = plan(TWO)
    found = steps(pending(plan(groups, old, **more)), plan(groups, old, **more), old)
    assert not found["refusals"], "nothing runs there any more"
    everything = {"": {"down": [], "outdated": []}}
    found = steps(everything, plan(groups, old, **more), old)
    assert REASSIGNED in found["pauses"] and found["refusals"] and not found["withdrawn"], why


def test_the_pool_of_a_replaced_host_serves_as_deployed():
    """The engine on the old host serves until the end, so a change of the others is judged."""
    one = {"prefill": ["p1"], "decode": ["d1"]}
    old = plan(one)
    new = plan({"prefill": ["p1"], "decode": ["d3"]}, old, **LIMIT)
    here = pending(new, d3={"down": ["decode-0"]}, p1={"outdated": ["prefill-0"]})
    found = steps(here, new, old, early=True)
    assert found["pauses"] == {ALONE: ["prefill-0"]} and "prefill-0 must restart" in found["refusals"][0]
    old = plan(TWO)
    new = plan({"prefill": ["p1", "p2"], "decode": ["d3", "d4"]}, old, **LIMIT)
    found = change(new, old)
    assert ([step["services"] for step in found["roll"]], found["pauses"]) == ([["prefill-0"], ["prefill-1"]], {})
    assert [step["upstream"] for step in found["roll"]] == [urls(old, "prefill-1"), urls(old, "prefill-0")]


def test_a_pool_that_is_new_does_not_make_the_others_restart_at_once():
    old = plan(TWO)
    new = plan({**TWO, "encode": ["e1"]}, old, **LIMIT)
    here = pending(new, p1={"outdated": ["prefill-0"]}, e1={"down": ["encode-0"]})
    new["services"].append({**new["services"][0], "name": "encode-0", "kind": "encode", "instance": 0, "host": "e1"})
    assert [step["services"] for step in steps(here, new, old)["roll"]] == [["prefill-0"]]


def test_new_engines_of_another_revision_do_not_join_beside_the_old_ones():
    """All decode engines move and get another layout; no engine that stays has to restart."""
    old = plan(TWO)
    new = plan({"prefill": ["p1", "p2"], "decode": ["d3", "d4"]}, old, decode={"args": {"hf-overrides": {"a": 1}}})
    here = pending(new, d3={"down": ["decode-0"]}, d4={"down": ["decode-1"]})
    found = steps(here, new, old, early=True)
    assert found["pauses"] == {OTHER: ["decode-0", "decode-1"]} and len(found["refusals"]) == 1
    found = steps(here, new, old, allow_pause=True)
    assert [engine["url"] for engine in found["withdrawn"]["engines"]] == urls(old, "decode-0", "decode-1")
    assert found["withdrawn"]["pause"] and found["vacate"] == {}, (
        "their hosts are not in the plan, so the routers drop them"
    )
    assert "  1. remove decode-0, decode-1 from the router" in planned_steps(new, old)


def test_engines_of_another_revision_stop_before_any_starts():
    """Hosts restart one after the other if there are more than forks: the router would pair those of both."""
    old = plan(TWO)
    new = plan(TWO, old, counts={"decode": 1}, **BLOCKS)
    found = steps(
        pending(new, p1={"outdated": ["prefill-0"]}, p2={"outdated": ["prefill-1"]}, d1={"outdated": ["decode-0"]}),
        new,
        old,
        allow_pause=True,
    )
    assert found["vacate"] == {"d1": ["decode-0"], "p1": ["prefill-0"], "p2": ["prefill-1"]}
    assert [engine["name"] for engine in found["withdrawn"]["engines"]] == ["decode-1"]
    assert planned_steps(new, old)[1:4] == [
        "  1. remove decode-1 from the router",
        "  2. stop decode-0, prefill-0, prefill-1",
        "  3. start decode-0, prefill-0, prefill-1, prove and add the engines to the router",
    ]


SPAN = {"data_parallel_size": 2}
FOUR = {"prefill": ["p1", "p2"], "decode": ["d1", "d2", "d3", "d4"]}


def test_an_instance_starts_anew_as_a_whole_if_one_of_its_hosts_is_replaced():
    old = plan(FOUR, counts={"decode": 2}, decode=SPAN)
    new = plan({**FOUR, "decode": ["d1", "d3", "d4", "d5"]}, old, counts={"decode": 2}, decode=SPAN)
    hosts = {service["name"]: service["host"] for service in new["services"]}
    assert [hosts[name] for name in ("decode-0-0", "decode-0-1", "decode-1-0", "decode-1-1")] == [
        "d1",
        "d5",
        "d3",
        "d4",
    ]
    assert any(line.startswith("~ decode-0-0 on d1 restarts: hosts of the instance") for line in plan_diff(new, old))
    here = pending(new, d1={"outdated": ["decode-0-0"]}, d5={"down": ["decode-0-1"]})
    found = steps(here, new, old)
    assert (found["vacate"], found["refusals"], found["held"]) == ({"d1": ["decode-0-0"]}, [], [])
    assert [engine["url"] for engine in found["withdrawn"]["engines"]] == urls(old, "decode-0-0")
    assert not any("decode-1" in line for line in planned_steps(new, old))


def test_the_only_instance_over_several_hosts_needs_a_pause_for_that():
    old = plan({**FOUR, "decode": ["d1", "d2"]}, counts={"decode": 1}, decode=SPAN)
    new = plan({**FOUR, "decode": ["d1", "d3"]}, old, counts={"decode": 1}, decode=SPAN)
    here = pending(new, d1={"outdated": ["decode-0-0"]}, d3={"down": ["decode-0-1"]})
    found = steps(here, new, old, early=True)
    assert found["pauses"] == {ALONE: ["decode-0-0", "decode-0-1"]} and "Nothing was changed" in found["refusals"][0]
    found = steps(here, new, old, allow_pause=True)
    assert found["vacate"] == {"d1": ["decode-0-0"]} and found["withdrawn"] == {}


def test_a_router_that_moves_is_announced_and_refused_while_it_runs():
    old = plan({"prefill": ["p1", "p2"], "decode": ["d1"], "front": ["p1"]}, inference_router={"group": "front"})
    new = plan(
        {"prefill": ["p1", "p2"], "decode": ["d1"], "front": ["d1"]}, old, inference_router={"group": "front"}, **LIMIT
    )
    unit = [service["unit"] for service in old["services"] if service["kind"] == "router"]
    here = pending(new, d1={"down": ["router"]}, p1={"outdated": ["prefill-0"], "other": unit})
    found = steps(here, new, old, early=True)
    assert found["pauses"] == {MOVED: ["router", "prefill-0"]} and found["roll"] == []
    assert any(
        text.startswith("router moves from p1 to d1") and "Nothing was changed" in text for text in found["refusals"]
    )
    here["p1"]["other"] = []  # it has died, so nothing serves
    found = steps(here, new, old)
    assert (found["pauses"], found["refusals"], found["roll"]) == ({}, [], [])
    gone = plan({"prefill": ["p2"], "decode": ["d1"], "front": ["d1"]}, old, inference_router={"group": "front"})
    found = steps(pending(gone, d1={"down": ["router"]}), gone, old)
    assert (found["refusals"], found["roll"]) == ([], [])
    assert found["notes"] == ["Pause: router moves from p1 to d1, so clients have to use another address."]
    assert "  Pause: router moves from p1 to d1, so clients have to use another address." in planned_steps(gone, old)


def test_an_engine_that_moves_gives_its_npus_to_nobody_before_it_has_stopped():
    """The planned service of that name is down on its new host; the one that is deployed runs."""
    old = plan(TWO)
    new = plan({"prefill": ["p1", "d2"], "decode": ["d1", "d3"]}, old)
    units = [service["unit"] for service in old["services"] if service["name"] == "decode-1"]
    here = pending(new, d2={"down": ["prefill-1"], "other": units}, d3={"down": ["decode-1"]})
    found = steps(here, new, old)
    assert (found["vacate"], found["pauses"]) == ({"d2": ["decode-1"]}, {})
    assert [engine["url"] for engine in found["withdrawn"]["engines"]] == urls(old, "decode-1")


def test_nobody_waits_for_an_engine_whose_address_another_one_has():
    """It has stopped, and the other one is never idle while the service serves."""
    old = plan(TWO)
    new = plan({"prefill": ["p1"], "decode": ["d1", "d2"]}, old)
    assert [engine["name"] for engine in leaving_engines(new, old)] == ["prefill-1"]
    new["members"]["engines"].append({"name": "decode-2", "kind": "decode", "url": urls(old, "prefill-1")[0]})
    assert leaving_engines(new, old) == []
