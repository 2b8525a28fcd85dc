# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured, from a benchmark's report or from live metrics, in one form; and what is missing in it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...module_utils.tools.foreign_json import number
from ..bench.settings import read_bench
from ..description.findings import Finding
from ..releases.metric_names import of_vllm

Record = t.Mapping[str, t.Any]
FORMAT = 2  # of a benchmark's report
LEAST_SECONDS = 10.0
REPORT = "inference_advise_report"
MEASURE = "Measure with bench again, with profile throughput and inference_bench_json."
# What figures are computed of, with the metric that an engine exports for it.
NEEDED = {
    "requests": "vllm:request_success_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generated_tokens": "vllm:generation_tokens_total",
    "queue_seconds": "vllm:request_queue_time_seconds_sum",
    "prefill_seconds": "vllm:request_prefill_time_seconds_sum",
    "decode_seconds": "vllm:request_decode_time_seconds_sum",
    "preemptions": "vllm:num_preemptions_total",
}


@dataclass(frozen=True)
class Evidence:
    """Counters of a window.

    source: what was measured, as a clause; seconds: its length; services: what each counter gained by service, None where it is not
    known; tpot_limit: most milliseconds for each further token that clients accept, 0 if not known; gaps: what is missing, as an error if
    no sizes can follow.
    """

    source: str
    seconds: float = 0.0
    services: t.Mapping[str, t.Mapping[str, float] | None] = field(default_factory=dict)
    tpot_limit: int = 0
    gaps: tuple[Finding, ...] = ()


def gap(name: str, path: str, problem: str, fix: str, why: str, blocks: bool = True) -> Finding:
    """Something that is not known. ``blocks``: without it no sizes are advised."""
    return Finding(path, f"ADVISE-{name}", problem, fix, "error" if blocks else "warning", why=why)


def evidence_of(plan: Record, measured: Record, settings: t.Any) -> Evidence:
    """Of a benchmark's report, or of the result of service_metrics_info. Raises PlanError for wrong settings."""
    if not measured or "services" in measured:
        return of_window(settings, measured or {})
    report = measured if isinstance(measured, dict) else {}
    if report.get("format") != FORMAT or not report.get("loads"):
        return _no_report("the file is no report of this collection's benchmark")
    try:
        return of_report(plan, report)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return _no_report(f"the file is a damaged report of a benchmark ({type(error).__name__}: {error})")


def _no_report(problem: str) -> Evidence:
    why = "Without figures there is nothing to compare."
    return Evidence("nothing", gaps=(gap("REPORT", REPORT, problem, MEASURE, why),))


def of_report(plan: Record, report: Record) -> Evidence:
    """The highest load of a benchmark's report: only a load that fills the engines shows which of them limits.

    Raises an error of the content for a report that somebody changed.
    """
    path, measure = REPORT, MEASURE
    if report["settings"].get("profile") == "pool":
        problem = "profile pool sends requests to engines directly"
        why = "It shows what the store gains, and nothing about the balance of the pools."
        return Evidence("profile pool", gaps=(gap("REPORT", path, problem, measure, why),))
    load = max(report["loads"], key=lambda item: item["load"])
    gaps = []
    if report.get("digest") != plan["digest"]:
        problem = f"it was measured with plan {str(report.get('digest'))[:12]}, and this is plan {plan['digest'][:12]}"
        fix = "Measure this plan with bench, or restore the inventory of that time."
        gaps.append(
            gap("OTHER-PLAN", path, problem, fix, "Rates of other engines or settings say nothing about these.")
        )
    wrong = sum(load[name] for name in ("failed", "empty", "short"))
    if wrong:
        problem = f"{wrong} answers of load {load['title']} failed, were empty or too short"
        why = "Requests that fail leave their time to others, so the rates are too good."
        gaps.append(gap("WRONG-ANSWERS", path, problem, "Run verify, then measure again.", why))
    if load.get("uncounted") or not load["completed"] + load["failed"]:
        problem, fix = f"the answers of load {load['title']} could not be counted", "Use a newer release of vLLM."
        gaps.append(gap("WRONG-ANSWERS", path, problem, fix, "Empty answers are fast, so the rates may be too good."))
    if not load.get("seconds") or not load.get("engines"):
        problem = "it has no counters of engines for each load"
        gaps.append(gap("REPORT", path, problem, measure, "Which side waits is in the engines' counters."))
        return Evidence(f"load {load['title']} of the benchmark", gaps=tuple(gaps))
    return Evidence(
        f"load {load['title']} of the benchmark, {_counted(load['measurements'], 'measurement')}",
        float(load["seconds"]),
        {name: _usable(gained) for name, gained in load["engines"].items()},
        int((report.get("slo") or {}).get("tpot") or 0),
        tuple(gaps),
    )


def of_window(settings: t.Any, result: Record) -> Evidence:
    """The result of service_metrics_info. ``settings``: the variable inference_bench, for its limit of TPOT. Raises PlanError."""
    services = {name: _usable(gained) for name, gained in (result.get("services") or {}).items()}
    times = [gained["seconds"] for gained in services.values() if gained and gained.get("seconds")]
    seconds, gaps = (min(times) if times else 0.0), ()
    if 0.0 < seconds < LEAST_SECONDS:
        problem, fix = f"the window has {seconds:.0f} s", "Set inference_advise_seconds: 60 or more."
        gaps = (gap("SHORT", "inference_advise_seconds", problem, fix, "A few seconds show a few requests by chance."),)
    limit = read_bench(settings or {}).slo.tpot
    return Evidence(f"{seconds:.0f} s of live metrics", seconds, services, limit, gaps)


def missing(plan: Record, evidence: Evidence, role: str, names: t.Sequence[str]) -> t.Iterator[Finding]:
    """Why the counters of a pool cannot be used: engines that were not read, metrics that they lack. One finding for each reason."""
    gained = {name: evidence.services.get(name) for name in names}
    unread = [name for name, counters in gained.items() if counters is None]
    if unread:
        shown = ", ".join(unread[:4]) + (f" and {len(unread) - 4} more" if len(unread) > 4 else "")
        problem, fix = f"no counters of {shown}: not read, no answer, or restarted meanwhile", "Run status, then again."
        yield gap("COUNTERS", role, problem, fix, "The work of the others is not that of the pool.")
    known = of_vllm(plan["release_facts"]["vllm"])
    lacking = {
        metric: counter
        for counter, metric in NEEDED.items()
        if any(counters is not None and counter not in counters for counters in gained.values())
    }
    for exported in (True, False):
        metrics = [metric for metric in lacking if (not known or metric in known) == exported]
        if not metrics:
            continue
        problem, fix = f"its engines do not export {', '.join(metrics)}", "Use a release whose vLLM has them."
        if exported:
            fix = "Remove --disable-log-stats from its arguments if it is there; an engine without any request yet lacks some as well."
        blocks = any(lacking[metric] != "preemptions" for metric in metrics)
        yield gap("METRICS", role, problem, fix, "Absent is not zero.", blocks)


def _usable(gained: t.Any) -> dict[str, float] | None:
    """The counters that are numbers, none of them below 0: any other one is not known, which is not zero."""
    if not isinstance(gained, dict):
        return None
    return {name: value for name, value in gained.items() if number(value) is not None and value >= 0.0}


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
