# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Did the KV of these requests come from outside? Judged by the counters of the engines over one window."""

from __future__ import annotations

from typing import Any, NamedTuple

from .faults import Problem
from .metrics import Samples, Served, served
from .plan import VerifyPlan

ENOUGH = 0.9  # share of the prompt that has to come from outside; a last, partial block may be computed by decode


class Window(NamedTuple):
    """What each engine did between two readings, and what was sent in between (whole answers and their tokens)."""

    engines: dict[str, Served]
    unread: list[str]
    sent: int
    tokens: int


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
    """Those of the names that finished a request in the window."""
    return [name for name in names if name in window.engines and window.engines[name].requests > 0]


def judge(plan: VerifyPlan, window: Window) -> Judgement:
    """The way first (who was asked), then the tokens (where decode had them from)."""
    prefills = [engine.name for engine in plan.role("prefill")]
    decodes = [engine.name for engine in plan.role("decode")]
    asked = {name: one.requests for name, one in window.engines.items()}
    way = _way(window, prefills, decodes, asked)
    if way:
        return way
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
        missing = evidence["promised"] < ENOUGH * window.tokens
        text = "decode's connector promised only {0:.0f} of {1} prompt tokens (external prefix cache hits)"
        problem = Problem(text.format(evidence["promised"], window.tokens), "recomputed") if missing else None
        return Judgement(hop, problem, True, evidence)
    return Judgement(hop, None, False, evidence)


def _way(window: Window, prefills: list[str], decodes: list[str], asked: dict[str, float]) -> Judgement | None:
    """The first hop that the requests did not take; None when all took both."""
    if window.unread:
        problem = Problem("its /metrics cannot be read", "unread_metrics")
        return Judgement(window.unread[0], problem, True, {"unread": window.unread})
    first, second = (sum(asked.get(name, 0.0) for name in names) for names in (prefills, decodes))
    sent = window.sent
    for missing, hop, text, fault in (
        (not first and not second, "entry", f"no planned engine saw the {sent} requests", "no_engine_served"),
        (not second, "entry -> decode", f"no decode engine saw the {sent} requests", "decode_not_asked"),
        (not first, "entry -> prefill", f"no prefill engine saw the {sent} requests", "prefill_not_asked"),
        (second < sent, "entry -> decode", f"decode saw {second:.0f} of {sent} requests", "some_lost"),
        (first < sent, "entry -> prefill", f"prefill saw {first:.0f} of {sent} requests", "some_lost"),
    ):
        if missing:
            return Judgement(hop, Problem(text, fault), True, {"requests": asked})
    return None


def _by_source(plan: VerifyPlan, window: Window, parts: list[Served], seen: dict[str, Any]) -> Problem | None:
    """vLLM >= 0.16. Others may use the service meanwhile; then all of decode's prompts have to fit, not only ours.

    A transferred prompt leaves decode a partial block at most (one token, as measured). Ours may use that up, strangers'
    are granted their one token only: a block each would leave room for one of ours that was computed in full.
    """
    external, computed = seen["external_kv_transfer"], seen["local_compute"] or 0.0
    cached = _sum([part.local_cache for part in parts]) or 0.0
    strangers = max(0.0, sum(part.requests for part in parts) - window.sent)
    known = external + (cached if strangers else 0.0)
    enough = external >= ENOUGH * window.tokens and known >= ENOUGH * seen["prompt_tokens"]
    if enough and computed <= window.sent * plan.block_size + strangers:
        return None
    text = (
        "decode got {0:.0f} of {1} prompt tokens from outside and computed {2:.0f} itself ({3:.0f} from its own cache)"
    )
    return Problem(text.format(external, window.tokens, computed, cached), "recomputed")


def _one(names: list[str], role: str) -> str:
    return names[0] if len(names) == 1 else role


def _sum(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None
