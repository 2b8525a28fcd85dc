# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's report as one self-contained HTML page: verdict, findings, curves over the load, tables, share of each stage."""

from __future__ import annotations

import typing as t

from markupsafe import Markup

from ..description.findings import Finding, grouped
from ..description.values import natural
from ..hosts.tuning_state import state_lines
from ..pages.render import counted, findings_of, markup, origin, page, verdict_of
from .curves import Curve, bars, lines
from .text import (
    comparison_rows,
    engine_rows,
    known_lines,
    load_rows,
    other_rows,
    other_versions_text,
    sent_text,
    topology_text,
    upstream_rows,
    versions_text,
)

Record = t.Mapping[str, t.Any]
# A curve's title, its unit, its figures with their names, and the limit of inference_bench.slo that it shows.
CURVES = (
    ("Time to first token", "ms", (("ttft_p50", "p50"), ("ttft_p90", "p90"), ("ttft_p99", "p99")), "ttft"),
    ("Time per output token", "ms", (("tpot_p50", "p50"), ("tpot_p90", "p90"), ("tpot_p99", "p99")), "tpot"),
    ("Output", "tokens/s", (("output_throughput", "all devices"),), ""),
    (
        "Requests",
        "requests/s",
        (("request_throughput", "completed"), ("request_goodput", "within the limits (goodput)")),
        "",
    ),
)
# Counters of an engine that are seconds of its requests, in the order in which a request passes.
STAGES = (
    ("queue_seconds", "queue and uncounted transfer"),
    ("moved_seconds", "KV transfer"),
    ("prefill_seconds", "prefill"),
    ("decode_seconds", "decode"),
)


def bench_page(report: Record, run: t.Mapping[str, str] | None = None) -> str:
    """The page's text. ``run``: ``date`` and ``inventory``. Raises LibraryMissing without pygal."""
    settings, before = report["settings"], report.get("before")
    facts = [
        ("Model", report["model"]),
        ("Software", versions_text(report)),
        ("Before", other_versions_text(report)),
        ("Devices", report["devices"]),
        ("Load made on", f"{report['host']}{sent_text(settings)}"),
        ("Profile", settings["profile"]),
        ("Tokens", f"{settings['prefix'] + settings['input']} in, {settings['output']} out"),
        ("Repeats", f"{count(settings['repeats'])} of each load; tables show the median (least to most)"),
        ("Compared", f"{topology_text(before)} before, {topology_text(report['topology'])} now" if before else ""),
        ("Tuning", " ".join(line.strip() for line in state_lines(report.get("tuning") or {})).removeprefix("Tuning: ")),
        ("Seen before", "; ".join(line.removesuffix(".") for line in known_lines(report))),
        ("Limits", ", ".join(f"{name} {value} ms" for name, value in report["slo"].items() if value)),
        ("Plan", report["digest"]),
        *origin(run),
    ]
    verdict = f"{'passed' if report['passed'] else 'failed'}, {counted(report['findings'])}"
    return page(
        "bench",
        f"Benchmark of {report['deployment']}",
        verdict_of(verdict, report["findings"], facts, "" if report["passed"] else "error"),
        findings=findings_of(grouped(Finding.from_dict(item) for item in report["findings"])),
        curves=list(_curves(report)),
        loads=load_rows(report),
        comparison=comparison_rows(report),
        upstream=upstream_rows(report),
        engines=engine_rows(report),
        others=other_rows(report),
        stages=_stages(report),
    )


def count(number: int) -> str:
    """Measurements in words."""
    return f"{number} measurement{'' if number == 1 else 's'}"


def _curves(report: Record) -> t.Iterator[tuple[str, Markup]]:
    loads, earlier = report["loads"], report.get("earlier") or {}
    labels = [load["title"] for load in loads]
    for title, unit, figures, limit in CURVES:
        curves = [(name, [load["median"].get(figure) for load in loads]) for figure, name in figures]
        shown = [(name, values) for name, values in curves if any(value is not None for value in values)]
        if shown:
            ends = (figures[0], figures[-1]) if len(figures) > 1 else figures  # more of them hide those of now
            before = [(name, [earlier.get(label, {}).get(figure) for label in labels]) for figure, name in ends]
            known = {name for name, _values in shown}
            old = [(name, values) for name, values in before if name in known and set(values) != {None}]
            drawn = lines(
                f"{title} ({unit})", unit, labels, shown, report["slo"].get(limit) or 0, old, bool(loads[0]["rate"])
            )
            yield title, markup(drawn)  # the library escapes its texts


def _stages(report: Record) -> Markup | None:
    """Where the time of requests went, in percent of the seconds that each engine counted."""
    # From below: pygal draws the first bar at the bottom.
    engines = sorted(report["engines"].items(), key=lambda item: natural(item[0]), reverse=True)
    moved = report.get("transfers") or {}
    seconds = {name: stage_seconds(gained, moved.get(name)) for name, gained in engines if gained}
    seconds = {name: values for name, values in seconds.items() if any(values)}
    if not seconds:
        return None
    parts: list[Curve] = [
        (title, [100.0 * values[number] / sum(values) for values in seconds.values()])
        for number, (_counter, title) in enumerate(STAGES)
        if any(values[number] for values in seconds.values())
    ]
    return markup(bars("Time of requests", "%", list(seconds), parts))


def stage_seconds(gained: Record, moved: Record | None = None) -> list[float]:
    """Seconds of each of STAGES. A request waits for its KV cache in the queue: the mean of a transfer for each request is taken from that.

    An instance counts one transfer for each rank of tensor parallelism, which run at the same time, so their sum is more than was waited.
    """
    queue = gained.get("queue_seconds") or 0.0
    mean = moved["seconds"] / (moved["number"] or 1) if moved and moved["waited"] else 0.0
    waited = min(queue, mean * (gained.get("requests") or 0.0))
    return [queue - waited, waited, gained.get("prefill_seconds") or 0.0, gained.get("decode_seconds") or 0.0]
