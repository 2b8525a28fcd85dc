# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files on the controller that a report is written to or compared with: what is missing ends the run before hours of work, not after them."""

from __future__ import annotations

import json
import os
import typing as t

from ..description.findings import Finding
from .curves import MISSING, pygal_missing
from .report import FORMAT

WHY = "The run would end with this after hours of work."
COMPARE, PAGE = "inference_bench_compare", "inference_bench_html"


def file_findings(files: t.Mapping[str, t.Any]) -> list[Finding]:
    """What is wrong with ``files``: variable to its path, empty if it is not set. A relative path is one of the current folder."""
    found = []
    for name, value in files.items():
        path = os.path.realpath(os.path.expanduser(str(value))) if value else ""
        problem, fix = ("", "") if not path else _earlier(path) if name == COMPARE else _written(name, path)
        if problem:
            found.append(Finding(name, "BENCH-FILE", problem, fix, why=WHY))
    return found


def _written(name: str, path: str) -> tuple[str, str]:
    """(what is wrong, fix) of a file that will be written."""
    if os.path.isdir(path):
        return f"{path} is a folder", "Name a file."
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        return f"{folder} is no folder on the controller", "Create the folder."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the controller's user may not write in {folder}", "Name another folder, or change its owner."
    if name == PAGE and pygal_missing():
        return MISSING
    return "", ""


def _earlier(path: str) -> tuple[str, str]:
    """(what is wrong, fix) of an earlier report."""
    fix = "Name a report that the playbook bench wrote (inference_bench_json)."
    try:
        with open(path, encoding="utf-8") as stream:
            report = json.load(stream)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}", fix
    except ValueError:
        return f"{path} is no JSON", fix
    if not isinstance(report, dict) or report.get("format") != FORMAT or "loads" not in report:
        return f"{path} is no report of a benchmark, or one of another version", "Measure it again, or " + fix[
            0
        ].lower() + fix[1:]
    return "", ""
