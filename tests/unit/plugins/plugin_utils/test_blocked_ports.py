# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What failed connections between hosts are blamed on: a host, a side, a split, single ports; and what was not tried."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import tcp
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connections import Target
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.observed import Observed

LATE = "no answer in 3 s"


def case(hosts, cut, ports=(1, 2), state="timeout", facts=None, plan=None, **more):
    """Every host tries ``ports`` of every other one; ``cut(source, target, port)`` tells which fail."""
    wanted = {
        one: {two: [Target(two, f"10.0.0.{two}", port, f"x-{two} p{port}", "api") for port in ports] for two in hosts if two != one}
        for one in hosts
    }  # fmt: skip
    found = {}
    for one in hosts:
        answers = [{"name": one, "port": 9, "state": "open", "reason": ""}]
        for two in wanted[one]:
            for port in ports:
                failed = cut(one, two, port)
                answers.append(
                    {"name": two, "port": port, "state": state if failed else "open", "reason": LATE if failed else ""}
                )
        found[one] = {"tcp": {"listening": [9, *ports], "answers": answers}}
    for host, changes in (facts or {}).items():
        found[host].update(changes)
    base = {"hosts": [{"name": host} for host in hosts], "services": [], **(plan or {})}
    return Observed(
        base, found, connections=wanted, wanted_connections=len(hosts) * (len(hosts) - 1) * len(ports), **more
    )


def blamed(*arguments, **more):
    return [(item.path, item.value, item.problem) for item in tcp.blocked(case(*arguments, **more))]


@pytest.mark.parametrize(
    ("cut", "text", "count", "first"),
    [
        (lambda one, two, port: "c" in (one, two), "no connection from or to another host passes", 12, "c to 10.0.0.a"),
        (lambda one, two, port: two == "c", "no other host can connect to it", 6, "a to 10.0.0.c"),
        (lambda one, two, port: one == "c", "it cannot connect to any other host", 6, "c to 10.0.0.a"),
    ],
)
def test_a_host_that_is_cut_off_is_one_finding_with_its_side(cut, text, count, first):
    ((path, value, problem),) = blamed("abcd", cut)
    assert (path, problem) == ("c", f"{text}: {count} of {count} connections failed ({LATE})")
    assert value.startswith(f"{first} port 1, x-{first[-1]} p1")


def test_groups_of_hosts_that_do_not_reach_each_other_are_one_finding():
    ((path, _value, problem),) = blamed("abcd", lambda one, two, port: (one < "c") != (two < "c"))
    assert path == "a, b | c, d"
    assert problem == f"these groups of hosts do not reach each other: 16 of 16 connections failed ({LATE})"


def test_a_host_that_was_named_is_no_group_of_a_split():
    found = blamed("abcde", lambda one, two, port: "e" in (one, two) or (one < "c") != (two < "c"))
    assert [path for path, _value, _problem in found] == ["e", "a, b | c, d"]


def test_two_hosts_between_which_nothing_passes():
    ((path, value, problem),) = blamed("abc", lambda one, two, port: {one, two} == {"a", "b"})
    assert (path, value) == ("a", "a to 10.0.0.b port 1, x-b p1")
    assert problem == f"nothing passes between it and b: 4 of 4 connections failed ({LATE})"


def test_one_direction_is_a_port_of_the_target():
    one_way = blamed("abc", lambda one, two, port: (one, two) == ("a", "b") or (one, two, port) == ("b", "a", 1))
    assert [(path, problem) for path, _value, problem in one_way] == [
        ("b", f"a cannot connect to ports 1-2 (x-b p1, x-b p2): 2 of 2 connections failed ({LATE})"),
        ("a", f"b cannot connect to ports 1 (x-a p1): 1 of 2 connections failed ({LATE})"),
    ]


def test_sources_that_miss_the_same_ports_are_named_together():
    found = blamed("abcd", lambda one, two, port: two == "d" and (port == 2 or one == "c"))
    assert [(path, problem) for path, _value, problem in found] == [
        ("d", f"a, b cannot connect to ports 2 (x-d p2): 2 of 4 connections failed ({LATE})"),
        ("d", f"c cannot connect to ports 1-2 (x-d p1, x-d p2): 2 of 2 connections failed ({LATE})"),
    ]


def test_a_refused_connection_fails_only_where_a_listener_ran():
    def refused(**facts):
        return blamed("abc", lambda one, two, port: (one, two, port) == ("a", "b", 1), state="refused", facts=facts)

    ((path, _value, problem),) = refused()
    assert path == "b" and problem.endswith(f"1 of 2 connections failed ({LATE}, although the host listens)")
    own = {"name": "b", "port": 9, "state": "open"}
    for listening, answers in (
        ([2], [own]),
        (None, [own]),
        ([1], []),
        ([1], None),
        ([1], [{**own, "state": "refused"}]),
    ):
        assert refused(b={"tcp": {"listening": listening, "answers": answers}}) == []


def test_of_two_reasons_each_is_counted():
    wanted = case("abc", lambda one, two, port: (one, two) == ("a", "b"), ports=(1, 2, 3))
    wanted.facts["a"]["tcp"]["answers"][1]["reason"] = "no route"
    (found,) = tcp.blocked(wanted)
    assert found.problem.endswith(f"3 of 3 connections failed (2 {LATE}, 1 no route)")


def test_a_host_with_an_error_of_its_own_is_not_said_to_be_blocked():
    cut = {"cut": lambda one, two, port: "c" in (one, two)}
    assert blamed("abc", **cut, lost=frozenset("c")) == []
    assert [row[0] for row in blamed("abc", **cut, lost=frozenset("z"))] == ["c"]


@pytest.mark.parametrize(
    ("firewall", "severity"),
    [
        (None, ""),
        ({"state": "present", "backend": "auto"}, "warning"),
        ({"state": "present", "backend": "firewalld"}, "warning"),
        ({"state": "present", "backend": "nftables"}, ""),
        ({"state": "absent", "backend": "auto"}, ""),
    ],
)
def test_ports_that_deploy_opens_are_only_a_warning(firewall, severity):
    cuts = (
        lambda one, two, port: two == "c",
        lambda one, two, port: (one < "c") != (two < "c"),
        lambda one, two, port: {one, two} == {"a", "b"},
        lambda one, two, port: (one, two) == ("a", "b"),
    )
    for cut in cuts:
        found = list(tcp.blocked(case("abcd", cut, plan={"firewall": firewall})))
        assert [item.severity for item in found] == [severity]


def test_the_coverage_of_connections():
    assert tcp.tcp_coverage(case("abc", lambda *_ends: True)) == "12 of 12 TCP connections between hosts were tested"
    assert tcp.tcp_coverage(case("a", lambda *_ends: False)) == ""


def untested(*arguments, **more):
    found = tcp.untested(case(*arguments, lambda *_ends: False, **more))
    return [(item.path, item.value, item.problem, item.severity) for item in found]


def test_a_host_that_tried_nothing_is_named_with_its_targets():
    text = "no connection to 2 other hosts was tested"
    assert untested("abc", facts={"a": {"tcp": None}}) == [("a", "b, c", text, "")]
    assert untested("abc", facts={"a": {"tcp": {"error": "x"}}}) == []
    assert untested("abc", facts={"a": {"tcp": None}}, silent=frozenset("a")) == []
    one = "no connection to 1 other hosts was tested"
    assert untested("abc", facts={"a": {"tcp": None}}, silent=frozenset("b")) == [("a", "c", one, "")]
    ((_path, value, problem, _severity),) = untested("abcdefghij", facts={"a": {"tcp": None}})
    assert value == "b, c, d, e, f, g, h, i" and "to 9 other hosts" in problem


@pytest.mark.parametrize(("held", "value"), [([1, 2], "c"), ([1], "b, c"), ([], "b, c")])
def test_ports_of_running_services_are_not_missed(held, value):
    running = {"b": {"host": {"listening": [{"port": port} for port in held], "x": 1}}, "a": {"tcp": None}}
    ((path, found, _problem, _severity),) = untested("abc", facts=running)
    assert (path, found) == ("a", value)


def test_a_listener_that_ended_early_is_a_remark():
    answers = case("ab", lambda *_ends: False).facts["b"]["tcp"]["answers"][1:]
    text = "the temporary listener did not run: ports that reject connections look like closed ones"
    assert untested("ab", facts={"b": {"tcp": {"listening": [1, 2], "answers": answers}}}) == [
        ("b", "2", text, "remark")
    ]
    assert untested("ab", facts={"b": {"tcp": {"listening": [], "answers": answers}}}) == []


def clients(state, listening=(1,), sources=None, **more):
    router = {
        "kind": "router",
        "name": "router",
        "host": "b",
        "address": "10.0.0.b",
        "ports": [{"name": "api", "first": 1}],
    }
    plan = {"services": [{**router, "devices": []}], "firewall": {"sources": sources}}
    own = {"name": "b", "state": "open", "port": 9}
    answers = [{"state": "open", "reason": ""}, {"state": state, "reason": LATE}]
    facts = {"a": {"controller": {"answers": answers}}, "b": {"tcp": {"listening": list(listening), "answers": [own]}}}
    found = tcp.controller(case("ab", lambda *_ends: False, facts=facts, plan=plan, **more))
    return [(item.path, item.value, item.problem, item.severity) for item in found]


def test_what_the_controller_cannot_reach_clients_may_not_reach():
    text = f"the controller cannot connect to 10.0.0.b port 1 (router api): {LATE}"
    assert clients("timeout") == [("b", "timeout", text, "")]
    assert clients("timeout", sources={"client": ["10.0.0.0/8"]}) == [("b", "timeout", text, "remark")]
    assert clients("open") == [] == clients("timeout", lost=frozenset("b"))
    assert clients("refused") == [("b", "refused", f"{text}, although the host listens", "")]
    assert clients("refused", listening=[2]) == []
