# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's report as one self-contained HTML page: verdict, findings, curves over the load, tables, share of each stage."""

from __future__ import annotations

import typing as t

from ..description.values import natural
from ..hosts.page import escaped, whole_page
from ..hosts.report_style import STYLE
from ..hosts.tuning_state import state_lines
from .curves import Curve, bars, lines
from .text import (
    comparison_rows,
    driver_text,
    engine_rows,
    known_lines,
    load_rows,
    other_rows,
    other_versions_text,
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
VERDICTS = {"worse": "error", "better": "ok", "not judged": "warning"}
OWN_STYLE = """
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1rem; }
.curves svg { width: 100%; height: auto; }
.plain td { font-variant-numeric: tabular-nums; }
"""


def bench_page(report: Record) -> str:
    """The page's text. Raises LibraryMissing without pygal."""
    settings = report["settings"]
    title = f"Benchmark of {report['deployment']}"
    facts = [
        ("Software", versions_text(report)),
        ("Before", other_versions_text(report)),
        ("Plan", report["digest"][:12]),
        ("Devices", report["devices"] or ""),
        ("Load made on", f"{report['host']}{driver_text(settings)}"),
        ("Profile", settings["profile"]),
        ("Tokens", f"{settings['prefix'] + settings['input']} in, {settings['output']} out"),
        ("Repeats", f"{count(settings['repeats'])} of each load; tables show the median (least to most)"),
        (
            "Compared",
            f"{topology_text(report['before'])} before, {topology_text(report['topology'])} now"
            if report.get("before")
            else "",
        ),
        ("Tuning", " ".join(line.strip() for line in state_lines(report.get("tuning") or {})).removeprefix("Tuning: ")),
        ("Seen before", "; ".join(line.removesuffix(".") for line in known_lines(report))),
        ("Limits", ", ".join(f"{name} {value} ms" for name, value in report["slo"].items() if value)),
    ]
    state, verdict = ("ok", "Passed.") if report["passed"] else ("error", "Failed: see the findings.")
    body = [
        f'<p class="verdict {state}">{verdict}</p>',
        '<dl class="run">'
        + "".join(f"<dt>{name}</dt><dd>{escaped(value)}</dd>" for name, value in facts if value)
        + "</dl>",
        *(_finding(finding) for finding in report["findings"]),
        '<div class="curves">' + "".join(_curves(report)) + "</div>",
        table_part("Loads", load_rows(report)),
        table_part("Comparison with the earlier report", comparison_rows(report), VERDICTS),
        table_part("The same model in vLLM-Ascend's CI", upstream_rows(report)),
        table_part("Engines", engine_rows(report)),
        table_part("Routers and stores", other_rows(report)),
        _stages(report),
    ]
    text = "\n".join(part for part in body if part)
    return whole_page(title, STYLE + OWN_STYLE, f"<main><h1>{escaped(title)}</h1>{text}</main>")


def count(number: int) -> str:
    """Measurements in words."""
    return f"{number} measurement{'' if number == 1 else 's'}"


def _finding(finding: Record) -> str:
    mark = f'<span class="cell {escaped(finding["severity"])}">{escaped(finding["severity"])}</span>'
    text = f"<p>{escaped(finding['problem'])}.</p><p>{escaped(finding['why'])} Fix: {escaped(finding['fix'])}</p>"
    return f"<article><h3>{mark} {escaped(finding['id'])} · {escaped(finding['path'])}</h3>{text}</article>"


def _curves(report: Record) -> t.Iterator[str]:
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
            yield lines(f"{title} ({unit})", unit, labels, shown, report["slo"].get(limit) or 0, old)


def _stages(report: Record) -> str:
    """Where the time of requests went, in percent of the seconds that each engine counted."""
    # From below: pygal draws the first bar at the bottom.
    engines = sorted(report["engines"].items(), key=lambda item: natural(item[0]), reverse=True)
    moved = report.get("transfers") or {}
    seconds = {name: stage_seconds(gained, moved.get(name)) for name, gained in engines if gained}
    seconds = {name: values for name, values in seconds.items() if any(values)}
    if not seconds:
        return ""
    parts: list[Curve] = [
        (title, [100.0 * values[number] / sum(values) for values in seconds.values()])
        for number, (_counter, title) in enumerate(STAGES)
        if any(values[number] for values in seconds.values())
    ]
    return (
        '<h2>Share of each stage</h2><div class="curves">'
        + bars("Time of requests", "%", list(seconds), parts)
        + "</div>"
    )


def stage_seconds(gained: Record, moved: Record | None = None) -> list[float]:
    """Seconds of each of STAGES. A request waits for its KV cache in the queue: the mean of a transfer for each request is taken from that.

    An instance counts one transfer for each rank of tensor parallelism, which run at the same time, so their sum is more than was waited.
    """
    queue = gained.get("queue_seconds") or 0.0
    mean = moved["seconds"] / (moved["number"] or 1) if moved and moved["waited"] else 0.0
    waited = min(queue, mean * (gained.get("requests") or 0.0))
    return [queue - waited, waited, gained.get("prefill_seconds") or 0.0, gained.get("decode_seconds") or 0.0]


def table_part(title: str, rows: t.Sequence[t.Sequence[str]], marks: t.Mapping[str, str] | None = None) -> str:
    """A heading with a table, whose first row is the head; empty without further rows. ``marks``: style of a cell with this text."""
    if len(rows) < 2:
        return ""
    styles = marks or {}

    def cell(text: str) -> str:
        shown = escaped(text)
        return f'<td><span class="cell {styles[text]}">{shown}</span></td>' if text in styles else f"<td>{shown}</td>"

    head = "".join(f"<th>{escaped(text)}</th>" for text in rows[0])
    lines_of = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows[1:])
    return f'<h2>{escaped(title)}</h2><div class="scroll"><table class="plain"><tr>{head}</tr>{lines_of}</table></div>'
