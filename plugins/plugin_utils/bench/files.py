# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files on the controller that a report is written to or compared with: what is missing ends the run before hours of work, not after them."""

from __future__ import annotations

import json
import os
import typing as t

from ..description.findings import Finding
from ..description.outputs import unwritable
from .curves import MISSING, pygal_missing
from .report import FORMAT
from .services import PARTS

WHY = "The run would end with this after hours of work."
COMPARE, CHECK, PAGE = "inference_bench_compare", "inference_bench_check", "inference_bench_html"


def file_findings(files: t.Mapping[str, t.Any]) -> list[Finding]:
    """What is wrong with ``files``: variable to its path, empty if it is not set. A relative path is one of the current folder."""
    found = []
    for name, value in files.items():
        path = os.path.realpath(os.path.expanduser(str(value))) if value else ""
        judge = {COMPARE: _earlier, CHECK: _checked}.get(name, lambda path, name=name: _written(name, path))
        problem, fix = judge(path) if path else ("", "")
        if problem:
            found.append(Finding(name, "BENCH-FILE", problem, fix, why=WHY))
    return found


def _written(name: str, path: str) -> tuple[str, str]:
    """(what is wrong, fix) of a file that will be written."""
    problem, fix = unwritable(path)
    if problem:
        return problem, fix
    if name == PAGE and pygal_missing():
        return MISSING
    return "", ""


def _checked(path: str) -> tuple[str, str]:
    """(what is wrong, fix) of the findings of check."""
    fix = "Name a file that the playbook check wrote (inference_check_json)."
    found, problem = _read(path)
    rows = found.get("findings") if isinstance(found, dict) else None
    if not problem and not (
        isinstance(rows, list) and all(isinstance(row, dict) and set(row) >= PARTS for row in rows)
    ):
        problem = f"{path} has no findings of a check"
    return (problem, fix) if problem else ("", "")


def _read(path: str) -> tuple[t.Any, str]:
    """(the JSON of a file, why it cannot be read)."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream), ""
    except OSError as error:
        return None, f"{path} cannot be read: {error.strerror}"
    except (ValueError, RecursionError):
        return None, f"{path} is no JSON"


def _earlier(path: str) -> tuple[str, str]:
    """(what is wrong, fix) of an earlier report."""
    fix = "Name a report that the playbook bench wrote (inference_bench_json)."
    report, problem = _read(path)
    if problem:
        return problem, fix
    if not isinstance(report, dict) or report.get("format") != FORMAT or "loads" not in report:
        return f"{path} is no report of a benchmark, or one of another version", "Measure it again, or " + fix[
            0
        ].lower() + fix[1:]
    return "", ""
