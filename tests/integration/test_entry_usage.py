# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned entry with the real HAProxy: usage counted is usage sent, limits of tokens, and what clients and engines see of the counting."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import datetime
import http.client
import json
import threading
import time

import pytest
from ansible_collections.ascend.inference.tests.integration import _entry
from ansible_collections.ascend.inference.tests.integration._entry import COMPLETIONS, KEYS, http_ask

STREAM = {"messages": [], "model": "qwen3", "count": [11, 3, 4], "stream": True}
PLAIN = {"messages": [], "model": "qwen3", "count": [11, 3, 4]}
TEAMS = {"lab": {"keys_file": "lab"}, "both": {"keys_file": "both"}}


@pytest.fixture
def entry():
    """A function that starts an entry for one test, with the settings that it changes."""
    with _entry.started() as make:
        yield make


@pytest.fixture(scope="module")
def shared():
    """An entry whose settings no test changes."""
    with _entry.started() as make:
        yield make(teams=TEAMS)


def ask(running, body, team="lab", path=COMPLETIONS):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http_ask(running.port, "POST", path, data, {"Authorization": f"Bearer {KEYS[team]}"})


def counted(running):
    """``{(team, model): [requests, without usage, prompt, completion, cached]}`` of the files of today."""
    found = collections.defaultdict(lambda: [0] * 5)
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    for path in (running.folder / "usage").glob(f"{day}.*-*"):
        if path.suffix != ".new":
            for line in path.read_text().splitlines():
                team, model, *numbers = line.split("\t")
                sums = found[team, model]
                sums[:] = [before + int(number) for before, number in zip(sums, numbers, strict=True)]
    return dict(found)


def settled(running, expected=None):
    """What is counted when the files have ``expected``, or else when some time has passed."""
    end = time.monotonic() + 5
    while time.monotonic() < end and counted(running) != expected:
        time.sleep(0.05)
    return counted(running)


def events(text):
    return [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")]


def test_usage_counted_is_usage_sent_also_while_the_configuration_changes(entry):
    running = entry(teams=TEAMS)
    sent, lock, done = collections.defaultdict(lambda: [0] * 5), threading.Lock(), threading.Event()

    def load(number):
        turn = 0
        while not done.is_set():
            turn += 1
            team, model = ("lab", "both")[turn % 2], ("qwen3", "org/ds-v4")[turn % 3 == 0]
            body = {"model": model, "count": [number + 5, turn % 7, turn % 3], "stream": bool(turn % 4), "gap": 0.001}
            if turn % 4 == 1:
                body["stream_options"] = {"include_usage": True}
            status, text, dummy = ask(running, body, team)
            assert status == 200 and ("usage" in text) == (turn % 4 < 2)
            with lock:
                numbers = (1, 0, number + 5, turn % 7, turn % 3)
                sent[team, model] = [before + more for before, more in zip(sent[team, model], numbers, strict=True)]
        return turn

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        clients = [pool.submit(load, number) for number in range(8)]
        for dummy in range(3):
            time.sleep(2)
            running.reload()
        time.sleep(2)
        done.set()
    turns = [client.result() for client in clients]
    assert sum(turns) > 300
    assert settled(running, dict(sent)) == dict(sent)
    assert "Lua filter" not in (running.folder / "log").read_text()


YES, NO = {"include_usage": True}, {"include_usage": False}
# What clients send, what engines get, and whether the client sees the usage.
ASKED = {
    '"stream": true': (YES, False),
    '"stream": true, "stream_options": {"include_usage": true}': (YES, True),
    '"stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true}': (
        {**YES, "continuous_usage_stats": True},
        True,
    ),
    '"stream": true, "stream_options": {"include_usage": false}': (YES, False),
    '"stream": true, "stream_options": {"continuous_usage_stats": true}': (YES, False),
    '"stream": true, "stream_options": {}': (YES, False),
    '"stream": true, "stream_options": null': (YES, False),
    '"stream_options":{"a":{"include_usage":true},"b":"\\"include_usage\\":true"} , "stream" : true': (YES, False),
    '"stream\\u005foptions": {"\\u0069nclude_usage": true}, "str\\u0065am": true': (YES, True),
    '"stream": 1e0': (YES, False),
    '"stream": "\\u0074ru\\u0065"': (YES, False),
    '"stream": 0.0': (None, True),
    '"stream": false': (None, True),
    '"stream": null': (None, True),
    '"x": {"stream": true}': (None, True),
}


@pytest.mark.parametrize("members", ASKED)
def test_the_engine_is_asked_for_the_usage_and_the_client_sees_what_it_asked_for(shared, members):
    expected, visible = ASKED[members]
    body = f' {{ {members}, "count": [5, 2, 0], "model": "qwen3" }}\n'.encode()
    status, text, dummy = ask(shared, body)
    got = json.loads(shared.deployments["qwen"].seen[-1][2])
    assert status == 200 and got.get("stream_options") == expected
    assert ({**got, "stream_options": 0} == {**json.loads(body), "stream_options": 0}) and ("usage" in text) == visible
    if "stream" in got and got["stream"]:
        assert len([event for event in events(text) if event["choices"]]) == 2 and text.endswith("data: [DONE]\n\n")


LONG_OPTIONS = '{"include_usage": true, "x": "%s", "include_usage": false}' % ("y" * 5000)
# What the engine is told last holds there, and what a router calls an answer is no sign of what it is: {members: tokens of prompt and answer}.
HIDDEN = {
    f'"stream": true, "stream_options": {LONG_OPTIONS}': [1, 0, 11, 3, 4],
    '"stream": "false"': [1, 0, 11, 3, 4],
    '"stream": "\\u004eo"': [1, 0, 11, 3, 4],
    '"stream": true, "label": "application/json"': [1, 0, 11, 3, 4],
    '"stream": true, "label": "application/json", "end_after": 2, "gap": 0.1': [1, 1, 0, 2, 0],
}


@pytest.mark.parametrize("members", HIDDEN, ids=lambda members: members[:24] + members[-16:])
def test_no_form_of_a_request_hides_its_tokens(entry, members):
    running, body = entry(teams=TEAMS), f'{{{members}, "count": [11, 3, 4], "model": "qwen3"}}'
    with contextlib.suppress(http.client.IncompleteRead):
        assert ask(running, body.encode())[0] == 200
    expected = {("lab", "qwen3"): HIDDEN[members]}
    assert settled(running, expected) == expected


def test_a_body_that_names_a_part_of_the_question_twice_is_refused(shared):
    for member in ('"stream": true', '"stream_options": {}'):
        status, text, dummy = ask(shared, f'{{"model": "qwen3", {member}, {member}}}'.encode())
        assert status == 400 and "twice" in text


@pytest.mark.parametrize("pieces", [1, 7, 64, 100000])
def test_events_in_pieces_arrive_whole_and_without_the_usage(shared, pieces):
    before = counted(shared).get(("both", "qwen3"), [0] * 5)
    status, text, dummy = ask(shared, {**STREAM, "pieces": pieces}, "both")
    assert status == 200 and len(events(text)) == 3 and "usage" not in text and text.endswith("data: [DONE]\n\n")
    expected = [had + more for had, more in zip(before, (1, 0, 11, 3, 4), strict=True)]
    assert settled(shared, {**counted(shared), ("both", "qwen3"): expected})["both", "qwen3"] == expected


@pytest.mark.parametrize("stream", [False, True])
def test_a_text_about_usage_is_no_usage(entry, stream):
    running = entry(teams=TEAMS)
    text = 'the "usage": {"prompt_tokens": 7000, "completion_tokens": 7000} "usage":{"prompt_tokens":7}\n\n'
    status, dummy, dummy2 = ask(running, {**PLAIN, "stream": stream, "text": text})
    expected = {("lab", "qwen3"): [1, 0, 11, 3, 4]}
    assert status == 200 and settled(running, expected) == expected
    assert not [path for path in (running.folder / "usage").iterdir() if "the" in path.read_text()]


def test_a_large_answer_and_a_large_request_are_counted(entry):
    running = entry(teams=TEAMS)
    status, text, dummy = ask(running, {**PLAIN, "text": "y" * 100000, "count": [1, 30, 0]})
    assert status == 200 and len(text) > 3000000
    large = {**STREAM, "messages": ["x" * 7000000]}
    assert (
        ask(running, large)[0] == 200
        and len(json.loads(running.deployments["qwen"].seen[-1][2])["messages"][0]) == 7000000
    )
    expected = {("lab", "qwen3"): [2, 0, 12, 33, 4]}
    assert settled(running, expected) == expected


def test_a_stream_with_a_length_arrives_whole(entry):
    running = entry(teams=TEAMS)
    status, text, dummy = ask(running, {**STREAM, "whole": True})
    assert status == 200 and text.endswith("data: [DONE]\n\n") and '"usage"' in text
    expected = {("lab", "qwen3"): [1, 0, 11, 3, 4]}
    assert settled(running, expected) == expected


def test_a_stream_that_ends_early_is_counted_by_its_events(entry):
    running = entry(teams=TEAMS)
    with pytest.raises(Exception, match="IncompleteRead"):
        ask(running, {**STREAM, "count": [11, 50, 0], "end_after": 20, "gap": 0.01})
    found = settled(running, {("lab", "qwen3"): [1, 1, 0, 20, 0]})
    assert found == {("lab", "qwen3"): [1, 1, 0, 20, 0]}


def sending(kind, parts):
    """SIMULATED: a router that a stranger runs. It answers with these bytes, and ends before its answer does."""

    async def answer(writer, dummy):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % kind)
        for part in parts:
            for at in range(0, len(part), 2**20):
                piece = part[at : at + 2**20]
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            await asyncio.sleep(0.05)
        raise OSError

    return answer


ODD = {
    "one event with many usages": (b"text/event-stream", [b'"usage":{' * 4000000, b"\n\n"]),
    "many events": (b"text/event-stream", [b"\n\n" * 20000000]),
    "an event that does not end": (b"text/event-stream", [b"\nx" * 20000000, *[b"\nx"] * 20]),
    "many usages": (b"application/json", [b'"usage":{' * 4000000]),
}


@pytest.mark.parametrize("form", ODD)
def test_no_router_holds_up_the_others_or_ends_the_process(entry, form):
    running = entry(teams=TEAMS, body_mib=64)
    for name in ("old", "new"):
        running.deployments[name]._counted = sending(*ODD[form])
    client = threading.Thread(target=lambda: ask_until_end(running, {**STREAM, "model": "org/ds-v4"}))
    client.start()
    while client.is_alive():
        before = running.computed()
        assert ask(running, PLAIN)[0] == 200
        assert running.computed() - before < 1.5, "HAProxy ends itself when a thread computes for two seconds"
        time.sleep(0.02)
    assert running.process.poll() is None


def ask_until_end(running, body):
    with contextlib.suppress(OSError, http.client.HTTPException):
        ask(running, body)


def test_a_usage_that_begins_a_stream_does_not_hide_what_follows(entry):
    """As Anthropic's API has it, and as a router can write it."""
    running = entry(teams=TEAMS)
    begin = b'data: {"usage":{"input_tokens":9,"output_tokens":0,"cached_tokens":99}}\n\n'
    running.deployments["qwen"]._counted = sending(b"text/event-stream", [begin, *[b"data: x\n\n"] * 5])
    ask_until_end(running, STREAM)
    expected = {("lab", "qwen3"): [1, 0, 9, 5, 9]}
    assert settled(running, expected) == expected


def test_many_who_come_first_do_not_count_the_month_twice(entry):
    running = entry(teams={"lab": {"keys_file": "lab", "tokens_per_month": 10**6}})
    now = datetime.datetime.now(datetime.timezone.utc)
    days = [now.replace(day=day).strftime("%Y-%m-%d") for day in range(1, now.day)]
    for day in days:
        (running.folder / "usage" / f"{day}.1-1").write_text("lab\tqwen3\t1\t0\t1\t0\t0\n" * 6000)
        (running.folder / "usage" / f"{day}.index").write_text("1-1\n")
    running.restart()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert {status for status, *dummy in pool.map(lambda dummy: ask(running, PLAIN), range(16))} == {200}
    time.sleep(1.5)
    text = http_ask(running.status, "GET", "/metrics")[1]
    expected = (len(days) * 6000 + 16 * 14) / 10**6
    assert f'tokens_used_ratio{{team="lab",period="month"}} {expected:.6f}' in text, text


def test_those_who_wait_for_counts_together_do_not_pass_the_limit_of_requests(entry):
    running = entry(teams={"lab": {"keys_file": "lab", "tokens_per_month": 10**9, "requests_per_minute": 5}})
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    (running.folder / "usage" / f"{day}.1-1").write_text("lab\tqwen3\t1\t0\t1\t0\t0\n" * 150000)
    (running.folder / "usage" / f"{day}.index").write_text("1-1\n")
    running.restart()
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        answers = [status for status, *dummy in pool.map(lambda dummy: ask(running, PLAIN), range(40))]
    assert (answers.count(200), answers.count(429)) == (5, 35)


def test_refusals_and_errors_are_no_requests_of_a_day(entry):
    running = entry(teams=TEAMS)
    assert ask(running, {"model": "gpt"})[0] == 404
    assert ask(running, {**PLAIN, "stream_options": YES})[0] == 400
    assert ask(running, PLAIN)[0] == 200
    expected = {("lab", "qwen3"): [1, 0, 11, 3, 4]}
    assert settled(running, expected) == expected


@pytest.mark.parametrize("period", ["tokens_per_day", "tokens_per_month"])
def test_a_team_gets_no_more_requests_when_its_tokens_are_used_up(entry, period):
    running = entry(teams={"lab": {"keys_file": "lab", period: 40}, "both": {"keys_file": "both"}})
    # 14 tokens each: the third one passes with 28, the fourth one does not with 42
    assert [ask(running, body)[0] for body in (PLAIN, STREAM, PLAIN, STREAM, PLAIN)] == [200, 200, 200, 429, 429]
    status, text, headers = ask(running, PLAIN)
    error, now = json.loads(text)["error"], time.time()
    assert (status, error["code"]) == (429, "insufficient_quota")
    wait = int(headers["retry-after"])
    until = datetime.datetime.fromtimestamp(now + wait + 1, datetime.timezone.utc)
    assert (until.hour, until.minute) == (0, 0) and (period == "tokens_per_day" or until.day == 1)
    assert wait <= (86400 if period == "tokens_per_day" else 31 * 86400)
    assert ask(running, PLAIN, "both")[0] == 200
    running.reload()
    time.sleep(2)
    assert ask(running, PLAIN)[0] == 429, "a changed configuration gave the team its tokens again"
    running.restart()
    assert ask(running, PLAIN)[0] == 429 and ask(running, PLAIN, "both")[0] == 200
    text = http_ask(running.status, "GET", "/metrics")[1]
    name = period.rpartition("_")[2]
    assert f'ascend_inference_entry_tokens_used_ratio{{team="lab",period="{name}"}} 1.05' in text


def test_tokens_of_earlier_days_are_of_the_month_and_not_of_the_day(entry):
    running = entry(teams={"lab": {"keys_file": "lab", "tokens_per_month": 40, "tokens_per_day": 1000}})
    today = datetime.datetime.now(datetime.timezone.utc)
    days = (
        {today - datetime.timedelta(days=today.day): 39} if today.day == 1 else {today - datetime.timedelta(days=1): 39}
    )
    for day, tokens in days.items():
        name = day.strftime("%Y-%m-%d")
        (running.folder / "usage" / f"{name}.1-1").write_text(f"lab\tqwen3\t1\t0\t{tokens}\t0\t0\n")
        (running.folder / "usage" / f"{name}.index").write_text("1-1\n")
    running.restart()
    expected = [200, 200, 200, 429] if today.day == 1 else [200, 429, 429, 429]
    assert [ask(running, PLAIN)[0] for dummy in range(4)] == expected


def test_limits_and_metrics_follow_the_counts_of_all_processes(entry):
    running = entry(teams={"lab": {"keys_file": "lab", "tokens_per_day": 1000}})
    ask(running, PLAIN)
    running.reload()
    time.sleep(2)
    ask(running, STREAM)
    text = http_ask(running.status, "GET", "/metrics")[1]
    labels = '{team="lab",model="qwen3"}'
    for name, value in (("requests", 2), ("prompt_tokens", 22), ("completion_tokens", 6), ("cached_tokens", 8)):
        assert f"ascend_inference_entry_{name}_today{labels} {value}\n" in text, text
    assert 'tokens_used_ratio{team="lab",period="day"} 0.028' in text and 'period="month"' not in text


def test_without_usage_nothing_is_asked_for_and_nothing_is_counted(entry):
    running = entry(teams=TEAMS, usage=False)
    status, text, dummy = ask(running, STREAM)
    assert status == 200 and len(events(text)) == 3
    assert json.loads(running.deployments["qwen"].seen[-1][2]) == STREAM
    status, text, dummy = http_ask(running.status, "GET", "/metrics")
    assert not list((running.folder / "usage").iterdir()) and status == 200 and "_today" not in text
