# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that a copied code, a sequence of single requests or the router's own port do not show. Each has a sound twin that stays green."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify import logs
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import check_mode_report, verify
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.plugins.module_utils.verify.records import matrix, status_of
from ansible_collections.ascend.inference.plugins.module_utils.verify.verdict import verdict
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster

LIMITS = Limits(connect=0.0, request=20.0, settle=1.0)
PAIR = {"prefill": 1, "decode": 1}
FRONT = {"prefill": 1, "decode": 1, "front_key": "planted-client-key"}
RANKS = {"prefill": 1, "decode": 1, "data_parallel": 2}
BOOTSTRAP = {"prefill": 1, "decode": 1, "data_parallel": 2, "bootstrap": True}


def run(cluster, limits=LIMITS, read_logs=True, **changes):
    """Requests and logs, as in the role."""
    plan = read_plan(cluster.plan(**changes))
    services = logs.services_of(plan, "node1")
    marks = logs.mark(services)
    report = verify(plan, Keys(cluster.api_key, cluster.front_key or cluster.entry_key), limits)
    parts = [logs.read(services, marks, plan.release.lines, run=None)] if read_logs else []
    return verdict(plan, report, parts)


def failures(report):
    return {(step["step"], step["hop"]) for step in report["steps"] if step["status"] == "failed"}


def message(report, step):
    return " ".join(item["message"] for item in report["steps"] if item["step"] == step)


# fault: (cluster, faults, a failed (step, hop), a text of the report)
PLANTED = {
    "decode has another fine-tune": (PAIR, {"decode-0": ["fine_tune"]}, ("texts", "decode-0"), "free texts differ"),
    "one of two decodes has another fine-tune": (
        {"prefill": 1, "decode": 2},
        {"decode-1": ["fine_tune"]},
        ("texts", "decode-1"),
        "weights",
    ),
    "prefill is the odd one": (
        {"prefill": 2, "decode": 2},
        {"prefill-0": ["fine_tune"]},
        ("texts", "prefill-0"),
        "free texts differ",
    ),
    "decode has another quantisation": (PAIR, {"decode-0": ["quantised"]}, ("texts", "decode-0"), "0.300 nats"),
    "the last KV block is wrong": (PAIR, {"decode-0": ["last_block"]}, ("pairs", "prefill-0 -> decode-0"), "hccn.conf"),
    "every tenth transfer is recomputed": (
        PAIR,
        {"decode-0": ["drops_tenth"]},
        ("burst", "prefill-0 -> decode-0"),
        "computed 26 itself",
    ),
    "every tenth transfer fails": (
        PAIR,
        {"decode-0": ["fails_tenth"]},
        ("burst", "entry"),
        "1 of 8 concurrent requests",
    ),
    "long prompts are cut": (
        PAIR,
        {"router-0": ["cuts_long"]},
        ("long", "prefill-0 -> decode-0"),
        "several chunks",
    ),
    "the router has no chat API": (PAIR, {"router-0": ["no_chat"]}, ("chat", "entry"), "chat API"),
    "the router rewrites chats": (PAIR, {"router-0": ["rewrites_chat"]}, ("chat", "entry"), "directly returns"),
    "one rank of decode cannot pull": (
        RANKS,
        {"decode-0": ["rank1:fails_pull"]},
        ("pairs", "prefill-0 rank 0 -> decode-0 rank 1"),
        "HTTP 500",
    ),
    "one rank of decode gets wrong KV": (
        BOOTSTRAP,
        {"decode-0": ["rank1:garbage_kv"]},
        ("pairs", "prefill-0 rank 1 -> decode-0 rank 1"),
        "directly returns",
    ),
    "the registry of ranks is gone": (
        BOOTSTRAP,
        {"prefill-0": ["no_registry"]},
        ("pairs", "prefill-0 rank 1 -> decode-0 rank 0"),
        "/query does not know the rank",
    ),
    "the frontend asks for no key": (
        FRONT,
        {"frontend": ["open"]},
        ("access", "entry"),
        "without a key is answered with HTTP 200",
    ),
    "the frontend accepts longer keys": (
        FRONT,
        {"frontend": ["key_begins"]},
        ("access", "entry"),
        "with a longer key that begins with the right one is answered with HTTP 200",
    ),
    "the frontend asks for no key for chats": (
        FRONT,
        {"frontend": ["open_chat"]},
        ("access", "entry"),
        "/v1/chat/completions without a key is answered with HTTP 200",
    ),
    "decode ignores the KV of long prompts": (
        PAIR,
        {"decode-0": ["recomputes_long"]},
        ("long", "prefill-0 -> decode-0"),
        "computed 138 itself",
    ),
    "the frontend forwards everything": (
        FRONT,
        {"frontend": ["forwards_all"]},
        ("access", "entry"),
        "/instances/add is answered with HTTP 200",
    ),
    "the frontend is dead": (FRONT, {"frontend": ["dead"]}, ("entry", "entry"), "Connection refused"),
}


@pytest.mark.parametrize(("shape", "faults", "expected", "text"), PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_found(tmp_path, shape, faults, expected, text):
    with Cluster(tmp_path, faults=faults, **shape) as cluster:
        report = run(cluster)
    assert expected in failures(report), report["summary"]
    assert report["verified"] is False
    assert text in " ".join(report["failures"])
    assert "planted" not in str(report)


def test_one_lost_transfer_among_many_is_found_by_the_counters(tmp_path):
    """It is less than the tenth of all tokens that a window may miss."""
    with Cluster(tmp_path, faults={"decode-0": ["drops_tenth"]}, **PAIR) as cluster:
        report = run(cluster, read_logs=False, burst=11)
    assert ("burst", "prefill-0 -> decode-0") in failures(report)
    assert "about 1 transfers were lost" in message(report, "burst")
    with Cluster(tmp_path, **PAIR) as cluster:
        assert run(cluster, read_logs=False, burst=11)["verified"] is True


WARNED = {
    "the router counts one prompt token": (PAIR, {"router-0": ["wrong_usage"]}, "VERIFY-WRONG-USAGE", "entry"),
    "the router drops the usage": (PAIR, {"router-0": ["no_usage"]}, "VERIFY-WRONG-USAGE", "entry"),
    "the router uses one of two decodes": (
        {"prefill": 1, "decode": 2},
        {"router-0": ["one_decode"]},
        "VERIFY-IDLE-ENGINE",
        "entry",
    ),
    "decode restarts": (PAIR, {"decode-0": ["resets"]}, "VERIFY-RESTARTED", "decode-0"),
}


@pytest.mark.parametrize(("shape", "faults", "fault", "hop"), WARNED.values(), ids=WARNED)
def test_what_does_not_lose_answers_is_a_warning(tmp_path, shape, faults, fault, hop):
    with Cluster(tmp_path, faults=faults, **shape) as cluster:
        report = run(cluster)
    assert report["verified"] is True, report["summary"]
    assert {(remark["id"], remark["path"]) for remark in report["remarks"]} == {(fault, hop)}


def test_answers_without_usage_do_not_hide_a_missing_transfer(tmp_path):
    """Releases without counters by source: the promised tokens are compared with decode's own count of prompt tokens."""
    lines = {"transferred": "", "delayed": "", "listening": ""}
    old = {
        "name": "old",
        "has_prompt_tokens_by_source": False,
        "lines": lines,
        "known_limits": [],
        "has_rank_header": True,
    }
    faults = {
        "router-0": ["no_usage", "drops_params"],
        "decode-0": ["no_source_metrics"],
        "prefill-0": ["no_source_metrics"],
    }
    with Cluster(tmp_path, faults=faults, **PAIR) as cluster:
        assert ("transfer", "prefill-0 -> decode-0") in failures(run(cluster, release=old))
    faults["router-0"] = []
    with Cluster(tmp_path, faults=faults, **PAIR) as cluster:
        assert run(cluster, release=old)["verified"] is True


TWINS = {
    "one pair": PAIR,
    "two and two": {"prefill": 2, "decode": 2},
    "two ranks": RANKS,
    "two ranks with a registry": BOOTSTRAP,
    "a frontend with keys": FRONT,
    "colocated": {"colocated": 2},
}


@pytest.mark.parametrize("shape", TWINS.values(), ids=TWINS)
def test_the_sound_twin_is_green(tmp_path, shape):
    with Cluster(tmp_path, **shape) as cluster:
        report = run(cluster)
    assert report["findings"] == [], report["summary"]
    assert report["verified"] is True
    ran = {step["step"] for step in report["steps"] if step["status"] == "passed"}
    assert {"entry", "stream", "chat", "texts", "long", "burst"} <= ran
    assert ("access" in ran) is ("front_key" in shape)
    assert any(line.startswith("  retries: 0, ") for line in report["summary"])


def test_what_only_batches_change_is_no_fault(tmp_path):
    """Decode decides near ties differently; without the tolerance the same service fails."""
    with Cluster(tmp_path, faults={"decode-0": ["noise"]}, **PAIR) as cluster:
        tolerant = run(cluster, prompts=8)
        strict = run(cluster, prompts=8, near_tie=0.0)
    assert tolerant["failures"] == []
    compared = next(step for step in tolerant["steps"] if step["step"] == "texts")["evidence"]["compared"]
    assert compared["decode-0"]["ties"] > 0
    assert ("texts", "decode-0") in failures(strict)


def test_the_agreement_can_be_loosened_with_a_reason_that_the_report_shows(tmp_path):
    changed = {
        "agreement": 0,
        "logprob_difference": 9.0,
        "changed": ["agreement 0"],
        "reason": "two quantisations on purpose",
    }
    with Cluster(tmp_path, faults={"decode-0": ["fine_tune"]}, **PAIR) as cluster:
        loose = run(cluster, **changed)
        changed["reason"] = ""
        unexplained = run(cluster, **changed)
    assert status_of(loose["steps"], "texts") == "passed"
    text = "  changed by inference_verify: agreement 0 (reason: two quantisations on purpose)"
    assert text in loose["summary"]
    assert [item["id"] for item in loose["remarks"]] == ["VERIFY-FEW-TOKENS"]
    assert [item["id"] for item in unexplained["remarks"]] == ["VERIFY-NO-REASON", "VERIFY-FEW-TOKENS"]


def test_an_engine_without_logprobs_or_chat_template_is_a_warning(tmp_path):
    lacking = ["no_logprobs", "no_chat_template"]
    with Cluster(tmp_path, faults={"prefill-0": lacking, "decode-0": lacking}, **PAIR) as cluster:
        report = run(cluster)
    assert report["verified"] is True
    assert {item["id"] for item in report["remarks"]} == {"VERIFY-NO-LOGPROBS", "VERIFY-NO-CHAT"}
    assert {item["severity"] for item in report["findings"]} == {"warning"}


def test_ranks_that_cannot_be_addressed_are_a_warning(tmp_path):
    """A good service is not stopped, and the report says which ranks are unknown; a broken transfer is still found."""
    with Cluster(tmp_path, faults={"decode-0": ["ignores_rank"]}, **RANKS) as cluster:
        report = run(cluster)
    assert report["verified"] is True
    assert {item["id"] for item in report["remarks"]} == {"VERIFY-RANK-IGNORED", "VERIFY-NOT-COVERED"}
    assert "the request for decode-0 rank 1 was served by rank 0" in str(report["remarks"])
    with Cluster(tmp_path, faults={"decode-0": ["ignores_rank", "rank0:garbage_kv"]}, **RANKS) as cluster:
        assert run(cluster)["verified"] is False


def test_parsers_are_named(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        report = run(cluster, parsers=["reasoning-parser deepseek_r1"])
    assert "reasoning-parser deepseek_r1" in message(report, "chat")


def test_a_prompt_that_cannot_be_longer_than_a_chunk_is_said(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        report = run(cluster, chunk_tokens=200)
        between = run(cluster, chunk_tokens=120)
    assert status_of(report["steps"], "long") == "skipped"
    assert "max_model_len 200 allows no prompt longer than a chunk" in message(report, "long")
    assert "less than two chunks of 120 tokens" in message(between, "long")


def test_a_long_prompt_has_more_than_two_chunks(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        report = run(cluster)
    step = next(step for step in report["steps"] if step["step"] == "long")
    assert step["evidence"]["prompt_tokens"] > 2 * 64


def test_retries_are_counted_and_shown(tmp_path):
    with Cluster(tmp_path, faults={"router-0": ["busy_once"]}, **PAIR) as cluster:
        report = run(cluster, LIMITS._replace(connect=20.0))
    assert report["verified"] is True
    assert report["retries"] == {"HTTP 429": 1}
    assert any(line.startswith("  retries: 1 (1 HTTP 429)") for line in report["summary"])


# --- ranks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [RANKS, BOOTSTRAP], ids=["prefill answers", "registry"])
def test_every_pair_of_ranks_is_in_the_matrix(tmp_path, shape):
    with Cluster(tmp_path, faults={"decode-0": ["rank1:garbage_kv"]}, **shape) as cluster:
        report = run(cluster)
    statuses = {p: {d: cell["status"] for d, cell in row.items()} for p, row in report["pairs"].items()}
    row = {"decode-0 rank 0": "passed", "decode-0 rank 1": "failed"}
    assert statuses == {"prefill-0 rank 0": row, "prefill-0 rank 1": row}
    text = [line.split() for line in matrix(report["pairs"])]
    assert text[1][-2:] == text[2][-2:] == ["ok", "FAILED"]
    assert list(report["tails"]) == ["decode-0", "prefill-0"]


def test_ranks_that_a_release_cannot_address_are_named(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, data_parallel=2, rank_header=False) as cluster:
        report = run(cluster)
    assert report["verified"] is True
    assert [item["id"] for item in report["remarks"]] == ["VERIFY-NOT-COVERED"]
    assert report["remarks"][0]["problem"].startswith(
        "3 of 4 pairs of ranks were not covered: prefill-0 rank 1 -> decode-0 rank 1"
    )
    assert any("not covered" in line for line in report["summary"])


def test_many_pairs_of_ranks_are_counted_by_row():
    cells = {f"decode-0 rank {number}": {"status": "passed"} for number in range(16)}
    lines = matrix({"prefill-0 rank 0": dict(cells, x={"status": "failed"}), "prefill-0 rank 1": {}})
    assert lines[0].endswith("passed 16, failed 1") and len(lines) == 2


# --- the request of clients -------------------------------------------------------------------------------------------------


def test_the_printed_request_is_that_of_clients(tmp_path):
    with Cluster(tmp_path, **FRONT) as cluster:
        report = run(cluster)
        assert report["request"].startswith(f"curl -sS {cluster.front.url}/v1/completions")
    assert report["request"].endswith('-H "Authorization: Bearer $API_KEY"')
    named = {
        "entry": {
            "url": "https://10.0.0.1:8443",
            "kind": "frontend",
            "server_name": "llm.example",
            "ca_path": "/etc/ca.pem",
        }
    }
    with Cluster(tmp_path, **PAIR) as cluster:
        text = verdict(read_plan(cluster.plan(**named)), run(cluster), [])["request"]
    assert text.startswith("curl -sS https://llm.example:8443/v1/completions") and "--cacert /etc/ca.pem" in text


def test_check_mode_returns_every_key_of_a_report(tmp_path):
    with Cluster(tmp_path, **PAIR) as cluster:
        plan = read_plan(cluster.plan())
        report = verify(plan, Keys(), LIMITS)
    assert set(report) - set(check_mode_report(plan)) == set()
