# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan to which hosts go back, and the plan that a host recorded."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.choice import agree, choose, recorded_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import record_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.choices import known
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family


@pytest.fixture(scope="module")
def plan():
    return json.loads(json.dumps(launch_plan(*family("p2p", {}))))


def locked(plan, **more):
    """What the locks of the plan's hosts answer."""
    record = {"whole": record_of(plan)["whole"]}
    return {host: {"previous": {**part, **record}, "phase": "verified", **more} for host, part in parts(plan)}


def test_each_host_goes_back_to_its_part_and_a_strange_one_is_named(plan):
    found = locked(plan)
    one, *_more = found
    right = {host: here["previous"] for host, here in found.items()}
    forged = {**found, one: {"previous": {**right[one], "digest": ""}, "phase": "verified"}}
    assert agree(found, "upgrade") == (right, {}, [])
    plans, given, (note,) = agree(forged, "upgrade")
    assert plans == right and given == {} and note.startswith(f"{one}: its recorded plan is damaged")


def test_a_host_without_a_record_gets_its_part_and_needs_the_programs(plan):
    found = locked(plan)
    one, *_more = found
    programs = {each["argv"][0] for each in plan["services"] if each["host"] == one}
    plans, given, (note,) = agree({**found, one: {"previous": {}, "phase": ""}}, "rollback")
    assert plans[one] == found[one]["previous"] and {name: set(paths) for name, paths in given.items()} == {
        one: programs
    }
    assert note.startswith(f"{one}: it recorded no plan to go back to") and programs


@pytest.mark.parametrize("goal", ["rollback", "upgrade"])
def test_a_host_that_an_interrupted_change_did_not_reach_goes_back_to_its_last_plan(plan, goal):
    found = locked(plan, phase="changing")
    one, *_more = found
    mine = found[one]["previous"]
    late = {**found, one: {"previous": {**mine, "digest": "before"}, "last": mine, "phase": "verified"}}
    others = agree(late, goal).notes
    assert (others == []) == (goal == "rollback")


def test_a_damaged_record_of_a_host_is_no_veto(plan):
    """Neither when hosts are found that the change did not reach, nor afterwards."""
    found = locked(plan, phase="changing")
    one, *_more = found
    mine = found[one]["previous"]
    damaged = {**found, one: {"previous": {**mine, "whole": "?"}, "phase": "changing"}}
    assert agree(damaged, "rollback").plans[one] == mine


@pytest.mark.parametrize(
    "recorded",
    [
        {"plan_version": 1, "runtime": "another"},
        {"directory": "/elsewhere", "root": "/", "deployment": "elsewhere"},
        "damaged",
    ],
)
def test_a_recorded_plan_that_cannot_be_used_is_no_veto(plan, recorded):
    text = "{" if recorded == "damaged" else json.dumps({**plan, **recorded})
    assert recorded_plan(text, plan["directory"], plan) == plan
    assert recorded_plan("{", plan["directory"], {}) == {}


def test_the_recorded_plan_is_taken(plan):
    other = {**plan, "digest": "other"}
    assert recorded_plan(json.dumps(other), plan["directory"], plan) == other


def test_a_refused_rollback_has_no_mode(plan):
    one, *_more = [host["name"] for host in plan["hosts"]]
    found = choose("rollback", known({one: {"previous": plan}}), {}, "/elsewhere", {}, [].append)
    assert found["mode"] == "" and "and not about /elsewhere" in found["refusals"][0]


@pytest.mark.parametrize("bad", [{"digest": ["x"]}, {"whole": "!!"}, {"plan_version": "0", "hosts": [5]}, {"hosts": 5}])
@pytest.mark.parametrize("phase", ["verified", "changing"])
def test_what_one_host_wrote_ends_no_choice(plan, phase, bad):
    """Root of one host would end each rollback with it, or start what its own record says."""
    found = locked(plan, phase="changing")
    right = {host: here["previous"] for host, here in found.items()}
    for host in (next(iter(found)), "new"):
        plans = agree({**found, host: {"previous": bad, "last": bad, "phase": phase}}, "rollback").plans
        assert {name: each for name, each in plans.items() if name in right} == right
    assert plans["new"] == {} or "whole" not in bad
