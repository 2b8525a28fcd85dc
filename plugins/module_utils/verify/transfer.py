# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof of KV transfer for requests, from the engines' counters over a time window."""

from __future__ import annotations

from typing import Any, NamedTuple

from .faults import Problem
from .metrics import Samples, Served, served
from .plan import VerifyPlan

ENOUGH = 0.9  # minimum transferred share of the prompt; decode may compute a last, partial block


class Window(NamedTuple):
    """Counters of each engine between two readings, and the requests sent in between (complete answers and their tokens)."""

    engines: dict[str, Served]
    unread: list[str]
    sent: int
    tokens: int

    def finished(self, plan: VerifyPlan, role: str) -> float:
        """Requests that the engines of a role finished in the window."""
        return sum(self.engines[e.name].requests for e in plan.role(role) if e.name in self.engines)


class Judgement(NamedTuple):
    """hop, and what is wrong there or None. counted: False when there are no counters to judge by."""

    hop: str
    problem: Problem | None
    counted: bool
    evidence: dict[str, Any]


def window_of(before: dict[str, Samples | None], after: dict[str, Samples | None], sent: int, tokens: int) -> Window:
    readable = {name: served(before[name] or {}, after[name] or {}) for name in after if before[name] and after[name]}
    return Window(readable, sorted(set(after) - set(readable)), sent, tokens)


def busy(window: Window, names: list[str]) -> list[str]:
    """The engines that finished a request in the window."""
    return [name for name in names if name in window.engines and window.engines[name].requests > 0]


def judge(plan: VerifyPlan, window: Window) -> Judgement:
    """Check the path of requests first, then the source of decode's tokens."""
    prefills = [engine.name for engine in plan.role("prefill")]
    decodes = [engine.name for engine in plan.role("decode")]
    asked = {name: counters.requests for name, counters in window.engines.items()}
    problem = _path_problem(window, prefills, decodes, asked)
    if problem:
        return problem
    hop = "{} -> {}".format(_one(busy(window, prefills), "prefill"), _one(busy(window, decodes), "decode"))
    parts = [window.engines[name] for name in busy(window, decodes)]
    evidence = {
        "requests": asked,
        "prompt_tokens": _sum([part.prompt_tokens for part in parts]),
        "external_kv_transfer": _sum([part.external for part in parts]),
        "local_compute": _sum([part.local_compute for part in parts]),
        "promised": _sum([part.promised for part in parts]),
        "sent_tokens": window.tokens,
    }
    if evidence["external_kv_transfer"] is not None:
        return Judgement(hop, _by_source(plan, window, parts, evidence), True, evidence)
    if evidence["promised"] is not None:
        # Answers may lack their usage; decode's own count is that of our prompts only if no other client uses it.
        alone = sum(part.requests for part in parts) <= window.sent
        wanted = max(window.tokens, int(evidence["prompt_tokens"] or 0)) if alone else window.tokens
        missing = evidence["promised"] < ENOUGH * wanted
        text = "decode's connector promised only {0:.0f} of {1} prompt tokens (external prefix cache hits)"  # fewer than wanted
        problem = Problem(text.format(evidence["promised"], wanted), "recomputed") if missing else None
        return Judgement(hop, problem, True, evidence)
    return Judgement(hop, None, False, evidence)


def _path_problem(window: Window, prefills: list[str], decodes: list[str], asked: dict[str, float]) -> Judgement | None:
    """The first hop without all requests; None if all took both."""
    if window.unread:
        problem = Problem("its /metrics cannot be read", "unread_metrics")
        return Judgement(window.unread[0], problem, True, {"unread": window.unread})
    first, second = (sum(asked.get(name, 0.0) for name in names) for names in (prefills, decodes))
    sent = window.sent
    for missing, hop, text, fault in (
        (not first and not second, "entry", f"no planned engine received the {sent} requests", "no_engine_served"),
        (not second, "entry -> decode", f"no decode engine received the {sent} requests", "decode_not_used"),
        (not first, "entry -> prefill", f"no prefill engine received the {sent} requests", "prefill_not_used"),
        (second < sent, "entry -> decode", f"decode received {second:.0f} of {sent} requests", "some_lost"),
        (first < sent, "entry -> prefill", f"prefill received {first:.0f} of {sent} requests", "some_lost"),
    ):
        if missing:
            return Judgement(hop, Problem(text, fault), True, {"requests": asked})
    return None


def _by_source(plan: VerifyPlan, window: Window, parts: list[Served], seen: dict[str, Any]) -> Problem | None:
    """For vLLM >= 0.16. If other clients use the service meanwhile, all of decode's prompts are checked, not only ours.

    Decode computes at most a partial block of a transferred prompt (one token, as measured). This is allowed for our
    prompts, but only one token for foreign ones: a block each could hide one of ours that was computed completely.
    """
    external, computed = seen["external_kv_transfer"], seen["local_compute"] or 0.0
    cached = _sum([part.local_cache for part in parts]) or 0.0
    foreign = max(0.0, sum(part.requests for part in parts) - window.sent)
    known = external + (cached if foreign else 0.0)
    enough = external >= ENOUGH * window.tokens and known >= ENOUGH * seen["prompt_tokens"]
    if enough and computed <= window.sent * plan.block_size + foreign:
        return None
    text = "decode got {0} from outside and computed {1:.0f} itself ({2:.0f} from its own cache)"
    return Problem(text.format(of_sent(external, window.tokens), computed, cached), "recomputed")


def of_sent(tokens: float, sent: int) -> str:
    """Tokens that engines counted, as a part of those that were sent; more than these are no part of them, because other clients' are counted, too."""
    if tokens <= sent:
        return f"{tokens:.0f} of {sent} prompt tokens"
    return f"{tokens:.0f} prompt tokens (of {sent} that were sent, and of other clients')"


def _one(names: list[str], role: str) -> str:
    return names[0] if len(names) == 1 else role


def _sum(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None
