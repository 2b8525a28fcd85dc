# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings of hosts are left out because another one explains them, what options do, and in which order findings come."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import (
    CONSEQUENCES,
    RULES,
    check_plan,
    observed,
    without_consequences,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import (
    block,
    facts,
    kernel,
    link,
    lose,
    npu,
    plan,
)


def finding(id_, path, severity="error"):
    return Finding(path, id_, "x", "", severity)


def left(*rows):
    return [(item.id, item.path) for item in without_consequences([finding(*row) for row in rows])]


@pytest.mark.parametrize(
    ("cause", "effect", "explained"),
    [
        (("LINK-DOWN", "n1 device 1"), ("NET-HEALTH", "n1 device 1"), True),
        (("LINK-DOWN", "n1 device 1"), ("NET-HEALTH", "n1 device 2"), False),
        (("LINK-DOWN", "n1 device 1"), ("NET-HEALTH", "n1 device 11"), False),
        (("LINK-DOWN", "n1 device 1"), ("NET-HEALTH", "n1 device 1 hccn_tool"), True),
        (("HOST-TWICE", "n1"), ("NPU-BUSY", "n1 device 1"), True),
        (("HOST-TWICE", "n1"), ("PORT-TAKEN", "n1 port 7100"), True),
        (("HOST-TWICE", "n1"), ("NPU-BUSY", "n2 device 1"), False),
        (("NPU-ABSENT", "n1 device 1"), ("FACTS-MISSING", "n1"), False),
        (("MODEL-MISSING", "n1"), ("MODEL-INCOMPLETE", "n1"), True),
        (("MODEL-MISSING", "n1"), ("CLOCK", "n1"), False),
        (("LINK-DOWN", "n1 device 1", "warning"), ("NET-HEALTH", "n1 device 1"), False),
        (("LINK-DOWN", "n1 device 1", "warning"), ("NET-HEALTH", "n1 device 1", "warning"), True),
        (("LINK-DOWN", "n1 device 1"), ("NET-HEALTH", "n1 device 1", "warning"), True),
        (("LINK-DOWN", "n1 device 1", "remark"), ("NET-HEALTH", "n1 device 1", "warning"), False),
        (("LINK-DOWN", "n1 device 1", "accepted"), ("NET-HEALTH", "n1 device 1", "accepted"), False),
        (("LINK-DOWN", "n1 device 1", "remark"), ("NET-GATEWAY", "n1 device 1", "remark"), False),
        (("PEER-UNREACHABLE", "n1 device 1"), ("NET-HEALTH", "n1 device 1", "remark"), False),  # of the other plane
        (("LINK-DOWN", "n1 device 1"), ("NET-GATEWAY", "n1 device 1", "remark"), True),
    ],
)
def test_a_finding_is_explained_at_its_place_or_host_by_one_as_severe(cause, effect, explained):
    kept = [cause[:2]] if explained else [cause[:2], effect[:2]]
    assert left(cause, effect) == kept
    assert left(effect, cause) == kept[::-1]


def test_the_most_severe_of_two_causes_counts():
    causes = [("NPU-ABSENT", "n1 device 1", "warning"), ("LINK-DOWN", "n1 device 1")]
    for order in (causes, causes[::-1]):
        assert ("NET-HEALTH", "n1 device 1") not in left(*order, ("NET-HEALTH", "n1 device 1"))


def test_causes_and_effects_are_rules():
    known = {rule.id for rule in RULES}
    assert set(CONSEQUENCES) | {id_ for effects in CONSEQUENCES.values() for id_ in effects} <= known
    assert [rule.id for rule in RULES] == sorted(known)


def ids(data, ignored=(), **options):
    return [(item["severity"], item["id"], item["path"]) for item in check_plan(plan(), data, ignored, options)]


def test_an_unknown_id_to_ignore_is_a_finding_of_its_own():
    found = check_plan(plan(), facts(), ["NO-SUCH", "CLOCK", "ALSO-NONE"])
    expected = {
        "path": "inference_check_ignore",
        "id": "CHECK-IGNORE",
        "fix": "Correct or remove the id.",
        "severity": "error",
    }
    assert [{key: item[key] for key in expected} for item in found] == [expected, expected]
    assert [(item["problem"], item["value"]) for item in found] == [
        ("unknown check id ALSO-NONE", "ALSO-NONE"),
        ("unknown check id NO-SUCH", "NO-SUCH"),
    ]


def test_the_most_severe_findings_come_first_and_then_hosts_in_their_order():
    data = facts()
    npu("n3", 0, temperature_celsius=108)(data)
    npu("n1", 3, health="Alarm")(data)
    npu("n1", 2, temperature_celsius=108)(data)
    link("n1", 1, link="down")(data)
    kernel("n2", clock={"synchronised": False})(data)
    found = ids(data, ["CLOCK"])
    assert found == [
        ("error", "NPU-HEALTH", "n1 device 3"),
        ("warning", "NPU-TEMPERATURE", "n1 device 2"),
        ("warning", "NPU-TEMPERATURE", "n3 device 0"),
        ("remark", "LINK-DOWN", "n1 device 1"),
        ("accepted", "CLOCK", "n2"),
    ]


def test_a_broken_device_explains_its_lost_pings_and_no_others():
    data = facts()
    link("n2", 1, vnic={"link": "down", "address": "10.8.2.11"})(data)
    lose(data, ("n2", 1, "10.8.1.11"), ("n3", 2, "10.8.1.12"))
    assert ids(data) == [("error", "VNIC-DOWN", "n2 device 1"), ("error", "PEER-UNREACHABLE", "n3 device 2")]
    assert ("error", "PEER-UNREACHABLE", "n2 device 1") in ids(data, ["VNIC-DOWN"])


def test_other_errors_of_a_host_explain_no_lost_ping_and_no_blocked_port():
    data = facts()
    npu("n2", 1, health="Alarm")(data)
    kernel("n2", clock={"synchronised": False})(data)
    lose(data, ("n2", 1, "10.8.1.11"))
    block(data, ("n1", "n2"), ("n2", "n1"))
    found = {row[1] for row in ids(data)}
    assert {"NPU-HEALTH", "PEER-UNREACHABLE", "PORT-BLOCKED"} <= found


def test_a_broken_network_between_npus_explains_no_blocked_port():
    data = facts()
    for device in range(4):
        link("n2", device, vnic={"link": "down", "address": f"10.8.2.{device + 10}"})(data)
    block(data, ("n1", "n2"), ("n2", "n1"))
    assert "PORT-BLOCKED" in {row[1] for row in ids(data)}


def test_options_reach_what_is_tested():
    whole = observed(plan(), facts())
    assert (len(whole.pairs), whole.wanted_pairs) == (8, 8) and set(whole.connections) == {"n1", "n2", "n3"}
    assert whole.wanted_connections > 0 and whole.left_out == frozenset()
    without = observed(plan(), facts(), {"left_out": ["n3"]})
    assert {host for pair in without.pairs for host, _device in pair} == {"n1", "n2"} and without.wanted_pairs == 8
    assert set(without.connections) == {"n1", "n2"} and without.left_out == {"n3"}
    none = observed(plan(), facts(), {"ping": "none", "tcp": "none"})
    assert (none.pairs, none.wanted_pairs, none.connections, none.wanted_connections) == ((), 0, {}, 0)
    assert observed(plan(), facts(), {"ping": "full"}).wanted_pairs == 96
    assert observed(plan(), facts(), {"tcp": "connect"}).connections == whole.connections
    limits = observed(plan(), facts(), {"thresholds": {"slow_pair_ms": 7}}).thresholds
    assert limits.slow_pair_ms == 7 and whole.thresholds.slow_pair_ms != 7
    in_cluster = {**plan(), "runtime_facts": {**plan()["runtime_facts"], "in_cluster": True}}
    assert observed(in_cluster, facts()).wanted_connections == 0
    with pytest.raises(ValueError, match="^unknown mode 'some'; known modes: listen, connect, none$"):
        observed(plan(), facts(), {"tcp": "some"})
