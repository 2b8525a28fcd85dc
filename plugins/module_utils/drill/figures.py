# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of a drill: what clients saw before a fault, and from its begin on."""

from __future__ import annotations

from typing import Any, Sequence

from .load import Request

ENOUGH = 0.95  # of the baseline's good answers per second: the service is back
PROBLEMS = 8  # different problems that are reported


def figures(requests: Sequence[Request], begun: float, window: float) -> dict[str, Any]:
    """Figures of all requests of a load with a fault that begun at ``begun`` (seconds since 1970).

    ``baseline`` are requests that ended before the fault, ``fault`` all others. ``recovered``: seconds from the fault until ``window`` seconds
    began with ENOUGH of the baseline's good answers, None if that did not happen or there is no baseline. ``gap``: the longest time without a
    good answer in seconds.
    ``failing``: seconds after the fault at which the last request began that got no good answer, 0 if none did.
    """
    before = [request for request in requests if request.ended <= begun]
    after = [request for request in requests if request.ended > begun]
    start = min((request.begun for request in requests), default=begun)
    end = max((request.ended for request in requests), default=begun)
    rate = _rate(before, start, begun)
    bad = [request for request in after if request.problem]
    return {
        "begun": round(begun, 3),
        "baseline": dict(_counts(before), seconds=round(begun - start, 1), per_second=round(rate, 3)),
        "fault": dict(
            _counts(after),
            seconds=round(end - begun, 1),
            gap=round(_gap(requests, start, begun, end), 2),
            recovered=_recovered(requests, begun, end, rate, window),
            failing=round(max([0.0] + [request.begun - begun for request in bad]), 1),
            problems=_problems(bad),
        ),
        "timeline": timeline(requests, start, begun, end),
    }


def _counts(requests: Sequence[Request]) -> dict[str, Any]:
    good = [request for request in requests if not request.problem]
    firsts = sorted(request.first for request in good)
    return {
        "requests": len(requests),
        "answered": len(good),
        "failed": sum(1 for request in requests if request.problem not in ("", "empty")),
        "empty": sum(1 for request in requests if request.problem == "empty"),
        "first_p50": quantile(firsts, 0.5),
        "first_p99": quantile(firsts, 0.99),
    }


def quantile(values: Sequence[float], part: float) -> float | None:
    """A quantile of sorted values, None without values."""
    return round(values[min(len(values) - 1, int(len(values) * part))], 3) if values else None


def _rate(before: Sequence[Request], start: float, begun: float) -> float:
    good = sum(1 for request in before if not request.problem)
    return good / (begun - start) if begun > start else 0.0


def _ends(requests: Sequence[Request]) -> list[float]:
    return sorted(request.ended for request in requests if not request.problem)


def _gap(requests: Sequence[Request], start: float, begun: float, end: float) -> float:
    """The longest time between two good answers that reaches beyond the fault's begin. The load's start and end count as answers."""
    moments = [start, *_ends(requests), end]
    gaps = [later - earlier for earlier, later in zip(moments, moments[1:]) if later > begun]
    return max(gaps, default=0.0)


def _recovered(requests: Sequence[Request], begun: float, end: float, rate: float, window: float) -> float | None:
    """The earliest moment after which a whole window has enough good answers; answers of a slow step come late, so the load's end counts."""
    if not rate:
        return None
    ends = [moment for moment in _ends(requests) if moment > begun]
    need = ENOUGH * rate * window
    for since in [begun, *ends]:
        if since + window > end:
            return None
        if sum(1 for moment in ends if since < moment <= since + window) >= need:
            return round(since - begun, 1)
    return None


def _problems(bad: Sequence[Request]) -> list[dict[str, Any]]:
    """Problems with their numbers, the most frequent first."""
    counts: dict[str, int] = {}
    for request in bad:
        counts[request.problem] = counts.get(request.problem, 0) + 1
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [{"problem": problem, "count": count} for problem, count in rows[:PROBLEMS]]


def timeline(requests: Sequence[Request], start: float, begun: float, end: float) -> list[dict[str, int]]:
    """Good and bad answers of each second, counted from the fault: ``[{second, good, bad}]``; seconds before it are negative."""
    first, last = int(start - begun) - 1, int(end - begun)
    rows = {second: {"second": second, "good": 0, "bad": 0} for second in range(first, last + 1)}
    for request in requests:
        second = int((request.ended - begun) // 1)
        if second in rows:
            rows[second]["bad" if request.problem else "good"] += 1
    return [rows[second] for second in sorted(rows)]
