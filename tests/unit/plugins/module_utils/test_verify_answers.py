# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP 200 is not an answer: what makes one whole."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import (
    Answer,
    Token,
    excerpt,
    read_answer,
    read_stream,
    same_text,
)


def reply(body="", status=200, error="", events=()):
    return Reply(status, body, 0.5, error, "", tuple(events))


def completion(**changes):
    choice = {"text": " river", "finish_reason": "length"}
    choice.update(changes.pop("choice", {}))
    return json.dumps(
        dict({"id": "cmpl-7", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}, **changes)
    )


def chunk(text="", reason=None, **more):
    return json.dumps(dict({"id": "cmpl-7", "choices": [{"text": text, "finish_reason": reason}]}, **more))


def test_a_whole_answer():
    answer = read_answer(reply(completion(kv_transfer_params={"do_remote_prefill": True})))
    assert answer.whole
    assert (answer.text, answer.prompt_tokens, answer.request_id, answer.seconds) == (" river", 9, "cmpl-7", 0.5)
    assert answer.kv_transfer_params == {"do_remote_prefill": True}


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (reply(error="refused", status=0), "refused"),
        (reply(error="cut"), "cut"),
        (reply(error="timeout", status=0), "timeout"),
        (reply("boom", status=500), "http_error"),
        (reply("", status=404), "http_error"),
        (reply(""), "empty"),
        (reply(" \n"), "empty"),
        (reply("<html>"), "not_json"),
        (reply("null"), "not_json"),
        (reply('{"choices": []}'), "not_json"),
        (reply('{"error": "no"}'), "not_json"),
        (reply('{"choices": "text"}'), "not_json"),
        (reply('{"choices": {"0": {}}}'), "not_json"),
        (reply(completion(choice={"text": 7})), "not_json"),
        (reply(completion(choice={"text": [" river"]})), "not_json"),
        (reply(completion(choice={"message": "text"})), "not_json"),
        (reply(completion(choice={"message": {"content": 7}})), "not_json"),
        (reply(completion(choice={"message": {"tool_calls": [7]}})), "not_json"),
        (reply(completion(usage="none")), "not_json"),
        (reply(completion(usage={"completion_tokens": "1"})), "not_json"),
        (reply(completion(kv_transfer_params="yes")), "not_json"),
        (reply(completion(choice={"text": ""})), "incomplete"),
        (reply(completion(choice={"finish_reason": None})), "incomplete"),
        (reply(completion(choice={"finish_reason": "abort"})), "incomplete"),
        (reply(completion(choice={"finish_reason": "error"})), "incomplete"),
        (reply(completion(usage={"prompt_tokens": 9, "completion_tokens": 0})), "incomplete"),
        (reply(completion(usage=None)), "incomplete"),
    ],
)
def test_what_is_no_answer(broken, problem):
    answer = read_answer(broken)
    assert answer.problem == problem
    assert answer.detail or problem in ("refused", "cut")


def test_a_whole_stream_with_usage_and_without():
    events = [(0.2, chunk(" ri")), (0.3, chunk("ver", "length")), (0.4, "[DONE]")]
    plain = read_stream(reply("x", events=events))
    assert (plain.problem, plain.text, plain.ttft, plain.completion_tokens) == ("", " river", 0.2, 2)
    usage = json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}})
    counted = read_stream(reply("x", events=[*events[:2], (0.35, usage), events[2]]))
    assert (counted.problem, counted.prompt_tokens, counted.completion_tokens) == ("", 9, 5)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([(0.2, chunk(" ri")), (0.3, chunk("ver", "length"))], "no_done"),
        ([(0.2, chunk(" ri")), (0.3, "[DONE]")], "incomplete"),
        ([(0.2, chunk("", "length")), (0.3, "[DONE]")], "incomplete"),
        ([(0.2, chunk(" ri", "length")), (0.3, "[DONE]"), (0.4, chunk("x"))], "no_done"),
        ([(0.3, "[DONE]")], "not_json"),
        ([(0.1, '{"error": {"message": "no"}}'), (0.3, "[DONE]")], "incomplete"),
        ([], "not_json"),
        ([(0.2, '{"choices": "text"}'), (0.3, "[DONE]")], "not_json"),
        ([(0.2, '{"choices": {"0": {}}}'), (0.3, "[DONE]")], "not_json"),
        ([(0.2, '{"choices": [{"delta": "x"}]}'), (0.3, "[DONE]")], "not_json"),
        ([(0.2, chunk(" ri", "length", usage="5")), (0.3, "[DONE]")], "not_json"),
    ],
)
def test_what_is_no_stream(events, problem):
    assert read_stream(reply("x", events=events)).problem == problem


@pytest.mark.parametrize("between", ["data: ", "data:"])
def test_two_events_in_one_line_are_named_and_read(between):
    for events in (
        [(0.2, chunk(" ri")), (0.3, chunk("ver", "length") + between + "[DONE]")],
        [(0.2, chunk(" ri") + between + chunk("ver", "length")), (0.3, "[DONE]")],
        [(0.3, between.join([chunk(" ri"), chunk("ver", "length"), "[DONE]"]))],
    ):
        found = read_stream(reply("x", events=events))
        assert (found.problem, found.text, found.finish_reason) == ("joined", " river", "length")
        assert "two events of the stream came as one" in found.detail


def test_a_text_that_looks_like_two_events_is_one():
    found = read_stream(reply("x", events=[(0.2, chunk(" }data: [DONE]", "stop")), (0.3, "[DONE]")]))
    assert (found.problem, found.text) == ("", " }data: [DONE]")


def test_an_answer_with_two_events_in_one_line_lacks_what_it_lacks():
    found = read_stream(reply("x", events=[(0.2, chunk(" ri") + "data: [DONE]")]))
    assert found.problem == "incomplete"


def test_empty_text_before_the_first_text_is_no_first_token():
    events = [(0.1, chunk("")), (0.6, chunk(" river", "length")), (0.7, "[DONE]")]
    assert read_stream(reply("x", events=events)).ttft == 0.6


@pytest.mark.parametrize(
    ("answer", "reference", "exact", "same"),
    [
        ("abc", "abc", True, True),
        ("abcd", "abc", True, False),
        ("abcd", "abc", False, True),
        ("abcd", "abd", False, False),
        ("abü", "ab\ufffd", False, True),
        ("abc", "", False, False),
        ("abc", "\ufffd", False, False),
    ],
)
def test_same_text(answer, reference, exact, same):
    assert same_text(answer, reference, exact) is same


def test_excerpt_is_one_short_line():
    assert excerpt("a\n b") == "a b"
    assert len(excerpt("x" * 500)) == 201


@pytest.mark.parametrize("count", [1e400, float("nan"), "9", 10**400, -1, True, [9], {"n": 1}, 9.5])
@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens"])
def test_a_number_of_tokens_that_is_no_count_is_no_completion(name, count):
    usage = {"prompt_tokens": 9, "completion_tokens": 1, name: count}
    assert read_answer(reply(completion(usage=usage))).problem == "not_json"
    events = ((0.1, chunk(" river")), (0.2, chunk("", "length", usage=usage)), (0.3, "[DONE]"))
    assert read_stream(reply("data", events=events)).problem == "not_json"


LOGPROBS = {"tokens": ["a", "b"], "token_logprobs": [-1, -2.5], "top_logprobs": [{"a": -1, "x": -3}, {"b": -2.5}]}
TOKENS = (Token("a", -1.0, {"a": -1.0, "x": -3.0}), Token("b", -2.5, {"b": -2.5}))


@pytest.mark.parametrize(
    ("logprobs", "tokens"),
    [
        (LOGPROBS, TOKENS),
        (
            {
                "content": [
                    {
                        "token": "a",
                        "logprob": -1,
                        "top_logprobs": [{"token": "a", "logprob": -1}, {"token": "x", "logprob": -3}],
                    },
                    {"token": "b", "logprob": -2.5, "top_logprobs": [{"token": "b", "logprob": -2.5}]},
                ]
            },
            TOKENS,
        ),
        (None, ()),
        ({}, ()),
        ({**LOGPROBS, "top_logprobs": [None, None]}, ()),
        ({**LOGPROBS, "token_logprobs": [None, -1]}, ()),
        ({"content": [{"token": "a"}]}, ()),
    ],
)
def test_tokens_of_a_completion_and_of_a_chat(logprobs, tokens):
    assert read_answer(reply(completion(choice={"logprobs": logprobs}))).tokens == tokens


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "b"}, "b"),
        ({"reasoning": "a", "reasoning_content": "x", "content": "b"}, "ab"),
        ({"reasoning_content": "a", "content": "b"}, "ab"),
        ({"reasoning_content": "a", "content": None}, "a"),
        ({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}, {}, {"function": {"name": "g"}}]}, "f{}g"),
    ],
)
def test_the_text_of_a_chat_is_reasoning_content_and_calls(message, text):
    assert read_answer(reply(completion(choice={"message": message}))).text == text
    events = [(0.2, json.dumps({"choices": [{"delta": message, "finish_reason": "tool_calls"}]})), (0.3, "[DONE]")]
    assert (read_stream(reply("x", events=events)).text, read_stream(reply("x", events=events)).problem) == (text, "")


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (
            completion(choice={"text": "", "finish_reason": None}, usage=None),
            "text, completion_tokens > 0, a finish_reason of length or stop (it is '')",
        ),
        (completion(choice={"finish_reason": "abort"}), "a finish_reason of length or stop (it is 'abort')"),
        (completion(usage={"completion_tokens": 0}), "completion_tokens > 0"),
    ],
)
def test_each_missing_part_is_named(answer, missing):
    assert read_answer(reply(answer)).detail == "missing in the answer: " + missing


@pytest.mark.parametrize("reason", ["length", "stop", "tool_calls"])
def test_ends_of_a_whole_answer(reason):
    answer = read_answer(reply(completion(choice={"finish_reason": reason})))
    assert (answer.problem, answer.finish_reason, answer.ttft, answer.kv_transfer_params) == ("", reason, None, None)


@pytest.mark.parametrize(
    ("status", "wrong_key"), [(200, False), (400, False), (401, True), (402, False), (403, True), (404, False)]
)
def test_which_answers_say_that_the_key_is_wrong(status, wrong_key):
    assert Answer("http_error", "", status).unauthorized is wrong_key


def test_what_came_is_kept_with_its_time():
    for broken in (reply(status=0, error="cut"), reply("boom", 500), reply(""), reply("<html>")):
        for read in (read_answer, read_stream):
            found = read(broken)
            assert (found.seconds, found.status) == (0.5, broken.status)
    assert read_answer(reply("", 500)).detail == "HTTP 500: (empty body)"
    assert read_answer(reply("a\nb", 500)).detail == "HTTP 500: a b"
    assert read_answer(reply(status=0, error="timeout")).detail == "no answer within the timeout"
    assert read_answer(reply("<html>")).detail == "HTTP 200, but not a completion: <html>"
    assert read_stream(reply("<html>")).detail == "HTTP 200, but not a streamed completion: <html>"


def test_of_a_stream_the_first_choice_and_the_last_usage_count():
    two = {
        "id": "first",
        "choices": [{"text": "a"}, {"text": "x"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }
    last = {
        "id": "second",
        "choices": [{"text": "b", "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
    events = [(0.1, "no json"), (0.2, json.dumps(two)), (0.3, json.dumps(last)), (0.4, "[DONE]")]
    found = read_stream(reply("x", events=events))
    assert (found.text, found.request_id, found.finish_reason, found.ttft) == ("ab", "first", "stop", 0.2)
    assert (found.prompt_tokens, found.completion_tokens, found.seconds) == (7, 3, 0.5)


def test_an_excerpt_is_cut_behind_its_length():
    assert (excerpt("x" * 200), excerpt("x" * 201)) == ("x" * 200, "x" * 200 + "…")
    assert (excerpt("abc", 3), excerpt("abcd", 3)) == ("abc", "abc…")
