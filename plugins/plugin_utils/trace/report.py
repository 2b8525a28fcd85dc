# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of single requests went, from the entry to the last token, and by what each part was measured.

The parts are those of ``bench/passage.py``: vLLM's spans (``--otlp-traces-endpoint``) hold the same times as its counters, because both are made from
the same record of a finished request (``OutputProcessor.do_tracing`` and ``_update_stats_from_finished`` in vllm/v1/engine/output_processor.py). Spans would
add nothing to a mean, and need an engine that was started for them, packages that some images lack, and a collector. So counters are read, which
every engine has.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.how_many import how_many
from ..bench.passage import PARTS, QUEUE, REST, TRANSFER, delays_decode
from ..bench.report import bench_report
from ..description.findings import Finding
from .requests import ENTRY, ROUTER

Record = t.Mapping[str, t.Any]
BEHIND = "router, network"
CLOCK = "client's clock, less all other parts"


def report_of(plan: Record, bench: Record, results: t.Sequence[Record], *others: t.Any) -> dict[str, t.Any]:
    """``bench_report`` with the same arguments; of a trace with what ``trace_report`` adds."""
    report = bench_report(plan, bench, results, *others)
    return trace_report(plan, results, report) if bench.get("trace") else report


def trace_report(plan: Record, results: t.Sequence[Record], report: Record) -> dict[str, t.Any]:
    """The benchmark's report with ``trace: {requests, whole, first_token, parts: [{part, ms, by}]}``; ``ms`` is None of what is not known.

    ``first_token``: ms until the client had it. The parts are in the order in which a request passes them. A finding says if others sent requests.
    """
    figures = report["loads"][0] if report["loads"] else {"completed": 0, "median": {}}
    passage = next(iter(report["passages"]), {"whole": figures["median"].get("e2el_mean"), "parts": {}})
    ways = next((result.get("ways") or {} for result in results if result.get("ways")), {})
    parts = [*_front(passage["parts"], ways), *_engines(plan, passage["parts"], report)]
    trace = {
        "requests": figures["completed"],
        "whole": passage["whole"],
        "first_token": figures["median"].get("ttft_mean"),
        "parts": parts,
    }
    findings = [*report["findings"], *(finding.as_dict() for finding in _others(plan, trace, report))]
    return {**report, "trace": trace, "findings": findings}


def _front(parts: Record, ways: Record) -> t.Iterator[dict[str, t.Any]]:
    """What stands in front of the router, and the rest; one part if nothing stands there."""
    rest = parts.get(REST)
    if not ways:
        if parts:
            yield {
                "part": BEHIND,
                "ms": rest,
                "by": CLOCK if rest is not None else "a part of the engines is not known",
            }
        return
    entry, problem = _entry(ways)
    yield {"part": ENTRY, "ms": entry, "by": problem or "lists of models, through the entry and from the router"}
    behind = None if rest is None or entry is None else round(rest - entry, 3)
    yield {"part": BEHIND, "ms": behind, "by": CLOCK if behind is not None else "another part is not known"}


def _entry(ways: Record) -> tuple[float | None, str]:
    """(ms that the entry takes, why they are not known)."""
    entry, router = ways[ENTRY], ways[ROUTER]
    for name, way in ((ENTRY, entry), (ROUTER, router)):
        if way["problem"]:
            return None, f"not known: the {name} gave no list of models ({way['problem']})"
    if entry["answer"] != router["answer"]:
        return None, f"not known: the entry answers {entry['answer']}, and the router {router['answer']}"
    return max(0.0, round(entry["ms"] - router["ms"], 3)), ""


def _engines(plan: Record, parts: Record, report: Record) -> t.Iterator[dict[str, t.Any]]:
    counted = {part: (kind, counter) for part, kind, counter in PARTS}
    for part, ms in parts.items():
        if part == REST:
            continue
        kind, counter = counted[part]
        if part == TRANSFER:
            by = _transferred(report) if ms is not None else "not counted by this release; its time is in the next part"
        else:
            names = ", ".join(engine["name"] for engine in plan["verify"].get(kind) or ())
            by = f"counter {counter} of {_few(names)}" if ms is not None else f"a counter of {_few(names)} is not known"
            by += ", less the transfer" if part == QUEUE and parts.get(TRANSFER) else ""
        yield {"part": part, "ms": ms, "by": by}


def _few(names: str) -> str:
    return names if len(names) < 60 else f"{names.split(', ')[0]} and {len(names.split(', ')) - 1} more"


def _transferred(report: Record) -> str:
    logged = {name for name, moved in report["transfers"].items() if delays_decode(moved) and moved["logged"]}
    return f"log of {_few(', '.join(sorted(logged)))}" if logged else "counters of the connector"


def _others(plan: Record, trace: Record, report: Record) -> t.Iterator[Finding]:
    """Requests of others, whose time is in the counters as well."""
    pool = next((kind for kind in ("decode", "colocated") if plan["verify"].get(kind)), "")
    counted = [
        (report["engines"].get(engine["name"]) or {}).get("requests") for engine in plan["verify"].get(pool) or ()
    ]
    more = 0 if None in counted else round(sum(value or 0.0 for value in counted)) - trace["requests"]
    if more > 0 and trace["requests"]:
        problem = f"the engines finished {how_many(more, 'request')} of others while {trace['requests']} of the trace were sent"
        fix = "Trace again while nobody else uses the service."
        why = "Counters do not tell requests apart, so the parts of the engines are too long and the rest is too short."
        yield Finding("inference_trace_requests", "TRACE-OTHERS", problem, fix, severity="warning", why=why)
