# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step texts: free texts, computed by each engine itself and by the routed path, compared by their tokens' probabilities.

A copied code shows that KV arrived; any weights copy it. Free texts differ with another fine-tune, revision or quantization.
"""

from __future__ import annotations

from typing import Any

from .agreement import Agreement, agreement, together
from .answers import Answer
from .faults import Problem
from .plan import Engine
from .probe import LOGPROBS, Probe
from .prompts import free_text, new_nonce, salted
from .records import Record, failed, passed

ENOUGH = 8  # fewer compared tokens say nothing about the weights


def check_texts(probe: Probe) -> list[Record]:
    """The routed answers first, while the prompts are in no cache; then each engine by itself."""
    prompts = [free_text(new_nonce(), number, probe.words) for number in range(probe.plan.prompts)]
    routed = _all(probe, [(probe.entry, prompt, {}) for prompt in prompts]) if probe.entry_works else []
    engines = probe.plan.engines
    asked = [(probe.target(engine), prompt, salted(new_nonce())) for engine in engines for prompt in prompts]
    answers = _all(probe, asked)
    own = {engine.name: answers[n * len(prompts) : (n + 1) * len(prompts)] for n, engine in enumerate(engines)}
    broken = _incomplete(probe, own, routed)
    if broken:
        return broken
    probe.requests += [{"id": answer.request_id, "hop": probe.pair_hop()} for answer in routed]
    if not all(answer.tokens for answer in answers):
        probe.remark("engines", Problem("the engines return no log-probabilities", "no_logprobs"))
        return [passed("texts", "", "complete, but not compared: the engines return no log-probabilities")]
    base = _reference(probe, own)
    results = {engine.name: _against(probe, own[base.name], own[engine.name]) for engine in engines if engine != base}
    for name, found in results.items():
        if _differs(probe, found):
            broken.append(
                failed("texts", name, Problem(_said(found, base.name), "different_engine"), **_evidence(found))
            )
    if routed and all(answer.tokens for answer in routed):
        results["entry"] = found = _against(probe, own[base.name], routed)
        if _differs(probe, found):
            fault = "garbage" if probe.plan.disaggregated else "changed_in_transit"
            hop = probe.pair_hop()
            broken.append(failed("texts", hop, Problem(_said(found, base.name), fault), **_evidence(found)))
    elif routed:
        probe.remark("entry", Problem("the answers through the entry have no log-probabilities", "no_logprobs"))
    return broken or [_passed(probe, base.name, results)]


def _all(probe: Probe, asked: list[tuple[Any, str, dict[str, Any]]]) -> list[Answer]:
    def ask(item: tuple[Any, str, dict[str, Any]]) -> Answer:
        return probe.complete(item[0], item[1], logprobs=LOGPROBS, **item[2])

    return probe.at_once(ask, asked)


def _incomplete(probe: Probe, own: dict[str, list[Answer]], routed: list[Answer]) -> list[Record]:
    broken = []
    for name, answers in [*own.items(), ("entry", routed)]:
        for answer in answers:
            if not answer.whole:
                problem = Problem(probe.hide("a free text got no complete answer: " + answer.detail), "some_lost")
                broken.append(failed("texts", name, problem))
                break
    return broken


def _reference(probe: Probe, own: dict[str, list[Answer]]) -> Engine:
    """The engine with which most engines agree; of several the first that computes prompts itself."""

    def supporters(engine: Engine) -> int:
        return sum(not _differs(probe, _against(probe, own[engine.name], answers)) for answers in own.values())

    return max(probe.reference_engines, key=supporters)


def _against(probe: Probe, reference: list[Answer], other: list[Answer]) -> Agreement:
    return together(agreement(r.tokens, o.tokens, probe.plan.near_tie) for r, o in zip(reference, other))


def _differs(probe: Probe, found: Agreement) -> bool:
    return found.percent < probe.plan.agreement or found.difference > probe.plan.logprob_difference


def _said(found: Agreement, base: str) -> str:
    text = f"free texts differ from those of {base}: {found.percent:.0f} % of {found.equal + found.different} tokens outside of near ties agree"
    text += f", log-probabilities of equal tokens differ by {found.difference:.3f} nats on average"
    return f"{text}; {found.example}" if found.example else text


def _evidence(found: Agreement) -> dict[str, Any]:
    return dict(found._asdict(), difference=round(found.difference, 4))


def _passed(probe: Probe, base: str, results: dict[str, Agreement]) -> Record:
    evidence = {name: _evidence(found) for name, found in results.items()}
    number = len(probe.plan.engines)
    if not results:
        return passed(
            "texts",
            "",
            f"{probe.plan.prompts} free texts, {base} answers; there is nothing to compare with",
            compared=evidence,
        )
    few = [name for name, found in results.items() if found.equal + found.different < ENOUGH]
    if few:
        text = f"fewer than {ENOUGH} tokens could be compared: the model is uncertain at almost every token"
        probe.remark(", ".join(few), Problem(text, "few_tokens"))
    worst = max(found.difference for found in results.values())
    ties = sum(found.ties for found in results.values())
    text = f"{probe.plan.prompts} free texts of {number} engines and the entry agree outside of {ties} near ties"
    return passed("texts", "", f"{text}; log-probabilities differ by at most {worst:.4f} nats", compared=evidence)
