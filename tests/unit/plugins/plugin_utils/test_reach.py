# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which device an answer of hccn_ping is about, how many pings were not run, and what names the cause of failed ones."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import reach
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import observed
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import (
    facts,
    plan,
    reached,
    wide_plan,
)


def with_sdids(data):
    for number, host in enumerate(sorted(data)):
        for npu in data[host]["npu"]["npus"]:
            npu["sdid"] = 1000 * number + npu["device_id"]
    return data


@pytest.mark.parametrize(
    "lost, peer",
    [
        ({"address": "10.8.2.11"}, "n2 device 1"),
        ({"address": "10.8.2.11", "sdid": 2001}, "n2 device 1"),
        ({"sdid": 1001}, "n2 device 1"),
        ({"address": None, "sdid": "1001"}, "n2 device 1"),
        ({"address": "10.99.0.1"}, "10.99.0.1"),
        ({"sdid": 77}, "77"),
    ],
)
def test_an_answer_is_about_the_device_with_this_address_or_id(lost, peer):
    data = with_sdids(facts())
    data["n1"]["ping"] = {"matrix": {}, "unreachable_pairs": [{"device_id": "3", "reason": "lost", **lost}]}
    answers = reach.pings(observed(plan(), data, {})).answers
    assert answers["n1 device 3", peer] == {"reachable": False, "reason": "lost"}
    name = lost.get("address") or str(lost["sdid"])
    answer = {"reachable": True, "average_ms": 0.1}
    data["n1"]["ping"] = {"matrix": {"3": {name: answer}}, "unreachable_pairs": []}
    assert reach.pings(observed(plan(), data, {})).answers["n1 device 3", peer] is answer
    data["n1"]["ping"]["unreachable_pairs"] = [{"device_id": 3, "reason": "lost", **lost}]
    assert reach.pings(observed(plan(), data, {})).answers["n1 device 3", peer]["reachable"] is False


@pytest.mark.parametrize("count", [1, 2, 3])
def test_pings_that_were_not_run_are_counted(count):
    data = facts()
    matrix = data["n2"]["ping"]["matrix"]
    pairs = [(device, peer) for device, peers in matrix.items() for peer in peers]
    for device, peer in pairs[:count]:
        del matrix[device][peer]
    (found,) = list(reach.not_tried(observed(plan(), data, {})))
    assert (found.path, found.problem) == ("n2", f"{count} planned pings of this host were not run")


@pytest.mark.parametrize(
    "cut, text",
    [
        (lambda source, target: ("h4", 2) in (source, target), "no other device reaches it, nor is reached from there"),
        (lambda source, target: target == ("h4", 2), "no other device reaches it"),
        (lambda source, target: source == ("h4", 2), "no other device is reached from there, by it"),
        (lambda source, target: source[0] == "h4", "no other device is reached from there, by any of its devices"),
        (lambda source, target: source[1] == target[1] == 3, "no ping between devices with this id succeeds"),
    ],
)
def test_the_direction_that_fails_is_told(cut, text):
    ((_path, problem),) = reached(wide_plan(), cut)
    assert problem.startswith(f"{text} (")


def test_the_largest_cause_is_named_and_none_of_two_for_the_same_pings():
    small, large = ("a", {1, 2}, "small"), ("b", {1, 2, 3}, "large")
    assert reach._best([[small, large]]) == reach._best([[large, small]]) == large
    assert reach._best([[small], [large]]) == large
    assert reach._best([[large, ("c", {1, 2, 3}, "another")]]) is None
    assert reach._best([[large], [("c", {1, 2, 3}, "less specific")]]) == large
    assert reach._best([[("a", {1}, "one ping")]]) is None
    assert reach._best([[("a", {1}, "one ping"), large]]) == large


@pytest.mark.parametrize(
    "groups, name",
    [
        ([["n3", "n1"], ["n2"]], "n2 | n1, n3"),
        ([["n1", "n2"], ["n3"]], "n3 | n1, n2"),
        ([["n10", "n2"], ["n3", "n4"]], "n2, n10 | n3, n4"),
        ([["a"], [f"n{number}" for number in range(8)]], "a | n0, n1, n2, n3, n4, n5, n6, n7"),
        ([["a"], [f"n{number}" for number in range(9)]], "a | n0, n1, n2, n3, n4, n5, n6, n7 and 1 more"),
        ([[f"n{number}"] for number in range(8)], "n0 | n1 | n2 | n3 | n4 | n5 | n6 | n7"),
        ([[f"n{number}"] for number in range(9)], "n0 | n1 | n2 | n3 | n4 | n5 | n6 | n7 | 1 more groups"),
    ],
)
def test_the_name_of_a_split_has_its_smallest_group_first(groups, name):
    assert reach._named(groups) == name


def test_the_name_of_a_split_does_not_depend_on_the_order_of_answers():
    pairs = [
        (f"{first} device 0", f"{second} device 0") for first, second in (("h3", "h0"), ("h1", "h2"), ("h3", "h1"))
    ]
    for order in (pairs, pairs[::-1]):
        ((name, covered, _problem),) = reach.splits(dict.fromkeys(order, {}), {pairs[2]})
        assert name == "h0, h3 | h1, h2" and covered == {pairs[2]}
