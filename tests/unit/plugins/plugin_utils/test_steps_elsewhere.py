# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of changes in which services move, swap their hosts, get other ports, or run elsewhere than planned."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.deploy import _silent
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.pauses import ALONE, MOVED, OTHER, REASSIGNED
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.planned_steps import change, planned_steps
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.recorded import as_listed, left_out, listed_by
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import leaving_engines, steps
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
    assert [engine["url"] for engine in found["deregistered"]["engines"]] == urls(old, "prefill-1")
    assert (found["deregistered"]["upstream"], found["deregistered"]["pause"]) == (urls(old, "prefill-0"), False)
    assert found["deregistered"]["downstream"] == [
        each["url"] for each in old["members"]["engines"] if each["kind"] == "decode"
    ]
    lines = planned_steps(new, old)
    assert lines[1:] == [
        "  1. drain and stop prefill-1; instances that serve meanwhile: 1 of prefill",
        "  2. start decode-2, prove and add the engines to the router",
    ]


def test_an_instance_that_stopped_for_others_does_not_count_as_one_that_serves():
    """Its host changes its pool: decode-2 has stopped before decode-0 restarts, so one instance is left."""
    groups = {"prefill": ["p1", "p2"], "decode": ["d1", "d2", "d3"]}
    old = plan(groups)
    lines = planned_steps(plan({"prefill": ["p1", "p2", "d3"], "decode": ["d1", "d2"]}, old, **LIMIT), old)
    assert lines[1:5] == [
        "  1. drain and stop decode-2; instances that serve meanwhile: 2 of decode",
        "  2. start prefill-2, prove and add the engines to the router",
        "  3. drain, restart, prove and return decode-0, prefill-0; instances that serve meanwhile: 1 of decode, 2 of prefill",
        "  4. drain, restart, prove and return decode-1, prefill-1; instances that serve meanwhile: 1 of decode, 2 of prefill",
    ]
    fewer = planned_steps(plan(groups, old, {"prefill": 2, "decode": 2}, **LIMIT), old)
    assert fewer[1].endswith("instances that serve meanwhile: 2 of decode, 1 of prefill"), (
        "one that leaves at the end serves until then"
    )


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
    assert REASSIGNED in found["pauses"] and found["refusals"] and not found["deregistered"], why


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
    assert [engine["url"] for engine in found["deregistered"]["engines"]] == urls(old, "decode-0", "decode-1")
    assert found["deregistered"]["pause"] and found["vacate"] == {}, (
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
    assert [engine["name"] for engine in found["deregistered"]["engines"]] == ["decode-1"]
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
    assert found["orphaned"] == {"d2": ["decode-0-1"]}, "it would look for its peers, and find the new one"
    assert [engine["url"] for engine in found["deregistered"]["engines"]] == urls(old, "decode-0-0")
    assert not any("decode-1" in line for line in planned_steps(new, old))
    assert planned_steps(new, old)[1:] == [
        "  1. drain and stop decode-0-0, decode-0-1; instances that serve meanwhile: 1 of decode",
        "  2. start decode-0-0, decode-0-1, prove and add the engines to the router",
    ]


@pytest.mark.parametrize("stays", ["d1", "d2"])
def test_what_is_left_of_an_instance_that_has_died_stops_before_it_starts_with_another_host(stays):
    """One of its processes is down, so nothing has to be drained; the other one runs on a host that the plan does not have."""
    old = plan(FOUR, counts={"decode": 2}, decode=SPAN)
    new = plan({**FOUR, "decode": [stays, "d3", "d4", "d5"]}, old, counts={"decode": 2}, decode=SPAN)
    names = {service["host"]: service["name"] for service in new["services"] if service["instance"] == 0}
    before = {service["host"]: service["name"] for service in old["services"]}
    left = "d2" if stays == "d1" else "d1"
    here = pending(new, **{stays: {"down": [names[stays]]}, "d5": {"down": [names["d5"]]}})
    found = steps(here, new, old)
    assert (found["orphaned"], found["vacate"], found["refusals"]) == ({left: [before[left]]}, {}, [])
    api = [engine["url"] for engine in found["deregistered"].get("engines", ())]
    assert api == (urls(old, before[left]) if stays == "d2" else []), "the router may have it still"
    assert found["deregistered"].get("pause", True), "it does not serve"
    known = pending(new, **{stays: {"down": [names[stays]]}})
    new["hosts"].append({"name": left})
    assert steps({**known, left: {"other": []}}, new, old)["orphaned"] == {}


def test_what_is_left_on_a_host_that_stays_stops_as_well():
    old = plan(FOUR, counts={"decode": 2}, decode=SPAN)
    new = plan({**FOUR, "decode": ["d1", "d3", "d4", "d5"]}, old, counts={"decode": 2}, decode=SPAN)
    new["hosts"].append({"name": "d2"})
    unit = next(service["unit"] for service in old["services"] if service["name"] == "decode-0-1")
    here = pending(new, d1={"down": ["decode-0-0"]}, d2={"other": [unit]}, d5={"down": ["decode-0-1"]})
    found = steps(here, new, old)
    assert (found["orphaned"], found["vacate"], found["deregistered"]) == ({}, {"d2": ["decode-0-1"]}, {})


def test_an_instance_that_moves_as_a_whole_serves_until_the_new_one_does():
    old = plan(FOUR, counts={"decode": 2}, decode=SPAN)
    new = plan({**FOUR, "decode": ["d3", "d4", "d5", "d6"]}, old, counts={"decode": 2}, decode=SPAN)
    names = [service["name"] for service in new["services"] if service["host"] in ("d5", "d6")]
    found = steps(pending(new, d5={"down": names[:1]}, d6={"down": names[1:]}), new, old)
    assert (found["orphaned"], found["vacate"], found["deregistered"], found["refusals"]) == ({}, {}, {}, [])


def test_the_only_instance_over_several_hosts_needs_a_pause_for_that():
    old = plan({**FOUR, "decode": ["d1", "d2"]}, counts={"decode": 1}, decode=SPAN)
    new = plan({**FOUR, "decode": ["d1", "d3"]}, old, counts={"decode": 1}, decode=SPAN)
    here = pending(new, d1={"outdated": ["decode-0-0"]}, d3={"down": ["decode-0-1"]})
    found = steps(here, new, old, early=True)
    assert found["pauses"] == {ALONE: ["decode-0-0", "decode-0-1"]} and "Nothing was changed" in found["refusals"][0]
    found = steps(here, new, old, allow_pause=True)
    assert found["vacate"] == {"d1": ["decode-0-0"]} and found["deregistered"] == {}
    assert found["orphaned"] == {"d2": ["decode-0-1"]}


def test_all_engines_that_stop_beyond_the_plan_leave_the_routers():
    """One is left of an instance that has died, the others serve with another KV cache until they stop."""
    old = plan(FOUR, counts={"decode": 2}, decode=SPAN)
    new = plan({**FOUR, "decode": ["d2", "d5", "d6", "d7"]}, old, counts={"decode": 2}, decode=SPAN, **BLOCKS)
    stays = {service["host"]: service["name"] for service in new["services"] if service["kind"] == "decode"}
    engines = {name: {"outdated": [f"prefill-{number}"]} for number, name in enumerate(("p1", "p2"))}
    here = pending(new, **engines, **{host: {"down": [name]} for host, name in stays.items()})
    found = steps(here, new, old, allow_pause=True)
    gone = {name for names in found["orphaned"].values() for name in names}
    assert gone == {"decode-0-0"}
    assert [engine["name"] for engine in found["deregistered"]["engines"]] == ["decode-0-0", "decode-1-0"]
    assert found["deregistered"]["pause"]


def test_a_pause_names_the_whole_instance_of_which_one_process_gives_its_npus():
    """It is the only one of its pool, and its other process stops with it; the refusal says whose NPUs the plan gives away."""
    old = plan({**FOUR, "decode": ["d1", "d2"]}, counts={"decode": 1}, decode=SPAN)
    new = plan({"prefill": ["p1", "p2", "d2"], "decode": ["d1", "d3"]}, old, counts={"decode": 1}, decode=SPAN)
    unit = next(service["unit"] for service in old["services"] if service["name"] == "decode-0-1")
    here = pending(new, d2={"down": ["prefill-2"], "other": [unit]}, d3={"down": ["decode-0-1"]})
    found = steps(here, new, old, allow_pause=True)
    assert found["vacate"] == {"d1": ["decode-0-0"], "d2": ["decode-0-1"]}
    assert found["pauses"][REASSIGNED] == ["decode-0-0", "decode-0-1"]
    assert f"Pause: decode-0-0, decode-0-1 stop first, because {REASSIGNED}." in found["notes"]
    refused = [text for text in steps(here, new, old)["refusals"] if text.startswith("The plan gives NPUs")]
    assert len(refused) == 1 and "ports of decode-0-1 to prefill-2" in refused[0]


@pytest.mark.parametrize("seen", [True, False])
def test_an_engine_that_stops_on_a_host_beyond_the_plan_leaves_the_router_before(seen):
    """The process with the API runs on the replaced host, whose own play comes at the end. The other one gives its NPUs, or has died."""
    old = plan({**FOUR, "decode": ["d1", "d2"]}, counts={"decode": 1}, decode=SPAN)
    new = plan({**FOUR, "decode": ["d2", "d3"]}, old, counts={"decode": 1}, decode=SPAN)
    names = {service["host"]: service["name"] for service in new["services"]}
    before = {service["host"]: service["name"] for service in old["services"]}
    units = {service["host"]: service["unit"] for service in old["services"]}
    here = pending(new, d2={"down": [names["d2"]], "other": [units["d2"]] * seen}, d3={"down": [names["d3"]]})
    found = steps(here, new, old, allow_pause=True)
    assert found["orphaned"] == {"d1": [before["d1"]]}
    assert found["vacate"] == ({"d2": [before["d2"]]} if seen else {})
    assert [engine["url"] for engine in found["deregistered"]["engines"]] == urls(old, before["d1"])
    assert found["deregistered"]["pause"], "no other instance serves, so nobody waits"
    routers_down = {**here, "p1": {**here["p1"], "down": ["router"]}}
    assert steps(routers_down, new, old, allow_pause=True)["deregistered"] == {}, (
        "a router that does not run is not asked"
    )


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


def test_a_removed_entry_of_the_clients_is_announced_and_refused_while_it_runs():
    """Clients do not know the router behind it."""
    balanced = {"inference_router": {"flavour": "vllm_router", "instances": 2, "balancer": "haproxy"}}
    old = plan(TWO, **balanced)
    new = plan(TWO, old, inference_router={"flavour": "vllm_router"})
    balancer = next(service for service in old["services"] if service["kind"] == "balancer")
    assert planned_steps(new, old)[-1] == "  Pause: balancer on p1 is removed, so clients have to use another address."
    assert not any("Pause" in line for line in planned_steps(old, new)), "the router goes on to answer"
    here = pending(new, p1={"other": [balancer["unit"]]})
    (text,) = steps(here, new, old, early=True)["refusals"]
    assert text.startswith("balancer on p1 is removed") and "Nothing was changed." in text
    for options in ({"allow_pause": True, "early": True}, {}):
        assert steps(here, new, old, **options)["refusals"] == [], "a rollback goes on"
    assert steps(pending(new), new, old, early=True)["refusals"] == [], "it does not run"
    assert steps(here, plan(TWO, old, **balanced), old, early=True)["refusals"] == []


def test_another_user_restarts_each_service():
    """The units and containers are others, which is no part of the digests."""
    old = plan(TWO)
    new = plan(TWO, old, inference_user="svc")
    assert plan_diff(new, old)[0] == "~ decode-0 on d1 restarts: user (service_user) -> svc"
    assert change(new, old)["held"] == ["decode-0", "decode-1", "prefill-0", "prefill-1"] and change(new, old)[
        "rest"
    ] == ["router"]
    assert "Pause: router restart at once" in planned_steps(new, old)[-1]
    own = {"runtime_facts": {**new["runtime_facts"], "own_user": False}}
    assert plan_diff({**new, **own}, old) == ["No changes: the deployed plan is the same."]


def test_an_engine_that_moves_gives_its_npus_to_nobody_before_it_has_stopped():
    """The planned service of that name is down on its new host; the one that is deployed runs."""
    old = plan(TWO)
    new = plan({"prefill": ["p1", "d2"], "decode": ["d1", "d3"]}, old)
    units = [service["unit"] for service in old["services"] if service["name"] == "decode-1"]
    here = pending(new, d2={"down": ["prefill-1"], "other": units}, d3={"down": ["decode-1"]})
    found = steps(here, new, old)
    assert (found["vacate"], found["pauses"]) == ({"d2": ["decode-1"]}, {})
    assert [engine["url"] for engine in found["deregistered"]["engines"]] == urls(old, "decode-1")


def test_nobody_waits_for_an_engine_whose_address_another_one_has():
    """It has stopped, and the other one is never idle while the service serves."""
    old = plan(TWO)
    new = plan({"prefill": ["p1"], "decode": ["d1", "d2"]}, old)
    assert [engine["name"] for engine in leaving_engines(new, old)] == ["prefill-1"]
    new["members"]["engines"].append({"name": "decode-2", "kind": "decode", "url": urls(old, "prefill-1")[0]})
    assert leaving_engines(new, old) == []


def listing(*engines, also=()):
    """What routers list, {pool: [url]}."""
    found = {}
    for engine in engines:
        found.setdefault(engine["kind"], []).append(engine["url"])
    for kind, url in also:
        found.setdefault(kind, []).append(url)
    return found


def test_an_engine_that_a_killed_run_gave_another_port_leaves_under_the_url_that_the_router_has():
    """The ports change from 7300 to 7800 in a run that is killed after its first engine, and then to 7900."""
    old = plan(TWO)
    between = plan(TWO, old, decode={"ports": {"api": [7800]}})
    new = plan(TWO, old, decode={"ports": {"api": [7900]}})
    first = [engine for engine in between["members"]["engines"] if engine["name"] == "decode-0"]
    rest = [engine for engine in old["members"]["engines"] if engine["name"] != "decode-0"]
    seen = as_listed(old, new, listing(*first, *rest))
    assert urls(seen, "decode-0") == urls(between, "decode-0") and urls(seen, "decode-1") == urls(old, "decode-1")
    here = pending(new, d1={"outdated": ["decode-0"]}, d2={"outdated": ["decode-1"]})
    leaving = [[engine["url"] for engine in step["leaving"]] for step in steps(here, new, seen)["roll"]]
    assert leaving == [urls(between, "decode-0"), urls(old, "decode-1")]
    seen = as_listed(old, new, listing(*between["members"]["engines"]))
    assert [urls(seen, name) for name in ("decode-0", "decode-1")] == [
        urls(between, name) for name in ("decode-0", "decode-1")
    ], "it was killed before it was recorded"


def test_engines_of_one_host_are_told_apart_by_their_order():
    one = {"prefill": ["p1"], "decode": ["d1"]}
    counts, pool = {"prefill": 1, "decode": 3}, {"tensor_parallel_size": 2}
    old = plan(one, counts=counts, pool=pool)
    between = plan(one, old, counts=counts, pool=pool, decode={"ports": {"api": [9000, 10000, 11000]}})
    new = plan(one, old, counts=counts, pool=pool, decode={"ports": {"api": [7900, 7940, 7980]}})
    done = [engine for engine in between["members"]["engines"] if engine["name"] in ("decode-0", "decode-1")]
    seen = as_listed(old, new, listing(*reversed(done), *old["members"]["engines"][2:]))
    assert [urls(seen, name) for name in ("decode-0", "decode-1")] == [
        urls(between, name) for name in ("decode-0", "decode-1")
    ]
    assert urls(seen, "decode-2") == urls(old, "decode-2")


def test_what_a_router_lists_is_no_engine_of_another_host_or_pool_and_may_be_any_text():
    old = plan(TWO)
    new = plan(TWO, old, pool={"ports": {"api": [7900]}})
    texts = ["http://192.0.2.99:1", "x", "http://[", "http://192.0.2.11:x", ""]
    assert as_listed(old, new, listing(also=[("decode", text) for text in texts])) == old
    first = urls(old, "prefill-0")[0].rpartition(":")[0]
    assert as_listed(old, new, listing(also=[("decode", f"{first}:1")])) == old
    assert as_listed(old, new, {}) == old and as_listed({}, new, {"decode": ["http://x:1"]}) == {}
    seen = as_listed(old, new, listing(*old["members"]["engines"], also=[("prefill", f"{first}:1")]))
    assert urls(seen, "prefill-0") == [*urls(old, "prefill-0"), f"{first}:1"], "which of them answers is not known"
    assert {**seen, "members": old["members"]} == old


def store(masters, deployed=None, instances=2, **ha):
    """Engines that share a store on hosts of their own, with its masters on these hosts."""
    groups = {
        "h1": ["colocated"],
        "h2": ["colocated"][: instances - 1],
        **{host: ["mooncake_master"] for host in masters},
    }
    hosts = {
        name: {"groups": found, "variables": {"ansible_host": f"192.0.2.{ord(name[0]) + int(name[1:])}"}}
        for name, found in groups.items()
        if found
    }
    variables = {
        "inference_release": "0.23.0",
        "inference_hardware": "a2",
        "inference_interface": "eth0",
        "inference_model": {"path": "/models/m", "name": "m"},
        "inference_kv_transfer": "store",
        "inference_pools": {"colocated": {"instances": instances, "tensor_parallel_size": 8}},
        "inference_store": {"ha": {**ha, "masters": len(masters)}} if ha else {},
    }
    return launch_plan(variables, hosts, (), deployed and deployed["placement"])


def test_a_store_moves_in_steps_new_master_engines_one_by_one_old_master():
    old = store(["m1"])
    new = store(["m2"], old)
    found = change(new, old)
    assert (found["refusals"], found["pauses"], found["vacate"], found["orphaned"]) == ([], {}, {}, {})
    assert planned_steps(new, old)[1:] == [
        "  1. start mooncake-master",
        "  2. drain, restart, prove and return colocated-0; instances that serve meanwhile: 1 of colocated",
        "  3. drain, restart, prove and return colocated-1; instances that serve meanwhile: 1 of colocated",
        "  4. drain and remove mooncake-master on m1",
    ]
    stages = {service["kind"]: service["start"]["stage"] for service in new["services"]}
    assert stages["mooncake_master"] < stages["colocated"]


def test_the_only_engine_of_a_store_that_moves_needs_a_pause():
    old = store(["m1"], instances=1)
    new = store(["m2"], old, instances=1)
    here = pending(new, m2={"down": ["mooncake-master"]}, h1={"outdated": ["colocated-0"]})
    found = steps(here, new, old, early=True)
    assert found["pauses"] == {ALONE: ["colocated-0"]} and "colocated-0 must restart" in found["refusals"][0]


@pytest.mark.parametrize(
    ("before", "after"),
    [(["m1", "m2"], ["m1", "m2", "m3"]), (["m1", "m2", "m3"], ["m1", "m2"]), (["m1", "m2", "m3"], ["m1", "m2", "m4"])],
)
def test_a_store_with_several_masters_gains_or_loses_one_and_no_engine_restarts(before, after):
    etcd = ["192.0.2.91:2379", "192.0.2.92:2379", "192.0.2.93:2379"]
    old = store(before, etcd_endpoints=etcd, oplog=False)
    new = store(after, old, etcd_endpoints=etcd, oplog=False)
    found = change(new, old)
    assert (found["roll"], found["rest"], found["pauses"], found["vacate"]) == ([], [], {}, {})
    assert all("mooncake-master-2" in name for name in [*found["new"], *found["gone"]])


def test_engines_that_a_killed_run_left_out_of_the_routers_restart_first():
    """It was killed in its second step; then other settings are planned, so that the first engine is the only one that serves, and changes again."""
    old = plan(TWO)
    between = plan(TWO, old, decode={"ports": {"api": [7800]}})
    new = plan(TWO, old, decode={"ports": {"api": [7900]}})
    first = [engine for engine in between["members"]["engines"] if engine["name"] == "decode-0"]
    prefill = [engine for engine in old["members"]["engines"] if engine["kind"] == "prefill"]
    found = listing(*first, *prefill)
    seen = as_listed(old, new, found)
    assert left_out(seen, new, found) == {"decode-1"}
    here = pending(new, d1={"outdated": ["decode-0"]}, d2={"outdated": ["decode-1"]})
    roll = steps(here, new, seen, out={"decode-1"})["roll"]
    assert [step["services"] for step in roll] == [["decode-1"], ["decode-0"]]
    assert [[engine["url"] for engine in step["leaving"]] for step in roll] == [
        urls(old, "decode-1"),
        urls(between, "decode-0"),
    ]
    assert left_out(old, new, {}) == left_out({}, new, found) == set()
    assert left_out(old, new, listing(*old["members"]["engines"])) == set()
    assert left_out(old, new, listing(*new["members"]["engines"])) == set(), "they have changed"


def test_an_instance_that_goes_and_is_out_of_the_routers_serves_for_nobody():
    """A run that removed it was killed; then the other one changes. Nothing gives it back, so its pool has only that one."""
    old = plan(TWO)
    less = plan({"prefill": ["p1", "p2"], "decode": ["d1"]}, old)
    new = plan({"prefill": ["p1", "p2"], "decode": ["d1"]}, less, decode={"args": {"max-num-seqs": 8}})
    here = pending(new, d1={"outdated": ["decode-0"]})
    assert [step["services"] for step in steps(here, new, old)["roll"]] == [["decode-0"]]
    found = steps(here, new, old, out={"decode-1"})
    assert found["roll"] == [] and found["refusals"] and ["decode-0"] in found["pauses"].values()


def test_routers_that_do_not_answer_list_nothing():
    results = [{"before": {"decode": ["http://a:1"]}}, {"failed": True}, None, {"before": {"decode": ["http://b:1"]}}]
    assert listed_by(results) == {"decode": ["http://a:1", "http://b:1"]}


def test_an_engine_leaves_under_the_url_that_a_killed_run_gave_it():
    """The run was killed before it was recorded, and now more changes: the routers have the planned URL."""
    old = plan(TWO)
    new = plan(TWO, old, decode={"ports": {"api": [7900]}})
    listed = {
        "decode": [*urls(new, "decode-0"), *urls(old, "decode-1")],
        "prefill": urls(old, "prefill-0", "prefill-1"),
    }
    found = as_listed(old, new, listed)
    assert urls(found, "decode-0") == urls(new, "decode-0") and urls(found, "decode-1") == urls(old, "decode-1")
    more = pending(new, d1={"outdated": ["decode-0"]}, d2={"outdated": ["decode-1"]})
    leaving = [engine["url"] for step in steps(more, new, found)["roll"] for engine in step["leaving"]]
    assert leaving == [*urls(new, "decode-0"), *urls(old, "decode-1")]


def test_one_router_that_is_cut_off_makes_no_engine_one_that_has_ended():
    engine, gone = "http://192.0.2.9:8000", "http://192.0.2.8:8000"
    cut_off = {"routers": {"others": [engine, gone], "silent": [engine, gone]}}
    assert _silent({"n1": cut_off, "n2": {"routers": {"others": [engine, gone], "silent": [gone]}}}) == {gone}
    assert _silent({"n1": cut_off, "n2": {"routers": {}}, "n3": {"routers": None}}) == {engine, gone}
