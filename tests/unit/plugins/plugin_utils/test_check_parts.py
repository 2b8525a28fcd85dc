# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of the check of hosts, each alone: what tasks registered, whose devices and ports are taken, and what a rule calls usual."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import access, facts, neighbours, observed, pairs
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import differs

PLAN = {"hosts": [{"name": "n1"}]}


def known(**result):
    return facts.check_facts(PLAN, {"n1": result})["n1"]


def test_the_controller_s_connections_are_those_of_the_first_host_that_has_them():
    tried = {"answers": [1]}
    variables = {"n0": {}, "n1": {facts.CONTROLLER: tried}, "n2": {facts.CONTROLLER: tried}}
    found = facts.check_results(variables, variables)
    assert [found[host]["tcp"]["controller"] for host in variables] == [{}, tried, {}]
    results = facts.tcp_results({"n1": {facts.CONTROLLER: tried, "host_check_connected": {"done": []}}}, ["n1"])
    assert results == {"n1": {"listen": {}, "connect": {"done": []}, "controller": tried}}


def test_unexpected_output_of_a_failed_module_is_cut():
    failed = {"failed": True, "msg": "it ended", "module_stderr": " first ", "module_stdout": 500 * "x"}
    assert known(gather=failed) == {"gather": {"error": f"it ended first {194 * 'x'} ... {200 * 'x'}"}}
    assert known(gather={"failed": True}) == {"gather": {"error": "no message"}}
    assert known(gather={"msg": "it ended"}) == {"gather": {"error": "it ended"}}


def test_what_was_skipped_is_no_fact():
    skipped = {"skipped": True}
    assert known(gather={"npu": skipped}, ping=skipped, runtime=skipped, tcp={"listen": skipped}) == {}
    assert known(ping={"matrix": {}, "record": "ping.json"}) == {"ping": {"matrix": {}}}


def test_only_a_lost_connection_of_the_host_itself_makes_it_unreachable():
    lost = {"unreachable": True, "msg": "gone"}
    assert known(ping=lost) == known(gather=lost) == {"unreachable": "gone"}
    assert known(tcp={"controller": lost}) == {"controller": {"error": "gone"}}


def case_of(services, *others):
    plan = {"hosts": [{"name": "n1"}], "services": services}
    return observed.Observed(plan, {"n1": {"host": {"neighbours": list(others)}}})


def service(name, first, count=1):
    ports = [{"name": "api", "first": first, "count": count}]
    return {"name": name, "host": "n1", "devices": [], "ports": ports}


@pytest.mark.parametrize(
    ("taken", "shared"), [([90, 10], ""), ([90, 11], "100"), ([103, 2], "103"), ([104, 1], ""), ([90, 99], "100-103")]
)
def test_each_port_of_both_ranges_counts(taken, shared):
    other = {"deployment": "other", "services": [{"devices": [], "ports": [taken]}]}
    found = list(neighbours.ports(case_of([service("router", 100, 4)], other)))
    assert [finding.value for finding in found] == ([shared] if shared else [])


@pytest.mark.parametrize(("count", "others"), [(6, False), (7, True)])
def test_six_shared_ports_are_named(count, others):
    other = {"deployment": "other", "services": [{"devices": [], "ports": [[0, 100]]}]}
    (found,) = neighbours.ports(case_of([service(f"s{number}", number) for number in range(count)], other))
    assert "api of s5 (5)" in found.problem and "s6" not in found.problem
    assert found.problem.endswith(" and others") is others


def test_usual_is_what_most_have_and_of_equal_numbers_the_first():
    assert observed.majority({"a": "2", "b": "1", "c": "2"}) == "2"
    assert observed.majority({"a": "2", "b": "1"}) == "1"
    assert observed.majority({"a": "", "b": "", "c": "1"}) == "1" and observed.majority({"a": ""}) == ""


def test_a_die_without_an_id_is_left_out_where_others_have_one():
    first, second = {"npu_id": 1, "device_id": 0}, {"npu_id": 0, "device_id": None}
    assert observed.npus_by_device({"npus": [first, second]}) == {0: first}
    assert observed.npus_by_device({"npus": [second]}) == {0: second}


@pytest.mark.parametrize(
    ("argv", "size"),
    [(["-tp", "4"], 4), (["--tensor-parallel-size", "8"], 8), (["-tp", "0"], 1), (["-tp"], 1), ([], 1)],
)
def test_the_tensor_parallel_size_of_a_command(argv, size):
    assert pairs._tensor_parallel_size({"argv": argv}) == size


def test_an_access_problem_says_who_and_what():
    name = access._user
    assert name({}) == "the connected user"
    assert name({"user": "npu", "exists": True}) == "the services' user npu"
    assert name({"user": "npu", "exists": False}) == "the services' user npu, who does not exist yet,"


@pytest.mark.parametrize(("user", "needs"), [("npu", "enter"), (None, "write to")])
def test_a_user_of_services_enters_the_root_and_another_one_writes(user, needs, monkeypatch):
    found = {"user": user, "exists": True, "roots": {"/data": ["/data (mode 0700)"]}}
    monkeypatch.setattr(access, "_access", lambda case: [({"name": "n1"}, found)])
    (finding,) = access.root_access(types.SimpleNamespace(plan={"root": "/data"}))
    assert f" cannot {needs} /data (mode 0700); /data is" in finding.problem


def test_a_host_has_to_run_only_its_own_services():
    plan = {"services": [{"name": "one", "host": "n1"}, {"name": "two", "host": "n2"}]}
    assert not differs({"n1": {"healthy": ["one"]}, "n2": {"healthy": ["two"]}}, plan)
    assert differs({"n1": {"healthy": ["two"]}}, plan)
