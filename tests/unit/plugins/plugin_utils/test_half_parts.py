# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a blue/green upgrade by themselves: a router with fewer engines, its section of a plan, rounds, and what stops a change."""

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.half_plan import limited, of_half
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.halves import (
    FIRST,
    NEW,
    OLD,
    PLACE,
    SECOND,
    half_obstacles,
    rounds,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.pauses import HALVED, PARTED, REASSIGNED
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import serves, steps
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.upgrade import mode, one_revision
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_halves import cpu

SCRIPT = '#!/bin/sh\nset -- --prefill http://a:1 http://b:1 --policy random\nexec "$@"\n'
LIST = {"members": [{"url": "http://a:1", "kind": "prefill"}, {"url": "http://b:1"}], "period": 3}
ROUTER = {
    "name": "router",
    "digest": "d",
    "argv": ["python", "--prefill", "http://a:1"],
    "members": {
        "argv": ["python"],
        "script": "/run/set.sh",
        "api": "x",
        "files": [
            {"path": "/run/set.sh", "content": SCRIPT, "mode": "0755"},
            {"path": "/run/members.json", "content": json.dumps(LIST), "mode": "0640"},
        ],
    },
}


def test_a_router_of_a_half_has_its_engines_only_in_both_files():
    before = copy.deepcopy(ROUTER)
    found = limited(ROUTER, ["http://b:1"])
    assert before == ROUTER, "the plan stays as it is"
    script, listed = (file["content"] for file in found["members"]["files"])
    assert script == SCRIPT.replace("http://a:1 http://b:1 --policy random", "http://b:1")
    assert listed == json.dumps({"members": LIST["members"][1:], "period": 3}, indent=1) + "\n"
    assert found["argv"] == ["python", "--prefill", "http://b:1"]
    assert [file["mode"] for file in found["members"]["files"]] == ["0755", "0640"]
    assert {key: found[key] for key in ("name", "digest")} == {"name": "router", "digest": "d"}
    assert {key: found["members"][key] for key in ("argv", "script", "api")} == {
        key: ROUTER["members"][key] for key in ("argv", "script", "api")
    }


def test_a_router_without_a_script_gets_its_list_only():
    router = {**ROUTER, "members": {**ROUTER["members"], "script": "", "files": ROUTER["members"]["files"][1:]}}
    found = limited(router, ["http://a:1"])
    assert found["argv"] == ["python"]
    assert json.loads(found["members"]["files"][0]["content"])["members"] == LIST["members"][:1]


PLAN, AFTER = cpu(), cpu(inference_args={"block-size": 64})
ALIKE = cpu(inference_args={"max-num-seqs": 8})


@pytest.mark.parametrize(
    ("key", "secret_env", "given"), [("", {}, None), ("k", {}, "k"), ("k", {"OPENAI_API_KEY": "k"}, None)]
)
def test_a_half_is_asked_through_its_own_router(key, secret_env, given):
    plan = copy.deepcopy(PLAN)
    if key:
        plan["verify"]["engine_api_key"] = key
    for service in plan["services"]:
        service["secret_env"] = secret_env if service["kind"] == "router" else service["secret_env"]
    found = of_half(plan, ["router-1", "prefill-1", "decode-1"])
    entry = next(router for router in plan["verify"]["routers"] if router["name"] == "router-1")
    assert found["entry"] == {**entry, "kind": "router", **({"api_key": given} if given else {})}
    assert "routers" not in found
    assert {kind: [engine["name"] for engine in found[kind]] for kind in ("prefill", "decode")} == {
        "prefill": ["prefill-1"],
        "decode": ["decode-1"],
    }
    assert found["block_size"] == plan["verify"]["block_size"]


def test_the_first_round_moves_requests_away_and_back_and_the_last_one_joins():
    first, last = rounds(PLAN, AFTER, {FIRST: OLD, SECOND: OLD}, ["router", "router-1"], NEW)
    urls = {engine["name"]: engine["url"] for engine in AFTER["members"]["engines"]}
    reached = [{key: router[key] for key in ("name", "url")} for router in AFTER["verify"]["routers"]]
    assert first["shift"] == {"from": ["router"], "to": ["router-1"], "routers": reached} and len(reached) == 2
    assert (last["shift"], last["verify"]) == ({}, {})
    assert (first["upstream"], last["upstream"]) == ([urls["prefill-0"]], [urls["prefill-1"]])
    assert first["starts"] == first["services"] and set(first["services"]) == {"prefill-1", "decode-1", "router-1"}
    assert set(last["services"]) == {"prefill-0", "decode-0", "router"}
    assert set(last["starts"]) == {service["name"] for service in AFTER["services"]} - set(first["services"])
    assert {engine["name"] for engine in first["serving"]["engines"]} == {"prefill-0", "decode-0"}
    assert (first["serving"]["routers"], last["serving"]["routers"]) == (["router"], ["router-1"])


@pytest.mark.parametrize("key", PLACE)
@pytest.mark.parametrize("name", ["decode-1", "router"])
def test_one_changed_place_of_a_service_is_an_obstacle(key, name):
    other = copy.deepcopy(PLAN)
    next(service for service in other["services"] if service["name"] == name)[key] = [] if key == "ports" else "another"
    assert half_obstacles(PLAN, PLAN) == []
    (problem,) = half_obstacles(other, PLAN)
    assert problem == f"{name}: new, removed, or on other hosts, NPUs or ports than deployed"


NOTHING = {"n1": {"down": [], "outdated": []}}


def seen(outdated):
    names = [service["name"] for service in PLAN["services"]] if outdated else []
    runs = {"n1": {"down": [], "outdated": names, "healthy": []}}
    return {"old": NOTHING, "new": runs, "asked": ["router", "router-1"]}


def test_an_upgrade_goes_by_halves_if_it_is_asked_to_though_it_need_not():
    found = mode({"n1": PLAN}, ALIKE, "blue_green", seen=seen(True))
    assert (found["mode"], len(found["rounds"]), found["refusals"]) == ("blue_green", 2, [])
    assert mode({"n1": PLAN}, ALIKE, "", seen=seen(True))["mode"] == "rolling"
    assert mode({"n1": PLAN}, ALIKE, "rolling", seen=seen(True))["rounds"] == []


@pytest.mark.parametrize(
    ("revisions", "runs", "one"),
    [
        (["r"], {"a": {"outdated": ["x"]}}, True),  # what runs differs, and not in its revision
        (["r", "r"], {"a": {"outdated": ["x"]}}, True),
        (["r", "s"], {"a": {"outdated": ["x"]}}, False),
        (["s"], {"a": {"other": ["x"]}, "b": {}}, False),
        (["s"], {"a": {"outdated": [], "other": []}}, True),  # nothing differs from the plan
        (["r", "s"], {}, True),
        ([], {}, False),  # nobody knows
    ],
)
def test_engines_have_one_revision(revisions, runs, one):
    assert one_revision({"revision": "r"}, revisions, runs) == one


@pytest.mark.parametrize(
    ("down", "up"),
    [
        ([], True),
        (["prefill-0", "decode-1", "router"], True),
        (["prefill-0", "prefill-1"], False),
        (["router", "router-1"], False),
        (["balancer"], False),
    ],
)
def test_a_plan_serves_while_each_pool_and_each_entry_has_one_that_runs(down, up):
    assert serves(PLAN, down) == up


def swapped():
    """A plan in which decode-0 has the NPUs of decode-1 and the other way round, so both stop first."""
    plan = copy.deepcopy(PLAN)
    one, two = (next(item for item in plan["services"] if item["name"] == name) for name in ("decode-0", "decode-1"))
    one["ports"], two["ports"] = two["ports"], one["ports"]
    return plan


@pytest.mark.parametrize(("unfinished", "reason"), [("", REASSIGNED), ("upper", HALVED)])
def test_services_that_give_their_ports_away_stop_first_and_say_why(unfinished, reason):
    found = steps(NOTHING, swapped(), PLAN, allow_pause=True, unfinished=unfinished)
    assert found["vacate"] == {"n1": ["decode-0", "decode-1"]}
    assert not found["deregistered"] or found["deregistered"]["pause"] is True
    assert PARTED not in " ".join(found["notes"])
    assert (reason in found["pauses"]) == (reason == REASSIGNED)
    assert steps(NOTHING, swapped(), PLAN, unfinished=unfinished)["refusals"]


@pytest.mark.parametrize("unfinished", ["", "upper"])
def test_an_engine_that_gives_its_ports_away_finishes_first_unless_halves_differ(unfinished):
    """Behind routers of two halves others do not serve what it leaves."""
    plan = swapped()
    two = next(item for item in plan["services"] if item["name"] == "decode-1")
    two["ports"] = [{**port, "first": port["first"] + 20000} for port in two["ports"]]
    found = steps(NOTHING, plan, PLAN, unfinished=unfinished)
    assert found["vacate"] == {"n1": ["decode-1"]}
    assert bool(found["refusals"]) == bool(unfinished)
    assert (found["deregistered"] or {}).get("pause") is (None if unfinished else False)
