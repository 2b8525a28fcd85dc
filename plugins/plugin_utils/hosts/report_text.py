# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a check as text: verdict, coverage, then the findings grouped by cause."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.text import one_line
from ..description.findings import Finding, finding_lines
from .check_plan import observed
from .model_memory import memory_lines
from .observed import Record
from .reach import coverage
from .tcp import tcp_coverage
from .tuning import all_wanted
from .tuning_state import state_lines, states


def check_text(
    plan: Record,
    facts: t.Mapping[str, Record],
    findings: t.Sequence[Record],
    options: t.Mapping[str, t.Any] | None = None,
) -> str:
    """The report's text. ``findings`` and ``options`` as of ``check_plan``."""
    case = observed(plan, facts, options)
    lines = [f"{plan['deployment']}: {verdict(findings)}."]
    answered = len(case.hosts()) - len(case.unreachable())
    lines.append(
        f"{answered} of {len(plan['hosts'])} planned hosts answered"
        + _also(coverage(case))
        + _also(tcp_coverage(case))
        + "."
    )
    if case.left_out:
        lines.append(f"Excluded by --limit, not checked: {', '.join(sorted(case.left_out))}.")
    lines += memory_lines(case)
    lines += state_lines(states(case, all_wanted(case)))
    lines += finding_lines((Finding.from_dict(finding) for finding in findings), severity=True)
    return "\n".join(map(one_line, lines))  # texts of hosts make no lines of their own


def _also(text: str) -> str:
    return f", {text}" if text else ""


def verdict(findings: t.Sequence[Record]) -> str:
    """The verdict as one sentence without a full stop."""
    count = {
        severity: sum(finding["severity"] == severity for finding in findings)
        for severity in ("error", "warning", "remark", "accepted")
    }
    if count["error"]:
        text = f"not ready to deploy: {_number(count['error'], 'error')}, {_number(count['warning'], 'warning')}"
    elif count["warning"]:
        text = f"ready to deploy, with {_number(count['warning'], 'warning')}"
    else:
        text = "ready to deploy, no findings"
    rest = [_number(count["remark"], "remark")] if count["remark"] else []
    rest += [f"{count['accepted']} accepted"] if count["accepted"] else []
    return ", ".join([text, *rest])


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
