# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trace as text for the terminal, which is Markdown as well, and as one HTML page."""

from __future__ import annotations

import typing as t

from ..bench.page import bench_page
from ..bench.text import bench_text, digits, versions_text
from ..description.findings import Finding, grouped
from ..pages.markdown import table
from ..pages.render import counted, findings_of, origin, page, verdict_of

Record = t.Mapping[str, t.Any]
BAR = 20  # characters of the longest bar


def text_of(report: Record) -> list[str]:
    """Lines of a benchmark's report, or of a trace's."""
    return trace_text(report) if report.get("trace") else bench_text(report)


def page_of(report: Record, run: t.Mapping[str, str] | None = None) -> str:
    """The page of a benchmark's report, or of a trace's."""
    return trace_page(report, run) if report.get("trace") else bench_page(report, run)


def trace_text(report: Record) -> list[str]:
    """Lines: what was sent, the table, findings."""
    lines = [f"# Trace of {report['deployment']}: {longest(report)}", "", _sent(report), ""]
    lines += table(trace_rows(report))
    for finding in report["findings"]:
        lines += ["", f"{finding['id']} ({finding['severity']}) {finding['path']}: {finding['problem']}"]
        lines.append(f"  {finding['why']} Fix: {finding['fix']}")
    return lines


def trace_page(report: Record, run: t.Mapping[str, str] | None = None) -> str:
    """The page's text. ``run``: ``date`` and ``inventory``."""
    facts = [
        ("Model", report["model"]),
        ("Software", versions_text(report)),
        ("Requests", _sent(report)),
        ("Sent from", report["host"]),
        ("Plan", report["digest"]),
        *origin(run),
    ]
    verdict = f"{longest(report)}; {counted(report['findings'])}"
    head = verdict_of(verdict, report["findings"], facts, "" if report["passed"] else "error")
    return page(
        "trace",
        f"Trace of {report['deployment']}",
        head,
        findings=findings_of(grouped(Finding.from_dict(item) for item in report["findings"])),
        parts=trace_rows(report),
    )


def longest(report: Record) -> str:
    """The part with most of the time, in words."""
    known = [part for part in report["trace"]["parts"] if part["ms"] is not None]
    whole = report["trace"]["whole"]
    if not known or not whole:
        return "no part of a request's time is known"
    most = max(known, key=lambda part: t.cast(float, part["ms"]))
    return f"{most['ms'] / whole:.0%} of the time is {most['part']}"


def trace_rows(report: Record) -> list[list[str]]:
    """A head, a row for each part, the whole, and the time until the first token; "?": not known."""
    trace = report["trace"]
    whole = trace["whole"]
    rows = [["part of a request (mean)", "ms", "share", "", "measured by"]]
    for part in trace["parts"]:
        rows.append([part["part"], *_shown(part["ms"], whole), part["by"]])
    rows.append(["whole", *_shown(whole, None), "client's clock"])
    rows.append(["until the first token", *_shown(trace["first_token"], None), "client's clock"])
    return rows


def _shown(ms: float | None, whole: float | None) -> list[str]:
    if ms is None:
        return ["?", "?" if whole else "", ""]
    share = ms / whole if whole else None
    return [digits(ms), "" if share is None else f"{share:.1%}", "#" * round(BAR * max(0.0, min(1.0, share or 0.0)))]


def _sent(report: Record) -> str:
    settings = report["settings"]
    return (
        f"{report['trace']['requests']} requests, one after the other, with {settings['prefix'] + settings['input']} tokens in and "
        f"{settings['output']} out"
    )
