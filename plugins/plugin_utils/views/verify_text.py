# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a verification as lines for a terminal."""

from __future__ import annotations

import typing as t

from ...module_utils.diagnosis.diagnose import explanation
from ..description.findings import Finding, finding_lines


def verify_text(report: t.Mapping[str, t.Any]) -> list[str]:
    """The summary, the findings with causes and fixes, and the last lines of each service that a finding names.

    ``report`` as ``verdict`` returns it. A report of check mode already has its lines.
    """
    if report.get("check_mode"):
        return list(report["summary"])
    lines = [*report["summary"], *finding_lines(Finding.from_dict(finding) for finding in report["findings"])]
    for cause in report.get("causes", []):
        lines += ["", f"{cause['path']}: {explanation(Finding.from_dict(cause))}"]
    if report["verified"]:
        lines.append("  ask it: " + report["request"])
    for name, tail in report["tails"].items():
        lines += ["", f"last lines of {name}:"]
        lines += ["  " + line for line in tail] or ["  (empty)"]
    return lines
