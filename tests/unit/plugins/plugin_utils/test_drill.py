# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which faults a drill makes, which it refuses, and what its report says."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill.masters import follow, look, named
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.report import drill_report
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.runs import drill_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.text import drill_text
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family


@pytest.fixture(scope="module")
def plan():
    return plan_of("a3_2p1d")


def runs(plan, settings, confirmed=None):
    return drill_runs(plan, settings, plan["deployment"] if confirmed is None else confirmed)


def refused(plan, settings, confirmed=None):
    with pytest.raises(PlanError) as error:
        runs(plan, settings, confirmed)
    return {finding.id for finding in error.value.findings}, str(error.value)


def test_without_faults_one_service_of_each_kind_with_a_spare_is_killed(plan):
    found = runs(plan, {})
    assert [(row["kind"], row["names"], row["action"]) for row in found["faults"]] == [
        ("prefill", ["prefill-1"], "kill")
    ]
    assert found["host"] == plan["verify"]["entry"]["host"]
    assert {engine["name"] for engine in found["engines"]} >= {"prefill-0", "prefill-1"}


def test_it_needs_the_name_of_the_deployment(plan):
    ids, text = refused(plan, {}, "")
    assert ids == {"DRILL-CONFIRM"} and f"inference_drill_confirm: {plan['deployment']}" in text
    assert refused(plan, {}, "other")[0] == {"DRILL-CONFIRM"}


@pytest.mark.parametrize("confirmed", [None, "", "other", True])
def test_a_drill_that_is_not_confirmed_is_refused_even_of_a_deployment_named_so(plan, confirmed):
    for name in (plan["deployment"], "None"):
        with pytest.raises(PlanError, match="DRILL-CONFIRM"):
            drill_runs({**plan, "deployment": name}, {}, confirmed)


@pytest.mark.parametrize("kind", ["decode", "router", "host"])
def test_the_last_of_its_kind_is_not_hit(plan, kind):
    name = next(service["host"] for service in plan["services"] if service["kind"] == "router")
    fault = {"kind": kind, "name": name if kind == "host" else ""}
    assert refused(plan, {"faults": [fault]})[0] == {"DRILL-SPARE"}
    assert runs(plan, {"faults": [fault], "without_spare": True})["faults"]


def test_all_mistakes_are_named_at_once(plan):
    faults = [{"kind": "router", "part": "rank"}, {"kind": "prefill", "seconds": 3}]
    ids, text = refused(plan, {"faults": faults})
    assert ids == {"DRILL-SETTING"} and "faults[0].part" in text and "faults[1]" in text
    ids, text = refused(plan, {"faults": [{"kind": "decode"}, {"kind": "prefill", "name": "prefill-7"}]}, "")
    assert ids == {"DRILL-SPARE", "DRILL-SETTING", "DRILL-CONFIRM"} and "prefill-0, prefill-1" in text


def test_a_host_is_all_its_services(plan):
    host = next(service["host"] for service in plan["services"] if service["name"] == "prefill-1")
    found = runs(plan, {"faults": [{"kind": "host", "name": host}]})["faults"][0]
    assert found["names"] == sorted(service["name"] for service in plan["services"] if service["host"] == host)


def test_pauses_have_durations(plan):
    faults = [{"kind": "prefill", "action": "pause"}, {"kind": "prefill", "action": "jitter", "times": 3}]
    pause, jitter = runs(plan, {"faults": faults})["faults"]
    assert (pause["action"], pause["seconds"], pause["times"]) == ("pause", 60, 1)
    assert (jitter["action"], jitter["seconds"], jitter["times"]) == ("pause", 1, 3)
    assert "jitter (3 pauses of 1 s)" in jitter["label"]
    assert pause["longest"] > 60 + pause["timeout"] + 120, "the load must not end before the observation"


def test_an_engine_breaks_off_requests_for_its_time(plan):
    (found,) = runs(plan, {"faults": [{"kind": "prefill", "action": "abort"}]})["faults"]
    assert (found["action"], found["seconds"], found["times"], found["names"]) == ("abort", 60, 1, ["prefill-1"])
    assert found["label"].startswith("abort all requests for 60 s: prefill-1 on ")
    assert found["longest"] > 60 + found["timeout"] + 120, "the load must not end before the observation"
    service = next(service for service in plan["services"] if service["name"] == "prefill-1")
    headless = {**service, "name": "prefill-1-1", "health": None}
    more = {**plan, "services": [*plan["services"], headless]}
    assert runs(more, {"faults": [{"kind": "prefill", "action": "abort"}]})["faults"][0]["names"] == ["prefill-1"]
    ids, text = refused(more, {"faults": [{"kind": "prefill", "name": "prefill-1-1", "action": "abort"}]})
    assert ids == {"DRILL-SETTING"} and "Name one of: prefill-0, prefill-1." in text


@pytest.mark.parametrize("fault", [{"kind": "router"}, {"kind": "host"}, {"part": "rank"}, {"times": 2}])
def test_only_an_engine_as_a_whole_breaks_off_requests(plan, fault):
    ids, text = refused(plan, {"faults": [{"kind": "prefill", "action": "abort", **fault}]})
    assert ids == {"DRILL-SETTING"} and "only an engine as a whole breaks off requests" in text


def side(**changes):
    row = {"requests": 240, "answered": 240, "failed": 0, "empty": 0, "first_p50": 0.05, "first_p99": 0.1}
    return {**row, "compared": 50, "wrong": 0, "unstable": 0, "not_repeated": 0, **changes}


def result(**changes):
    fault = side(gap=1.2, recovered=2.5, failing=1.0, problems=[], unsent=0, seconds=60.0)
    fault.update(changes)
    timeline = [{"second": second, "good": 4, "bad": int(second == 1)} for second in range(-60, 60)]
    figures = {"baseline": side(per_second=4.0, seconds=60.0), "fault": fault, "timeline": timeline}
    made = {"begun": 100.0, "ended": 100.0, "recovered": {"prefill-1": 8.0}, "processes": {}}
    return {"fault": made, "load": {"figures": figures}, "logs": [], "problem": ""}


def judged(plan, given, settings=()):
    drill = runs(plan, dict(settings))
    report = drill_report(plan, drill, [given])
    return report, {finding["id"] for finding in report["faults"][0]["findings"]}, "\n".join(drill_text(report))


def test_a_message_of_a_host_is_no_line_of_the_report(plan):
    report, ids, text = judged(plan, {"problem": "lost\n# Drill of other: passed"})
    assert ids == {"DRILL-UNMADE"} and "lost\\n# Drill of other" in text and "\n# Drill of other" not in text


@pytest.mark.parametrize(
    ("said", "ids", "sentence"),
    [
        ({"prefill-1": 214, "other\nprefill-0": 3}, {"DRILL-FAILING"}, "214 requests to prefill-1 were broken off."),
        ({"prefill-1": 0}, {"DRILL-FAILING", "DRILL-UNJUDGED"}, "no request to prefill-1 was broken off"),
        ({"prefill-1": "many"}, {"DRILL-FAILING", "DRILL-UNJUDGED"}, "0 requests to prefill-1 were broken off."),
    ],
)
def test_a_black_hole_is_reported_with_what_its_host_says_of_it(plan, said, ids, sentence):
    given = result(failing=40.0, failed=60)
    given["fault"]["aborted"] = said
    report, found, text = judged(plan, given, {"faults": [{"kind": "prefill", "action": "abort"}]})
    assert found == ids and sentence in text and "inference_watchdog: restart" in text and "other" not in text
    assert list(report["faults"][0]["aborted"]) == ["prefill-1"]


def test_a_survived_fault(plan):
    report, ids, text = judged(plan, result(failed=3, problems=[{"problem": "HTTP 500", "count": 3}]))
    assert report["passed"] and not ids
    assert "passed, 1 of 1 faults survived" in text
    assert "No good answer for at most 1.2 s. Back at 95 % of the rate before after 2.5 s." in text
    assert "3 times: HTTP 500" in text and "prefill-1 answered again after 8.0 s" in text


@pytest.mark.parametrize(
    "changes, id_",
    [
        ({"wrong": 1}, "DRILL-WRONG"),
        ({"empty": 1}, "DRILL-EMPTY"),
        ({"failing": 10.1, "failed": 1}, "DRILL-FAILING"),
        ({"gap": 15.1}, "DRILL-GAP"),
    ],
)
def test_what_clients_must_not_see(plan, changes, id_):
    report, ids, text = judged(plan, result(**changes))
    assert not report["passed"] and ids == {id_} and "FAILED" in text and id_ in text


def test_slowness_is_a_warning_without_a_limit(plan):
    report, ids, _text = judged(plan, result(recovered=None))
    assert report["passed"] and ids == {"DRILL-SLOW"}
    drill = runs(plan, {"limits": {"recovery": 2}})
    assert not drill_report(plan, drill, [result()])["passed"]


def test_a_service_that_stays_away_and_a_fault_that_was_not_made(plan):
    gone = copy.deepcopy(result())
    gone["fault"]["recovered"] = {"prefill-1": None}
    assert judged(plan, gone)[1] == {"DRILL-RECOVERY"}
    report, ids, text = judged(plan, {"problem": "Others use the service: decode-0 has 1 requests"})
    assert ids == {"DRILL-UNMADE"} and "Others use the service" in text and not report["passed"]
    rest = drill_report(plan, runs(plan, {}), [])
    assert not rest["passed"] and rest["faults"][0]["findings"][0]["id"] == "DRILL-UNMADE"


def test_logs_are_shown_with_their_number(plan):
    given = result()
    lines = [f"WARN number {number}" for number in range(9)]
    read = {"readable": True, "problem": "", "red_flags": []}
    given["logs"] = [{"router": {**read, "alarms": lines}, "decode-0": {**read, "alarms": []}}]
    report, _ids, text = judged(plan, given)
    assert report["faults"][0]["logged"] == {"router": {"count": 9, "lines": lines[:3]}}
    assert "router logged 9 lines with warnings or errors" in text


def test_a_host_says_nothing_of_the_logs_of_others(plan):
    given, run = result(), runs(plan, {})["faults"][0]
    read = {"readable": True, "problem": "", "red_flags": [], "alarms": ["WARN planted"]}
    names = {item["name"] for item in plan["services"]}
    given["logs"] = [dict.fromkeys(names, read), *[{} for _host in run["log_hosts"][1:]]]
    own = {item["name"] for item in plan["services"] if item["host"] == run["log_hosts"][0]}
    assert set(judged(plan, given)[0]["faults"][0]["logged"]) <= own < names


NOTHING = {"requests": 0, "answered": 0, "compared": 0}


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"compared": 0, "not_repeated": 50}, "50 of 50 second answers were lost"),
        ({"compared": 7, "unstable": 7}, "7 texts differ at each repetition"),
        ({"answered": 0, "compared": 0, "failed": 240}, "no good answer came after the fault"),
        (NOTHING, "no request ended after the fault"),
    ],
)
def test_a_drill_that_compared_nothing_did_not_pass(plan, changes, reason):
    report, ids, text = judged(plan, result(**changes))
    assert not report["passed"] and ids == {"DRILL-UNJUDGED"} and reason in text


def test_what_is_not_judged_is_named(plan):
    report, ids, text = judged(plan, result(compared=0))
    assert report["passed"] and ids == {"DRILL-UNJUDGED"} and "inference_drill.compare is 0" in text
    report, ids, text = judged(plan, result(compared=48, not_repeated=2))
    assert report["passed"] and ids == {"DRILL-UNJUDGED"} and "2 of 50 second answers were lost" in text
    given = result()
    unread = {"readable": False, "problem": "Permission denied", "red_flags": [], "alarms": []}
    given["logs"] = [{"router": unread}]
    report, ids, text = judged(plan, given)
    assert (
        report["passed"] and ids == {"DRILL-UNJUDGED"} and "the log of router was not read: Permission denied" in text
    )


def test_without_a_baseline_nothing_passes(plan):
    given = result(recovered=None)
    given["load"]["figures"]["baseline"].update(per_second=0.0, answered=0, compared=0)
    report, ids, text = judged(plan, given)
    assert not report["passed"] and ids == {"DRILL-UNJUDGED"} and "no good answer came before the fault" in text
    given = result()
    given["load"]["figures"]["baseline"]["wrong"] = 2
    report, ids, text = judged(plan, given)
    assert not report["passed"] and ids == {"DRILL-WRONG"} and "2 of 50 compared answers before the fault" in text


def test_a_service_of_which_nothing_is_known_has_not_recovered(plan):
    given = result()
    given["fault"]["recovered"] = {}
    assert judged(plan, given)[1] == {"DRILL-RECOVERY"}


OWN = {"inference_releases": {"own": {"base": "0.23.0", "mooncake": "0.3.13.post1"}}, "inference_release": "own"}


@pytest.fixture(scope="module", params=[False, True], ids=["keys are lost", "keys stay"])
def elected(request):
    """The plan of a store with two masters, without and with an OpLog."""
    more = {**OWN, "inference_engine_install": "site"} if request.param else {}
    return launch_plan(*family("ha", {"inference_store.ha.oplog": request.param, **more}))


def test_of_several_masters_the_leader_is_hit(elected):
    found = runs(elected, {})
    assert [row["kind"] for row in found["faults"]] == ["prefill", "mooncake_master", "etcd"]
    fault = found["faults"][1]
    assert fault["label"] == "kill: the leader of mooncake-master-0, mooncake-master-1"
    assert fault["candidates"] == [
        {"name": f"mooncake-master-{number}", "url": f"http://10.1.0.{number + 1}:9003"} for number in (0, 1)
    ]
    assert [(item["name"], item["host"]) for item in fault["services"]] == [
        ("mooncake-master-0", "node1"),
        ("mooncake-master-1", "node2"),
    ]
    assert {"node1", "node2"} <= set(fault["log_hosts"])
    chosen = {"faults": [{"kind": "mooncake_master", "name": "mooncake-master-0"}]}
    assert (runs(elected, chosen)["faults"][0]["candidates"], runs(elected, chosen)["faults"][0]["names"]) == (
        [],
        ["mooncake-master-0"],
    )


def failover(plan, **changes):
    """Ids and text of the findings about the store, if its leader was killed."""
    drill = runs(plan, {"faults": [{"kind": "mooncake_master"}]})
    before = {"leader": "mooncake-master-0", "clients": 16.0, "stored_keys": 200.0}
    store = {"before": before, "leader": "mooncake-master-1", "leaderless": 9.5, "clients_after": 10.1, "clients": 16.0}
    given = {**result(), "store": {**store, "stored_keys": 205.0, **changes}}
    report = drill_report(plan, drill, [given])
    return {finding["id"] for finding in report["faults"][0]["findings"]}, " ".join(drill_text(report))


def test_figures_of_a_failover(elected):
    keeps = any("--enable_oplog=true" in service["argv"] for service in elected["services"])
    ids, text = failover(elected)
    assert ids == set()
    assert "mooncake-master-1 led after 9.5 s without a leader, its clients were back after 10.1 s" in text
    assert "keys of the store: 200 before, 205 after" in text
    assert failover(elected, leaderless=15.1)[0] == {"DRILL-LEADER"}
    assert failover(elected, leaderless=None, clients_after=None, stored_keys=0.0)[0] == {"DRILL-LEADER"}
    assert failover(elected, clients_after=None, clients=3.0)[0] == {"DRILL-CLIENTS"}
    assert failover(elected, stored_keys=0.0)[0] == ({"DRILL-KEYS"} if keeps else set())
    for unknown in ({"clients": None, "clients_after": None}, {"stored_keys": None}):
        ids, text = failover(elected, **unknown)
        assert ids == {"DRILL-UNJUDGED"} and "known" in text, unknown


def test_a_store_without_keys_loses_none(elected):
    keeps = any("--enable_oplog=true" in service["argv"] for service in elected["services"])
    before = {"leader": "mooncake-master-0", "clients": 16.0, "stored_keys": 0.0}
    assert failover(elected, before=before, stored_keys=0.0)[0] == ({"DRILL-UNJUDGED"} if keeps else set())


def test_a_failover_that_nobody_measured_has_not_passed(elected):
    drill = runs(elected, {"faults": [{"kind": "mooncake_master"}]})
    (fault,) = drill_report(elected, drill, [result()])["faults"]
    assert [finding["id"] for finding in fault["findings"]] == ["DRILL-UNJUDGED"] and not fault["passed"]


METRICS = "master_active_clients 16\nmaster_key_count 200\n"


@pytest.mark.parametrize(
    ("metrics", "ids"), [(METRICS, set()), ("", {"DRILL-UNJUDGED"}), ("master_active_clients 16\n", {"DRILL-UNJUDGED"})]
)
def test_what_is_measured_of_a_failover_is_judged(elected, metrics, ids):
    def get(target, path, body, timeout):  # the second master serves
        if path == "/metrics":
            return Reply(200 if metrics else 500, metrics or "no metrics", 0.0, "")
        return Reply(200, "OK" if "10.1.0.2" in target.url else "standby", 0.0, "")

    drill = runs(elected, {"faults": [{"kind": "mooncake_master"}]})
    urls = named(drill["faults"][0]["candidates"])
    before = look(urls, get)._replace(leader="mooncake-master-0")
    time = iter(range(100))
    found = follow(urls, before, 20, lambda urls: look(urls, get), lambda: next(time), lambda seconds: None)
    report = drill_report(elected, drill, [{**result(), "store": {"before": before._asdict(), **found}}])
    assert {finding["id"] for finding in report["faults"][0]["findings"]} == ids
    assert drill_text(report)
