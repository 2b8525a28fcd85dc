# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a verification that each decide by one of several reasons: whether the entry is tried, and whose log is shown."""

from __future__ import annotations

import collections
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.verify import (
    access,
    chat,
    entry,
    limits,
    load,
    logs,
    master,
    pairs,
    ready,
    records,
    texts,
    verdict,
)
from ansible_collections.ascend.inference.plugins.module_utils.verify import probe as probe_module
from ansible_collections.ascend.inference.plugins.module_utils.verify.agreement import Agreement
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import Answer
from ansible_collections.ascend.inference.plugins.module_utils.verify.faults import Problem
from ansible_collections.ascend.inference.plugins.module_utils.verify.metrics import Served
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import Lines
from ansible_collections.ascend.inference.plugins.module_utils.verify.records import failed, passed
from ansible_collections.ascend.inference.plugins.module_utils.verify.transfer import Window


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


@pytest.mark.parametrize(
    ("found", "failures", "warnings"),
    [(0, 0, 1), (1, 1, 0), (7, 1, 0), (8, 0, 0), (9, 0, 0)],
)
def test_each_rank_of_prefill_listens(found, failures, warnings):
    """No line at all says that the log was rotated since the start, and not that nobody listens."""
    engine = types.SimpleNamespace(name="prefill-0")
    plan = types.SimpleNamespace(
        role=lambda kind: (engine,) if kind == "prefill" else (),
        release=types.SimpleNamespace(lines=Lines("", "", "started listening")),
        transfer=types.SimpleNamespace(listeners_per_prefill=8),
    )
    read = {"prefill-0": {"readable": True, "problem": "", "listening": found}}
    assert [item["finding"]["id"] for item in verdict._listeners(plan, read)] == ["VERIFY-LISTENERS"] * failures
    assert len(verdict._warnings(plan, read)) == warnings


EngineOf = collections.namedtuple("EngineOf", "name ranks")


@pytest.mark.parametrize(
    ("ranks", "header", "by_hand", "way"),
    [
        (1, False, True, "_directly"),  # one rank needs no header
        (1, True, True, "_directly"),
        (2, True, True, "_directly"),
        (2, False, True, "_unaddressed"),
        (1, False, False, "_through_entry"),
        (2, True, False, "_through_entry"),
    ],
)
def test_how_pairs_are_reached(monkeypatch, ranks, header, by_hand, way):
    for name in ("_directly", "_unaddressed", "_through_entry"):
        monkeypatch.setattr(pairs, name, lambda probe, found, name=name: [name])
    monkeypatch.setattr(pairs, "addressable", lambda plan: by_hand)
    engines = tuple(EngineOf(name, ranks) for name in ("prefill-0", "decode-0"))
    plan = types.SimpleNamespace(
        engines=engines,
        role=lambda kind: tuple(engine for engine in engines if engine.name.startswith(kind)),
        release=types.SimpleNamespace(has_rank_header=header),
    )
    probe = types.SimpleNamespace(plan=plan, entry_works=True, joining=(), remark=lambda *unused: None)
    assert pairs.check_pairs(probe) == [way]


@pytest.mark.parametrize(
    ("wanted", "lines", "proved", "missing"),
    [
        (0, 0, 0, 1),  # a plan that expects no line: a request without any is not proved
        (0, 1, 1, 0),
        (1, 0, 0, 1),
        (1, 1, 1, 0),
        (2, 1, 0, 1),
        (2, 2, 1, 0),
    ],
)
def test_a_request_is_proved_by_as_many_lines_as_ranks(wanted, lines, proved, missing):
    plan = types.SimpleNamespace(
        role=lambda kind: (EngineOf("decode-0", 1),), transfer=types.SimpleNamespace(lines_per_request=wanted)
    )
    report = {"requests": [{"id": "cmpl-r1"}]}
    found = verdict._transferred(plan, report, {"decode-0": {"transferred": ["transfer of r1-0"] * lines}})
    assert [len(part) for part in found] == [proved, missing]
    assert verdict._transferred(plan, report, {})[1] == [], "a log that was not read says nothing"


@pytest.mark.parametrize(
    ("replies", "asked"),
    [
        ([(True, 0), (False, 503), (False, 200), (False, 200)], 3),
        ([(False, 503), (False, 200)], 2),
        ([(False, 500), (False, 200)], 1),
        ([(False, 404), (False, 200)], 1),
        ([(False, 0), (False, 200)], 1),  # an answer that was cut is one
    ],
)
def test_what_loads_or_does_not_listen_yet_is_asked_again(monkeypatch, replies, asked):
    sent = []

    def ask(*_arguments, **_more):
        sent.append(replies[len(sent)])
        return types.SimpleNamespace(never_connected=sent[-1][0], status=sent[-1][1], error="")

    monkeypatch.setattr(probe_module, "ask", ask)
    monkeypatch.setattr(probe_module, "PAUSE", 0.0)
    asking = types.SimpleNamespace(
        limits=probe_module.Limits(), connect_timed_out=lambda: False, _pause=lambda _reply: None
    )
    assert probe_module.Probe.get(asking, None, "/health").status == replies[asked - 1][1]
    assert len(sent) == asked


@pytest.mark.parametrize(
    ("rows", "tried"),
    [
        ([{}, {}, {}], 3),
        ([{"timed_out": False}, {}, {}], 3),  # one that ends at once costs nothing
        ([{}, {"timed_out": True}, {}], 2),
    ],
)
def test_no_pair_is_tried_after_one_that_hangs(monkeypatch, rows, tried):
    found = iter(rows)
    monkeypatch.setattr(pairs, "repeated_pair", lambda *_arguments: (Problem("lost", "cut"), next(found)))
    members = [pairs.Member(EngineOf(name, 1), None) for name in ("prefill-0", "decode-0", "decode-1", "decode-2")]
    probe = types.SimpleNamespace(
        plan=types.SimpleNamespace(max_pairs=3), joining=(), pairs={"prefill-0": {}}, hide=lambda text: text
    )
    broken = pairs._directly(probe, [(members[0], decode) for decode in members[1:]])
    assert len(broken) == len(probe.pairs["prefill-0"]) == tried


def test_the_reference_of_a_pair_is_that_of_its_prefill_engine(monkeypatch):
    """Decode's own cache has what it received, so it would repeat a broken transfer; the message names whose text it is."""
    engines = {name: types.SimpleNamespace(name=name, ranks=1) for name in ("prefill-1", "decode-1")}
    asked = []
    counted = types.SimpleNamespace(requests=1, external=90.0)
    window = types.SimpleNamespace(engines=dict.fromkeys(engines, counted), unread=[])
    monkeypatch.setattr(pairs, "window_of", lambda *_arguments: window)
    monkeypatch.setattr(pairs, "busy", lambda _window, names: names)
    monkeypatch.setattr(pairs, "judge", lambda *_arguments: types.SimpleNamespace(problem=None, hop="entry"))
    probe = types.SimpleNamespace(
        plan=types.SimpleNamespace(
            role=lambda kind: [engine for engine in engines.values() if engine.name.startswith(kind)],
            engine=engines.get,
        ),
        new_prompt=lambda: "a prompt",
        all_metrics=lambda: dict.fromkeys(engines, {}),
        entry=None,
        complete=lambda *_arguments: Answer("", "", 200, text="wrong"),
        settle=lambda read, _enough: read(),
        reference=lambda _prompt, engine: asked.append(engine.name) or Answer("", "", 200, text="right"),
        same=lambda _answer, _reference, _prompt, engine: asked.append(engine.name) or False,
        requests=[],
    )
    problem, hop = pairs._one_request(probe)
    assert (asked, hop) == (["prefill-1", "prefill-1"], "prefill-1 -> decode-1")
    assert problem.text == "the answer is 'wrong', but prefill-1 directly returns 'right'"


def served(**requests):
    """The window in which these engines finished so many requests."""
    return Window(
        {f"{role}-0": Served(number, 0, None, None, None, None, None) for role, number in requests.items()}, [], 1, 9
    )


def asking(monkeypatch, disaggregated=True, **health):
    """A probe of prefill-0 and decode-0, whose health answers are those of ``health``."""
    engines = [types.SimpleNamespace(name=f"{role}-0", role=role) for role in ("prefill", "decode")]
    plan = types.SimpleNamespace(engines=engines, disaggregated=disaggregated, mode="colocated")
    plan.role = lambda role: [engine for engine in engines if engine.role == role]
    monkeypatch.setattr(entry, "ask", lambda target, path, timeout: health.get(target, Reply(200, "", 0.0, "")))
    return types.SimpleNamespace(
        plan=plan,
        target=lambda engine: engine.role,
        limits=types.SimpleNamespace(request=5.0),
        pair_hop=lambda: "p -> d",
        served_by="",
    )


NONE, PREFILLED, BOTH = {"prefill": 0, "decode": 0}, {"prefill": 1, "decode": 0}, {"prefill": 1, "decode": 1}


@pytest.mark.parametrize(
    ("problem", "requests", "place"),
    [
        ("refused", BOTH, ("entry", "entry_down")),
        ("unreachable", BOTH, ("entry", "entry_down")),
        ("tls", BOTH, ("entry", "entry_down")),
        ("timeout", NONE, ("entry -> prefill", "prefill_hangs")),
        ("timeout", PREFILLED, ("p -> d", "decode_hangs")),
        ("timeout", BOTH, ("entry -> prefill", "prefill_hangs")),
        ("empty", NONE, ("entry -> prefill", "prefill_not_used")),
        ("no_done", NONE, ("entry -> decode", "cut")),
        ("empty", PREFILLED, ("entry -> decode", "empty_200")),
        ("empty", BOTH, ("decode -> entry", "empty_200")),
        ("cut", BOTH, ("decode -> entry", "cut")),
    ],
)
def test_where_an_answer_broke_off(monkeypatch, problem, requests, place):
    assert entry.broken_hop(asking(monkeypatch), Answer(problem, "", 200), served(**requests)) == place


@pytest.mark.parametrize(
    ("problem", "fault"), [("timeout", "hangs"), ("empty", "empty_200"), ("cut", "cut"), ("no_done", "cut")]
)
def test_where_an_answer_of_colocated_engines_broke_off(monkeypatch, problem, fault):
    assert entry.broken_hop(asking(monkeypatch, False), Answer(problem, "", 200), served(**BOTH)) == ("entry", fault)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (Reply(0, "", 0.0, "timeout"), "hangs"),
        (Reply(0, "", 0.0, "refused"), "dead"),
        (Reply(500, "", 0.0, ""), "dead"),
        (Reply(200, "", 0.0, "cut"), "dead"),
    ],
)
def test_an_unfit_engine_is_where_an_answer_broke_off(monkeypatch, reply, fault):
    probe = asking(monkeypatch, decode=reply)
    assert entry.broken_hop(probe, Answer("empty", "", 200), served(**BOTH)) == ("decode-0", fault)
    assert entry.broken_hop(probe, Answer("http_error", "", 401), served(**BOTH)) == ("entry", "unauthorized")


def test_requests_that_no_colocated_engine_got(monkeypatch):
    whole, probe = [Answer("", "", 200)], asking(monkeypatch, False)
    assert entry._judge_transfer(probe, served(**NONE), [])["status"] == "skipped"
    assert entry._judge_transfer(probe, served(**NONE), whole)["status"] == "failed"
    assert entry._judge_transfer(probe, served(**NONE)._replace(unread=["x"]), whole)["status"] == "skipped"
    probe.served_by = "prefill-0"
    assert entry._judge_transfer(probe, served(**BOTH), whole)["status"] == "skipped"


def test_the_table_of_pairs_is_in_the_order_of_numbers():
    good, bad = {"status": "passed"}, {"status": "failed"}
    pairs_ = {"p-10": {"d-2": good, "d-10": bad}, "p-9": {"d-10": good}}
    assert records.matrix(pairs_) == [
        "  pairs       d-2  d-10",
        "        p-9   not covered  ok",
        "        p-10  ok   FAILED",
    ]
    assert records.matrix({"p": {"d": good}}) == [] == records.matrix({})
    assert (
        len(records.matrix({"p": {"d": good}, "q": {}})) == 3 and len(records.matrix({"p": {"d": good, "e": bad}})) == 2
    )
    wide = {"p": {f"d-{number}": bad if number else good for number in range(records.MOST_COLUMNS + 1)}}
    assert records.matrix(wide) == [f"  pairs of p  passed 1, failed {records.MOST_COLUMNS}"]
    del wide["p"]["d-1"]
    assert records.matrix(wide)[0].startswith("  pairs    d-0  d-2")


@pytest.mark.parametrize(
    ("report", "text"),
    [
        ({"ttft_ms": {}, "transfer_ms": []}, ""),
        ({"ttft_ms": {"stream": 0.4}, "transfer_ms": []}, "time to first token 0 ms"),
        ({"ttft_ms": {}, "transfer_ms": [9.0, 1.0, 2.0]}, "KV transfer 2.0 ms (median of 3)"),
        (
            {"ttft_ms": {"stream": 12.6}, "transfer_ms": [4.0, 3.0]},
            "time to first token 13 ms, KV transfer 4.0 ms (median of 2)",
        ),
    ],
)
def test_times_of_a_report(report, text):
    assert records._times(report) == text


@pytest.mark.parametrize(
    ("report", "lines"),
    [
        ({}, ["  retries: 0, texts that part at a near tie: 0"]),
        ({"retries": {"b": 1, "a": 2}, "near_ties": 3}, ["  retries: 3 (2 a, 1 b), texts that part at a near tie: 3"]),
        (
            {"changed": ["x", "y"]},
            [
                "  retries: 0, texts that part at a near tie: 0",
                "  changed by inference_verify: x, y (reason: none given)",
            ],
        ),
    ],
)
def test_retries_and_changes_are_said(report, lines):
    assert records._repeated(report) == lines
    assert (records.milliseconds(None), records.milliseconds(0.0), records.milliseconds(0.01236)) == (None, 0.0, 12.4)


@pytest.mark.parametrize(
    ("answer", "known", "status", "fault", "warnings"),
    [
        (Answer("", "", 200, "text"), ["empty_200"], "failed", "not_refused", 0),
        (Answer("cut", "ended early", 200, "text"), [], "failed", "not_refused", 0),
        (Answer("http_error", "", 400), [], "passed", "", 0),
        (Answer("http_error", "", 499), [], "passed", "", 0),
        (Answer("http_error", "", 500), [], "passed", "", 1),
        (Answer("http_error", "", 399), [], "failed", "silent_overflow", 0),
        (Answer("timeout", "", 500), [], "failed", "silent_overflow", 0),
        (Answer("empty", "", 200), ["empty_200"], "passed", "", 1),
        (Answer("empty", "", 200), [], "failed", "silent_overflow", 0),
    ],
    ids=str,
)
def test_a_prompt_that_is_too_long_is_refused_as_such(answer, known, status, fault, warnings):
    release = types.SimpleNamespace(known_limits=known, name="made-up")
    probe = types.SimpleNamespace(
        plan=types.SimpleNamespace(release=release),
        max_model_len=64,
        entry=None,
        complete=lambda *_arguments: answer,
        hide=str,
        warnings=[],
    )
    (record,) = limits.check_negative(probe)
    assert (record["status"], len(probe.warnings)) == (status, warnings)
    assert record["finding"].get("id", "") == ("VERIFY-" + fault.upper().replace("_", "-") if fault else "")


@pytest.mark.parametrize(
    ("block", "least", "most", "status"),
    [
        (128, 0, 272, "failed"),
        (128, 0, 273, "passed"),
        (128, 300, 315, "failed"),
        (128, 300, 316, "passed"),
        (128, 0, 0, "passed"),
    ],
)
def test_an_engine_has_room_for_two_blocks_and_an_answer(monkeypatch, block, least, most, status):
    """257 tokens are more than two blocks of 128; with an answer of 16 that makes 273. 0: no engine says how much it accepts."""
    monkeypatch.setattr(ready, "_unfit", lambda *_arguments: None)
    plan = types.SimpleNamespace(block_size=block, min_prompt_tokens=least, max_tokens=16, engines=[1], model="m")
    probe = types.SimpleNamespace(plan=plan, max_model_len=most, words_for=int, shortest="decode-0")
    (record,) = ready.check_engines(probe)
    assert record["status"] == status


@pytest.mark.parametrize(
    ("equal", "different", "difference", "differs"),
    [(90, 10, 0.2, False), (89, 11, 0.2, True), (90, 10, 0.21, True), (100, 0, 0.21, True), (0, 0, 0.0, False)],
)
def test_texts_differ_by_tokens_or_by_their_probabilities(equal, different, difference, differs):
    probe = types.SimpleNamespace(plan=types.SimpleNamespace(agreement=90, logprob_difference=0.2))
    assert texts._differs(probe, Agreement(equal, 0, different, difference)) is differs


@pytest.mark.parametrize(
    ("status", "problem", "outcome", "remarks"),
    [
        (400, "http_error", "passed", 1),
        (404, "http_error", "passed", 1),
        (500, "http_error", "failed", 0),
        (400, "cut", "failed", 0),
    ],
)
def test_only_an_engine_that_refuses_chats_has_no_template(status, problem, outcome, remarks):
    """Other faults of its own answer are failures: the entry's answers were compared with nothing."""
    remarked, engine = [], types.SimpleNamespace(name="decode-0")

    def answer(target, *_arguments, **_more):
        return Answer(problem, "no template", status) if target is engine else Answer("", "", 200, "text")

    probe = types.SimpleNamespace(
        plan=types.SimpleNamespace(store=False, compared_tokens=8),
        entry="entry",
        served_by=None,
        new_prompt=lambda: "a prompt",
        chat=answer,
        reference_engine=lambda served: engine,
        target=lambda found: found,
        hide=str,
        remark=lambda *given: remarked.append(given),
    )
    assert {record["status"] for record in chat.check_chat(probe)} == {outcome} and len(remarked) == remarks


@pytest.mark.parametrize(
    ("roles", "requests", "unread", "enough"),
    [
        ({"decode": ["d"], "prefill": ["p"]}, {"d": 2, "p": 0}, [], True),
        ({"decode": ["d"], "prefill": ["p"]}, {"d": 1, "p": 2}, [], False),
        ({"decode": ["d"], "prefill": ["p"]}, {"d": 1, "p": 2}, ["p"], True),
        ({"decode": ["d", "e"]}, {"d": 1}, [], False),
        ({"decode": ["d", "e"]}, {"d": 1, "e": 1}, [], True),
        ({"colocated": ["c"]}, {"c": 2}, [], True),
        ({"colocated": ["c"]}, {"c": 1}, [], False),
    ],
)
def test_counters_are_read_until_the_engines_that_finish_requests_have_counted(
    monkeypatch, roles, requests, unread, enough
):
    made = {role: [types.SimpleNamespace(name=name) for name in names] for role, names in roles.items()}
    plan = types.SimpleNamespace(role=lambda kind: made.get(kind, []))
    window = types.SimpleNamespace(
        engines={name: types.SimpleNamespace(requests=number) for name, number in requests.items()}, unread=unread
    )
    asked = []
    probe = types.SimpleNamespace(plan=plan, settle=lambda read, done: asked.append(done(window)))
    entry.window_after(probe, None, [Answer("", "", 200, prompt_tokens=10)] * 2)
    load._window(probe, None, [Answer("", "", 200, prompt_tokens=10)] * 2)
    assert asked == [enough] * 2


@pytest.mark.parametrize(
    ("computed", "partial", "foreign", "lost"),
    [
        (130, False, 0, ""),  # one token of each prompt, and less than a block
        (131, False, 0, "about 1 transfers"),  # counted by the shortest prompt: no fewer than were lost
        (402, False, 0, "about 2 transfers"),
        (402, False, 1, ""),  # whose tokens these are cannot be known
        (402, True, 0, "about 1 transfers"),
        (None, False, 0, ""),
    ],
)
def test_lost_transfers_of_a_burst_are_counted(monkeypatch, computed, partial, foreign, lost):
    answers = [Answer("", "", 200, prompt_tokens=tokens) for tokens in (200, 400, 600)]
    found = types.SimpleNamespace(problem=None, evidence={"local_compute": computed})
    monkeypatch.setattr(load, "judge", lambda *_arguments: found)
    probe = types.SimpleNamespace(
        plan=types.SimpleNamespace(disaggregated=True, block_size=128), partial_blocks=partial
    )
    window = types.SimpleNamespace(finished=lambda plan, role: len(answers) + foreign)
    problem, dummy = load._lost(probe, window, answers)
    assert (lost in problem.text and problem.fault == "recomputed") if lost else problem is None


def test_each_server_that_lost_a_text_is_named_once():
    lost, whole = Answer("cut", "ended early", 200), Answer("", "", 200, "text")
    probe = types.SimpleNamespace(hide=str)
    own = {"decode-0": [whole, lost, lost], "decode-1": [whole] * 3}
    assert [item["hop"] for item in texts._incomplete(probe, own, [lost, whole, lost])] == ["decode-0", "entry"]
    assert texts._incomplete(probe, {"decode-1": [whole]}, [whole]) == []


SERVES, WAITS = '{"role": "leader", "service_ready": true}', '{"role": "standby", "service_ready": false}'


@pytest.mark.parametrize(
    ("replies", "broken"),
    [
        ([(200, SERVES, "")], {}),
        ([(200, WAITS, "")], {"m0": "VERIFY-MASTER-STANDBY"}),
        ([(200, SERVES, ""), (200, WAITS, "")], {}),
        ([(200, WAITS, ""), (200, WAITS, "")], {"m0": "VERIFY-NO-LEADER", "m1": "VERIFY-NO-LEADER"}),
        ([(200, SERVES, ""), (200, SERVES, "")], {"m0": "VERIFY-TWO-LEADERS", "m1": "VERIFY-TWO-LEADERS"}),
        ([(200, SERVES, ""), (500, SERVES, "")], {"m1": None}),
        ([(200, SERVES, ""), (200, SERVES, "cut")], {"m1": None}),
        ([(200, SERVES, "cut"), (200, WAITS, "")], {"m0": None, "m1": "VERIFY-NO-LEADER"}),
        ([(0, "", "refused"), (0, "", "refused")], {"m0": None, "m1": None}),
    ],
)
def test_one_master_serves_and_all_answer_wholly(replies, broken):
    """None: whatever an answer that is none is called."""
    masters = tuple(types.SimpleNamespace(name=f"m{number}") for number in range(len(replies)))
    found = master._unfit(masters, [Reply(status, body, 0.0, error) for status, body, error in replies])
    assert {item["hop"] for item in found} == set(broken) and len(found) == len(broken)
    assert all(broken[item["hop"]] in (None, item["finding"]["id"]) for item in found)
