# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable `inference_acceptance`: what a handover proves, and what its archive shows."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass

from ..bench.files import file_findings
from ..bench.runs import bench_runs
from ..description.findings import Finding, PlanError, SettingsError
from ..description.inventory import members
from ..description.loader import Reader, documented
from ..description.outputs import closed
from ..description.values import natural
from ..drill.runs import drill_runs

Record = t.Mapping[str, t.Any]
CONTROLLER = "localhost"


@dataclass(frozen=True)
class Acceptance:
    """What the playbook acceptance does. What it leaves out is a deviation on its page."""

    folder: str = documented("Folder on the controller for the page and the archive. Default: the current folder.", "")
    bench: bool = documented("Whether the service is measured, as inference_bench says.", True)
    drill: bool = documented(
        "Whether services may be killed under load, as inference_drill says. Needs inference_drill_confirm.", False
    )
    mask: bool = documented(
        "Whether pseudonyms replace addresses, names of hosts and switches, and serial numbers in the archive. The page has the real ones.",
        False,
    )


def acceptance_settings(
    plan: Record, raw: t.Any, others: Record, groups: t.Mapping[str, t.Any], only: str = ""
) -> dict[str, t.Any]:
    """``{bench, drill, mask, unplanned, files: {page, markdown, json, archive}}``; ``unplanned``: hosts of the inventory that the plan does not use.

    ``others``: what bench and drill will read, as ``{bench, drill, confirmed, files: {bench: {variable: path}, drill: {variable: path}}}``; ``groups``:
    Ansible's groups of the inventory; ``only``: the group of the deployment, or empty. A run takes an hour or more, so nothing that is known now may end
    it at its end: raises PlanError with all errors, also those of bench and drill.
    """
    reader = Reader()
    found = t.cast(Acceptance, reader.record(Acceptance, raw, "inference_acceptance"))
    findings = [*reader.findings, *_without_hosts(plan)]
    # Ansible runs modules on the controller in the folder of the playbook, so the paths are made absolute here.
    folder = os.path.abspath(os.path.expanduser(found.folder))
    findings += _without_folder(folder)
    hosts = members(groups)
    if found.bench:
        findings += _errors(lambda: bench_runs(plan, others["bench"], file_findings(others["files"]["bench"])))
    if found.drill:
        findings += _errors(lambda: drill_runs(plan, others["drill"], others["confirmed"], hosts))
        findings += file_findings(others["files"]["drill"])
    if findings:
        raise SettingsError(findings)
    stem = os.path.join(folder, f"{plan['deployment']}-acceptance")
    suffixes = {"page": "html", "markdown": "md", "json": "json", "archive": "tar.gz"}
    files = {name: f"{stem}.{suffix}" for name, suffix in suffixes.items()}
    planned = {CONTROLLER, *(host["name"] for host in plan["hosts"])}
    unplanned = sorted(set(members(groups, only)) - planned, key=natural)
    return {"bench": found.bench, "drill": found.drill, "mask": found.mask, "unplanned": unplanned, "files": files}


def _errors(read: t.Callable[[], t.Any]) -> tuple[Finding, ...]:
    """What a reader of settings refuses."""
    try:
        read()
    except PlanError as error:
        return error.findings
    return ()


def _without_hosts(plan: Record) -> t.Iterator[Finding]:
    if not plan["hosts"] or plan["runtime_facts"]["in_cluster"]:
        problem = "the deployment has no hosts in the inventory, so no outputs of their tools are available"
        fix = "Describe the hosts in an inventory with the runtime systemd, docker or supervisor."
        yield Finding("inference_runtime", "ACCEPTANCE-HOSTS", problem, fix, why="Nothing proves the hardware.")


def _without_folder(folder: str) -> t.Iterator[Finding]:
    problem, fix = closed(folder)
    if problem:
        why = "The page and the archive could not be written after an hour of work."
        yield Finding("inference_acceptance.folder", "ACCEPTANCE-FOLDER", problem, fix, why=why)
