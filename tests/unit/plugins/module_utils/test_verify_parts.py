# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a verification that each decide by one of several reasons: whether the entry is tried, and whose log is shown."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify import access, entry, logs, verdict
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import Answer
from ansible_collections.ascend.inference.plugins.module_utils.verify.faults import Problem
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import Lines
from ansible_collections.ascend.inference.plugins.module_utils.verify.records import failed, passed


@pytest.mark.parametrize(
    ("api_key", "refused", "url", "tried"),
    [
        ("", (), "http://n1:8000", False),
        ("api_key", (), "http://n1:8000", True),
        ("", ("/metrics",), "http://n1:8000", True),
        ("", (), "https://n1:8443", True),
    ],
)
def test_an_entry_is_tried_if_it_refuses_anything(api_key, refused, url, tried):
    place = types.SimpleNamespace(api_key=api_key, refused_paths=refused, url=url)
    assert (access.why_not(types.SimpleNamespace(entry=place)) == "") is tried


ENGINES = [("prefill-0", "prefill"), ("prefill-1", "prefill"), ("decode-0", "decode")]
READ = {name: {"tail": [f"line of {name}"]} for name in ("prefill-0", "prefill-1", "decode-0", "router")}


@pytest.mark.parametrize(
    ("hops", "shown"),
    [
        ([], []),
        (["decode-0"], ["decode-0"]),
        (["prefill-1 -> decode-0"], ["decode-0", "prefill-1"]),
        (["prefill-0 rank 3 -> decode-0 rank 12"], ["decode-0", "prefill-0"]),
        (["prefill -> decode-0"], ["decode-0", "prefill-0", "prefill-1"]),
        (["router", "decode"], ["decode-0", "router"]),
        (["prefill-0, prefill-1"], ["prefill-0", "prefill-1"]),
        (["entry"], sorted(READ)),
    ],
    ids=str,
)
def test_the_logs_of_a_failed_hop_are_shown(hops, shown):
    plan = types.SimpleNamespace(engines=[types.SimpleNamespace(name=name, role=role) for name, role in ENGINES])
    steps = [passed("alone", "prefill-0", "fine"), *(failed("transfer", hop, Problem("lost", "cut")) for hop in hops)]
    assert verdict._tails(plan, steps, READ) == {name: READ[name]["tail"] for name in shown}


def test_times_of_transfers_are_those_of_the_window():
    lines = Lines(transferred="KV transfer for request", delayed="", listening="")
    took, average = "KV transfer for request a took 2.5 ms", "Avg xfer time (ms)=7.25, Num successful transfers=3"
    whole = ["KV transfer for request z took 99 ms", "Avg xfer time (ms)=98", took, "b took 97 ms", average]
    assert logs.evidence("decode-0", whole, whole[2:], lines)["transfer_ms"] == [2.5, 7.25]
    assert logs.evidence("decode-0", whole, [average], lines)["transfer_ms"] == [7.25]
    assert logs.evidence("decode-0", whole, [], lines)["transfer_ms"] == []


def test_streams_are_asked_for_their_usage(monkeypatch):
    """Without it the number of prompt tokens is 0, and any transfer is enough."""
    asked = []

    def complete(_target, _prompt, **more):
        asked.append(more)
        return Answer("", "", 200)

    monkeypatch.setattr(entry, "_judge_exchanges", lambda *_arguments: [])
    probe = types.SimpleNamespace(
        all_metrics=dict, entry=None, complete=complete, new_prompt=lambda: "a prompt", exchanges=[]
    )
    entry.check_entry(probe)
    entry.check_streamed(probe)
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    assert asked == [{}, streamed, streamed]
