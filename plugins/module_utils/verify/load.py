# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps long and burst: a prompt that prefill computes in several chunks, and concurrent requests. Both is where KV gets lost under load."""

from __future__ import annotations

from typing import Any

from ..tools.engine_kinds import ANSWERING_KINDS
from .answers import Answer, excerpt
from .faults import Problem
from .probe import Probe
from .prompts import new_nonce, prompt_of
from .records import Record, failed, passed, skipped
from .transfer import Window, busy, judge, window_of


def check_long(probe: Probe) -> list[Record]:
    """A prompt of more than two chunks (max-num-batched-tokens), or the longest one that the engines accept."""
    plan = probe.plan
    room = probe.max_model_len - plan.max_tokens - 1 if probe.max_model_len else 0
    wanted = plan.long_prompt_tokens or (2 * plan.chunk_tokens + 1)
    if not plan.long_prompt_tokens and not plan.chunk_tokens:
        return [skipped("long", "the plan has no size of a chunk (max-num-batched-tokens)")]
    if not plan.long_prompt_tokens and room and room <= plan.chunk_tokens:
        message = (
            f"max_model_len {probe.max_model_len} allows no prompt longer than a chunk of {plan.chunk_tokens} tokens"
        )
        return [skipped("long", message)]
    tokens = min(wanted, room) if room else wanted
    words = probe.words_for(tokens, most=room or tokens * 2)
    prompt, before = prompt_of(new_nonce(), words), probe.all_metrics()
    answer = probe.complete(probe.entry, prompt)
    if not answer.whole:
        problem = Problem(probe.hide(f"a prompt of about {tokens} tokens: {answer.detail}"), "long_prompt")
        return [failed("long", "entry", problem)]
    window = _window(probe, before, [answer])
    engine = probe.reference_engine(busy(window, sorted(window.engines)))
    reference = probe.reference(prompt, engine, cached=True)
    message = f"{answer.prompt_tokens} prompt tokens in {answer.seconds * 1000.0:.0f} ms"
    if not reference.whole:
        fault = "unauthorized" if reference.unauthorized else "unready"
        problem = Problem(probe.hide(f"{message}; no reference output: {reference.detail}"), fault)
        return [failed("long", engine.name, problem)]
    if not probe.same(answer, reference, prompt, engine):
        text = f"{message}: the answer is {excerpt(answer.text, 60)!r}, but {engine.name} directly returns {excerpt(reference.text, 60)!r}"
        return [failed("long", probe.pair_hop(), Problem(text, "long_prompt"))]
    probe.requests.append({"id": answer.request_id, "hop": probe.pair_hop()})
    found = judge(plan, window) if plan.disaggregated else None
    if found and found.problem:
        return [
            failed("long", found.hop, found.problem._replace(text=f"{message}: {found.problem.text}"), **found.evidence)
        ]
    if answer.prompt_tokens <= 2 * plan.chunk_tokens:
        message += (
            f", which is less than two chunks of {plan.chunk_tokens} tokens: max_model_len is {probe.max_model_len}"
        )
    return [
        passed("long", "entry", f"{message}, text equal to that of {engine.name}", prompt_tokens=answer.prompt_tokens)
    ]


def check_burst(probe: Probe) -> list[Record]:
    """Concurrent requests with different prompts: all are complete, right, and with KV from prefill."""
    number = probe.plan.burst
    if not number:
        return [skipped("burst", "switched off by inference_verify")]
    prompts, before = [probe.new_prompt() for _unused in range(number)], probe.all_metrics()
    answers = probe.at_once(lambda prompt: probe.complete(probe.entry, prompt), prompts, number)
    whole = [(prompt, answer) for prompt, answer in zip(prompts, answers) if answer.whole]
    if len(whole) < number:
        first = next(answer for answer in answers if not answer.whole)
        text = f"{number - len(whole)} of {number} concurrent requests failed; the first one: {first.detail}"
        return [failed("burst", "entry", Problem(probe.hide(text), "burst"))]
    window = _window(probe, before, answers)
    engine = probe.reference_engine(busy(window, sorted(window.engines)))
    references = probe.at_once(lambda prompt: probe.reference(prompt, engine, cached=True), prompts)
    wrong = [
        (answer, reference)
        for prompt, answer, reference in zip(prompts, answers, references)
        if not reference.whole or not probe.same(answer, reference, prompt, engine)
    ]
    if wrong:
        answer, reference = wrong[0]
        text = "{0} of {1} concurrent requests got another text; the first one is {2!r}, but {3} directly returns {4!r}"
        values = (
            len(wrong),
            number,
            excerpt(answer.text, 60),
            engine.name,
            excerpt(reference.text or reference.detail, 60),
        )
        return [failed("burst", probe.pair_hop(), Problem(probe.hide(text.format(*values)), "burst"))]
    probe.requests += [{"id": answer.request_id, "hop": probe.pair_hop()} for answer in answers]
    problem, evidence = _lost(probe, window, answers)
    if problem:
        return [failed("burst", probe.pair_hop(), problem, **evidence)]
    _remark_idle(probe, window, number)
    return [
        passed("burst", "entry", f"{number} concurrent requests, texts equal to those of {engine.name}", **evidence)
    ]


def _remark_idle(probe: Probe, window: Window, number: int) -> None:
    """Engines without any of the concurrent requests, if these were at least twice as many as the engines of the role."""
    for role in ANSWERING_KINDS:
        names = [engine.name for engine in probe.plan.role(role)]
        idle = [name for name in names if name not in busy(window, names)]
        if idle and number >= 2 * len(names):
            text = f"none of {number} concurrent requests was sent to {', '.join(idle[:8])}, {len(idle)} of {len(names)} {role} engines"
            probe.remark("entry", Problem(text, "idle_engine"))


def _window(probe: Probe, before: Any, answers: list[Answer]) -> Window:
    tokens = sum(answer.prompt_tokens for answer in answers)

    def read() -> Window:
        return window_of(before, probe.all_metrics(), len(answers), tokens)

    def enough(window: Window) -> bool:
        ends = probe.plan.role("decode") or probe.plan.role("colocated")
        done = sum(window.engines[engine.name].requests for engine in ends if engine.name in window.engines)
        return done >= len(answers) or bool(window.unread)

    return probe.settle(read, enough)


def _lost(probe: Probe, window: Window, answers: list[Answer]) -> tuple[Problem | None, dict[str, Any]]:
    """Transfers that did not happen: tokens that decode computed beyond the last partial block of each prompt.

    A single prompt among many is less than the share that a window may miss, so its tokens are counted. How many tokens of a
    prompt decode computes always (one, or the partial block) is known from step transfer, whose requests came alone.
    """
    if not probe.plan.disaggregated:
        return None, {}
    found = judge(probe.plan, window)
    if found.problem:
        return found.problem, found.evidence
    computed, foreign = found.evidence.get("local_compute"), window.finished(probe.plan, "decode") - len(answers)
    if computed is None or foreign > 0:
        return None, found.evidence
    size = probe.plan.block_size
    usual = sum(answer.prompt_tokens % size or size for answer in answers) if probe.partial_blocks else len(answers)
    if computed - usual < size:
        return None, found.evidence
    text = "decode computed {0:.0f} prompt tokens of {1} concurrent requests itself, {2} are usual: about {3:.0f} transfers were lost"
    shortest = min(answer.prompt_tokens for answer in answers)
    problem = Problem(text.format(computed, len(answers), usual, max(1.0, (computed - usual) / shortest)), "recomputed")
    return problem, found.evidence
