# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate against a simulated cluster: green when whole, red at the right step and hop for each broken part."""

from __future__ import annotations

import json
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify import gate, logs, records, routers
from ansible_collections.ascend.inference.plugins.module_utils.verify.faults import Problem
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import GATE, check_mode_report, verify
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.plugins.module_utils.verify.records import STEPS, status_of
from ansible_collections.ascend.inference.plugins.module_utils.verify.transfer import Window
from ansible_collections.ascend.inference.plugins.module_utils.verify.verdict import verdict
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster

# request: only the hanging simulators wait that long; on a loaded machine a healthy answer has to fit into it.
LIMITS = Limits(connect=0.0, request=20.0, settle=1.0)
SHORT = Limits(connect=0.0, request=3.0, settle=0.5)


def run(cluster, limits=LIMITS, keys=None, read_logs=True, **changes):
    """What the role does: mark the logs, run the gate, read the logs, join them."""
    plan = read_plan(cluster.plan(**changes))
    services = logs.services_of(plan, "node1")
    marks = logs.mark(services)
    report = verify(plan, keys or Keys(cluster.api_key, cluster.entry_key), limits)
    parts = [logs.read(services, marks, plan.release.lines, run=None)] if read_logs else []
    report = verdict(plan, report, parts)
    json.dumps(report)  # the role writes it
    assert [step["step"] for step in report["steps"]] == sorted((s["step"] for s in report["steps"]), key=STEPS.index)
    return report


def failures(report):
    return {(step["step"], step["hop"]) for step in report["steps"] if step["status"] == "failed"}


HEALTHY = {
    "1p1d": {"prefill": 1, "decode": 1},
    "2p2d": {"prefill": 2, "decode": 2},
    "2p1d with a pool": {"prefill": 2, "decode": 1, "pool": True},
    "pool of two": {"colocated": 2, "pool": True},
    "pool of three": {"colocated": 3, "pool": True},
    "one engine": {"colocated": 1},
    "without /tokenize": {"prefill": 1, "decode": 1, "tokenize": False},
    "keys": {"prefill": 1, "decode": 1, "api_key": "planted-engine-key", "entry_key": "planted-entry-key"},
    "several routers": {"prefill": 1, "decode": 1, "routers": 2},
    "several routers of one engine with a key": {"colocated": 1, "routers": 2, "api_key": "planted-engine-key"},
    "several ranks": {"prefill": 1, "decode": 1, "ranks": 4},
}


@pytest.mark.parametrize("shape", HEALTHY.values(), ids=HEALTHY)
def test_a_whole_cluster_is_verified(tmp_path, shape):
    with Cluster(tmp_path, **shape) as cluster:
        report = run(cluster)
    assert report["failures"] == []
    assert report["verified"] is True
    assert report["summary"][0].startswith("VERIFIED: tiny at http://127.0.0.1:")
    assert report["warnings"] == []
    ran = {step["step"] for step in report["steps"] if step["status"] == "passed"}
    assert {"engines", "alone", "entry", "stream", "negative"} <= ran
    assert ("pool" in ran, "master" in ran) == ((True, True) if shape.get("pool") else (False, False))
    assert ("transfer" in ran, "pairs" in ran) == ((True, True) if shape.get("decode") else (False, False))
    assert "planted" not in json.dumps(report)


def test_a_router_whose_engine_is_not_known_is_not_proven(tmp_path, monkeypatch):
    monkeypatch.setattr(routers, "window_after", lambda *unused: Window({}, ["colocated-0"], 1, 0))
    with Cluster(tmp_path, colocated=1, routers=2) as cluster:
        report = run(cluster)
    broken = [step for step in report["steps"] if step["step"] == "routers" and step["status"] == "failed"]
    assert [step["hop"] for step in broken] == ["router-0", "router-1"]
    assert "/metrics of colocated-0 cannot be read" in broken[0]["message"]


def test_figures_of_a_whole_cluster(tmp_path):
    with Cluster(tmp_path, prefill=2, decode=2) as cluster:
        report = run(cluster)
    assert {p: sorted(row) for p, row in report["pairs"].items()} == {
        "prefill-0": ["decode-0", "decode-1"],
        "prefill-1": ["decode-0", "decode-1"],
    }
    for row in (row for line in report["pairs"].values() for row in line.values()):
        assert row["status"] == "passed"
        assert row["external_kv_transfer"] == row["prompt_tokens"] > 2 * 8
    assert report["transfer_ms"] == [1.25] * 20  # entry 2, chat 2, texts 3, long 1, burst 8, pairs 4
    assert report["ttft_ms"]["stream"] > 0
    assert report["ttft_ms"]["engine"] >= 0
    logs_step = next(step for step in report["steps"] if step["step"] == "logs")
    assert len(logs_step["evidence"]["proved_requests"]) == 20


# fault: (cluster, faults, {(step, hop)} that fail, a word of the message of the first)
BROKEN = {
    "prefill dead": ({"prefill": 2, "decode": 1}, {"prefill-1": ["dead"]}, {("engines", "prefill-1")}, "not running"),
    "decode dead": ({"prefill": 1, "decode": 1}, {"decode-0": ["dead"]}, {("engines", "decode-0")}, "not running"),
    "engine loads": ({"prefill": 1, "decode": 1}, {"decode-0": ["unhealthy"]}, {("engines", "decode-0")}, "HTTP 503"),
    "router dead": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["dead"]},
        {("entry", "entry")},
        "router is not running",
    ),
    "wrong served name": (
        {"prefill": 1, "decode": 1},
        {"decode-0": ["wrong_name"]},
        {("engines", "decode-0")},
        "serves model stranger, expected tiny",
    ),
    "decode has other weights": (
        {"prefill": 1, "decode": 1},
        {"decode-0": ["other_weights"]},
        {("alone", "decode-0")},
        "weights",
    ),
    "one prefill of three engines has other weights": (
        {"prefill": 2, "decode": 1},
        {"prefill-0": ["other_weights"]},
        {("alone", "prefill-0")},
        "weights",
    ),
    "engine core dead behind a healthy API": (
        {"prefill": 1, "decode": 1},
        {"prefill-0": ["fails_completions"]},
        {("alone", "prefill-0")},
        "EngineCore died",
    ),
    "decode recomputes": (
        {"prefill": 1, "decode": 1},
        {"decode-0": ["recompute"]},
        {("transfer", "prefill-0 -> decode-0"), ("logs", "prefill-0 -> decode-0"), ("pairs", "prefill-0 -> decode-0")},
        "kv_transfer_params",
    ),
    "one of two decodes recomputes": (
        {"prefill": 1, "decode": 2},
        {"decode-1": ["recompute"]},
        {
            ("transfer", "prefill-0 -> decode"),
            ("logs", "prefill-0 -> decode"),
            ("logs", "prefill-0 -> decode-1"),
            ("pairs", "prefill-0 -> decode-1"),
        },
        "computed",
    ),
    "a router behind the balancer is dead": (
        {"prefill": 1, "decode": 1, "routers": 2},
        {"router-1": ["dead"]},
        {("routers", "router-1")},
        "refused",
    ),
    "a router behind the balancer skips prefill": (
        {"prefill": 1, "decode": 1, "routers": 2},
        {"router-1": ["skips_prefill"]},
        {("routers", "router-1")},
        "prefill",
    ),
    "a router behind the balancer rewrites the prompt": (
        {"colocated": 1, "routers": 2},
        {"router-1": ["rewrites"]},
        {("routers", "router-1")},
        "directly returns",
    ),
    "a router behind the balancer answers with nothing": (
        {"prefill": 1, "decode": 1, "routers": 2},
        {"router-1": ["empty_200"]},
        {("routers", "router-1")},
        "empty",
    ),
    "router drops the parameters": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["drops_params"]},
        {("transfer", "prefill-0 -> decode-0"), ("logs", "prefill-0 -> decode-0")},
        "does not forward",
    ),
    "router points at two prefills": (
        {"prefill": 2, "decode": 1},
        {"router-0": ["two_prefills"]},
        {("transfer", "entry -> decode"), ("logs", "prefill -> decode-0")},
        "no decode engine received the 2 requests",
    ),
    "router skips prefill": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["skips_prefill"]},
        {("transfer", "entry -> prefill"), ("logs", "prefill-0 -> decode-0")},
        "no prefill engine received the 2 requests",
    ),
    "router serves from strangers": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["strangers"]},
        {("transfer", "entry"), ("logs", "prefill-0 -> decode-0")},
        "no planned engine received",
    ),
    "pool's router serves from strangers": (
        {"colocated": 2, "pool": True},
        {"router-0": ["strangers"]},
        {("transfer", "entry")},
        "no planned engine received",
    ),
    "router rewrites the prompt": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["rewrites"]},
        {("entry", "prefill-0 -> decode-0"), ("stream", "prefill-0 -> decode-0")},
        "directly returns",
    ),
    "router rewrites the prompt of one engine": (
        {"colocated": 1},
        {"router-0": ["rewrites"]},
        {("entry", "entry"), ("stream", "entry")},
        "between them and the client",
    ),
    "KV garbage": (
        {"prefill": 1, "decode": 1},
        {"decode-0": ["garbage_kv"]},
        {(step, "prefill-0 -> decode-0") for step in ("entry", "stream", "pairs")},
        "hccn.conf",
    ),
    "empty 200": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["empty_200"]},
        {("entry", "entry -> prefill"), ("stream", "entry -> prefill")},
        "HTTP 200 with an empty body",
    ),
    "decode fails behind a proxy that hides it": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["swallows_errors", "drops_params"], "decode-0": []},
        {("transfer", "prefill-0 -> decode-0"), ("logs", "prefill-0 -> decode-0"), ("negative", "entry")},
        "does not forward",
    ),
    "stream without [DONE]": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["no_done"]},
        {("stream", "decode -> entry")},
        "without [DONE]",
    ),
    "stream breaks off": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["cut_stream"]},
        {("stream", "decode -> entry")},
        "finish_reason",
    ),
    "no finish reason": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["no_finish"]},
        {("entry", "decode -> entry"), ("stream", "decode -> entry")},
        "finish_reason",
    ),
    "prefill without connector": (
        {"prefill": 1, "decode": 1},
        {"prefill-0": ["no_kv_params"]},
        {
            ("transfer", "prefill-0 -> decode-0"),
            ("logs", "prefill-0 -> decode-0"),
            ("pairs", "prefill-0 -> decode-0"),
        },
        "kv_role",
    ),
    "red flag in the log": (
        {"prefill": 1, "decode": 1},
        {"decode-0": ["failed_pull_flag"]},
        {("logs", "decode-0")},
        "Mooncake transfer failed",
    ),
    "a rank does not listen": (
        {"prefill": 1, "decode": 1, "ranks": 2},
        {"prefill-0": ["one_listener"]},
        {("logs", "prefill-0")},
        "only 1 of 2 ranks",
    ),
    "no metrics": (
        {"prefill": 1, "decode": 1},
        {"decode-0": ["no_metrics"]},
        {("transfer", "decode-0"), ("pairs", "prefill-0 -> decode-0")},
        "cannot be read",
    ),
    "master without clients": (
        {"colocated": 2, "pool": True},
        {"mooncake_master-0": ["no_clients"]},
        {("master", "mooncake_master-0")},
        "it has 0 clients, expected 2",
    ),
    "master is a standby": (
        {"colocated": 2, "pool": True},
        {"mooncake_master-0": ["standby"]},
        {("master", "mooncake_master-0")},
        "standby",
    ),
    "master dead": (
        {"colocated": 2, "pool": True},
        {"mooncake_master-0": ["dead"]},
        {("master", "mooncake_master-0")},
        "not running",
    ),
    "pool never hits": (
        {"colocated": 2, "pool": True},
        {"colocated-1": ["no_pool_get"]},
        {("pool", "mooncake_master-0 -> colocated-1")},
        "PYTHONHASHSEED",
    ),
    "pool is never written": (
        {"colocated": 2, "pool": True},
        {"colocated-0": ["no_pool_put"], "colocated-1": ["no_pool_put"]},
        {("pool", "colocated-0 -> mooncake_master-0"), ("pool", "colocated-1 -> mooncake_master-0")},
        "no new key",
    ),
    "pool returns garbage": (
        {"colocated": 2, "pool": True},
        {"colocated-0": ["pool_garbage"]},
        {("pool", "mooncake_master-0 -> colocated-0")},
        "with KV from the store",
    ),
    "master counts no gets": (
        {"colocated": 2, "pool": True},
        {"mooncake_master-0": ["no_gets"]},
        {("pool", "mooncake_master-0 -> colocated-0"), ("pool", "mooncake_master-0 -> colocated-1")},
        "no successful get",
    ),
    "too long prompt gets an empty 200": (
        {"prefill": 1, "decode": 1},
        {"router-0": ["swallows_errors"]},
        {("negative", "entry")},
        "suppressed",
    ),
    "too long prompt is cut": (
        {"prefill": 1, "decode": 1},
        {"prefill-0": ["truncate"], "decode-0": ["truncate"]},
        {("negative", "entry")},
        "of more than 200 tokens was answered",
    ),
}


@pytest.mark.parametrize(("shape", "faults", "expected", "word"), BROKEN.values(), ids=BROKEN)
def test_a_broken_part_is_named(tmp_path, shape, faults, expected, word):
    with Cluster(tmp_path, faults=faults, **shape) as cluster:
        report = run(cluster)
    assert failures(report) == expected
    assert report["verified"] is False
    assert report["summary"][0].startswith("NOT VERIFIED")
    assert word in " ".join(report["failures"])
    assert all(finding["problem"] and finding["why"] and finding["fix"] for finding in report["findings"])
    assert {finding["severity"] for finding in report["findings"]} == {"error"}
    assert [finding["path"] for finding in report["findings"]] == [s["hop"] for s in report["steps"] if s["finding"]]


HANGING = {
    "decode waits for KV": (
        "decode-0",
        "hang_pull",
        {("entry", "prefill-0 -> decode-0"), ("pairs", "prefill-0 -> decode-0")},
    ),
    "decode hangs": ("decode-0", "hang", {("alone", "decode-0")}),
}


@pytest.mark.parametrize(("name", "fault", "expected"), HANGING.values(), ids=HANGING)
def test_a_hanging_engine_is_named(tmp_path, name, fault, expected):
    with Cluster(tmp_path, prefill=1, decode=1, faults={name: [fault]}) as cluster:
        report = run(cluster, SHORT)
    assert failures(report) == expected
    assert "no answer within the timeout" in report["failures"][0]


@pytest.mark.parametrize(
    ("master", "limit", "expected"), [("passed", 300.0, 300.0), ("failed", 300.0, 30.0), ("failed", 5.0, 5.0)]
)
def test_requests_are_short_while_no_master_answers(master, limit, expected):
    seen = []

    def look(probe):
        seen.append(probe.limits.request)
        return [records.passed("engines", "", "healthy")]

    result = (
        records.passed("master", "", "m")
        if master == "passed"
        else records.failed("master", "m", Problem("dead", "dead"))
    )
    always = {"needs": (), "why_not": lambda plan: ""}
    steps = [gate.Step(("master",), lambda probe: [result], **always), gate.Step(("engines",), look, **always)]
    gate._stepped(types.SimpleNamespace(plan=None, limits=Limits(request=limit)), steps)
    assert seen == [expected]


def test_later_steps_are_skipped_with_a_reason(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["dead"]}) as cluster:
        report = run(cluster)
    reasons = {step["step"]: step["message"] for step in report["steps"] if step["status"] == "skipped"}
    assert reasons["entry"] == "skipped because engines failed"
    assert reasons["master"] == "the plan has no store"
    skipped = "master alone access entry stream transfer routers chat texts long burst pairs pool negative"
    assert set(reasons) == set(skipped.split())


def test_a_failure_brings_the_last_lines_of_the_service_it_names(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["failed_pull_flag"]}) as cluster:
        report = run(cluster)
    assert list(report["tails"]) == ["decode-0"]
    assert any("Mooncake transfer failed" in line for line in report["tails"]["decode-0"])


def test_the_log_of_a_dead_engine_is_translated(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["dead"]}) as cluster:
        for engine in cluster.engines:
            engine.log("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", "ERROR")
        report = run(cluster)
    assert [(cause["path"], cause["id"]) for cause in report["causes"]] == [("decode-0", "LOG-NPU-MEMORY")]
    assert "quantization: ascend" in report["failures"][-1]


def test_red_flags_of_before_the_window_are_not_held_against_it(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1) as cluster:
        cluster.engines[1].log("Mooncake transfer failed, ret: -1")
        report = run(cluster)
    assert report["verified"] is True


# --- releases without counters -------------------------------------------------------------------------------------------

OLD = ["no_source_metrics", "no_external_metrics"]
OLD_FACTS = {"name": "0.11.0", "has_prompt_tokens_by_source": False}


def old_release(cluster):
    return dict(cluster.plan()["release"], **OLD_FACTS)


def test_an_old_release_is_proved_by_its_log_alone(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": OLD}) as cluster:
        report = run(cluster, release=old_release(cluster))
    assert report["verified"] is True
    assert status_of(report["steps"], "transfer") == "skipped"


def test_an_old_release_without_its_log_line_is_red(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": [*OLD, "no_transfer_line"]}) as cluster:
        report = run(cluster, release=old_release(cluster))
    assert failures(report) == {("logs", "prefill-0 -> decode-0")}


def test_an_old_release_that_recomputes_is_red(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": [*OLD, "recompute"]}) as cluster:
        report = run(cluster, release=old_release(cluster))
    assert failures(report) == {("logs", "prefill-0 -> decode-0")}


def test_nothing_failed_and_nothing_proved_is_not_verified(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": OLD}) as cluster:
        report = run(cluster, read_logs=False, release=old_release(cluster))
    assert failures(report) == set()
    assert report["verified"] is False
    assert report["failures"][0].startswith("prefill -> decode: nothing proves that KV was transferred")


def test_a_promise_counts_only_where_it_was_made(tmp_path):
    facts = {"name": "0.13.0", "has_prompt_tokens_by_source": False}
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["no_source_metrics"]}) as cluster:
        whole = run(cluster, read_logs=False, release=dict(cluster.plan()["release"], **facts))
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["no_source_metrics", "recompute"]}) as cluster:
        broken = run(cluster, read_logs=False, release=dict(cluster.plan()["release"], **facts))
    assert whole["verified"] is True
    assert ("transfer", "prefill-0 -> decode-0") in failures(broken)


def test_a_missing_counter_that_the_release_should_have_is_a_warning(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["no_source_metrics"]}) as cluster:
        report = run(cluster)
    assert report["verified"] is True
    assert any("prompt_tokens_by_source" in warning for warning in report["warnings"])


def test_two_events_of_a_stream_as_one_are_a_warning(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"router-0": ["joins"]}) as cluster:
        report = run(cluster)
    assert report["verified"] is True
    assert any("two events of the stream came as one" in warning for warning in report["warnings"])


def test_a_known_limit_is_a_warning(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"router-0": ["swallows_errors"]}) as cluster:
        release = dict(cluster.plan()["release"], known_limits=["empty_200"])
        report = run(cluster, release=release)
    assert report["verified"] is True
    assert any("known limit" in warning for warning in report["warnings"])


# --- pairs through the entry --------------------------------------------------------------------------------------------


def test_pairs_are_collected_through_the_entry_where_they_cannot_be_chosen(tmp_path):
    with Cluster(tmp_path, prefill=2, decode=2) as cluster:
        report = run(cluster, transfer={"protocol": "layerwise"})
    assert report["verified"] is True
    assert sum(len(row) for row in report["pairs"].values()) == 4


def test_pairs_that_the_router_never_chose_are_named(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=2) as cluster:
        plan = cluster.plan(transfer={"protocol": "bootstrap"})
        cluster.engines = [engine for engine in cluster.engines if engine.name != "decode-1"]
        report = verify(read_plan(plan), Keys(), LIMITS)
    assert {(item["severity"], item["id"]) for item in report["remarks"]} == {
        ("warning", "VERIFY-NOT-COVERED"),
        ("warning", "VERIFY-IDLE-ENGINE"),
    }
    problems = [item["problem"] for item in report["remarks"]]
    assert "1 of 2 pairs were not covered: prefill-0 -> decode-1" in problems
    assert "none of 8 concurrent requests was sent to decode-1, 1 of 2 decode engines" in problems
    assert all(item in report["findings"] for item in report["remarks"])


def test_the_number_of_pairs_can_be_limited(tmp_path):
    with Cluster(tmp_path, prefill=2, decode=2) as cluster:
        report = run(cluster, max_pairs=2)
    assert {p: list(row) for p, row in report["pairs"].items()} == {
        "prefill-0": ["decode-0"],
        "prefill-1": ["decode-1"],
    }
    expected = "2 of 4 pairs were not covered: prefill-0 -> decode-1, prefill-1 -> decode-0"
    assert [item["problem"] for item in report["remarks"]] == [expected]
    assert any(line.endswith("warning: prefill -> decode: " + expected) for line in report["summary"])


# --- tolerance, patience, secrets ----------------------------------------------------------------------------------------


def test_prefix_match_forgives_what_comes_later(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1) as cluster:
        decode = cluster.engines[1]
        right = decode.tokens_of
        drift = (" drift", -0.1, {" drift": -0.1})
        decode.tokens_of = lambda kv, number, free=False: right(kv, number, free)[:4] + [drift] * (number - 4)
        exact = run(cluster, prompts=0)
        tolerant = run(cluster, match="prefix:4", prompts=0)
    assert exact["verified"] is False
    assert tolerant["verified"] is True


def test_prefix_match_still_sees_garbage(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["garbage_kv"]}) as cluster:
        report = run(cluster, match="prefix:4")
    assert ("entry", "prefill-0 -> decode-0") in failures(report)


def test_a_wrong_key_is_named_and_not_shown(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, api_key="right-key") as cluster:
        report = run(cluster, keys=Keys("planted-wrong-key", ""))
    assert failures(report) == {("alone", "prefill-0"), ("alone", "decode-0")}
    assert "API key" in report["failures"][0]
    assert "planted-wrong-key" not in json.dumps(report)


def test_a_refused_connection_is_tried_again_until_patience_ends(tmp_path):
    """Only that: the clusters above with wrong text or no transfer fail at their first pass."""
    import threading

    with Cluster(tmp_path, prefill=1, decode=1) as cluster:
        plan = read_plan(cluster.plan())
        late = cluster.engines[1]
        # the port stays ours but is closed for a while
        address = late.server.server_address
        late.server.shutdown()
        late.server.server_close()

        def reopen():
            from http.server import ThreadingHTTPServer

            late.server = ThreadingHTTPServer(address, late.server.RequestHandlerClass)
            late.server.serve_forever(0.02)

        timer = threading.Timer(1.0, reopen)
        timer.daemon = True
        timer.start()
        report = verify(plan, Keys(), LIMITS._replace(connect=60.0))
    assert report["verified"] is True


def test_other_traffic_in_the_window_does_not_hide_recomputing(tmp_path):
    """Somebody's transferred requests must not pay for ours that were recomputed."""
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["recompute"]}) as cluster:
        decode = cluster.engines[1]
        honest = decode.complete

        def with_company(*request):
            decode.count["external_kv_transfer"] += 1000
            decode.count["prompt"] += 1000
            decode.finished[0] += 5
            return honest(*request)

        decode.complete = with_company
        report = run(cluster, read_logs=False)
    assert ("transfer", "prefill-0 -> decode-0") in failures(report)
    assert any("other clients use the service" in warning for warning in report["warnings"])


def test_check_mode_sends_nothing_and_says_what_it_would_do(tmp_path):
    with Cluster(
        tmp_path, prefill=1, decode=1, faults={"prefill-0": ["dead"], "decode-0": ["dead"], "router-0": ["dead"]}
    ) as c:
        plan = read_plan(c.plan())
        report = check_mode_report(plan)
        assert verdict(plan, report, []) == report
    assert report["check_mode"] is True
    assert {step["status"] for step in report["steps"]} == {"skipped"}
    assert any(step["message"] == "would send requests to " + plan.entry.url for step in report["steps"])


def test_every_step_of_the_gate_has_its_place_in_the_report():
    assert sorted([name for step in GATE for name in step.names] + ["logs"]) == sorted(STEPS)
