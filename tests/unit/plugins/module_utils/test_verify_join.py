# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines that join: proven with every peer, without a request through the router, while clients use the peers."""

from __future__ import annotations

import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify import pairs
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import join
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster, call

LIMITS = Limits(connect=0.0, request=20.0, settle=1.0)


def proof(cluster, joining, peers, **changes):
    return join(read_plan(cluster.plan(**changes)), Keys(), LIMITS, joining, peers)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_new_engine_is_proven_with_every_peer(tmp_path, bootstrap):
    with Cluster(tmp_path, prefill=2, decode=2, bootstrap=bootstrap, faults={"router-0": ["dead"]}) as cluster:
        report = proof(cluster, ["decode-1"], ["prefill-0", "prefill-1", "decode-0"])
    assert report["verified"], report["summary"]
    assert {name: sorted(row) for name, row in report["pairs"].items()} == {
        "prefill-0": ["decode-1"],
        "prefill-1": ["decode-1"],
    }
    assert [step["step"] for step in report["steps"]] == ["engines", "alone", "pairs"]


LAYERWISE = {"protocol": "layerwise"}


@pytest.mark.parametrize("joining", ["decode-1", "prefill-1"])
def test_engines_that_push_are_proven_without_a_proxy(tmp_path, joining):
    peers = [name for name in ("prefill-0", "prefill-1", "decode-0", "decode-1") if name != joining]
    with Cluster(tmp_path, prefill=2, decode=2, faults={"router-0": ["dead"]}) as cluster:
        report = proof(cluster, [joining], peers, transfer=LAYERWISE)
    assert report["verified"], report["summary"]
    found = {(first, second) for first, row in report["pairs"].items() for second in row}
    pairs = {(f"prefill-{first}", f"decode-{second}") for first in (0, 1) for second in (0, 1)}
    assert found == {pair for pair in pairs if joining in pair}


@pytest.mark.parametrize(
    ("engine", "fault", "text"),
    [
        ("decode-1", "garbage_kv", "the answer is"),
        ("decode-1", "recompute", "computed"),
        ("decode-1", "no_callback", "decode did not call back http://127.0.0.1:"),
        ("prefill-1", "fails_completions", "500"),
    ],
)
def test_a_broken_engine_that_pushes_does_not_join(tmp_path, monkeypatch, engine, fault, text):
    monkeypatch.setattr(pairs, "CALLBACK", 0.5)
    names = ["prefill-0", "prefill-1", "decode-0", "decode-1"]
    with Cluster(tmp_path, prefill=2, decode=2, faults={engine: [fault]}) as cluster:
        report = proof(cluster, [engine], [name for name in names if name != engine], transfer=LAYERWISE)
    assert not report["verified"]
    assert text in " ".join(report["failures"]), report["failures"]


def test_engines_that_do_not_run_are_no_peers(tmp_path):
    with Cluster(tmp_path, prefill=2, decode=1, faults={"prefill-1": ["dead"]}) as cluster:
        assert proof(cluster, ["decode-0"], ["prefill-0"])["verified"]
        assert not proof(cluster, ["decode-0"], ["prefill-0", "prefill-1"])["verified"]


@pytest.mark.parametrize(
    ("fault", "hop"),
    [
        ("garbage_kv", "prefill-0 -> decode-1"),
        ("recompute", "prefill-0 -> decode-1"),
        ("other_weights", "decode-1"),
        ("unhealthy", "decode-1"),
    ],
)
def test_a_broken_engine_does_not_join(tmp_path, fault, hop):
    with Cluster(tmp_path, prefill=1, decode=2, faults={"decode-1": [fault]}) as cluster:
        report = proof(cluster, ["decode-1"], ["prefill-0", "decode-0"])
    assert not report["verified"]
    assert {step["hop"] for step in report["steps"] if step["status"] == "failed"} == {hop}


def test_clients_may_use_the_peers(tmp_path):
    with Cluster(tmp_path, prefill=2, decode=1) as cluster:
        ended = threading.Event()

        def use():
            while not ended.is_set():
                body = {"model": "tiny", "prompt": f"client {time.monotonic()} " + "word " * 30, "max_tokens": 4}
                call(cluster.router.url, "/v1/completions", body)

        clients = [threading.Thread(target=use, daemon=True) for _number in range(3)]
        for client in clients:
            client.start()
        reports = [proof(cluster, ["prefill-1"], ["prefill-0", "decode-0"]) for _number in range(5)]
        ended.set()
        for client in clients:
            client.join(20)
    assert [report["verified"] for report in reports] == [True] * 5, [report["summary"] for report in reports]


def test_colocated_engines_are_compared(tmp_path):
    with Cluster(tmp_path, colocated=3) as cluster:
        assert proof(cluster, ["colocated-2"], ["colocated-0", "colocated-1"])["verified"]
    with Cluster(tmp_path, colocated=3, faults={"colocated-2": ["other_weights"]}) as cluster:
        assert not proof(cluster, ["colocated-2"], ["colocated-0", "colocated-1"])["verified"]


def test_of_many_peers_a_few_are_asked_for_their_text(tmp_path):
    with Cluster(tmp_path, colocated=6) as cluster:
        assert proof(cluster, ["colocated-2"], [engine.name for engine in cluster.engines])["verified"]
        assert [engine.count["success"] for engine in cluster.engines] == [1, 1, 1, 0, 0, 0]


def test_no_more_peers_than_pairs_may_be_tested(tmp_path):
    with Cluster(tmp_path, prefill=4, decode=1) as cluster:
        report = proof(cluster, ["decode-0"], [engine.name for engine in cluster.engines], max_pairs=2)
    assert report["verified"] and list(report["pairs"]) == ["prefill-0", "prefill-1"]


@pytest.mark.parametrize(
    ("joining", "pairs"),
    [
        (["prefill-2"], {"prefill-2": ["decode-0"]}),
        (["decode-2"], {"prefill-0": ["decode-2"], "prefill-1": ["decode-2"]}),
        (["decode-2", "prefill-2"], {"prefill-0": ["decode-2"], "prefill-2": ["decode-2"]}),
    ],
)
def test_few_peers_are_those_of_the_other_pool(tmp_path, joining, pairs):
    """With some of its own pool only, an engine would join without having exchanged KV with anybody."""
    with Cluster(tmp_path, prefill=3, decode=3 if "decode-2" in joining else 1) as cluster:
        peers = [engine.name for engine in cluster.engines if engine.name not in joining]
        report = proof(cluster, joining, peers, max_pairs=2)
    assert report["verified"]
    assert {name: sorted(row) for name, row in report["pairs"].items() if row} == pairs
