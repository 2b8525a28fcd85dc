# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step chat: the chat API through the entry, which applies the chat template and the parsers, streamed and not."""

from __future__ import annotations

from typing import Any

from .answers import Answer, excerpt
from .faults import Problem
from .plan import Engine
from .probe import Probe
from .prompts import new_nonce, salted
from .records import Record, failed, passed

PATH = "/v1/chat/completions"


def check_chat(probe: Probe) -> list[Record]:
    """Two answers through the entry, then the engine's own answers to the same messages.

    An engine without a chat template refuses (HTTP 400): its clients cannot use this API, which is a remark.
    """
    prompts = [probe.new_prompt(), probe.new_prompt()]
    answers = [
        probe.chat(probe.entry, prompts[0]),
        probe.chat(probe.entry, prompts[1], stream=True, stream_options={"include_usage": True}),
    ]
    engine = probe.reference_engine(probe.served_by)
    broken = []
    for number, (prompt, answer) in enumerate(zip(prompts, answers)):
        name = ("chat", "chat, streamed")[number]
        salt = salted(new_nonce()) if probe.plan.store else {}  # as in Probe.reference
        reference = probe.chat(probe.target(engine), prompt, probe.plan.compared_tokens, **salt)
        if reference.problem == "http_error" and reference.status in (400, 404):
            message = f"{engine.name} refuses {PATH}: {probe.hide(reference.detail)}"
            probe.remark(engine.name, Problem(message, "no_chat"))
            return [passed("chat", "", f"not usable: {engine.name} refuses {PATH}")]
        problem = _problem(probe, name, answer, reference, prompt, engine)
        if problem:
            broken.append(failed("chat", "entry", problem))
    if broken:
        return broken
    probe.requests += [{"id": answer.request_id, "hop": probe.pair_hop()} for answer in answers]
    parsers = f"; {', '.join(probe.plan.parsers)}" if probe.plan.parsers else ""
    return [passed("chat", "entry", f"answers, whole and streamed, are those of {engine.name}{parsers}")]


def _problem(probe: Probe, name: str, answer: Answer, reference: Answer, prompt: str, engine: Engine) -> Problem | None:
    if not answer.whole:
        fault = "unauthorized" if answer.unauthorized else "chat"
        return Problem(probe.hide(f"{name}: {answer.detail}"), fault)
    if not reference.whole:
        fault = "unauthorized" if reference.unauthorized else "unready"
        return Problem(probe.hide(f"{name}: {engine.name} did not answer directly: {reference.detail}"), fault)
    if not probe.same(answer, reference, prompt, engine, chat=True):
        values: tuple[Any, ...] = (name, excerpt(answer.text, 60), engine.name, excerpt(reference.text, 60))
        return Problem("{}: the answer is {!r}, but {} directly returns {!r}".format(*values), "chat")
    return None
