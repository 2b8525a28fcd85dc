# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vLLM-Ascend's own CI measures for the same model on the same hardware (``upstream_data.py``), beside the measured figures.

Prompts of ours are random tokens of the same lengths.
"""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from .upstream_data import CASES, HARDWARE, SDIST, Case

Record = t.Mapping[str, t.Any]
REACHED, MISSED, WITHIN = "reached", "missed", "within the spread"
OTHER, FEW, UNKNOWN = "not the same", "not judged", "not known"


def cases_of(plan: Record) -> list[Case]:
    """The cases with the plan's model, by its name or the last folder of its path, if all engines run on their hardware."""
    names = {
        str(name).rstrip("/").rsplit("/", 1)[-1].casefold() for name in plan["model"].values() if isinstance(name, str)
    }
    used = {item["host"] for item in plan["services"] if item["devices"]}
    hardware = {item["hardware"] for item in plan["hosts"] if item["name"] in used}
    return [case for case in CASES if case.model.casefold() in names] if hardware == {HARDWARE} else []


def upstream_rows(
    cases: t.Sequence[Case], topology: Record, settings: Record, loads: t.Sequence[Record]
) -> list[dict[str, t.Any]]:
    """For each case ``{case, load, theirs, demanded, now, differs, verdict}``; ``now`` is None if no load of the report has its requests.

    ``differs`` says in words what else is not the same; only a case without differences is judged, and only beyond the spread.
    """
    found = []
    for case in cases:
        same = [
            load for load in loads if _requests(load, settings) == (case.load, case.prefix, case.input, case.output)
        ]
        load = same[0] if same else None
        demanded = case.throughput * case.least
        differs = [*_differences(case, topology), *([] if load else [_wanted(case)])]
        measured = (load or {}).get("median", {}).get("output_throughput")
        row = {"case": case.name, "load": case.load, "theirs": case.throughput, "demanded": round(demanded, 4)}
        verdict = OTHER if differs or load is None else _verdict(load, demanded)
        found.append({**row, "now": measured, "differs": differs, "verdict": verdict})
    return found


def about_upstream(rows: t.Sequence[Record]) -> t.Iterator[Finding]:
    """Cases whose throughput this deployment misses under the same conditions."""
    for row in rows:
        if row["verdict"] == MISSED:
            problem = (
                f"{row['now']:.4g} output tokens per second; vLLM-Ascend's CI demands {row['demanded']:.4g} for the same model, "
                f"NPUs, pools and requests (case {row['case']} of {SDIST})"
            )
            fix = "Compare the plan with the recipe of that case (plan -e inference_plan_show=advice), the tuning and the release."
            why = "The hardware can do more: its own makers' daily measurement did."
            yield Finding(f"load {row['load']}", "BENCH-UPSTREAM", problem, fix, severity="warning", why=why)


def _requests(load: Record, settings: Record) -> tuple[int, int, int, int]:
    return load["load"], settings["prefix"], settings["input"], settings["output"]


def _differences(case: Case, topology: Record) -> t.Iterator[str]:
    if topology["devices"] != case.devices:
        yield f"{case.devices} NPUs"
    if topology["pools"] != dict(case.pools):
        yield " and ".join(f"{number} {kind}" for kind, number in case.pools)
    if case.rate:
        yield f"at most {case.rate:g} requests per second"


def _wanted(case: Case) -> str:
    """The settings that measure the case's requests."""
    prefix = f"prefix {case.prefix}, " if case.prefix else ""
    return f"{prefix}input {case.input}, output {case.output}, load {case.load}"


def _verdict(load: Record, demanded: float) -> str:
    if load["median"].get("output_throughput") is None:
        return UNKNOWN
    if load["measurements"] < 3:
        return FEW
    if load["most"]["output_throughput"] < demanded:
        return MISSED
    return REACHED if load["least"]["output_throughput"] >= demanded else WITHIN
