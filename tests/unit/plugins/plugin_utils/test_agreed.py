# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's record of the plan is used if it is whole and what most hosts have. Root of one host wrote another one."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.filter.plan_changes import agreed_text
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.agreed import (
    agreed,
    damage,
    part_as_stored,
    part_for,
    text_of_most,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import (
    digest_of,
    plan_files,
    record_of,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family


@pytest.fixture(scope="module")
def plan():
    """Of four hosts."""
    return launch_plan(*family("p2p", {"inference_deployment": "chat"}))


def stored(plan):
    """{host: what it stores}."""
    record = record_of(plan)
    return {host: json.loads(plan_files(part, record)[0]["content"]) for host, part in parts(plan)}


def changed(plan, change, honest=True):
    """Another plan, of which ``change`` was called with a copy; with a digest of its own if ``honest``."""
    other = json.loads(json.dumps(plan))
    change(other)
    return {**other, "digest": digest_of(other)} if honest else other


def key_for_others(plan):
    plan["verify"]["engine_api_key"] = "other_team_key"


@pytest.mark.parametrize("name", ["p2p", "p2p-0.13", "pooled"])
def test_what_hosts_store_is_whole_and_the_same_for_all(name):
    found = stored(launch_plan(*family(name, {"inference_deployment": "chat"})))
    first = next(iter(found))
    assert agreed(found) == {"host": first, "others": {}, "given": {}}
    assert {host: part_as_stored(found[first], host) for host in found} == found


def set_argv(plan):
    plan["services"][0]["argv"][0] = "/tmp/x"


def set_name(plan):
    plan["services"][0]["host"] = "victim"


@pytest.mark.parametrize("change", [key_for_others, set_argv, set_name, lambda plan: plan.update(services=[1])])
def test_a_plan_whose_digest_is_not_its_own_is_damaged(plan, change):
    found = (
        next(iter(stored(changed(plan, change, honest=False)).values()))
        if change in (key_for_others, set_argv)
        else changed(plan, change, honest=False)
    )
    assert "damaged or was changed" in damage(found)


def test_the_digest_of_a_service_is_its_own(plan):
    assert damage(changed(plan, set_argv)).endswith(plan["services"][0]["name"])


@pytest.mark.parametrize("found", [{"whole": "x"}, {"whole": "eA=="}])
def test_what_cannot_be_read_is_damaged(found):
    assert damage(found)


def test_the_part_of_another_plan_is_damaged(plan):
    found = next(iter(stored(plan).values()))
    assert damage({**found, "digest": "0" * 64})


def test_a_plan_of_another_version_is_left_to_those_who_read_it():
    assert damage({"plan_version": 1}) == ""


def test_one_host_neither_imposes_a_plan_nor_prevents_the_others(plan):
    found = stored(plan)
    for host in found:
        other = stored(changed(plan, key_for_others))[host]
        forged = {**found, host: other}
        result = agreed(forged)
        assert result["host"] != host and list(result["others"]) == [host] and "another one" in result["others"][host]
        assert part_for(other, forged[result["host"]], host) == found[host]


def test_one_host_prevents_nothing_by_hiding_its_record(plan):
    found = stored(plan)
    for host in found:
        hidden = {**found, host: {}}
        result = agreed(hidden)
        assert list(result["given"]) == [host] and "recorded no plan" in result["given"][host] and not result["others"]
        assert part_for({}, hidden[result["host"]], host, result["given"]) == found[host]


def test_a_host_without_a_record_gets_nothing_from_half_of_the_hosts_or_from_a_plan_without_it(plan):
    found = stored(plan)
    half = len(found) // 2
    few = {host: item if number < half else {} for number, (host, item) in enumerate(found.items())}
    assert agreed(few)["host"] and agreed(few)["given"] == {}
    assert agreed({**found, "stranger": {}})["given"] == {}
    assert agreed({host: {} for host in found})["given"] == {}


def test_a_damaged_record_of_two_leaves_the_other(plan):
    one, two, *_more = found = stored(plan)
    result = agreed({one: {**found[one], "digest": ""}, two: found[two]})
    assert result["host"] == two and list(result["others"]) == [one]


def test_of_two_different_plans_none_is_that_of_most(plan):
    one, two, *_more = found = stored(plan)
    other = stored(changed(plan, key_for_others))[two]
    assert agreed({one: found[one], two: other}) == {"host": "", "others": {}, "given": {}}


def test_without_a_plan_of_most_a_damaged_one_is_none(plan):
    (one, found), *_more = stored(plan).items()
    assert part_for(found, {}, one) == found
    assert part_for({**found, "digest": ""}, {}, one) == {} == part_for({}, found, one)


def test_a_host_that_the_plan_does_not_have_keeps_what_it_recorded(plan):
    found = next(iter(stored(plan).values()))
    assert part_for({"digest": "x"}, found, "stranger") == {"digest": "x"}


def test_the_text_is_that_of_most(plan):
    found = stored(plan)
    one, two, three, *_more = found
    forged = json.dumps(stored(changed(plan, key_for_others))[one])
    good, other = json.dumps(found[two]), json.dumps(found[three])
    assert agreed_text([forged, good, other]) == good
    assert agreed_text([json.dumps(found[one]), good]) in (json.dumps(found[one]), good)
    assert agreed_text([json.dumps({**found[one], "digest": ""}), good]) == good


def test_of_two_hosts_none_decides_what_runs_on_the_other(plan, capsys):
    """Without a plan nothing restarts behind a router: engines of different plans would be paired."""
    found = stored(plan)
    one, two, three, *_more = found
    forged, good = (json.dumps(item) for item in (stored(changed(plan, key_for_others))[one], found[two]))
    said = []
    assert text_of_most([forged, good], said.append) == text_of_most([good, forged], said.append) == ""
    assert len(said) == 2 and "different plans" in said[0]
    assert text_of_most([forged, good, json.dumps(found[three])], said.append) == good
    assert (
        text_of_most(["", good], said.append) == good and text_of_most(["", ""], said.append) == "" and len(said) == 2
    )
    assert text_of_most(["", "{"], said.append) == "" and "is damaged or was changed" in said[2] and len(said) == 3
    assert agreed_text([forged, good]) == ""
    assert "recorded different plans" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100000, None])
def test_a_text_that_is_no_plan_counts_for_nothing(content, plan):
    assert agreed_text([content]) == agreed_text([]) == ""
    good = json.dumps(next(iter(stored(plan).values())))
    assert agreed_text([content, good]) == good


@pytest.mark.parametrize("release", ["{{ lookup('pipe', 'id') }}", "0.23.0 -e x=1", "r" * 65, {"a": 1}, "0.23.0\n"])
def test_nobody_is_told_to_set_a_release_that_a_host_wrote(plan, release):
    """Its digest is right, and it would be the plan of a deployment of one host."""
    other = {**plan, "release": release, "plan_version": 1}
    for forged in (other, {**plan, "release": release}):
        forged = {**forged, "digest": digest_of(forged)}
        assert "its release is no name" in damage(next(iter(stored(forged).values())))
