# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable `inference_acceptance`: what a handover proves, and what its archive shows."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass

from ..bench.runs import bench_runs
from ..description.findings import Finding, PlanError
from ..description.loader import Reader, documented
from ..drill.runs import drill_runs

Record = t.Mapping[str, t.Any]


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


def read_acceptance(raw: t.Any) -> Acceptance:
    """The settings. Raises PlanError with all errors."""
    reader = Reader()
    found = t.cast(Acceptance, reader.record(Acceptance, raw, "inference_acceptance"))
    if reader.findings:
        raise PlanError(reader.findings)
    return found


def acceptance_settings(plan: Record, raw: t.Any, bench: t.Any, drill: t.Any, confirmed: str) -> dict[str, t.Any]:
    """``{bench, drill, mask, files: {page, markdown, json, archive}}``. Raises PlanError, also for what bench and drill would refuse later.

    A run takes an hour or more, so nothing that is known now may end it at its end.
    """
    found = read_acceptance(raw)
    if not plan["hosts"] or plan["runtime_facts"]["in_cluster"]:
        problem = "the deployment has no hosts in the inventory, so no outputs of their tools can be had"
        fix = "Describe the hosts in an inventory with the runtime systemd, docker or supervisor."
        raise PlanError(
            [Finding("inference_runtime", "ACCEPTANCE-HOSTS", problem, fix, why="Nothing proves the hardware.")]
        )
    # Ansible runs modules on the controller in the folder of the playbook, so the paths are made absolute here.
    folder = os.path.abspath(os.path.expanduser(found.folder))
    if not os.path.isdir(folder):
        problem = f"{folder} is no folder on the controller"
        why = "The page and the archive could not be written after an hour of work."
        raise PlanError(
            [Finding("inference_acceptance.folder", "ACCEPTANCE-FOLDER", problem, "Create the folder.", why=why)]
        )
    if found.bench:
        bench_runs(plan, bench)
    if found.drill:
        drill_runs(plan, drill, confirmed)
    stem = os.path.join(folder, f"{plan['deployment']}-acceptance")
    suffixes = {"page": "html", "markdown": "md", "json": "json", "archive": "tar.gz"}
    files = {name: f"{stem}.{suffix}" for name, suffix in suffixes.items()}
    return {"bench": found.bench, "drill": found.drill, "mask": found.mask, "files": files}
