# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a benchmark: medians with their spread for each load, each engine's share, findings, and a comparison."""

from __future__ import annotations

import collections
import statistics
import typing as t

from ..description.findings import Finding
from ..hosts.tuning_state import UNKNOWN
from . import comparable, in_cluster, passage, services, upstream
from .capacity import capacity
from .pool import COLD, OTHER, OWN

Record = t.Mapping[str, t.Any]
FORMAT = 2  # of the JSON; a comparison refuses others
SHOWN = ("ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "e2el_p99", "output_throughput", "request_goodput")
HIGHER_IS_BETTER = ("output_throughput", "request_throughput", "total_token_throughput", "request_goodput")
COMPARED = ("ttft_p50", "ttft_p99", "tpot_p50", "output_throughput", "request_goodput")
WIDE = 0.10  # of the median: measurements of one setting that differ more say little
LEAST = 0.05  # a smaller difference is no regression, whatever the spread
JUDGED = 3  # least measurements of each report: the spread of fewer is not known
# By the number of measurements (at least): how far apart the ranges of both reports are, in widths of the wider one. Of two times three
# measurements of one deployment with much noise, one figure in eleven has ranges that do not overlap at all; with this, one in a hundred.
APART = ((5, 0.0), (4, 0.5), (JUDGED, 1.0))
UNJUDGED = "not judged"
LOADED = 0.5  # least share of prompt tokens that a round of profile pool loads from the store
POLICIES = ("policy", "prefill-policy", "decode-policy")  # of vllm-router
COUNTS = ("completed", "failed", "empty", "short")


def bench_report(
    plan: Record,
    bench: Record,
    results: t.Sequence[Record],
    old: Record | None = None,
    tuning: t.Mapping[str, Record] | None = None,
    known: Record | None = None,
) -> dict[str, t.Any]:
    """``{format, deployment, model, digest, release, versions, other_versions, topology, before, settings, loads, engines, findings, ...}``.

    ``topology`` and ``before``: instances, NPUs and router of this report and, if another was measured, of the earlier one. ``other_versions``: those of
    the earlier report that differ. ``earlier``: medians
    of the earlier report's loads that were compared, for the curves. ``engines`` and ``others`` (routers, masters of the store): what their
    counters gained; ``shares``: of the requests of a pool. ``results`` holds the results of service_bench in the order of ``bench.runs``; ``old`` is
    an earlier report; ``tuning`` is the state of each host (``hosts/tuning_state.py``), recorded because figures of hosts with other settings
    cannot be compared. ``known``: findings of others, ``{check: [findings] or None, status: [texts]}``, recorded for the same reason, and
    ``logs``: what services logged meanwhile (``verify/logs.py``, counts). ``transfers``: of KV cache, by engine;
    ``passages``: where the time of a request went (``passage.py``).
    """
    measured = [(run, result) for run, result in zip(bench["runs"], results, strict=True) if run["repeat"]]
    loads = [_load(*group, measured) for group in dict.fromkeys(_kind(run) for run, _result in measured)]
    engines = services.summed(result["engines"] for _run, result in measured)
    others = services.other_counters(bench, [result for _run, result in measured])
    logs = (known or {}).get("logs") or {}
    moved = services.transfers(plan, engines, logs)
    topology, earlier = _topology(plan, bench), (old or {}).get("topology")
    comparison, regressions = _comparison(old, loads, bench) if old else ([], [])
    findings = [*_wrong_answers(loads), *_shares(engines, loads), *services.about_services(engines, others)]
    findings += services.about_logs(logs)
    findings += [*_wide(loads), *_gains(loads), *regressions]
    findings += _tuned_otherwise(old, tuning or {})
    findings += comparable.about_models(old or {}, plan["model"]["name"])
    theirs = upstream.upstream_rows(upstream.cases_of(plan), topology, bench["settings"], loads)
    findings += [*upstream.about_upstream(theirs), *in_cluster.unseen(plan)]
    return {
        "format": FORMAT,
        "deployment": plan["deployment"],
        "model": plan["model"]["name"],
        "digest": plan["digest"],
        "release": plan["release"],
        "vllm": plan["release_facts"]["vllm"],
        "versions": services.versions(plan),
        "other_versions": comparable.other_versions(old or {}, services.versions(plan)),
        "known": services.known_findings(known or {}),
        "devices": bench["devices"],
        "topology": topology,
        "before": earlier if earlier and earlier != topology else None,
        "host": bench["host"],
        "settings": dict(bench["settings"]),
        "slo": dict(bench["slo"]),
        "loads": loads,
        "capacity": capacity(loads, bench["devices"]) if not bench["settings"].get("at_once") else None,
        "engines": engines,
        "shares": services.shares(plan, engines),
        "others": others,
        "transfers": moved,
        "passages": passage.passages(plan, loads, moved),
        "comparison": comparison,
        "earlier": comparable.earlier(old or {}, comparison, bench),
        "upstream": theirs,
        "tuning": {name: dict(state) for name, state in (tuning or {}).items()},
        "findings": [finding.as_dict() for finding in findings],
        "passed": not any(finding.severity == "error" for finding in findings),
    }


def _topology(plan: Record, bench: Record) -> dict[str, t.Any]:
    """``{pools: {kind: instances}, devices, router, policies: {option: value}}``: what differs between deployments that are compared."""
    pools = collections.Counter(item["kind"] for item in plan["placement"]["instances"])
    argv = next((item["argv"] for item in plan["services"] if item["kind"] == "router"), [])
    policies = {name: argv[argv.index(f"--{name}") + 1] for name in POLICIES if f"--{name}" in argv[:-1]}
    flavour = plan["software"]["router"]["flavour"]
    router = "" if flavour == "none" else flavour
    return {"pools": dict(sorted(pools.items())), "devices": bench["devices"], "router": router, "policies": policies}


def _kind(run: Record) -> tuple[int, float, str]:
    """What is measured several times: requests at a time, or requests a second, and the round of profile pool."""
    return run["load"], run.get("rate") or 0.0, run["round"]


def _load(load: int, rate: float, round_name: str, measured: t.Sequence[tuple[Record, Record]]) -> dict[str, t.Any]:
    """Figures of one load or rate, in profile pool of one of its rounds."""
    chosen = [(run, result) for run, result in measured if _kind(run) == (load, rate, round_name)]
    figures = [result["figures"] for _run, result in chosen]
    names = [name for name in figures[0] if name not in (*COUNTS, "first_error")]
    seconds = [item.get("duration") for item in figures]
    known = {name: [item[name] for item in figures if item.get(name) is not None] for name in names}
    return {
        "load": load,
        "round": round_name,
        "rate": rate,
        "title": f"{rate:g}/s" if rate else f"{load or 'trace'} {round_name}".rstrip(),
        "loaded_share": _loaded_share(chosen),
        "measurements": len(figures),
        "seconds": round(sum(seconds), 3) if all(seconds) else None,
        "engines": services.summed(result["engines"] for _run, result in chosen),
        **{name: sum(item[name] or 0 for item in figures) for name in COUNTS},
        "uncounted": sum(item["empty"] is None for item in figures),
        "first_error": next((item["first_error"] for item in figures if item["first_error"]), ""),
        "median": {name: statistics.median(values) if values else None for name, values in known.items()},
        "least": {name: min(values) if values else None for name, values in known.items()},
        "most": {name: max(values) if values else None for name, values in known.items()},
    }


def _loaded_share(chosen: t.Sequence[tuple[Record, Record]]) -> float | None:
    """Of the prompt tokens of a round's engine, the share whose KV cache came from outside; None if it is not known."""
    gained = [result["engines"].get(run["engine"]) or {} for run, result in chosen]
    if not all("tokens_from_outside" in item and item.get("prompt_tokens") for item in gained):
        return None
    return round(sum(item["tokens_from_outside"] for item in gained) / sum(item["prompt_tokens"] for item in gained), 3)


def _finding(rule: str, path: str, problem: str, fix: str, why: str, severity: str = "error") -> Finding:
    return Finding(path, rule, problem, fix, severity=severity, why=why)


def _wrong_answers(loads: t.Sequence[Record]) -> t.Iterator[Finding]:
    for load in loads:
        path = f"load {load['title']}"
        asked = load["completed"] + load["failed"]
        if load["failed"]:
            problem = f"{load['failed']} of {asked} requests failed: {load['first_error'] or 'no reason is known'}"
            yield _finding(
                "BENCH-FAILED",
                path,
                problem,
                "Run verify, and read the log of the router.",
                "Failed requests make the others faster.",
            )
        if load["empty"]:
            problem = f"{load['empty']} of {asked} answers had status 200 and no text"
            yield _finding(
                "BENCH-EMPTY",
                path,
                problem,
                "Run verify; an engine behind the router may be dead.",
                "The client got nothing, and no error.",
            )
        if load["short"]:
            problem = f"{load['short']} of {asked} answers are shorter than asked"
            yield _finding(
                "BENCH-SHORT",
                path,
                problem,
                "Read the log of the router and of decode.",
                "Rates count tokens that were never made.",
            )
        if load["uncounted"] or not asked:
            yield _finding(
                "BENCH-UNCOUNTED",
                path,
                "the answers could not be counted",
                "Use a newer release of vLLM.",
                "Empty answers would not be seen.",
            )


def _shares(engines: t.Mapping[str, Record | None], loads: t.Sequence[Record]) -> t.Iterator[Finding]:
    for name, gained in engines.items():
        if gained is None:
            yield _finding(
                "BENCH-COUNTERS",
                name,
                "its counters could not be read, or it was restarted between two readings",
                "Run status, and measure again.",
                "Its share is not known.",
                "warning",
            )
        elif "requests" not in gained:
            problem, fix = (
                "it does not count its requests",
                "Remove --disable-log-stats from its arguments if it is there.",
            )
            yield _finding("BENCH-COUNTERS", name, problem, fix, "Its share is not known.", "warning")
        elif not gained["requests"] and max((load["load"] for load in loads), default=0) > 1:
            yield _finding(
                "BENCH-IDLE",
                name,
                "it got no request",
                "Run verify, and compare the members of the router.",
                "The others did its work.",
                "warning",
            )


def _wide(loads: t.Sequence[Record]) -> t.Iterator[Finding]:
    for load in loads:
        for name in ("ttft_p50", "output_throughput"):
            middle, low, high = (load[part].get(name) for part in ("median", "least", "most"))
            if load["measurements"] > 1 and middle and (high - low) / middle > WIDE:
                problem = f"{name} is {low:.4g} to {high:.4g} in {load['measurements']} measurements"
                fix = "Measure again while nothing else uses the hosts, with more prompts or repeats."
                yield _finding(
                    "BENCH-SPREAD",
                    f"load {load['title']}",
                    problem,
                    fix,
                    "Differences within this range mean nothing.",
                    "warning",
                )


def _gains(loads: t.Sequence[Record]) -> t.Iterator[Finding]:
    """Profile pool: rounds that loaded little, or that were not faster than computing."""
    cold = {load["load"]: load["median"].get("ttft_p50") for load in loads if load["round"] == COLD}
    for load in loads:
        if load["round"] not in (OWN, OTHER):
            continue
        path, share = f"load {load['title']}", load["loaded_share"]
        if share is None:
            problem, fix = "the engine does not count what it loaded", "Use a release with vLLM 0.16 or newer."
            yield _finding("BENCH-POOL-UNKNOWN", path, problem, fix, "A faster answer alone proves no load.", "warning")
        elif share < LOADED:
            problem = f"{share:.0%} of the prompt tokens were loaded from the store"
            fix = "Run verify, whose step pool names the cause; if it passes, enlarge inference_store.segment_size."
            yield _finding("BENCH-POOL-MISS", path, problem, fix, "Prompts are computed again.")
        ttft, computed = load["median"].get("ttft_p50"), cold.get(load["load"])
        if ttft is not None and computed is not None and ttft >= computed:
            problem = f"ttft_p50 is {ttft:.4g} ms, and {computed:.4g} ms when computed"
            fix = "Check the links with check, or use longer prompts (inference_bench.input)."
            yield _finding("BENCH-POOL-SLOW", path, problem, fix, "Loading costs more than computing.", "warning")


def _comparison(old: Record, loads: t.Sequence[Record], bench: Record) -> tuple[list[dict[str, t.Any]], list[Finding]]:
    """Rows of both reports, and regressions: worse than every measurement of the other report, by more than the spread and than LEAST."""
    if old.get("format") != FORMAT:
        problem = "the report to compare with has another format"
        return [], [
            _finding("BENCH-COMPARE", "inference_bench_compare", problem, "Measure it again.", "Nothing was compared.")
        ]
    changed = comparable.other_settings(old, bench["settings"])
    if changed:
        problem = f"the earlier report has another {', '.join(changed)}"
        return [], [
            _finding(
                "BENCH-COMPARE",
                "inference_bench_compare",
                problem,
                "Use the same settings.",
                "The figures mean different things.",
            )
        ]
    # Deployments on other numbers of NPUs are compared per NPU; a latency is the same for all of them.
    devices = (bench["devices"], old.get("devices"))
    shared = devices[0] == devices[1] or not all(devices)
    before = {load["title"]: load if shared else _per_device(load, old["devices"]) for load in old["loads"]}
    compared = comparable.figures(old, bench["slo"], COMPARED)
    rows, findings = (
        [],
        [*comparable.about_limits(old, bench["slo"], loads), *comparable.about_missing(old, loads, compared)],
    )
    for load in loads if shared else [_per_device(load, bench["devices"]) for load in loads]:
        earlier, worse = before.get(load["title"]), []
        for name in compared:
            new_value, old_value = load["median"].get(name), (earlier or {"median": {}})["median"].get(name)
            if earlier is None or new_value is None or not old_value:
                continue
            verdict = _verdict(name, load, earlier)
            figure = name if shared or name not in HIGHER_IS_BETTER else f"{name} per NPU"
            rows.append(
                {"load": load["title"], "figure": figure, "before": old_value, "now": new_value, "verdict": verdict}
            )
            if verdict == "worse":
                worse.append(f"{figure} is {new_value:.4g}, before {old_value:.4g}")
        if worse:
            problem = f"{', '.join(worse)}: more than the spread of both"
            fix = "Compare the plans (plan --diff) and the advice of plan -e inference_plan_show=advice."
            findings.append(_finding("BENCH-REGRESSION", f"load {load['title']}", problem, fix, "Clients notice it."))
    few = list(dict.fromkeys(row["load"] for row in rows if row["verdict"] == UNJUDGED))
    if few:
        problem = f"load {', '.join(few)}: fewer than {JUDGED} measurements in one of the reports, so differences are not judged"
        fix = f"Measure both with inference_bench.repeats: {JUDGED} or more."
        why = "Without its spread it is unknown whether a difference is one of the deployments."
        findings.append(_finding("BENCH-UNJUDGED", "inference_bench_compare", problem, fix, why))
    if not rows:
        problem, fix = "the earlier report has no load in common with this one", "Measure the same loads."
        findings.append(_finding("BENCH-COMPARE", "inference_bench_compare", problem, fix, "Nothing was compared."))
    return rows, findings


def _per_device(load: Record, devices: int) -> dict[str, t.Any]:
    """A load with its rates per NPU."""
    parts = {
        part: {
            name: value / devices if name in HIGHER_IS_BETTER and value is not None else value
            for name, value in load[part].items()
        }
        for part in ("median", "least", "most")
    }
    return {**load, **parts}


def _tuned_otherwise(old: Record | None, tuning: t.Mapping[str, Record]) -> t.Iterator[Finding]:
    """Settings of hosts that are in both reports and differ, or are not known in one of them."""
    for name, state in tuning.items():
        before = ((old or {}).get("tuning") or {}).get(name)
        if before is None:
            continue
        then = {row["setting"]: row["found"] for row in before["settings"]}
        odd = [row for row in state["settings"] if then.get(row["setting"], row["found"]) != row["found"]]
        unknown = [row["setting"] for row in before["settings"] + state["settings"] if row["found"] == UNKNOWN]
        shown = [f"{row['setting']} is {row['found']}, before {then[row['setting']]}" for row in odd[:4]]
        shown += [f"{setting} is unknown in one of the reports" for setting in dict.fromkeys(unknown)]
        if shown:
            fix = "Compare the effect of these settings only, or set them as before (playbook tune) and measure again."
            why = "The figures also show the effect of these settings."
            yield _finding("BENCH-TUNING", name, ", ".join(shown), fix, why, "warning")


def _verdict(name: str, now: Record, before: Record) -> str:
    """``better`` or ``worse`` if the ranges of both are far enough apart (APART) and the medians differ by more than LEAST, else ``same``.

    ``not judged`` with fewer measurements than JUDGED.
    """
    number = min(now["measurements"], before["measurements"])
    if number < JUDGED:
        return UNJUDGED
    if abs(now["median"][name] - before["median"][name]) <= LEAST * abs(before["median"][name]):
        return "same"
    widest = max(load["most"][name] - load["least"][name] for load in (now, before))
    margin = widest * next((factor for least, factor in APART if number >= least), 1.0)
    up = now["least"][name] - before["most"][name] > margin
    down = before["least"][name] - now["most"][name] > margin
    if not up and not down:
        return "same"
    return "better" if up == (name in HIGHER_IS_BETTER) else "worse"
