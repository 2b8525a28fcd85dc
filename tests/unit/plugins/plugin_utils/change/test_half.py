# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of a blue/green change: a half leaves, changes with routers of its own, and joins the other one."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.fills import FILLS
from ansible_collections.ascend.inference.plugins.plugin_utils.change.half import changed, drained, shifted
from ansible_collections.ascend.inference.plugins.plugin_utils.change.player import elsewhere
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.halves import FIRST, NEW, OLD, SECOND, rounds
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.change.test_restart import ASK, GIVE, PROVE
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import observed
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_halves import BLOCK, cpu

BEFORE, AFTER = cpu(), cpu(**BLOCK)
BOTH = rounds(BEFORE, AFTER, {FIRST: OLD, SECOND: OLD}, ["router", "router-1"], NEW)


# What is true whichever step fails
SERVES = {
    drained: "The second half serves; the first half does, too, where it still gets requests.",
    changed: "The first half gets no requests; the other half serves.",
    shifted: "Both halves run; each balancer sends requests to the second half, unless it has finished the step that moves them.",
}


def script(goal, number, hosts=("n1",), **registered):
    this_round = {**BOTH[number], "seconds": 7}
    return goal(AFTER, {host: observed("", registered) for host in hosts}, this_round, 300, 200)


def titles(*given, **more):
    return [step.title.split(" and wait")[0] for step in script(*given, **more).steps]


@pytest.mark.parametrize(
    ("number", "here", "there", "suffix"), [(0, "router-1", "router", 1), (1, "router", "router-1", 0)]
)
def test_a_half_gets_no_requests_and_finishes_before_it_changes(number, here, there, suffix):
    names = f"decode-{suffix}, prefill-{suffix}"
    assert titles(drained, number) == [
        f"Send requests to {there}",
        f"Send no new requests to {here}",
        f"Take {names} out of {there}",
        f"Wait for the last requests of {names}, at most 300 s",
    ]
    ready, drain, keep, finish = (step.at["n1"] for step in script(drained, number).steps)
    assert (ready["servers"], ready["state"], ready["weight"], ready["timeout"]) == ([there], "ready", 100, 200)
    assert (drain["servers"], drain["state"], drain["weight"], drain["timeout"]) == ([here], "drain", 0, 300)
    url = next(router["url"] for router in AFTER["verify"]["routers"] if router["name"] == there)
    assert (keep["url"], keep["more"], keep["purge"], keep["state"]) == (url, [], True, "present")
    kept = {engine["name"] for engine in keep["members"]}
    assert kept == {f"decode-{1 - suffix}", f"prefill-{1 - suffix}"}
    assert {engine["name"] for engine in finish["engines"]} == set(names.split(", "))
    assert finish["upstream"] == [engine["url"] for engine in keep["members"] if engine["kind"] == "prefill"]
    both = [*keep["members"], *finish["engines"]]
    assert finish["downstream"] == [engine["url"] for engine in both if engine["kind"] == "decode"]


def test_the_first_half_starts_with_routers_that_know_its_engines_only():
    assert titles(changed, 0) == [
        "Start or restart decode-1, prefill-1",
        "Start or restart router-1",
        "Give router-1 the engines of this half and no others",
    ]
    given = script(changed, 0).steps[-1].at["n1"]
    assert given["purge"] and {engine["name"] for engine in given["members"]} == {"decode-1", "prefill-1"}


def test_at_last_the_engines_of_both_halves_are_proven_together_and_all_routers_return():
    assert titles(changed, 1) == [
        "Start or restart decode-0, prefill-0",
        "Start or restart router",
        "Start or restart balancer",
        ASK, PROVE, GIVE,
        "Send requests to all routers",
    ]  # fmt: skip
    assert {engine["name"] for engine in script(changed, 1).steps[3].at["n1"]["members"]} == {
        f"{kind}-{number}" for kind in ("prefill", "decode") for number in (0, 1)
    }


def test_a_used_router_has_to_show_its_new_engines():
    assert script(changed, 1).steps[5].at["n1"]["use_timeout"] == 200
    assert script(changed, 1, down=["router", "router-1"]).steps[4].at["n1"]["use_timeout"] == 0


def test_the_only_balancer_moves_the_requests():
    (step,) = script(shifted, 0).steps
    assert step.title == "Move the requests from router to router-1 in steps of 7 s" and step.fill == ""
    given = step.at["n1"]
    assert (given["origin"], given["to"], given["seconds"], given["model"]) == (["router"], ["router-1"], 7, "m")
    assert [router["name"] for router in given["routers"]] == ["router", "router-1"] and given["socket"]


@pytest.mark.parametrize("held", [("n1",), ("n2",), (), ("n1", "n2")])
def test_of_two_balancers_the_one_with_the_requests_moves_them_and_then_the_other_one_follows(held):
    second = {**AFTER["balancer"], "host": "n2", "service": "balancer-1"}
    address = {"address": "192.0.2.9", "hosts": [{"host": "n1"}, {"host": "n2"}]}
    both = {**AFTER, "balancer": {**AFTER["balancer"], "more": [second]}, "virtual_address": address}
    found = {host: observed("", {}) for host in ("n1", "n2")}
    steps = shifted(both, found, {**BOTH[0], "seconds": 7}, 300, 200).steps
    answers = {host: {"held": host in held} for host in ("n1", "n2")}
    assert (
        steps[0].at == dict.fromkeys(("n1", "n2"), {"address": "192.0.2.9"}) and [s.asked for s in steps[1:]] == [0] * 3
    )
    plays = [[host for host in step.at if FILLS[step.fill](step, host, answers) is not None] for step in steps[1:]]
    one = "n2" if held == ("n2",) else "n1"
    other = "n1" if one == "n2" else "n2"
    assert plays == [[one], [other], [other]]
    ready, none = (step.at[other] for step in steps[2:])
    assert (ready["servers"], ready["state"], ready["weight"]) == (["router-1"], "ready", 100)
    assert (none["servers"], none["state"], none["weight"]) == (["router"], "drain", 0)


@pytest.mark.parametrize("goal", [drained, changed, shifted])
def test_a_host_without_a_step_is_missed_too(goal):
    """Without it, the others would go on with services that it did not change."""
    found = script(goal, 0)
    elsewhere_too = found._replace(hosts=("n1", "n2"))
    assert elsewhere(found, ["n1"]) == "" and found.hosts == ("n1",)
    text = elsewhere(elsewhere_too, ["n1"])
    assert text.startswith("n2 take part") and SERVES[goal] in text


def test_in_the_last_round_the_half_may_have_requests_already():
    assert (
        script(changed, 1).serving
        == "The first half serves; the second half does, too, where it gets requests already."
    )
