# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a handover as Markdown, which is readable as text too."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.text import one_line
from ..bench.text import load_rows
from ..description.findings import Finding, grouped
from ..hosts.versions import COLUMNS
from ..pages.markdown import table

Record = t.Mapping[str, t.Any]
MEANINGS = {
    "error": "error",
    "unknown": "not proven",
    "warning": "warning",
    "accepted": "waived",
    "remark": "remark",
}


def acceptance_text(report: Record) -> list[str]:
    """Lines: verdict, facts, deviations, stages, figures, versions, and room for signatures."""
    count = len(report["deviations"])
    lines = [f"# Acceptance of {report['deployment']}: {report['verdict'].upper()}", ""]
    lines += [f"{name}: {value}" + "  " for name, value in facts(report)]
    lines += ["", f"## Deviations: {count}", ""]
    for number, group in enumerate(groups(report), 1):
        first = group[0]
        places = one_line(", ".join(dict.fromkeys(finding.path for finding in group)))
        lines.append(f"{number}. {MEANINGS[first.severity].upper()} {places}: {one_line(first.problem)} [{first.id}]")
        lines += [f"   {one_line(text)}" for text in (first.why, first.fix and f"Fix: {first.fix}") if text]
    lines += [] if count else ["None."]
    lines += ["", "## Stages", "", *table(stage_rows(report)), ""]
    if report["figures"]:
        lines += ["## Figures", "", *(f"- {row['stage']}: {row['text']}" for row in report["figures"]), ""]
    if report["bench"]:
        lines += [*table(load_rows(report["bench"])), ""]
    lines += ["## Versions", "", *table(version_rows(report))]
    return [
        *lines,
        "",
        "## Signatures",
        "",
        "Handed over by: ____________________  Taken over by: ____________________  Date: __________",
    ]


def facts(report: Record) -> list[tuple[str, str]]:
    """What was accepted: title and value."""
    return [
        ("Date", report["date"]),
        ("Release", f"{report['release']}, vLLM {report['vllm']}"),
        ("Model", report["model"]),
        ("Hardware", f"{report['hosts']} hosts, {report['devices']} NPUs"),
        ("Plan", report["digest"]),
    ]


def stage_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each stage."""
    return [["stage", "state"], *([row["title"], row["state"]] for row in report["stages"])]


def version_rows(report: Record) -> list[list[str]]:
    """A head, and a row for each host; "?": not known."""
    rows = [[host, *(one_line(row[column]) or "?" for column in COLUMNS)] for host, row in report["versions"].items()]
    return [["host", *COLUMNS], *rows]


def groups(report: Record) -> list[list[Finding]]:
    """Deviations that differ only in their place are one group, errors first. All places are kept."""
    found = sorted(report["deviations"], key=lambda item: item["severity"] != "error")
    return grouped(Finding.from_dict(item) for item in found)
