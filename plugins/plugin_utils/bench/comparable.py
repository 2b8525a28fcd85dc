# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of two reports cannot be compared, and says so: a figure that nobody compared is no figure that is as good as before."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding

Record = t.Mapping[str, t.Any]
SETTINGS = ("profile", "input", "prefix", "prefixes", "output", "trace", "data", "chat")  # other values: other requests
GOOD = "request_goodput"
BEFORE = {"data": "", "chat": False, "at_once": 0}  # of reports that are older than the setting
FIRST_DRIVER = "vllm"  # of reports that do not name theirs


def other_settings(old: Record, settings: Record) -> list[str]:
    """Settings with which the earlier report measured other requests, or the same ones with another program.

    Programs count differently: AISBench's last time of a request is that of its usage, and requests with one token count for its time per token.
    """
    driver = [] if old["settings"].get("driver", FIRST_DRIVER) == settings["driver"] else ["driver"]
    names = (*SETTINGS, "arrival", "at_once") if settings["rates"] else SETTINGS
    return driver + [name for name in names if old["settings"].get(name, BEFORE.get(name)) != settings[name]]


def figures(old: Record, slo: Record, compared: t.Sequence[str]) -> list[str]:
    """The figures that mean the same in both reports: good requests depend on the limits."""
    return [name for name in compared if name != GOOD or old.get("slo") == dict(slo)]


def earlier(old: Record, comparison: t.Sequence[Record], bench: Record) -> dict[str, dict[str, t.Any]]:
    """``{load: medians}`` of the earlier report's loads that were compared, for curves beside those of now; none for other numbers of NPUs.

    Rates of another number of NPUs would be compared by their height, which says nothing.
    """
    compared = {row["load"] for row in comparison}
    if old.get("devices") != bench["devices"]:
        return {}
    return {load["title"]: dict(load["median"]) for load in old["loads"] if load["title"] in compared}


def other_versions(old: Record, versions: t.Mapping[str, str]) -> dict[str, str]:
    """``{software: its version in the earlier report}`` where it is another one; "none" for software that is new. Older reports have none."""
    before = old.get("versions")
    if not before:
        return {}
    names = dict.fromkeys([*before, *versions])
    return {name: before.get(name, "none") for name in names if before.get(name) != versions.get(name)}


def about_models(old: Record, model: str) -> t.Iterator[Finding]:
    """Reports of different models. Reports that do not name theirs are older."""
    if old.get("model", model) != model:
        problem = f"the earlier report is of the model {old['model']}, this one of {model}"
        why = "The figures also show the difference of the models."
        yield _warning(
            "BENCH-MODEL",
            problem,
            "Compare reports of one model, unless the difference of the models is what you measure.",
            why,
        )


def about_limits(old: Record, slo: Record, now: t.Sequence[Record]) -> t.Iterator[Finding]:
    """Good requests by other limits."""
    before = [load["median"].get(GOOD) for load in old["loads"]]
    counted = [value for value in (*before, *(load["median"].get(GOOD) for load in now)) if value is not None]
    if counted and old.get("slo") != dict(slo):
        problem = f"{GOOD} is not compared, because inference_bench.slo was {_limits(old.get('slo') or {})} before and is {_limits(slo)}"
        yield _warning("BENCH-SLO", problem, "Measure both with the same limits.", "Other requests count as good.")


def about_missing(old: Record, now: t.Sequence[Record], compared: t.Sequence[str]) -> t.Iterator[Finding]:
    """Figures and loads of the earlier report that this one does not have."""
    here = {load["title"]: load for load in now}
    lost = []
    for load in old["loads"]:
        medians = here.get(load["title"], {}).get("median")
        names = [name for name in compared if medians is not None and load["median"].get(name) is not None]
        lost += [f"{name} at load {load['title']}" for name in names if medians.get(name) is None]
    if lost:
        problem = f"{', '.join(lost)}: known before, and not in this report"
        fix = "Read the output of the benchmark, and measure again."
        yield Finding(
            "inference_bench_compare", "BENCH-COMPARE", problem, fix, why="It is unknown whether it is worse."
        )
    left = [load["title"] for load in old["loads"] if load["title"] not in here]
    if here and left and len(left) < len(old["loads"]):
        problem = f"load {', '.join(left)} of the earlier report was not measured again"
        yield _warning(
            "BENCH-COMPARE", problem, "Measure the same loads (inference_bench.loads).", "It was not compared."
        )


def _limits(slo: Record) -> str:
    return ", ".join(f"{name} {value}" for name, value in slo.items() if value) or "not set"


def _warning(rule: str, problem: str, fix: str, why: str) -> Finding:
    return Finding("inference_bench_compare", rule, problem, fix, severity="warning", why=why)
