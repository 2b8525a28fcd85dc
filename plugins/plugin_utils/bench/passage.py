# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of a request went, on average, from the entry to the last token: by the counters of the engines and the client's clock.

Facts of the V1 engine of vLLM (vllm/v1/metrics/stats.py): the time in the queue ends when a request is scheduled, prefill with its first token, decode with
its last one. At decode a request waits in the queue until its KV cache has arrived, and "prefill" is the step that gives its first token there.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.how_many import how_many

Record = t.Mapping[str, t.Any]
# A part, the pool that counts it, and the counter. The transfer is taken from the queue of decode.
PARTS = (
    ("queue of prefill", "prefill", "queue_seconds"),
    ("prefill", "prefill", "prefill_seconds"),
    ("KV transfer", "", ""),
    ("queue of decode", "decode", "queue_seconds"),
    ("first token of decode", "decode", "prefill_seconds"),
    ("further tokens", "decode", "decode_seconds"),
    ("queue", "colocated", "queue_seconds"),
    ("first token", "colocated", "prefill_seconds"),
    ("tokens", "colocated", "decode_seconds"),
)
TRANSFER, QUEUE, REST = "KV transfer", "queue of decode", "entry, router, network"


def passages(plan: Record, loads: t.Iterable[Record], moved: t.Mapping[str, Record]) -> list[dict[str, t.Any]]:
    """``[{load, whole, parts: {part: ms}}]``, means of a request; None is not known. ``moved``: transfers by engine (``services.transfers``).

    Loads without a mean of the client, or without answers, are left out: nothing would be a part of them.
    """
    pools = {kind: [engine["name"] for engine in plan["verify"].get(kind) or ()] for _part, kind, _counter in PARTS}
    found = []
    for load in loads:
        whole = load["median"].get("e2el_mean")
        # Rounds of profile pool go to one engine directly.
        if whole is not None and load["completed"] and not load["round"]:
            found.append({"load": load["title"], "whole": whole, "parts": _parts(load, pools, moved, whole)})
    return found


def _parts(
    load: Record, pools: t.Mapping[str, list[str]], moved: t.Mapping[str, Record], whole: float
) -> dict[str, float | None]:
    engines, number = load["engines"], load["completed"]
    parts: dict[str, float | None] = {}
    for part, kind, counter in PARTS:
        if kind and pools[kind]:
            parts[part] = _mean(engines, pools[kind], counter, number)
        elif part == TRANSFER and pools["prefill"] and pools["decode"]:
            parts[part] = _transfer([*pools["prefill"], *pools["decode"]], moved)
    queue, transfer = parts.get(QUEUE), parts.get(TRANSFER)
    if queue is not None and transfer is not None:
        parts[TRANSFER] = transfer = min(queue, transfer)
        parts[QUEUE] = queue - transfer
    counted = [value for part, value in parts.items() if part != TRANSFER or value is not None]
    known = None if not counted or None in counted else whole - sum(value or 0.0 for value in counted)
    return {part: None if value is None else round(value, 3) for part, value in {**parts, REST: known}.items()}


def _mean(engines: Record, names: t.Iterable[str], counter: str, number: int) -> float | None:
    """Milliseconds that the engines of a pool counted for each request of the clients; None if one of them does not tell."""
    values = [(engines.get(name) or {}).get(counter) for name in names]
    return None if None in values else 1000.0 * sum(value or 0.0 for value in values) / number


def _transfer(names: t.Iterable[str], moved: t.Mapping[str, Record]) -> float | None:
    """The mean of a transfer that requests wait for: ranks of one request run at the same time, so their sum is more than was waited."""
    waited = [moved[name] for name in names if name in moved and delays_decode(moved[name])]
    number = sum(item["number"] for item in waited)
    return 1000.0 * sum(item["seconds"] for item in waited) / number if number else None


def delays_decode(moved: Record) -> bool:
    """Whether requests wait in the queue of decode for these transfers, which this engine fetches or sends."""
    return bool(moved["waited"] or moved.get("asked"))


def passage_rows(report: Record, digits: t.Callable[[float], str]) -> list[list[str]]:
    """A head, and a row for each load: milliseconds of each part; "?" is not known."""
    found = report.get("passages") or []
    names = list(dict.fromkeys(name for item in found for name in item["parts"]))
    rows = [["ms of a request (mean)", *names, "whole"]]
    for item in found:
        values = [item["parts"].get(name) for name in names]
        rows.append(
            [item["load"], *("?" if value is None else digits(value) for value in values), digits(item["whole"])]
        )
    return rows


def longest(found: t.Iterable[Record]) -> str:
    """The part in which a request of the first load spends most of its time, in words; empty if no part is known."""
    for item in found:
        known = {name: value for name, value in item["parts"].items() if value is not None}
        if known and item["whole"]:
            part = max(known, key=lambda name: known[name])
            unknown = [name for name, value in item["parts"].items() if value is None]
            more = (
                f"; {how_many(len(unknown), 'part')} not counted by this release: {', '.join(unknown)}"
                if unknown
                else ""
            )
            return f"A request of load {item['load']} spends {known[part] / item['whole']:.0%} of its time in: {part}{more}."
    return ""
