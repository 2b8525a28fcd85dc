# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan to which hosts go back, and the plan that a host recorded."""

from __future__ import annotations

import json

import hypothesis
import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.choice import (
    agree,
    choose,
    recorded_plan,
    rollback_refusals,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.change.player import Refused
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.agreed import _service_digest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import digest_of, readable_plan, record_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.choices import known
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family
from hypothesis import strategies as st


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


@pytest.mark.parametrize("goal", ["upgrade", "rollback"])
@pytest.mark.parametrize(("key", "value"), [("previous", 5), ("last", ["x"]), ("half", {"a": 1}), ("revisions", "x")])
def test_an_answer_of_another_type_is_named_with_its_host(plan, goal, key, value):
    found = locked(plan)
    one = next(iter(found))
    with pytest.raises(Refused, match=f"{one}: its lock answered {key} as .*Nothing was changed. Fix: "):
        agree({**found, one: {**found[one], key: value}}, goal)


def test_a_recorded_plan_in_a_wrong_form_is_named_with_its_host(plan):
    one, *_more = [host["name"] for host in plan["hosts"]]
    garbage = known({one: {"previous": {**plan, "services": [5]}}})
    with pytest.raises(Refused, match=f"^{one}: the recorded plan has a wrong form .*Nothing was changed. Fix: "):
        choose("upgrade", garbage, plan, plan["directory"], {"asked": "", "cann": True}, [].append)
    with pytest.raises(Refused, match=f"^{one}: "):
        rollback_refusals(known({one: {"previous": {**plan, "hosts": 5}}}), plan["directory"], {})


GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "host", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
KEYS = ["previous", "last", "unverified", "phase", "half", "interrupted", "revisions"]


def changed(draw, value, garbage):
    """The value with garbage in one place, which may be deep in it."""
    inner = [*value] if isinstance(value, dict) else [*range(len(value))] if isinstance(value, list) else []
    if not inner or draw(st.integers(0, 3)) == 0:
        return garbage
    key = draw(st.sampled_from(inner))
    other = changed(draw, value[key], garbage)
    return {**value, key: other} if isinstance(value, dict) else [*value[:key], other, *value[key + 1 :]]


def signed(plan):
    """The plan with the digests that somebody who changes a record gives it, if it has the form of one."""
    try:
        plan = {**plan, "services": [{**each, "digest": _service_digest(each)} for each in plan["services"]]}
        return {**plan, "digest": digest_of(plan)}
    except (AttributeError, KeyError, TypeError, ValueError):
        return plan


@pytest.mark.parametrize("goal", ["upgrade", "rollback"])
@pytest.mark.parametrize("alone", [False, True])
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=40, deadline=None)
def test_records_of_any_form_end_in_a_decision_or_a_sentence(plan, alone, goal, data):
    """``alone``: the host has the only record, so that nobody contradicts it."""
    found = {host: {**here, "last": plan, "unverified": {}} for host, here in locked(plan, phase="changing").items()}
    one = next(iter(found))
    record = signed(changed(data.draw, plan, data.draw(GARBAGE)))
    record = {**record, "plan_version": "0"} if isinstance(record, dict) and data.draw(st.booleans()) else record
    more = {key: data.draw(GARBAGE) for key in data.draw(st.lists(st.sampled_from(KEYS), max_size=2))}
    hostile = {**found[one], **{key: record for key in data.draw(st.sets(st.sampled_from(KEYS[:3])))}, **more}
    answers = {**({} if alone else found), one: hostile}
    try:
        agreed = agree(answers, goal)
        here = {
            host: {
                "locked": answers[host],
                "previous": readable_plan(agreed.plans[host]),
                "content": json.dumps(record),
            }
            for host in answers
        }
        options = {"asked": "", "allow_pause": False, "cann": True}
        mode = choose(goal, known(here), plan, plan["directory"], options, [].append)
    except Refused as error:
        assert str(error).startswith(one) and "Fix: " in str(error)
        return
    assert mode["mode"] or mode["refusals"]
