# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: one record per step (or per failed hop), and its text."""

from __future__ import annotations

import re
from typing import Any, Dict

from ..tools.finding import Finding
from ..tools.text import one_line
from .faults import Problem

STEPS = (
    "master",
    "engines",
    "alone",
    "access",
    "entry",
    "stream",
    "transfer",
    "routers",
    "chat",
    "texts",
    "long",
    "burst",
    "logs",
    "pairs",
    "pool",
    "negative",
)
MOST_COLUMNS = 12  # of the matrix of pairs; for more only the numbers of each row are shown

Record = Dict[str, Any]


def record(step: str, status: str, hop: str, message: str, evidence: dict[str, Any]) -> Record:
    """{step, status: passed | failed | skipped, hop, message, evidence, finding, seconds}; seconds is set by the gate.

    hop: a service, or two of them as `prefill-0 -> decode-0`. finding: the form of all findings where the step failed, else {}.
    """
    found: dict[str, str] = {}
    return dict(
        step=step, status=status, hop=hop, message=one_line(message), evidence=evidence, finding=found, seconds=0.0
    )


def passed(step: str, hop: str, message: str, **evidence: Any) -> Record:
    return record(step, "passed", hop, message, evidence)


def failed(step: str, hop: str, fault: Problem, **evidence: Any) -> Record:
    found = fault.finding(hop).as_dict()
    return dict(record(step, "failed", hop, fault.text, evidence), finding=found)


def skipped(step: str, reason: str) -> Record:
    return record(step, "skipped", "", reason, {})


def status_of(records: list[Record], step: str) -> str:
    """failed, else passed, else skipped; "" without a record of the step."""
    statuses = {item["status"] for item in records if item["step"] == step}
    return next((status for status in ("failed", "passed", "skipped") if status in statuses), "")


def proves_transfer(records: list[Record]) -> bool:
    """Whether KV transfer is proven, by decode's counters or by the log lines of each probe request."""
    if status_of(records, "transfer") == "passed":
        return True
    return any(item["step"] == "logs" and item["evidence"].get("proved_requests") for item in records)


def conclude(report: dict[str, Any], disaggregated: bool) -> dict[str, Any]:
    """The report with `verified`, `findings`, `failures` (a line for each finding) and `summary`.

    Without failures a disaggregated deployment is verified only if a step proved the transfer.
    """
    steps = report["steps"]
    findings = [Finding.from_dict(step["finding"]) for step in steps if step["status"] == "failed"]
    if disaggregated and not findings and not proves_transfer(steps):
        findings.append(Problem("nothing proves that KV was transferred", "no_proof").finding("prefill -> decode"))
    remarks = [Finding.from_dict(item) for item in report.get("remarks", [])]
    shown = [finding.as_dict() for finding in [*findings, *remarks]]
    done = dict(report, verified=not findings, findings=shown)
    causes = [Finding.from_dict(cause) for cause in report.get("causes", [])]
    done["failures"] = [finding.text() for finding in [*findings, *causes]]
    done["summary"] = summary(done)
    return done


def summary(report: dict[str, Any]) -> list[str]:
    """A head line, a line per record, a line of times, a line per warning."""
    result = "VERIFIED" if report["verified"] else "NOT VERIFIED"
    lines = [
        "{}: {} at {} ({}, release {})".format(result, *(report[k] for k in ("model", "entry", "mode", "release")))
    ]
    for step in report["steps"]:
        hop = " {}:".format(step["hop"]) if step["hop"] else ""
        lines.append("  {:8} {:8}{} {}".format(step["status"], step["step"], hop, step["message"]))
    times = _times(report)
    if times:
        lines.append("  " + times)
    lines += matrix(report["pairs"]) + _repeated(report)
    lines += ["  warning: " + warning for warning in report["warnings"]]
    return lines + [f"  warning: {item['path']}: {item['problem']}" for item in report.get("remarks", [])]


def matrix(pairs: dict[str, dict[str, Any]]) -> list[str]:
    """The pairs as a table, prefill by row and decode by column; nothing for a single pair."""
    columns = sorted({name for row in pairs.values() for name in row}, key=_natural)
    if sum(len(row) for row in pairs.values()) < 2 and len(pairs) < 2:
        return []
    wide = max(len(name) for name in pairs)
    if len(columns) > MOST_COLUMNS:
        counted = [(name, [cell["status"] for cell in row.values()]) for name, row in pairs.items()]
        return [
            "  pairs of {:{}}  passed {}, failed {}".format(
                name, wide, statuses.count("passed"), statuses.count("failed")
            )
            for name, statuses in counted
        ]
    marks = {"passed": "ok", "failed": "FAILED", "": "not covered"}
    lines = ["  pairs {:{}}  {}".format("", wide, "  ".join(columns))]
    for name in sorted(pairs, key=_natural):
        cells = [marks[pairs[name].get(column, {}).get("status", "")] for column in columns]
        texts = ["{:{}}".format(cell, len(column)) for cell, column in zip(cells, columns)]
        lines.append("        {:{}}  {}".format(name, wide, "  ".join(texts)).rstrip())
    return lines


def _natural(name: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _repeated(report: dict[str, Any]) -> list[str]:
    """Retries and near ties, also if there were none, and what inference_verify changes."""
    retries = report.get("retries", {})
    reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(retries.items()))
    ties = report.get("near_ties", 0)
    lines = [
        f"  retries: {sum(retries.values())}"
        + (f" ({reasons})" if reasons else "")
        + f", texts that part at a near tie: {ties}"
    ]
    changed = report.get("changed", [])
    if changed:
        lines.append(
            f"  changed by inference_verify: {', '.join(changed)} (reason: {report.get('reason') or 'none given'})"
        )
    return lines


def _times(report: dict[str, Any]) -> str:
    parts = []
    first = report["ttft_ms"].get("stream")
    if first is not None:
        parts.append(f"time to first token {first:.0f} ms")
    transfers = sorted(report["transfer_ms"])
    if transfers:
        middle = transfers[len(transfers) // 2]
        parts.append(f"KV transfer {middle:.1f} ms (median of {len(transfers)})")
    return ", ".join(parts)


def milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000.0, 1)
