# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one pool did: its rates, how busy it was, how many requests waited, and the verdict over it.

By Little's law, the seconds that all requests spent in a phase, divided by the seconds of the window, are the mean number of requests
in that phase; so counters of an engine show its queue without a sample of it. A data-parallel rank has a queue of its own. A rank of
prefill with one request at any time is always busy; if it computes several prompts together it is less busy than computed here, never
more. Decode computes its requests together, so it is as busy as the fullest of what limits it: its places for requests
(``--max-num-seqs``), its KV cache, and the time per token that clients accept.
"""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..monitoring.rules import most_requests
from .declaration import place_of
from .evidence import Evidence, gap, missing

Record = t.Mapping[str, t.Any]
LEAST_REQUESTS = 32  # fewer are a smoke test
QUEUE = 0.5  # requests of a rank that wait on average: a queue that is more than chance
BUSY, FULL, IDLE = 0.7, 0.9, 0.3
PREEMPTED = 0.01  # of the requests
COMPUTED = 0.5  # of decode's prompt tokens: it computes prompts itself
ALONE = 2.0  # requests of a rank at a time: with fewer, each is about as fast as it can be
WAITS, WORKS, IDLES, HELD, UNKNOWN = "waits", "works", "idles", "held", "unknown"
LIMITS = {
    "places": "of its places for requests (--max-num-seqs) are taken",
    "kv_cache": "of its KV cache is in use",
    "tpot": "of the accepted time per token is used",
}


def judge_pool(plan: Record, evidence: Evidence, role: str) -> tuple[dict[str, t.Any], list[Finding]]:
    """The figures of a pool, all None where they are not known, and what is missing.

    ``{instances, devices, ranks, requests, rates, busy, limits, waiting, queue_ms, tpot_ms, preemptions, state}``; rates are per second
    and instance; ``busy`` and ``limits`` are shares of 1, ``waiting`` is per rank.
    """
    engines = plan["verify"][role]
    place, ranks = place_of(plan, role), sum(engine.get("ranks") or 1 for engine in engines)
    found: dict[str, t.Any] = {"instances": place.instances, "devices": place.devices, "ranks": ranks}
    names = [engine["name"] for engine in engines]
    gaps = list(missing(plan, evidence, role, names)) if evidence.seconds else []
    total = _total(evidence, names)
    requests, seconds = total.get("requests"), evidence.seconds or None
    found["requests"] = requests
    found["rates"] = {
        name: _over(total.get(counter), seconds, place.instances)
        for name, counter in (("requests", "requests"), ("prompt", "prompt_tokens"), ("output", "generated_tokens"))
    }
    tokens = (
        None if None in (requests, total.get("generated_tokens")) else total["generated_tokens"] - total["requests"]
    )
    found["waiting"] = _over(total.get("queue_seconds"), seconds, ranks)
    found["queue_ms"] = _over(total.get("queue_seconds"), requests, 0.001)
    found["tpot_ms"] = _over(total.get("decode_seconds"), tokens, 0.001) if role != "prefill" else None
    found["preemptions"] = total.get("preemptions")
    found["limits"] = _limits(plan, evidence, role, total, found, names)
    found["busy"] = max(found["limits"].values(), default=None)
    if role == "decode" and requests and (found["preemptions"] or 0) >= PREEMPTED * requests:
        found["busy"] = max(1.0, found["busy"] or 0.0)  # its KV cache was too small for its requests
    found["state"] = _state(role, found)
    running = _over(total.get("decode_seconds"), seconds, ranks)
    return found, [*gaps, *_doubts(role, found, total, running)]


def _total(evidence: Evidence, names: t.Sequence[str]) -> dict[str, float]:
    """The sum of each counter that all engines have; nothing if one was not read."""
    gained = [evidence.services.get(name) for name in names]
    known = [counters for counters in gained if counters is not None]
    if len(known) < len(names) or not known:
        return {}
    shared = set.intersection(*(set(counters) for counters in known))
    return {name: sum(counters[name] for counters in known) for name in shared}


def _over(value: float | None, divisor: float | None, second: float) -> float | None:
    return value / divisor / second if value is not None and divisor and divisor > 0 else None


def _limits(
    plan: Record, evidence: Evidence, role: str, total: Record, found: Record, names: t.Sequence[str]
) -> dict[str, float]:
    """Shares of 1 of what limits a pool, those that are known."""
    seconds = evidence.seconds or None
    if role == "prefill":
        computing = _over(total.get("prefill_seconds"), seconds, found["ranks"])
        return {} if computing is None else {"computing": min(1.0, computing)}
    if role != "decode":
        return {}
    places = [most_requests(service) for service in plan["services"] if service["kind"] == role]
    running = _over(total.get("decode_seconds"), seconds, 1.0)
    limits = {}
    if running is not None and places and all(places):
        limits["places"] = min(1.0, running / sum(number or 0 for number in places))
    if "kv_usage" in total:
        limits["kv_cache"] = min(1.0, total["kv_usage"] / len(names))
    if evidence.tpot_limit and found["tpot_ms"] is not None:
        limits["tpot"] = found["tpot_ms"] / evidence.tpot_limit
    return limits


def _state(role: str, found: Record) -> str:
    waiting, busy = found["waiting"], found["busy"]
    if waiting is None or (busy is None and role != "colocated"):
        return UNKNOWN
    if role == "colocated":
        return WAITS if waiting >= QUEUE else WORKS
    if role == "prefill" and waiting >= QUEUE:
        return WAITS if busy >= BUSY else HELD
    if role == "decode" and busy >= FULL:
        return WAITS
    return IDLES if busy < IDLE else WORKS


def _doubts(role: str, found: Record, total: Record, running: float | None) -> t.Iterator[Finding]:
    """Why the figures of a pool say too little, beyond counters that are missing. ``running``: requests that a rank decodes at a time."""
    requests = found["requests"]
    if requests is not None and requests < LEAST_REQUESTS:
        problem = f"it finished {requests:.0f} requests" if requests else "it finished no request"
        fix = "Send more load, with bench or for longer (inference_advise_seconds)."
        yield gap("LOAD", role, problem, fix, f"Fewer than {LEAST_REQUESTS} requests show chance, not rates.")
    elif role == "decode" and found["busy"] is None and total:
        problem = "how full it is, is not known: its engines have no --max-num-seqs and no reading of the KV cache"
        fix = "Set inference_bench.slo.tpot to the milliseconds for each token that clients accept."
        yield gap(
            "FILL", role, problem, fix, "Decode takes more requests at a time, so it seems busy with one of them."
        )
    if role == "decode" and running is not None and running < ALONE and found["limits"].get("tpot", 0.0) >= FULL:
        problem = (
            f"a further token takes {found['tpot_ms']:.0f} ms, although a rank decodes {running:.1f} requests at a time"
        )
        fix = "Measure with more requests at a time, or change the engines (parallel sizes, quantization) or inference_bench.slo.tpot."
        yield gap("ALONE", role, problem, fix, "More instances do not make a request faster that is computed alone.")
    if found["state"] == HELD:
        problem = f"{found['waiting']:.1f} requests of each rank wait, and it computes {found['busy']:.0%} of the time"
        fix = "Look for KV cache that decode has not fetched: run verify, and read the alert PrefillHoldsIdleKV."
        yield gap(
            "HELD", role, problem, fix, "It waits for something else than computing, which more instances do not give."
        )
    computed, prompts = total.get("tokens_computed"), total.get("prompt_tokens")
    if role == "decode" and computed is not None and prompts and computed > COMPUTED * prompts:
        problem = f"it computed {computed / prompts:.0%} of its prompt tokens itself"
        why = "Its figures are those of a deployment without prefill."
        yield gap("COMPUTES", role, problem, "Run verify, which names the reason.", why)
