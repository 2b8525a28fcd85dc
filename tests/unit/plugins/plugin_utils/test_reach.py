# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which device an answer of hccn_ping is about, how many pings were not run, and what names the cause of failed ones."""

from __future__ import annotations

import types

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


@pytest.mark.parametrize(("count", "text"), [(0, ""), (3, "0 of 3 pairs of devices were pinged")])
def test_the_coverage_of_pings(count, text):
    case = types.SimpleNamespace(computed={"pings": reach.Pings({}, count)})
    assert reach.coverage(case) == text


def test_a_lost_answer_keeps_what_was_measured():
    data = facts()
    answer = data["n2"]["ping"]["matrix"]["3"]["10.8.1.13"]
    data["n2"]["ping"]["unreachable_pairs"] = [{"device_id": 3, "address": "10.8.1.13", "reason": "lost"}]
    found = reach.pings(observed(plan(), data, {})).answers["n2 device 3", "n1 device 3"]
    assert found == {**answer, "reachable": False, "reason": "lost"} and found["average_ms"] is not None


def test_a_host_whose_pings_failed_as_a_whole_is_not_said_to_miss_them():
    data = facts()
    data["n2"]["ping"] = {"error": "no hccn_tool"}
    assert list(reach.not_tried(observed(plan(), data, {}))) == []
    data["n2"]["ping"] = {}
    (found,) = reach.not_tried(observed(plan(), data, {}))
    assert (found.path, found.value) == ("n2", "4")


def test_a_pair_that_is_alone_is_named_once_with_both_directions():
    lost = {("h1 device 0", "h2 device 1"), ("h2 device 1", "h1 device 0"), ("h3 device 0", "h1 device 0")}
    answers = {pair: {"reachable": False, "reason": "lost" if pair[0] != "h3 device 0" else None} for pair in lost}
    ends = [f"{host} device {device}" for host in ("h1", "h2", "h3") for device in (0, 1)]
    answers.update({(one, two): {"reachable": True} for one in ends for two in ends if (one, two) not in lost})
    found = [(item.path, item.value, item.problem) for item in reach.explain(observed(plan(), facts(), {}), answers)]
    both = "h2 device 1 is not reachable: lost; h1 device 0 is not reachable from there either"
    assert found == [
        ("h1 device 0", "h2 device 1", both),
        ("h3 device 0", "h1 device 0", "h1 device 0 is not reachable: no answer"),
    ]


def test_a_cause_is_told_with_its_first_pair():
    ((path, problem),) = reached(wide_plan(), lambda source, target: target == ("h4", 2))
    text = "no other device reaches it (20 failed; h0 device 0 to h4 device 2: lost)"
    assert (path, problem) == ("h4 device 2", text)


@pytest.mark.parametrize(("times", "usual"), [([1, 1, 50], 1), ([1, 1, 50, 50], 1), ([1, 50, 50], None)])
def test_a_slow_pair_is_compared_with_the_lower_median(times, usual):
    wanted = plan()
    data = facts(wanted)
    pairs = [(device, peer) for device, peers in data["n2"]["ping"]["matrix"].items() for peer in peers]
    data["n3"]["ping"] = {"matrix": {}}
    for (device, peer), average in zip(pairs, [*times, None, None], strict=False):
        data["n2"]["ping"]["matrix"][device][peer]["average_ms"] = average
    found = list(reach.slow(observed(wanted, data, {})))
    assert len(found) == (times.count(50) if usual else 0)
    for item in found:
        assert item.problem == f"{item.value} responds in 50.00 ms; the median of all pairs is 1.00 ms"
