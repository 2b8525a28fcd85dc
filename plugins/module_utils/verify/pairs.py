# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step pairs: every prefill engine with every decode engine, because a bad link of P×D affects only its own requests."""

from __future__ import annotations

from typing import Any

from .answers import Answer, excerpt, same_text
from .faults import Problem
from .plan import Engine
from .probe import Probe
from .prompts import new_nonce
from .records import Record, failed, milliseconds, passed, skipped
from .transfer import Window, busy, judge, window_of

# Parameters that proxies of the protocol "prefill answers with kv_transfer_params" send to prefill (vLLM-Ascend 0.11-0.23, vllm-router).
ASK_PREFILL = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}
ROUNDS_WITHOUT_NEWS = 4


def check_pairs(probe: Probe) -> list[Record]:
    """All pairs: directly if the protocol allows it, else through the entry as long as new pairs occur."""
    by_hand = probe.plan.transfer.protocol == "prefill_answers"
    if not by_hand and not probe.entry_works:
        return [skipped("pairs", "this connector's pairs can be tested only through the entry, which does not work")]
    pairs = _pairs(probe.plan.role("prefill"), probe.plan.role("decode"))
    probe.pairs = {prefill.name: {} for prefill in probe.plan.role("prefill")}
    broken = _directly(probe, pairs) if by_hand else _through_entry(probe, pairs)
    seen = sum(len(row) for row in probe.pairs.values())
    missing = [f"{p.name} -> {d.name}" for p, d in pairs if d.name not in probe.pairs[p.name]]
    if missing and not broken:
        probe.warnings.append("pairs that were not covered: " + ", ".join(missing))
    if broken:
        return broken
    if not seen:
        return [skipped("pairs", "the router did not show which engines served, so pairs are unknown")]
    return [passed("pairs", "", f"{seen} of {len(pairs)} pairs transferred KV, texts correct")]


def _pairs(prefills: tuple[Engine, ...], decodes: tuple[Engine, ...]) -> list[tuple[Engine, Engine]]:
    """Diagonals first, so that a limited number of pairs includes every engine."""
    longest = max(len(prefills), len(decodes))
    shortest = min(len(prefills), len(decodes))
    order = []
    for shift in range(shortest):
        for number in range(longest):
            order.append((prefills[number % len(prefills)], decodes[(number + shift) % len(decodes)]))
    # With unequal sizes a diagonal may repeat pairs; the remaining ones are added in order.
    order += [(prefill, decode) for prefill in prefills for decode in decodes]
    return list(dict.fromkeys(order))


def _directly(probe: Probe, pairs: list[tuple[Engine, Engine]]) -> list[Record]:
    broken = []
    for prefill, decode in pairs[: probe.plan.max_pairs]:
        problem, row = _one_pair(probe, prefill, decode)
        probe.pairs[prefill.name][decode.name] = dict(row, status="failed" if problem else "passed")
        if problem:
            broken.append(failed("pairs", f"{prefill.name} -> {decode.name}", _hidden(probe, problem)))
        if row.get("timed_out"):  # each further pair would cost a timeout
            break
    return broken


def _one_pair(probe: Probe, prefill: Engine, decode: Engine) -> tuple[Problem | None, dict[str, Any]]:
    """(error or None, figures): request one token and KV from prefill, then the answer from decode with prefill's parameters."""
    prompt, request_id = probe.new_prompt(), new_nonce()
    both = (prefill, decode)
    before = {engine.name: probe.metrics(probe.target(engine)) for engine in both}
    first = probe.complete(
        probe.target(prefill), prompt, 1, request_id, min_tokens=1, kv_transfer_params=dict(ASK_PREFILL)
    )
    if not first.whole:
        return Problem("prefill did not answer: " + first.detail, "prefill_hangs"), {}
    if not (first.kv_transfer_params or {}).get("do_remote_prefill"):
        return Problem("prefill returned no kv_transfer_params", "no_kv_params"), {}
    answer = probe.complete(
        probe.target(decode), prompt, probe.plan.max_tokens, request_id, kv_transfer_params=first.kv_transfer_params
    )
    if not answer.whole:
        fault = (
            "decode_hangs" if answer.problem == "timeout" else "garbage" if answer.problem == "http_error" else "cut"
        )
        row = {"timed_out": answer.problem == "timeout"}
        return Problem("decode did not answer: " + answer.detail, fault), row
    window = _settled(probe, before, both, answer.prompt_tokens)
    probe.requests.append({"id": answer.request_id, "hop": f"{prefill.name} -> {decode.name}"})
    row = {"prompt_tokens": answer.prompt_tokens, "milliseconds": milliseconds(answer.seconds)}
    row["external_kv_transfer"] = window.engines[decode.name].external if decode.name in window.engines else None
    reference = probe.reference(prompt, prefill)
    if not reference.whole:
        return Problem("could not get the reference output: " + reference.detail, "unready"), row
    if not same_text(answer.text, reference.text, probe.plan.match == "exact"):
        return _other_text(answer, prefill.name, reference), row
    return judge(probe.plan, window).problem, row


def _hidden(probe: Probe, problem: Problem) -> Problem:
    return problem._replace(text=probe.hide(problem.text))


def _other_text(answer: Answer, engine: str, reference: Answer) -> Problem:
    text = "the answer is {0!r}, but {1} directly returns {2!r}"
    return Problem(text.format(excerpt(answer.text, 60), engine, excerpt(reference.text, 60)), "garbage")


def _settled(probe: Probe, before: Any, both: tuple[Engine, Engine], tokens: int) -> Window:
    def read() -> Window:
        return window_of(before, {engine.name: probe.metrics(probe.target(engine)) for engine in both}, 1, tokens)

    return probe.settle(read, lambda window: bool(window.unread) or len(busy(window, [e.name for e in both])) == 2)


def _through_entry(probe: Probe, pairs: list[tuple[Engine, Engine]]) -> list[Record]:
    """One request at a time, so that the counters identify its engines; ends after several rounds without a new pair."""
    wanted, dull = {(p.name, d.name) for p, d in pairs}, 0
    while wanted and dull < ROUNDS_WITHOUT_NEWS:
        problem, served = _one_request(probe)
        if problem:
            return [failed("pairs", served or "entry", _hidden(probe, problem))]
        news = wanted & {tuple(served.split(" -> "))}
        dull = 0 if news else dull + 1
        wanted -= news
    return []


def _one_request(probe: Probe) -> tuple[Problem | None, str]:
    """(what is wrong or None, "prefill -> decode" that served it)."""
    prompt, before = probe.new_prompt(), probe.all_metrics()
    answer = probe.complete(probe.entry, prompt)
    if not answer.whole:
        return Problem("a repeated request failed: " + answer.detail, "some_lost"), "entry"

    def read() -> Window:
        return window_of(before, probe.all_metrics(), 1, answer.prompt_tokens)

    decodes = [engine.name for engine in probe.plan.role("decode")]
    window = probe.settle(read, lambda seen: bool(seen.unread) or bool(busy(seen, decodes)))
    found = judge(probe.plan, window)
    if found.problem:
        return found.problem, found.hop
    served = [busy(window, [engine.name for engine in probe.plan.role(role)]) for role in ("prefill", "decode")]
    hop = found.hop
    probe.requests.append({"id": answer.request_id, "hop": hop})
    reference = probe.reference(prompt, probe.plan.engine(served[0][0]))
    if not reference.whole or not same_text(answer.text, reference.text, probe.plan.match == "exact"):
        return _other_text(answer, served[0][0], reference), hop
    if [len(side) for side in served] == [1, 1]:
        row = {"prompt_tokens": answer.prompt_tokens, "milliseconds": milliseconds(answer.seconds), "status": "passed"}
        row["external_kv_transfer"] = window.engines[served[1][0]].external
        probe.pairs[served[0][0]][served[1][0]] = row
    return None, hop
