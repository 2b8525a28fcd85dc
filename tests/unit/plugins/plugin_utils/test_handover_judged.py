# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drill and a handover say at the edges of their limits: each function alone, as tables."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance import deviations as accepted
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance import report as handover
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.page import acceptance_page
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.settings import (
    _without_folder,
    _without_hosts,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.text import acceptance_text
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.drill import report, runs
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.settings import Fault, read_drill

RUN = {
    "label": "kill: x",
    "kind": "mooncake_master",
    "candidates": [],
    "names": ["a", "b"],
    "action": "kill",
    "timeout": 60,
    "keeps_keys": True,
}
LIMITS = {"failing": 10, "gap": 15, "leader": 15, "recovery": 0}


def rows(findings):
    return [(item.id, item.severity) for item in findings]


# ---- a drill ----


def clients(limits=None, baseline=None, **fault):
    one = {"wrong": 0, "compared": 9, "empty": 0, "failing": 0, "gap": 0, "recovered": 1.0, "unsent": 0}
    before = {"wrong": 0, "compared": 9, "per_second": 4.0, **(baseline or {})}
    return list(report._clients(RUN, {"baseline": before, "fault": {**one, **fault}}, {**LIMITS, **(limits or {})}))


@pytest.mark.parametrize(
    ("fault", "limits", "baseline", "found"),
    [
        ({}, {}, {}, []),
        ({"wrong": 1}, {}, {}, [("DRILL-WRONG", "error")]),
        ({}, {}, {"wrong": 1}, [("DRILL-WRONG", "error")]),
        ({"wrong": 2}, {}, {"wrong": 1}, [("DRILL-WRONG", "error")] * 2),
        ({"empty": 1}, {}, {}, [("DRILL-EMPTY", "error")]),
        ({"failing": 10}, {}, {}, []),
        ({"failing": 10.1}, {}, {}, [("DRILL-FAILING", "error")]),
        ({"failing": 0.1}, {"failing": 0}, {}, [("DRILL-FAILING", "error")]),
        ({"gap": 15}, {}, {}, []),
        ({"gap": 15.1}, {}, {}, [("DRILL-GAP", "error")]),
        ({"recovered": None}, {}, {}, [("DRILL-SLOW", "warning")]),
        ({"recovered": 99.0}, {}, {}, []),
        ({"recovered": 5.0}, {"recovery": 5}, {}, []),
        ({"recovered": 5.1}, {"recovery": 5}, {}, [("DRILL-SLOW", "error")]),
        ({"recovered": None}, {"recovery": 5}, {}, [("DRILL-SLOW", "error")]),
        ({"recovered": None}, {}, {"per_second": 0.0}, []),
        ({"unsent": 1}, {}, {}, [("DRILL-UNSENT", "warning")]),
    ],
)
def test_what_clients_notice(fault, limits, baseline, found):
    assert rows(clients(limits, baseline, **fault)) == found
    assert list(report._clients(RUN, {}, LIMITS)) == []


def test_wrong_texts_are_those_before_or_after_the_fault():
    first, second = clients({}, {"wrong": 1}, wrong=2)
    assert first.problem == "1 of 9 compared answers before the fault had a wrong text"
    assert second.problem == "2 of 9 compared answers had a wrong text"


def leader(store, kind="mooncake_master", keeps=True):
    run = {**RUN, "kind": kind, "candidates": ["x"], "keeps_keys": keeps}
    known = {"leader": "m-1", "clients": 8.0, "stored_keys": 100.0}
    whole = {"before": {**known, "leader": "m-0"}, "leaderless": 3.0, "clients_after": 2.0, **known}
    if store is None:
        return list(report._leader(run, {}, LIMITS))
    before = {**whole["before"], **store.pop("before", {})}
    return list(report._leader(run, {**whole, **store, "before": before}, LIMITS))


@pytest.mark.parametrize(
    ("store", "found"),
    [
        (None, [("DRILL-UNJUDGED", "error")]),
        ({}, []),
        ({"leaderless": 15}, []),
        ({"leaderless": 15.1}, [("DRILL-LEADER", "error")]),
        ({"leaderless": None, "clients_after": None}, [("DRILL-LEADER", "error")]),
        ({"clients": None}, [("DRILL-UNJUDGED", "error")]),
        ({"before": {"stored_keys": None}}, [("DRILL-UNJUDGED", "error")]),
        ({"before": {"stored_keys": 0}, "stored_keys": 0}, [("DRILL-UNJUDGED", "warning")]),
        ({"clients_after": None}, [("DRILL-CLIENTS", "error")]),
        ({"clients_after": None, "clients": None}, [("DRILL-UNJUDGED", "error")]),
        ({"stored_keys": 90.0}, []),
        ({"stored_keys": 89.9}, [("DRILL-KEYS", "error")]),
    ],
)
def test_what_a_failover_took_and_lost(store, found):
    assert rows(leader(dict(store) if store is not None else None)) == found
    assert list(report._leader(RUN, {}, LIMITS)) == []  # no leader was hit


def test_masters_without_an_oplog_may_lose_keys_and_etcd_has_none():
    assert rows(leader({"stored_keys": 0.0}, keeps=False)) == []
    assert rows(leader({"before": {"stored_keys": 0}, "stored_keys": 0}, keeps=False)) == []
    assert rows(leader({"stored_keys": 0.0, "clients": None}, kind="etcd")) == []
    (found,) = leader({"leaderless": None}, kind="etcd")
    assert found.problem == "no other member led with a majority after m-0 was hit (limit: 15 s)"
    (found,) = leader({"leaderless": 20})
    assert found.problem == "no master served for 20 s after m-0 was hit (limit: 15 s)"


def unjudged(per_second=4.0, **fault):
    one = {"requests": 9, "compared": 5, "unstable": 0, "not_repeated": 0, "answered": 9, **fault}
    return list(report._unjudged(RUN, {}, {"baseline": {"per_second": per_second}, "fault": one}))


@pytest.mark.parametrize(
    ("fault", "severity", "text"),
    [
        ({}, None, ""),
        ({"per_second": 0}, "error", "no good answer came before the fault"),
        ({"requests": 0, "compared": 0}, "error", "no request ended after the fault"),
        ({"compared": 0}, "warning", "inference_drill.compare is 0"),
        ({"compared": 3, "unstable": 3}, "error", "3 texts differ at each repetition"),
        ({"compared": 3, "unstable": 2}, None, ""),
        ({"compared": 0, "not_repeated": 2}, "error", "2 of 2 second answers were lost"),
        ({"compared": 5, "not_repeated": 2}, "warning", "2 of 7 second answers were lost, so their texts"),
        ({"compared": 0, "answered": 0}, "error", "no good answer came after the fault"),
    ],
)
def test_what_answers_do_not_show(fault, severity, text):
    found = unjudged(**fault)
    assert rows(found) == ([("DRILL-UNJUDGED", severity)] if severity else [])
    assert not found or text in found[0].problem
    assert list(report._unjudged(RUN, {}, {})) == []


def test_services_come_back_by_themselves_or_are_named():
    def names(run, made):
        return [item.problem.split(" ")[0] for item in report._recovery({**RUN, **run}, made)]

    assert names({}, {}) == [] == names({}, {"recovered": {"a": 0.0, "b": 3.0}})
    assert names({}, {"recovered": {"b": 3.0}}) == ["a"] and names({}, {"recovered": {"a": None}}) == ["a", "b"]
    elected = {"candidates": ["x"]}
    assert names(elected, {"processes": {"b": [1]}, "recovered": {}}) == ["b"]
    assert names(elected, {"processes": {}, "recovered": {"a": None}}) == ["a"]


def test_what_was_not_made_says_so():
    def texts(result, made, figures):
        return [item.problem for item in report._unmade(RUN, result, made, figures)]

    assert texts({}, {"a": 1}, {"b": 1}) == []
    assert texts({}, {}, {"b": 1}) == texts({}, {"a": 1}, {}) == ["nothing was measured"]
    assert texts({"problem": "p"}, {"a": 1}, {"b": 1}) == ["p"]


def test_lines_of_logs_are_counted_once_cut_and_limited():
    def log(red=(), alarms=(), **more):
        return {"red_flags": list(red), "alarms": list(alarms), "readable": True, "problem": "", **more}

    many = [str(number) for number in range(4)]
    found = report._logged([{"b": log(["x", "y"], ["x"]), "a": log()}, {"c": log(many, ["z" * 401])}])
    assert found["b"] == {"count": 2, "lines": ["x", "y"]} and set(found) == {"b", "c"}
    assert found["c"] == {"count": 5, "lines": many[:3]}
    assert report._logged([{"d": log(["z" * 401])}])["d"]["lines"] == ["z" * 400]
    unread = [{"b": log(readable=False)}, {"a": log(readable=False, problem="gone"), "c": log()}]
    assert [(item.problem, item.severity) for item in report._unread(RUN, unread)] == [
        ("the log of a was not read: gone", "warning"),
        ("the log of b was not read: no reason given", "warning"),
    ]


def test_what_is_not_set_for_a_drill():
    found = read_drill({})
    assert (found.faults, found.host, found.rate, found.clients, found.words, found.tokens) == ((), "", 4, 64, 64, 16)
    assert (found.before, found.after, found.window, found.compare) == (60, 60, 30, 200)
    assert (found.request_timeout, found.recovery_timeout, found.without_spare) == (300, 0, False)
    limits = found.limits
    assert (limits.failing, limits.gap, limits.leader, limits.recovery) == (10, 15, 15, 0)
    faults = [{"kind": "router", "action": action} for action in ("kill", "pause", "jitter")]
    durations = [(fault.seconds, fault.times) for fault in read_drill({"faults": faults}).faults]
    assert durations == [(0, 1), (60, 1), (1, 10)]


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ({"rate": 1, "clients": 1, "words": 1, "tokens": 1, "before": 1, "after": 1, "window": 1, "compare": 0}, []),
        ({"rate": 1000, "clients": 1024}, []),
        ({"rate": 0}, ["rate"]),
        ({"rate": 1001}, ["rate"]),
        ({"clients": 0}, ["clients"]),
        ({"clients": 1025}, ["clients"]),
        ({"compare": -1}, ["compare"]),
        ({"window": 0}, ["window"]),
        ({"limits": {"gap": -1}}, ["limits.gap"]),
        ({"faults": [{"kind": "decode", "action": "pause", "seconds": 3600}]}, []),
        ({"faults": [{"kind": "decode", "action": "pause", "seconds": 3601}]}, ["faults[0].seconds"]),
        ({"faults": [{"kind": "decode", "action": "jitter", "times": 101}]}, ["faults[0].times"]),
        ({"faults": [{"kind": "decode", "times": 1}]}, ["faults[0]"]),
        ({"faults": [{"kind": "decode", "part": "rank"}]}, []),
        ({"faults": [{"kind": "host", "part": "rank"}]}, ["faults[0].part"]),
    ],
)
def test_settings_of_a_drill_that_prove_nothing(raw, names):
    found = []
    try:
        read_drill(raw)
    except PlanError as error:
        found = [finding.path for finding in error.findings]
    assert found == [f"inference_drill.{name}" for name in names]


def service(name, kind, instance, host="h", **more):
    return {
        "name": name,
        "kind": kind,
        "instance": instance,
        "host": host,
        "unit": name,
        "argv": [],
        "health": None,
        **more,
    }


def spare(services, fault):
    plan = {"services": services}
    hit = runs._services(plan, fault)
    return [item.problem for item in runs._without_spare(plan, "p", fault, hit)]


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (1, "no other etcd serves while etcd-0 is away"),
        (2, "1 of 2 members of etcd would be left, and a majority is 2"),
        (3, None),
    ],
)
def test_a_majority_of_etcd_has_to_be_left(number, problem):
    services = [service(f"etcd-{index}", "etcd", index) for index in range(number)]
    assert spare(services, Fault("etcd")) == ([problem] if problem else [])
    assert bool(runs._every_kind({"services": services})) == (problem is None)


def test_an_instance_of_several_processes_is_one():
    rank = [service(f"decode-0-{index}", "decode", 0) for index in range(2)]
    assert spare(rank, Fault("decode")) == ["no other decode serves while decode-0-1 is away"]
    both = [*rank, service("decode-1", "decode", 1, "g")]
    assert (
        spare(both, Fault("decode")) == []
        and runs._services({"services": both}, Fault("decode"))[0]["name"] == "decode-1"
    )
    assert spare(both, Fault("host", name="h")) == []
    assert spare(rank, Fault("host")) == ["host h runs every decode of the deployment"]
    assert [item["name"] for item in runs._services({"services": both}, Fault("host"))] == ["decode-0-0", "decode-0-1"]
    assert [item["name"] for item in runs._services({"services": both}, Fault("decode", name="decode-0-0"))] == [
        "decode-0-0"
    ]
    assert runs._services({"services": both}, Fault("router")) == []


@pytest.mark.parametrize(
    ("host", "hosts", "foreign"),
    [("", ["a"], 0), ("a", ["a"], 0), ("b", ["a"], 1), ("localhost", ["a"], 0), ("b", None, 0), ("b", [], 1)],
)
def test_the_host_of_the_load_is_of_the_inventory(host, hosts, foreign):
    assert rows(runs._foreign(host, hosts)) == [("DRILL-HOST", "error")] * foreign


# ---- a handover ----


def given(**changes):
    return {
        "settings": {"bench": True, "drill": True, "unplanned": []},
        "begun": ["check", "deploy", "verify", "bench", "drill"],
        "findings": [],
        "unrecorded": [],
        "engine_facts": {"npus": True, "versions": ["driver", "CANN"]},
        "unused": {},
        "pinged": (8, 8),
        "tcp": "listen",
        "thresholds": {},
        "left_out": [],
        "needless": {"store"},
        "status_ignored": False,
        "verify": {"verified": True, "findings": [], "warnings": [], "steps": [], "pairs": {}, "changed": []},
        "bench": {"passed": True, "findings": []},
        "drill": {"passed": True, "faults": []},
        "drill_ended": "",
        **changes,
    }


def proof(**changes):
    return {"verify": {**given()["verify"], **changes}}


FINDING = {"id": "X", "path": "p", "problem": "q", "fix": "", "why": "", "value": ""}
DEVIATIONS = [
    ({}, []),
    ({"unrecorded": ["n"]}, [("ACCEPTANCE-RECORD", "n", "unknown", "check")]),
    ({"engine_facts": {"npus": False, "versions": []}}, [("ACCEPTANCE-HARDWARE", "inference_hardware", "unknown", "check")]),
    ({"unused": {"n": [1, 2]}}, [("ACCEPTANCE-DEVICES", "n", "unknown", "check")]),
    ({"pinged": (7, 8)}, [("ACCEPTANCE-PINGS", "check", "unknown", "check")]),
    ({"pinged": (9, 8)}, []),
    ({"tcp": "connect"}, [("ACCEPTANCE-TCP", "host_check_tcp", "unknown", "check")]),
    ({"thresholds": {"link_downs": 3}}, []),
    ({"thresholds": {"link_downs": 4}}, [("ACCEPTANCE-THRESHOLD", "host_check_thresholds", "accepted", "check")]),
    ({"settings": {"unplanned": ["u"]}}, [("ACCEPTANCE-UNPLANNED", "u", "unknown", "check")]),
    ({"left_out": ["l"]}, [("ACCEPTANCE-LIMIT", "l", "unknown", "check")]),
    (proof(check_mode=True), [("ACCEPTANCE-NOT-ASKED", "verify", "error", "verify")]),
    (proof(warnings=["w"]), [("VERIFY-WARNING", "verify", "warning", "verify")]),
    (proof(steps=[{"step": "a", "status": "skipped", "message": "m"}]), [("VERIFY-SKIPPED", "verify", "unknown", "verify")]),
    (proof(steps=[{"step": "store", "status": "skipped", "message": "m"}]), []),
    (proof(steps=[{"step": "a", "status": "passed", "message": "m"}]), []),
    (proof(pairs={"a": {"b": {"status": "passed"}, "c": {"status": "failed"}}}), []),
    (proof(pairs={"a": {"b": {"status": "uncovered"}, "c": {}}}), [("VERIFY-PAIRS", "verify", "unknown", "verify")]),
    (proof(changed=["x"]), [("VERIFY-CHANGED", "inference_verify", "accepted", "verify")]),
    ({"status_ignored": True}, [("ACCEPTANCE-STATUS", "inference_status_fail", "accepted", "bench")]),
    ({"bench": {"passed": True, "settings": {"profile": "smoke"}}}, [("ACCEPTANCE-SMOKE", "inference_bench.profile", "unknown", "bench")]),
    ({"bench": {"passed": False, "findings": [{**FINDING, "severity": "error"}]}}, [("X", "p", "error", "bench")]),
    ({"drill": {"passed": True, "faults": [{"findings": [{**FINDING, "severity": "warning"}]}]}}, [("X", "p", "warning", "drill")]),
    ({"drill_ended": "x"}, [("DRILL-ENDED", "drill", "error", "drill")]),
    ({"settings": {"bench": False, "unplanned": []}}, [("ACCEPTANCE-NOT-ASKED", "bench", "unknown", "bench")]),
    ({"bench": None}, [("ACCEPTANCE-NOT-FINISHED", "bench", "error", "bench")]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "found"), DEVIATIONS)
def test_each_deviation_has_its_severity_and_stage(changes, found):
    versions = {"n": {"driver": "1", "CANN": "2"}}
    deviations = accepted.deviations(given(**changes), versions)
    assert [(item["id"], item["path"], item["severity"], item["stage"]) for item in deviations] == found
    assert all(item["why"] or item["id"] == "X" for item in deviations)


def test_deviations_are_in_the_order_of_severity_and_stage():
    item = {**FINDING, "severity": "remark"}
    every = given(
        findings=[item, {**item, "severity": "warning"}, {**item, "severity": "accepted"}],
        drill_ended="x",
        **proof(warnings=["w"], changed=["x"], check_mode=False),
        left_out=["l"],
        bench={"passed": False, "findings": [{**item, "severity": "error"}]},
    )
    found = [(each["severity"], each["stage"]) for each in accepted.deviations(every, {"n": {"driver": "1"}})]
    assert found == [
        ("error", "bench"),
        ("error", "drill"),
        ("unknown", "check"),
        ("unknown", "check"),
        ("warning", "check"),
        ("warning", "verify"),
        ("accepted", "check"),
        ("accepted", "verify"),
        ("remark", "check"),
    ]


@pytest.mark.parametrize(
    ("changes", "stage", "state"),
    [
        ({}, "check", "passed"),
        ({"findings": [{"severity": "warning"}]}, "check", "passed"),
        ({"findings": [{"severity": "error"}]}, "check", "failed"),
        ({"findings": None}, "check", "not finished"),
        ({"findings": None, "begun": []}, "check", "not begun"),
        ({"verify": None}, "deploy", "not finished"),
        ({}, "deploy", "passed"),
        (proof(verified=False), "deploy", "passed"),
        (proof(verified=False), "verify", "failed"),
        (proof(check_mode=True), "verify", "failed"),
        ({"verify": None, "begun": ["check"]}, "verify", "not begun"),
        ({"bench": {"passed": False}}, "bench", "failed"),
        ({"settings": {"bench": False}}, "bench", "not asked"),
        ({"settings": {"drill": False}, "drill": None}, "drill", "not asked"),
        ({"drill_ended": "x"}, "drill", "failed"),
        ({"drill": {"passed": False}}, "drill", "failed"),
    ],
)
def test_the_state_of_a_stage(changes, stage, state):
    assert accepted.states(given(**changes))[stage] == state


@pytest.mark.parametrize(
    ("states", "severities", "verdict"),
    [
        (["passed"], [], "passed"),
        (["passed", "not asked"], [], "passed"),
        (["passed", "not asked"], ["unknown"], "passed with deviations"),
        (["passed"], ["remark"], "passed with deviations"),
        (["passed"], ["remark", "error"], "not passed"),
        (["passed", "failed"], [], "not passed"),
        (["not begun"], [], "not passed"),
        (["not finished"], [], "not passed"),
    ],
)
def test_the_verdict(states, severities, verdict):
    found = [{"severity": severity} for severity in severities]
    assert handover._verdict({str(number): state for number, state in enumerate(states)}, found) == verdict


def test_a_version_that_is_not_known_is_named_by_host():
    found = list(
        accepted._versions(given(), {"a": {"driver": "1", "CANN": ""}, "b": {"driver": "1", "CANN": "2"}, "c": {}})
    )
    assert [(item.path, item.problem, item.severity) for item in found] == [
        ("a", "the version of CANN is not known", "unknown"),
        ("c", "the version of driver, CANN is not known", "unknown"),
    ]
    assert list(accepted._versions(given(findings=None), {"a": {}})) == []


def test_figures_of_a_verification():
    verify = {
        "pairs": {"a": {"b": {"status": "passed"}, "c": {"status": "failed"}}},
        "requests": [1, 2],
        "ttft_ms": {"z": 2.0, "a": None, "b": 3.4},
        "transfer_ms": [1.0, 9.0, 2.0],
    }
    (found,) = handover._of_verify({"verify": verify})
    assert found["text"] == (
        "2 requests; 1 of 2 pairs of ranks passed; time to first token, b: 3 ms; time to first token, z: 2 ms; KV transfer: 2.0 ms (median)"
    )
    (found,) = handover._of_verify({"verify": {**verify, "pairs": {}, "ttft_ms": {}, "transfer_ms": []}})
    assert found["text"] == "2 requests"
    assert list(handover._of_verify({"verify": {**verify, "check_mode": True}})) == list(handover._of_verify({})) == []
    faults = [
        {"label": "k", "passed": False, "figures": None},
        {"label": "l", "passed": True, "figures": {"fault": {"gap": 0.0}}},
    ]
    assert [row["text"] for row in handover._of_drill({"drill": {"faults": faults}})] == [
        "k: failed",
        "l: passed, no good answer for at most 0.0 s",
    ]


@pytest.mark.parametrize(("hosts", "in_cluster", "found"), [(["n"], False, 0), ([], False, 1), (["n"], True, 1)])
def test_a_handover_needs_hosts(hosts, in_cluster, found):
    plan = {"hosts": hosts, "runtime_facts": {"in_cluster": in_cluster}}
    assert rows(_without_hosts(plan)) == [("ACCEPTANCE-HOSTS", "error")] * found


def test_a_handover_needs_a_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert list(_without_folder(str(tmp_path))) == []
    for path in (tmp_path / "file", tmp_path / "none"):
        assert "is no folder" in next(iter(_without_folder(str(path)))).problem
    monkeypatch.setattr("os.access", lambda path, mode: False)
    (found,) = _without_folder(str(tmp_path))
    assert "may not write" in found.problem and found.fix.startswith("Name another folder")


# ---- the page and the text ----


def told(**changes):
    one = {**FINDING, "severity": "unknown", "fix": "do <it>", "why": "because"}
    return {
        "format": 1,
        "deployment": "d<1>",
        "verdict": "passed with deviations",
        "date": "2026-11-23",
        "release": "0.23.0",
        "vllm": "0.23.1",
        "model": "m",
        "hosts": 4,
        "devices": 64,
        "digest": "f00d",
        "stages": [{"title": "host check", "state": "passed"}, {"title": "benchmark", "state": "failed"}, {"title": "drill", "state": "not asked"}],
        "figures": [{"stage": "check", "text": "4 of 4 hosts answered"}],
        "bench": None,
        "versions": {"n1": {"driver": "1", "firmware": "", "CANN": "2", "kernel": "3", "OS": "4", "machine": "5"}},
        "deviations": [one, {**one, "path": "r"}, {**one, "severity": "error", "problem": "bad", "fix": "", "why": ""}],
        **changes,
    }  # fmt: skip


def test_errors_come_first_and_the_head_names_the_inventory():
    page = acceptance_page(told(), ["/srv/racks/a3/hosts.yml"])
    assert re.findall(r'<span class="cell (\w+)">', page)[:2] == ["error", "warning"]
    assert "<dt>Inventory</dt><dd>a3/hosts.yml</dd>" in page and "Inventory" not in acceptance_page(told())


def test_the_page_has_all_parts_in_their_order():
    page = acceptance_page(told())
    titles = ["Acceptance of d&lt;1&gt;", "Deviations: 3", "Stages", "Figures", "Versions", "Signatures"]
    assert re.findall(r"<h[12]>(.*?)</h[12]>", page) == titles
    assert '<p class="verdict warning">Passed with deviations.</p>' in page
    assert re.findall(r"<dt>(\w+)</dt><dd>(.*?)</dd>", page) == [
        ("Date", "2026-11-23"),
        ("Release", "0.23.0, vLLM 0.23.1"),
        ("Model", "m"),
        ("Hardware", "4 hosts, 64 NPUs"),
        ("Plan", "f00d"),
    ]
    states = '<td>host check</td><td><span class="cell ok">passed</span></td>'
    assert states in page and '<td><span class="cell error">failed</span></td>' in page and "<td>not asked</td>" in page
    assert "<ul><li>check: 4 of 4 hosts answered</li></ul>" in page
    assert "<td>n1</td><td>1</td><td>?</td><td>2</td>" in page
    articles = [" ".join(part.split()) for part in re.findall(r"<article id[^>]*>(.*?)</article>", page, re.S)]
    assert articles == [
        '<h3><span class="cell error">error</span> p</h3> <p>bad.</p> <p><small>X</small></p>',
        '<h3><span class="cell warning">not proven</span> p, r</h3> <p>q.</p> <p>because</p>'
        "<p><strong>Fix:</strong> do &lt;it&gt; <small>X</small></p>",
    ]
    assert "Handed over by, date" in page and "Taken over by, date" in page and page.startswith("<!doctype html>")
    assert "Figures" not in acceptance_page(told(figures=[]))


@pytest.mark.parametrize(
    ("verdict", "style"), [("passed", "ok"), ("passed with deviations", "warning"), ("not passed", "error")]
)
def test_the_verdict_has_its_colour(verdict, style):
    assert f'<p class="verdict {style}">{verdict.capitalize()}.</p>' in acceptance_page(told(verdict=verdict))


def test_the_text_has_all_parts_in_their_order():
    lines = acceptance_text(told())
    assert lines[:7] == [
        "# Acceptance of d<1>: PASSED WITH DEVIATIONS",
        "",
        "Date: 2026-11-23  ",
        "Release: 0.23.0, vLLM 0.23.1  ",
        "Model: m  ",
        "Hardware: 4 hosts, 64 NPUs  ",
        "Plan: f00d  ",
    ]
    heads = [line for line in lines if line.startswith("## ")]
    assert heads == ["## Deviations: 3", "## Stages", "## Figures", "## Versions", "## Signatures"]
    for number, line in enumerate(lines):
        if line.startswith("## "):
            assert lines[number - 1] == "" == lines[number + 1]
    place = lines.index("1. ERROR p: bad [X]")
    assert lines[place : place + 4] == [
        "1. ERROR p: bad [X]",
        "2. NOT PROVEN p, r: q [X]",
        "   because",
        "   Fix: do <it>",
    ]
    assert "- check: 4 of 4 hosts answered" in lines and "None." not in lines
    assert "None." in acceptance_text(told(deviations=[])) and "## Figures" not in acceptance_text(told(figures=[]))
    meanings = {
        "error": "ERROR",
        "unknown": "NOT PROVEN",
        "warning": "WARNING",
        "accepted": "WAIVED",
        "remark": "REMARK",
    }
    for severity, word in meanings.items():
        text = "\n".join(acceptance_text(told(deviations=[{**FINDING, "severity": severity}])))
        assert f"1. {word} p: q [X]" in text
    assert tuple(meanings) == accepted.SEVERITIES


def test_figures_of_a_benchmark_are_on_the_page():
    figures = {"ttft_p50": 81.5, "output_throughput": 1200.0}
    one = {"title": "4", "round": "", "completed": 10, "failed": 0, "empty": 0, "loaded_share": None, "measurements": 1}
    bench = {"devices": 32, "loads": [{**one, "median": figures, "least": figures, "most": figures}]}
    page = acceptance_page(told(bench=bench))
    text = "\n".join(acceptance_text(told(bench=bench)))
    assert "81.5" in text and "81.5" not in "\n".join(acceptance_text(told()))
    assert re.search(r"^\|? *n1\b.* 1 .* \? .* 2 .* 3 ", text, re.M)
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == ["Deviations: 3", "Stages", "Figures", "Benchmark", "Versions", "Signatures"] and "81.5" in page


def fault_run(fault, services, hit=None, **settings):
    plan = {"services": services, "verify": {}}
    return runs._run(plan, read_drill(settings), fault, hit or runs._services(plan, fault))


def test_the_record_of_a_fault():
    health = {"url": "http://a/health", "timeout": 90}
    services = [
        service("decode-0", "decode", 0, "n10", health=health),
        service("decode-1", "decode", 1, "n2", health=health),
        service("router", "router", 0, "r"),
    ]
    found = fault_run(Fault("decode", seconds=0, times=1), services)
    assert found == {
        "label": "kill: decode-1 on n2",
        "kind": "decode",
        "host": "n2",
        "names": ["decode-1"],
        "services": [{"name": "decode-1", "unit": "decode-1", "url": "http://a/health"}],
        "candidates": [],
        "keeps_keys": False,
        "part": "main",
        "action": "kill",
        "seconds": 0,
        "times": 1,
        "timeout": 90,
        "longest": 60 + 0 + 90 + 60 + 300,
        "log_hosts": ["n2", "r"],
    }
    whole_host = fault_run(Fault("host", name="n10"), services)
    assert whole_host["label"] == "kill: all services (1) on n10" and whole_host["log_hosts"] == ["n10", "r"]
    jitter = fault_run(Fault("decode", action="jitter", part="rank", seconds=2, times=5), services, recovery_timeout=7)
    assert jitter["label"] == "jitter (5 pauses of 2 s): one rank of decode-1 on n2"
    assert (jitter["action"], jitter["timeout"], jitter["longest"]) == ("pause", 7, 60 + 18 + 7 + 60 + 300)
    pause = fault_run(Fault("router", action="pause", seconds=9, times=1), services)
    assert (pause["label"], pause["timeout"], pause["services"][0]["url"]) == ("pause for 9 s: router on r", 60, "")
    assert pause["longest"] == 60 + 9 + 60 + 60 + 300


def test_the_leader_of_several_is_found_when_the_fault_is_made():
    health = {"url": "http://e/health", "timeout": 60}
    etcd = [service(f"etcd-{number}", "etcd", number, f"n{number}", health=health) for number in (10, 9)]
    found = fault_run(Fault("etcd"), etcd)
    assert (found["label"], found["names"]) == ("kill: the leader of etcd-9, etcd-10", ["etcd-9", "etcd-10"])
    assert found["candidates"] == [{"name": name, "url": "http://e"} for name in ("etcd-9", "etcd-10")]
    assert [row["host"] for row in found["services"]] == found["log_hosts"] == ["n9", "n10"]
    assert fault_run(Fault("etcd", name="etcd-9"), etcd)["candidates"] == []
    assert fault_run(Fault("etcd"), etcd[:1])["candidates"] == []
    masters = [service(f"m-{number}", "mooncake_master", number, argv=["--enable_oplog=true"]) for number in range(2)]
    assert fault_run(Fault("mooncake_master"), masters)["candidates"] == []  # nobody can be asked who leads


def test_the_record_of_a_fault_that_was_made():
    run = {**RUN, "kind": "decode", "host": "h", "names": ["a"], "action": "kill", "part": "main"}
    made = {"begun": 10.0, "ended": 12.34, "processes": {"a": [1]}, "recovered": {"a": 2.0}}
    one = {"wrong": 0, "compared": 9, "empty": 0, "failing": 0, "gap": 0, "recovered": 1.0, "unsent": 0, "requests": 3}
    figures = {
        "baseline": {"wrong": 0, "compared": 1, "per_second": 4.0},
        "fault": {**one, "unstable": 0, "not_repeated": 0, "answered": 3},
    }
    found = report._fault(run, {"fault": made, "load": {"figures": figures}}, LIMITS)
    assert found == {
        "label": "kill: x",
        "kind": "decode",
        "host": "h",
        "services": ["a"],
        "action": "kill",
        "part": "main",
        "lasted": 2.3,
        "processes": {"a": [1]},
        "recovered": {"a": 2.0},
        "figures": figures,
        "logged": {},
        "findings": [],
        "passed": True,
    }
    unmade = report._fault(run, {"problem": "p"}, LIMITS)
    assert (unmade["lasted"], unmade["processes"], unmade["passed"]) == (None, {}, False)
    store = {name: name for name in ("before", "leader", "leaderless", "clients_after", "clients", "stored_keys")}
    assert report._failover({"kind": "mooncake_master"}, store) == store
    assert set(report._failover({"kind": "etcd"}, store)) == {"before", "leader", "leaderless"}
    plan = {"deployment": "d", "digest": "f", "release": "r"}
    drill = {"faults": [run, run], "limits": LIMITS, "host": "h", "settings": {"rate": 4}}
    whole = report.drill_report(plan, drill, [{"fault": made, "load": {"figures": figures}}])
    assert {
        name: whole[name] for name in ("format", "deployment", "digest", "release", "host", "settings", "limits")
    } == {
        "format": 1,
        **plan,
        "host": "h",
        "settings": {"rate": 4},
        "limits": LIMITS,
    }
    assert [fault["passed"] for fault in whole["faults"]] == [True, False] and whole["passed"] is False
    assert whole["faults"][1]["findings"][0]["problem"] == "an earlier step ended the drill"
