# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a handover as one self-contained HTML page, to print and to sign."""

from __future__ import annotations

import typing as t

from ..bench.page import OWN_STYLE, table_part
from ..bench.text import load_rows
from ..description.findings import Finding
from ..hosts.page import escaped, whole_page
from ..hosts.report_style import STYLE
from .report import NOT, PASSED
from .text import MEANINGS, facts, groups, stage_rows, version_rows

Record = t.Mapping[str, t.Any]
STATES = {"passed": "ok", "failed": "error"}  # others are neither good nor bad by themselves
SIGNATURES = "".join(
    f'<p style="margin-top:2.5rem;border-top:1px solid;max-width:24rem">{who}, date</p>'
    for who in ("Handed over by", "Taken over by")
)


def acceptance_page(report: Record) -> str:
    """The page's text; it loads nothing."""
    title = f"Acceptance of {report['deployment']}"
    state = {PASSED: "ok", NOT: "error"}.get(report["verdict"], "warning")
    figures = "".join(f"<li>{escaped(row['stage'])}: {escaped(row['text'])}</li>" for row in report["figures"])
    parts = [
        f'<p class="verdict {state}">{escaped(report["verdict"].capitalize())}.</p>',
        '<dl class="run">'
        + "".join(f"<dt>{name}</dt><dd>{escaped(value)}</dd>" for name, value in facts(report))
        + "</dl>",
        table_part("Stages", stage_rows(report), STATES),
        f"<h2>Figures</h2><ul>{figures}</ul>" if figures else "",
        table_part("Benchmark", load_rows(report["bench"])) if report["bench"] else "",
        table_part("Versions", version_rows(report)),
        f"<h2>Deviations: {len(report['deviations'])}</h2>",
        *(_deviation(group) for group in groups(report)),
        f"<h2>Signatures</h2>{SIGNATURES}",
    ]
    body = "\n".join(part for part in parts if part)
    return whole_page(title, STYLE + OWN_STYLE, f"<main><h1>{escaped(title)}</h1>{body}</main>")


def _deviation(group: t.Sequence[Finding]) -> str:
    first = group[0]
    style = "warning" if first.severity == "unknown" else first.severity
    places = ", ".join(dict.fromkeys(finding.path for finding in group))
    mark = f'<span class="cell {style}">{MEANINGS[first.severity]}</span>'
    why = f"<p>{escaped(first.why)} {escaped(f'Fix: {first.fix}' if first.fix else '')}</p>"
    return f"<article><h3>{mark} {escaped(first.id)} · {escaped(places)}</h3><p>{escaped(first.problem)}.</p>{why}</article>"
