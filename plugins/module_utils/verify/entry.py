# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps entry, stream and transfer: two requests through the entry, and the engines' counters."""

from __future__ import annotations

from typing import Any

from ..tools.http_client import ask
from .answers import Answer, excerpt
from .faults import Problem
from .probe import Exchange, Probe
from .records import Record, failed, milliseconds, passed, record, skipped
from .transfer import Judgement, Window, busy, judge, of_sent, window_of

_USELESS_AGAIN = ("timeout", "refused", "unreachable", "tls")


def check_entry(probe: Probe) -> list[Record]:
    """Send both probes, read the counters before and after, get the reference text from an engine, then evaluate.

    In this order, because an earlier reference request would put the prompt into a cache and hide a missing transfer.
    """
    before = probe.all_metrics()
    plain = probe.complete(probe.entry, *_fresh(probe))
    exchanges = [plain]
    if plain.problem not in _USELESS_AGAIN:
        exchanges.append(
            probe.complete(probe.entry, *_fresh(probe), stream=True, stream_options={"include_usage": True})
        )
    return _judge_exchanges(probe, before, exchanges)


def check_streamed(probe: Probe) -> tuple[list[Record], Answer]:
    """The same with one streamed request: (records of steps entry and transfer, the answer)."""
    before = probe.all_metrics()
    answer = probe.complete(probe.entry, *_fresh(probe), stream=True, stream_options={"include_usage": True})
    return [step for step in _judge_exchanges(probe, before, [answer]) if step["step"] != "stream"], answer


def _fresh(probe: Probe) -> list[Any]:
    prompt = probe.new_prompt()
    probe.exchanges.append(Exchange(prompt, Answer("", "", 0)))
    return [prompt]


def _judge_exchanges(probe: Probe, before: Any, answers: list[Answer]) -> list[Record]:
    whole = [answer for answer in answers if answer.whole]
    window = window_after(probe, before, whole)
    probe.served_by = busy(window, sorted(window.engines))
    probe.ttft_ms = {
        "stream": milliseconds(answers[1].ttft) if len(answers) > 1 else None,
        "whole_answer": milliseconds(answers[0].seconds),
        "engine": _engine_ttft(probe, window),
    }
    steps = []
    for step, exchange, answer in zip(("entry", "stream"), probe.exchanges, answers):
        engine = probe.reference_engine(probe.served_by)
        reference = probe.reference(exchange.prompt, engine) if answer.whole else None
        steps.append(_judge_answer(probe, step, exchange.prompt, answer, reference, window))
    if len(answers) == 1:
        steps.append(skipped("stream", "the previous request got no answer"))
    probe.requests += [{"id": answer.request_id, "hop": probe.pair_hop()} for answer in whole]
    steps.append(_judge_transfer(probe, window, whole))
    probe.entry_works = all(step["status"] != "failed" for step in steps)
    return steps


def window_after(probe: Probe, before: Any, whole: list[Answer]) -> Window:
    """Counters after the exchanges, read until all complete answers are counted by the engines that finish requests."""
    # A stream without usage has no prompt tokens; the other probe has about as many.
    tokens = [answer.prompt_tokens for answer in whole if answer.prompt_tokens]
    sum_tokens = int(sum(tokens) / len(tokens) * len(whole)) if tokens else 0

    def read() -> Window:
        return window_of(before, probe.all_metrics(), len(whole), sum_tokens)

    def enough(window: Window) -> bool:
        ends = probe.plan.role("decode") or probe.plan.role("colocated")
        done = sum(window.engines[engine.name].requests for engine in ends if engine.name in window.engines)
        return done >= len(whole) or bool(window.unread)

    return probe.settle(read, enough)


def _engine_ttft(probe: Probe, window: Window) -> float | None:
    """Mean time to first token of the generating engine (milliseconds)."""
    ends = [engine.name for engine in probe.plan.role("decode") or probe.plan.role("colocated")]
    times = [window.engines[name].ttft_seconds for name in busy(window, ends)]
    known = [value for value in times if value is not None]
    return milliseconds(sum(known) / len(known)) if known else None


def _judge_answer(
    probe: Probe, step: str, prompt: str, answer: Answer, reference: Answer | None, window: Window
) -> Record:
    if not answer.whole:
        hop, fault = broken_hop(probe, answer, window)
        seen = {"problem": answer.problem, "status": answer.status}
        return failed(step, hop, Problem(probe.hide(answer.detail), fault), **seen)
    engine = probe.reference_engine(probe.served_by)
    reference_engine = engine.name
    if reference is None or not reference.whole:
        detail = reference.detail if reference else "not asked"
        fault = "unauthorized" if reference and reference.unauthorized else "unready"
        return failed(
            step, reference_engine, Problem("could not get the reference output: " + probe.hide(detail), fault)
        )
    if not probe.same(answer, reference, prompt, engine):
        text = "the answer is {0!r}, but {1} directly returns {2!r}"
        hop, fault = ("prefill -> decode", "garbage") if probe.plan.disaggregated else ("entry", "changed_in_transit")
        if probe.plan.disaggregated:
            hop = probe.pair_hop()
        problem = Problem(text.format(excerpt(answer.text, 60), reference_engine, excerpt(reference.text, 60)), fault)
        return failed(step, hop, problem, answer=excerpt(answer.text), reference=excerpt(reference.text))
    if answer.prompt_tokens != reference.prompt_tokens and (answer.prompt_tokens or step == "entry"):
        text = f"step {step}: the answer's usage has {answer.prompt_tokens} prompt tokens, that of {reference_engine} {reference.prompt_tokens}"
        probe.remark("entry", Problem(text, "wrong_usage"))
    message = f"{answer.completion_tokens} tokens in {answer.seconds * 1000.0:.0f} ms, text equal to that of {reference_engine}"
    return passed(step, "entry", message, prompt_tokens=answer.prompt_tokens, finish_reason=answer.finish_reason)


def broken_hop(probe: Probe, answer: Answer, window: Window) -> tuple[str, str]:
    """(hop, fault) of an incomplete answer: from the engines' health and the progress of the request."""
    if answer.problem in ("refused", "unreachable", "tls"):
        return "entry", "entry_down"
    if answer.unauthorized:
        return "entry", "unauthorized"
    for engine in probe.plan.engines:
        reply = ask(probe.target(engine), "/health", timeout=min(10.0, probe.limits.request))
        if reply.error or reply.status != 200:
            return engine.name, "hangs" if reply.error == "timeout" else "dead"
    if not probe.plan.disaggregated:
        return "entry", {"timeout": "hangs", "empty": "empty_200"}.get(answer.problem, "cut")
    prefilled = busy(window, [engine.name for engine in probe.plan.role("prefill")])
    decoded = busy(window, [engine.name for engine in probe.plan.role("decode")])
    if answer.problem == "timeout":
        return (
            (probe.pair_hop(), "decode_hangs") if prefilled and not decoded else ("entry -> prefill", "prefill_hangs")
        )
    if not prefilled and answer.problem != "no_done":
        return "entry -> prefill", "prefill_not_used"
    return "decode -> entry" if decoded else "entry -> decode", "empty_200" if answer.problem == "empty" else "cut"


def _judge_transfer(probe: Probe, window: Window, whole: list[Answer]) -> Record:
    if not whole:
        return skipped("transfer", "no request got a complete answer")
    if not probe.plan.disaggregated:
        if not window.unread and not probe.served_by:
            problem = Problem(f"no planned engine received the {len(whole)} requests", "no_engine_served")
            return failed("transfer", "entry", problem)
        return skipped("transfer", f"mode {probe.plan.mode} transfers no KV between engines on this path")
    found = judge(probe.plan, window)
    _remarks(probe, found)
    if found.problem:
        return failed("transfer", found.hop, found.problem, **found.evidence)
    probe.partial_blocks = (found.evidence.get("local_compute") or 0.0) > len(whole)
    status = "passed" if found.counted else "skipped"
    counted = found.evidence.get("external_kv_transfer")
    if not found.counted:
        message = "this engine does not count transferred tokens; the log lines are used"
    elif counted is None:
        promised = of_sent(found.evidence["promised"], window.tokens)
        message = f"decode's connector promised {promised}; the correct text proves that they arrived"
    else:
        message = f"{of_sent(counted, window.tokens)} were transferred"
    return record("transfer", status, found.hop, message, found.evidence)


def _remarks(probe: Probe, found: Judgement) -> None:
    """Warnings that do not change the result but affect its reliability."""
    facts = probe.plan.release
    if facts.has_prompt_tokens_by_source and found.evidence.get("external_kv_transfer", 0) is None:
        text = "decode has no vllm:prompt_tokens_by_source_total, which release {0} should have: check the installed release"
        probe.warnings.append(text.format(facts.name))
    decodes = {engine.name for engine in probe.plan.role("decode")}
    asked = sum(number for name, number in found.evidence.get("requests", {}).items() if name in decodes)
    if asked > len(probe.exchanges):
        text = "decode finished {0:.0f} requests while {1} were sent: other clients use the service, so its counters include theirs"
        probe.warnings.append(text.format(asked, len(probe.exchanges)))
