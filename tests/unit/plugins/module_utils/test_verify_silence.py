# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an engine fails to answer decides what its finding says: silence, a refusal, an error and a missing key have different causes."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify import pairs, ready
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import Answer
from ansible_collections.ascend.inference.plugins.module_utils.verify.faults import FAULTS

ENGINE = types.SimpleNamespace(name="decode-0", ranks=1, bootstrap="")
# how an answer fails, its HTTP status: the fault of an engine that is asked directly, and of decode with KV from prefill
ANSWERS = [
    ("timeout", 0, "hangs", "decode_hangs"),
    ("http_error", 503, "unready", "kv_error"),
    ("http_error", 501, "not_openai", "not_openai"),
    ("http_error", 401, "unauthorized", "unauthorized"),
    ("http_error", 403, "unauthorized", "unauthorized"),
    ("http_error", 404, "unready", "kv_error"),
    ("refused", 0, "dead", "dead"),
    ("unreachable", 0, "dead", "dead"),
    ("cut", 200, "dead", "cut"),
    ("empty", 200, "dead", "cut"),
]


def probe_of(answers):
    """A probe whose requests get these answers, one after the other."""
    given = iter(answers)
    return types.SimpleNamespace(
        plan=types.SimpleNamespace(
            engines=[ENGINE],
            compared_tokens=8,
            max_tokens=8,
            transfer=types.SimpleNamespace(protocol="prefill_answers"),
        ),
        joining=set(),
        new_prompt=lambda: "a prompt",
        target=lambda engine: engine.name,
        metrics=lambda target: {},
        complete=lambda *_arguments, **_more: next(given),
        hide=lambda text: text,
    )


@pytest.mark.parametrize(("problem", "status", "fault", "_of_decode"), ANSWERS)
def test_an_engine_that_is_asked_directly(problem, status, fault, _of_decode):
    (found,) = ready.check_alone(probe_of([Answer(problem, "no text", status)]))
    assert (found["status"], found["hop"], found["finding"]["why"]) == ("failed", "decode-0", FAULTS[fault].why)


@pytest.mark.parametrize(("problem", "status", "_of_an_engine", "fault"), ANSWERS)
def test_decode_that_gets_kv(problem, status, _of_an_engine, fault):
    member = pairs.Member(ENGINE, None)
    first = Answer("", "", 200, kv_transfer_params={"do_remote_prefill": True})
    found, row = pairs._one_pair(probe_of([first, Answer(problem, "no text", status)]), member, member)
    assert found.fault == fault and row == {"timed_out": problem == "timeout"}


@pytest.mark.parametrize(("problem", "status", "fault", "_of_decode"), ANSWERS)
def test_prefill_that_does_not_answer(problem, status, fault, _of_decode):
    member = pairs.Member(ENGINE, None)
    found, _row = pairs._one_pair(probe_of([Answer(problem, "no text", status)]), member, member)
    assert found.fault == fault


def test_prefill_that_has_no_kv():
    member = pairs.Member(ENGINE, None)
    for params in (None, {}, {"do_remote_prefill": False}):
        found, _row = pairs._one_pair(probe_of([Answer("", "", 200, kv_transfer_params=params)]), member, member)
        assert found.fault == "no_kv_params"
