# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a topology serves within the limits of a good request: the highest measured rate below the first one at which they break.

Not for rates with ``at_once``: what waits in the client breaks no limit.
"""

from __future__ import annotations

import typing as t

Record = t.Mapping[str, t.Any]
KEPT = 0.9  # of the requests are good: the usual measure in papers on separate prefill and decode (DistServe, 2024)


def capacity(loads: t.Iterable[Record], devices: int) -> dict[str, t.Any] | None:
    """``{rate, goodput, per_device, broken}``, requests a second; None without measured rates whose good requests were counted.

    ``rate`` and ``goodput`` are 0 if the lowest rate breaks the limits; ``broken`` is the first rate that does, 0 for none; ``per_device``
    is None without NPUs.
    """
    known = sorted((load for load in loads if load["rate"] and _share(load) is not None), key=lambda load: load["rate"])
    if not known:
        return None
    kept: Record = {"rate": 0.0, "median": {"request_goodput": 0.0}}
    broken = 0.0
    for load in known:
        if (_share(load) or 0.0) < KEPT:
            broken = load["rate"]
            break
        kept = load
    goodput = round(kept["median"]["request_goodput"], 4)
    per_device = round(goodput / devices, 4) if devices else None
    return {"rate": kept["rate"], "goodput": goodput, "per_device": per_device, "broken": broken}


def _share(load: Record) -> float | None:
    """The good ones of all requests that were sent; None if they were not counted."""
    good, answered = load["median"].get("request_goodput"), load["median"].get("request_throughput")
    sent = load["completed"] + load["failed"]
    if good is None or not answered or not sent:
        return None
    return t.cast(float, good) / answered * load["completed"] / sent


def capacity_text(found: Record | None, digits: t.Callable[[float], str]) -> list[str]:
    """A line about it; none without rates and limits."""
    if not found:
        return []
    each = f", {digits(found['per_device'])} per NPU" if found["per_device"] is not None else ""
    first = f"At {digits(found['broken'])}/s fewer than {KEPT:.0%} of the requests keep the limits"
    if not found["rate"]:
        return [f"{first}. Measure lower rates.", ""]
    best = f"Within the limits: {digits(found['goodput'])} good requests a second{each}, at {digits(found['rate'])}/s."
    return [f"{best} {first}." if found["broken"] else f"{best} No measured rate breaks them: measure higher ones.", ""]
