# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark's report says of routers, stores, shares, transfers, versions, and of what was known before."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.ascend.inference.plugins.filter.bench import report_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.services import watched_services
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.curves import EARLIER
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.page import bench_page, stage_seconds
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.text import bench_text, digits, engine_rows
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

LOADS = {"profile": "latency", "loads": [4], "repeats": 3, "input": 512}
FIGURES = {"completed": 64, "failed": 0, "empty": 0, "short": 0, "first_error": "", "ttft_p50": 50.0}
MOVED = {"transfers": 16.0, "transfer_seconds": 0.4, "transferred_bytes": 2.0**30, "failed_transfers": 0.0}
ROUTED = {"pd_requests": 64.0, "retries": 0.0}
STORED = {"reads": 10.0, "found": 4.0, "evictions": 2.0, "refused": 0.0}


@pytest.fixture(scope="module")
def plan():
    """With a router that exports metrics, and a store."""
    changes = {"inference_router": {"flavour": "vllm_router"}, "inference_pools.decode.args.additional-config": {}}
    return launch_plan(*family("both", changes))


def names(plan, kind):
    return [item["name"] for item in bench_runs(plan, LOADS)["options"]["others"] if item["kind"] == kind]


def results(plan, engines=None, **figures):
    """Of the warm-up and three measurements; ``engines``: counters of those that have others than the rest; ``router``, ``store``: what they counted."""
    bench = bench_runs(plan, LOADS)
    counted = {
        item["name"]: {"requests": 8.0, **((engines or {}).get(item["name"]) or {})}
        for item in bench["options"]["engines"]
    }
    gained = {"router": figures.pop("router", ROUTED), "store": figures.pop("store", STORED)}
    others = {item["name"]: gained[item["kind"]] for item in bench["options"]["others"]}
    return bench, [{"figures": {**FIGURES, **figures}, "engines": counted, "others": others} for _run in bench["runs"]]


def report(plan, old=None, known=None, **changes):
    bench, measured = results(plan, **changes)
    return bench_report(plan, bench, measured, old, None, known)


def test_a_message_of_a_host_is_no_line_of_the_report(plan):
    text = "\n".join(bench_text(report(plan, failed=1, first_error="lost\n# passed")))
    assert "lost\\n# passed" in text and "\n# passed" not in text


def ids(found):
    return [(finding["id"], finding["path"], finding["severity"]) for finding in found["findings"]]


def test_counters_of_router_and_store_are_read_around_each_measurement(plan):
    others = bench_runs(plan, LOADS)["options"]["others"]
    assert sorted(item["kind"] for item in others) == ["router", "store"]
    assert [item for item in watched_services(plan)["services"] if item["kind"] != "engine"] == others
    assert all(item["url"].startswith("http://") for item in others)
    assert bench_runs(launch_plan(*family("p2p", {})), LOADS)["options"]["others"] == [], "a proxy has no metrics"


def test_the_report_shows_what_router_and_store_counted(plan):
    found = report(plan)
    (router,), (store,) = names(plan, "router"), names(plan, "store")
    assert found["others"][router] == {"kind": "router", "gained": {"pd_requests": 192.0, "retries": 0.0}}
    assert found["others"][store]["gained"]["reads"] == 30.0, "without the warm-up"
    text, page = "\n".join(bench_text(found)), bench_page(found)
    for words in ("192 requests over pairs, 0 retries", "30 reads, 12 found, 6 evictions, 0 refused blocks"):
        assert words in text and words in page
    assert ids(found) == []


@pytest.mark.parametrize(
    ("changes", "rule", "kind", "words"),
    [
        ({"router": {**ROUTED, "retries": 2.0}}, "BENCH-ROUTER", "router", "counted retries: 6"),
        (
            {"router": {"errors": 1.0, "request_errors": 3.0}},
            "BENCH-ROUTER",
            "router",
            "counted errors of pairs: 3, failed requests: 9",
        ),
        ({"router": {**ROUTED, "decode_errors": 1.0}}, "BENCH-ROUTER", "router", "errors of decode: 3"),
        ({"router": {"exhausted": 1.0}}, "BENCH-ROUTER", "router", "requests that failed after all retries: 3"),
        ({"store": {**STORED, "refused": 1.0}}, "BENCH-STORE", "store", "refused blocks: 3"),
        ({"router": None}, "BENCH-COUNTERS", "router", "could not be read"),
        ({"store": None}, "BENCH-COUNTERS", "store", "could not be read"),
    ],
)
def test_work_that_was_done_twice_is_named(plan, changes, rule, kind, words):
    found = report(plan, **changes)
    assert ids(found) == [(rule, names(plan, kind)[0], "warning")]
    assert words in found["findings"][0]["problem"] and found["passed"]


def test_a_service_that_was_lost_once_is_unknown_for_all_measurements(plan):
    bench, measured = results(plan)
    (store,) = names(plan, "store")
    measured[2] = copy.deepcopy(measured[2])
    measured[2]["others"][store] = None
    found = bench_report(plan, bench, measured)
    assert found["others"][store]["gained"] is None
    assert [row for row in bench_text(found) if row.startswith(f"| {store}")][0].split("|")[2].strip() == "?"


def test_the_share_of_an_engine_is_that_of_its_own_pool(plan):
    prefill = [engine["name"] for engine in plan["verify"]["prefill"]]
    decode = [engine["name"] for engine in plan["verify"]["decode"]]
    found = report(plan, engines={decode[0]: {"requests": 24.0}} if len(decode) > 1 else {})
    assert sum(found["shares"][name] for name in prefill) == pytest.approx(1.0, abs=0.001)
    assert sum(found["shares"][name] for name in decode) == pytest.approx(1.0, abs=0.001)
    if len(decode) > 1:
        assert found["shares"][decode[0]] == round(24 / (24 + 8 * (len(decode) - 1)), 4)
    bench, measured = results(plan)
    measured[1]["engines"] = {**measured[1]["engines"], decode[0]: None}
    lost = bench_report(plan, bench, measured)
    assert set(lost["shares"]) == set(prefill), "of a pool of which one is not known, nobody knows the shares"


def test_transfers_are_shown_where_a_connector_counts_them(plan):
    decode = plan["verify"]["decode"][0]["name"]
    assert "transfers" not in engine_rows(report(plan))[0]
    rows = engine_rows(report(plan, engines={decode: MOVED}))
    row = dict(zip(rows[0], next(row for row in rows if row[0] == decode), strict=True))
    assert (row["transfers"], row["ms each"], row["MiB/s"], row["failed"]) == ("48", "25.0", "2560.0", "0")
    other = dict(zip(rows[0], next(row for row in rows[1:] if row[0] != decode), strict=True))
    assert other["transfers"] == other["failed"] == "?"
    found = report(plan, engines={decode: {**MOVED, "failed_transfers": 1.0}})
    assert ids(found) == [("BENCH-TRANSFERS", decode, "warning")]


def test_the_stage_of_a_transfer_is_the_mean_of_one_for_each_request():
    """Each of 8 ranks counts its transfer of 25 ms: a request waits for 25 ms, not for 200."""
    counted, moved = {"requests": 10.0, "queue_seconds": 1.0}, {"number": 80, "seconds": 2.0, "waited": 1}
    assert stage_seconds({**counted, "decode_seconds": 5.0}, moved) == [0.75, 0.25, 0.0, 5.0]
    assert stage_seconds({"queue_seconds": 1.0, "prefill_seconds": 2.0}) == [1.0, 0.0, 2.0, 0.0]
    assert stage_seconds(counted, {**moved, "seconds": 80.0})[:2] == [0.0, 1.0], "not longer than it waited"
    assert stage_seconds(counted, {"number": 0, "seconds": 0.0, "waited": 1})[:2] == [1.0, 0.0]
    assert stage_seconds(counted, {**moved, "waited": 0})[:2] == [1.0, 0.0], "prefill sends afterwards"


def test_the_page_has_the_stage_of_the_transfer_only_if_it_is_known(plan):
    times = {"queue_seconds": 1.0, "prefill_seconds": 2.0, "decode_seconds": 5.0}
    decode = plan["verify"]["decode"][0]["name"]
    assert ">KV transfer<" not in bench_page(report(plan, engines={decode: times}))
    assert ">KV transfer<" in bench_page(report(plan, engines={decode: {**times, **MOVED}}))


LOG = {"readable": True, "problem": "", "flags": {}, "first": "", "transfers": 40, "transfer_ms": 500.0}


def test_transfers_are_taken_from_the_log_where_the_connector_does_not_count_them(plan):
    decode = plan["verify"]["decode"][0]["name"]
    times = {"queue_seconds": 1.0, "decode_seconds": 5.0}
    found = report(plan, known={"logs": {decode: LOG}}, engines={decode: times})
    rows = engine_rows(found)
    row = dict(zip(rows[0], next(row for row in rows if row[0] == decode), strict=True))
    assert (row["transfers"], row["ms each"], row["MiB/s"], row["failed"]) == ("40 (log)", "12.5", "?", "?")
    assert ">KV transfer<" in bench_page(found) and found["passed"]
    counted = report(plan, known={"logs": {decode: LOG}}, engines={decode: MOVED})
    assert counted["transfers"][decode]["number"] == 48 and not counted["transfers"][decode]["logged"]
    prefill = plan["verify"]["prefill"][0]["name"]
    both = report(plan, known={"logs": {decode: LOG, prefill: LOG}})["transfers"]
    assert (both[decode]["waited"], both[prefill]["waited"]) == (1, 0)
    silent = report(plan, known={"logs": {decode: {**LOG, "transfers": 0, "transfer_ms": 0.0}}})
    assert silent["transfers"] == {}, "a log that reports none has not counted them"


@pytest.mark.parametrize(
    ("log", "severity", "words"),
    [
        (
            {"flags": {"kv_freed_by_force": 2}, "first": "Force freed request 7"},
            "error",
            "2 kv_freed_by_force): Force freed request 7",
        ),
        ({"flags": {"recomputed": 1}, "first": "Recovered"}, "warning", "1 recomputed"),
        ({"flags": {"recomputed": 1, "transfer_failed": 3}, "first": "x"}, "error", "1 recomputed, 3 transfer_failed"),
        ({"readable": False, "problem": "no such file"}, "warning", "no such file"),
    ],
)
def test_what_was_logged_about_kv_cache_meanwhile_is_named(plan, log, severity, words):
    decode = plan["verify"]["decode"][0]["name"]
    found = report(plan, known={"logs": {decode: {**LOG, **log}}})
    assert ids(found) == [("BENCH-LOG", decode, severity)] and words in found["findings"][0]["problem"]
    assert found["passed"] == (severity == "warning")


def test_a_host_without_an_answer_has_logs_that_nobody_read(plan):
    """It lacks in what the playbook gathers; that is not the same as a log without messages."""
    bench, measured = results(plan)
    every = [*plan["verify"]["decode"], *plan["verify"]["prefill"]]
    (first, *rest), here = [item["name"] for item in every], every[0]["host"]
    found = report_filter(
        measured, plan, bench, None, None, {"check": None, "status": [], "logs": {here: {first: LOG}}}
    )
    (named,) = [item for item in found["findings"] if item["path"] == rest[0]]
    assert named["id"] == "BENCH-LOG" and "its host gave no answer" in named["problem"] and found["passed"]
    assert not any(item["path"] == first for item in found["findings"])


def test_a_host_says_nothing_of_the_logs_of_others(plan):
    """Root of one host answers an error, or none, for services elsewhere, and an odd entry for its own."""
    bench, measured = results(plan)
    decode, prefill = plan["verify"]["decode"][0], plan["verify"]["prefill"][0]
    assert decode["host"] != prefill["host"]
    for odd in ({}, [], {**LOG, "flags": {"lost": "x"}}, {**LOG, "transfers": None}):
        logs = {
            prefill["host"]: {prefill["name"]: LOG},
            decode["host"]: {prefill["name"]: {**LOG, "flags": {"lost KV": 9}}, decode["name"]: odd},
        }
        found = report_filter(measured, plan, bench, None, None, {"check": None, "status": [], "logs": logs})
        assert not [item for item in found["findings"] if item["path"] == prefill["name"]]
        assert [item["id"] for item in found["findings"] if item["path"] == decode["name"]] == ["BENCH-LOG"]


def test_engines_are_in_the_order_of_people(plan):
    found = report(plan)
    found["engines"] = {f"decode-0-{number}": {"requests": 1.0} for number in (10, 2, 1)}
    assert [row[0] for row in engine_rows(found)[1:]] == ["decode-0-1", "decode-0-2", "decode-0-10"]


def test_the_report_has_the_versions_of_the_software(plan):
    found = report(plan)
    facts = plan["release_facts"]
    assert found["versions"]["CANN"] == facts["cann"] and found["versions"]["torch-npu"] == facts["torch_npu"]
    assert found["versions"]["router"] == "vllm-router 0.1.17"
    cpu = report(launch_plan(*family("cpu", {})))
    assert not {"CANN", "torch-npu", "vLLM-Ascend"} & set(cpu["versions"])
    for shown in (bench_text(found)[2], bench_page(found)):
        assert f"CANN {facts['cann']}" in shown and "vllm-router 0.1.17" in shown


def test_software_that_was_another_one_in_the_earlier_report_is_named(plan):
    old = report(plan)
    assert report(plan, old)["other_versions"] == {}
    old = {**old, "versions": {**old["versions"], "vLLM": "0.18.0", "triton": "1"}}
    del old["versions"]["router"]
    found = report(plan, old)
    assert found["other_versions"] == {"vLLM": "0.18.0", "triton": "1", "router": "none"}
    for shown in ("\n".join(bench_text(found)), bench_page(found)):
        assert "vLLM 0.18.0, triton 1, router none" in shown
    assert report(plan, {name: value for name, value in old.items() if name != "versions"})["other_versions"] == {}


FINDING = {
    "id": "NPU-HEALTH",
    "path": "n1 device 3",
    "severity": "error",
    "problem": "it is ill",
    "why": "w",
    "fix": "f",
}


@pytest.mark.parametrize("check", [None, ""])
def test_hosts_that_nobody_checked_are_not_without_findings(plan, check):
    bench, measured = results(plan)
    found = report_filter(measured, plan, bench, None, None, {"check": check, "status": []})
    assert found["known"] == {"check": None, "status": []}
    assert "Check: not known (inference_bench_check)." in bench_text(found)


def test_the_report_has_what_check_and_status_found(plan):
    remark = {**FINDING, "id": "R", "severity": "remark"}
    found = report(plan, known={"check": [FINDING, remark], "status": ["router was restarted"]})
    text = bench_text(found)
    assert "Check: error NPU-HEALTH n1 device 3: it is ill" in text and "Status before: router was restarted" in text
    assert "NPU-HEALTH n1 device 3" in bench_page(found)
    assert len(found["known"]["check"]) == 2 and found["passed"], "the figures are true nevertheless"
    assert "Check: no errors or warnings." in bench_text(report(plan, known={"check": [remark]}))
    many = bench_text(report(plan, known={"check": [FINDING] * 20}))
    assert "Check: and 12 more" in many


def test_the_page_has_the_earlier_curves_beside_those_of_now(plan):
    old = report(plan)
    page = bench_page(report(plan, old, ttft_p50=70.0))
    assert ">p50 before<" in page and "p50 before" not in bench_page(old)
    assert EARLIER[0] in page and EARLIER[0] not in bench_page(old), "a reader tells them apart"
    other = {**old, "devices": old["devices"] * 2}
    assert "p50 before" not in bench_page(report(plan, other)), "rates of other numbers of NPUs"


@pytest.mark.parametrize(
    ("value", "text"), [(2042.13, "2042.1"), (10.0, "10.0"), (3.14159, "3.14"), (0.0312, "0.0312"), (0.0, "0")]
)
def test_small_figures_are_not_zero(value, text):
    assert digits(value) == text


def test_a_comparison_says_how_much(plan):
    found = report(plan, report(plan), ttft_p50=75.0)
    (row,) = [line for line in bench_text(found) if "ttft_p50" in line and line.startswith("|")]
    assert "+50.0%" in row and "worse" in row
    assert '<span class="cell error">worse</span>' in bench_page(found)
