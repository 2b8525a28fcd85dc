# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files on the controller that playbooks write at their end, or read. They are judged before a playbook begins, so that its result is not lost."""

from __future__ import annotations

import json
import os
import typing as t

PLAN = ("plan_file", "plan_html")
CHECK = ("check_html", "check_json")
VERIFY = ("verify_file",)
STATUS = ("status_file", "status_html")
FOLDER = "inference_pages"
WRITTEN = {
    "acceptance": (*PLAN, *CHECK, *VERIFY),
    "advise": (*PLAN, "advise_inventory", "advise_json"),
    "bench": STATUS,  # its own are judged with its settings
    "check": (*PLAN, *CHECK),
    "deploy": (*PLAN, *CHECK, "manifests_file"),
    "drill": (*STATUS, "drill_json", "drill_markdown", *VERIFY),
    "fabric": (*PLAN, "fabric_json"),
    "kubernetes": (*PLAN, "manifests_file"),
    "logs": ("logs_file",),
    "plan": PLAN,
    "prepare": (*PLAN, *CHECK),
    "rollback": VERIFY,
    "site": (*PLAN, *CHECK, *VERIFY, "manifests_file"),
    "status": STATUS,
    "trace": STATUS,  # as bench
    "upgrade": (*PLAN, *CHECK, *VERIFY),
    "verify": (*PLAN, *VERIFY),
}

UNPLANNED = (
    "bench",
    "drill",
    "logs",
    "remove",
    "rollback",
    "status",
    "trace",
)  # they take the deployed plan, and write no page of one

REPORT = "inference_advise_report"


def unwritable(path: str) -> tuple[str, str]:
    """(what is wrong, fix) of a file that will be written; both empty if it can be."""
    return (f"{path} is a folder", "Name a file.") if os.path.isdir(path) else closed(os.path.dirname(path))


def closed(folder: str) -> tuple[str, str]:
    """(what is wrong, fix) of a folder for files; both empty if it takes them."""
    if not os.path.isdir(folder):
        return f"{folder} is no folder on the controller", "Create the folder."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the controller's user may not write in {folder}", "Name another folder, or change its owner."
    return "", ""


def pages(playbook: str, variables: t.Mapping[str, t.Any], deployment: str) -> dict[str, t.Any]:
    """``folder`` of the deployment's HTML pages, empty if none is wanted; ``names`` of those that are there or that this playbook writes."""
    if not variables.get(FOLDER):
        return {"folder": "", "names": []}
    folder = os.path.join(os.path.realpath(os.path.expanduser(str(variables[FOLDER]))), deployment)
    there = [
        name[: -len(".html")]
        for name in (os.listdir(folder) if os.path.isdir(folder) else [])
        if name.endswith(".html")
    ]
    mine = [name[: -len("_html")] for name in WRITTEN.get(playbook, ()) if name.endswith("_html")]
    mine += [playbook] if playbook in ("bench", "trace") else []
    mine += ["plan"] if playbook not in UNPLANNED else []
    return {"folder": folder, "names": sorted({*there, *mine} - {"index"})}


def unwritten(playbook: str, variables: t.Mapping[str, t.Any]) -> list[str]:
    """A warning for each output of a cluster's manifests that the playbook plan is asked for: it shows the plan only.

    No refusal, because an inventory may set it for the playbook that writes it.
    """
    return [
        f"{name} has no effect on the playbook plan, which writes no manifests. Fix: run ascend.inference.kubernetes with -e inference_plan_only=true, "
        "which writes them and changes nothing."
        for name in ("inference_manifests_file", "inference_manifests_dir")
        if playbook == "plan" and name in variables
    ]


def unreadable(path: str) -> str:
    """What is wrong with a report of the playbook bench; empty if it is one object of JSON."""
    try:
        with open(path, encoding="utf-8") as stream:
            return "" if isinstance(json.load(stream), dict) else f"{path} is no report"
    except OSError as error:
        return f"{path} cannot be read on the controller: {error.strerror or error}"
    except ValueError:
        return f"{path} is not JSON"


def refusals(playbook: str, variables: t.Mapping[str, t.Any]) -> list[str]:
    """Why files that a playbook writes or reads cannot be, one text for each. A relative path is one of the current folder."""
    found = []
    if playbook == "advise" and REPORT in variables:
        problem = unreadable(os.path.realpath(os.path.expanduser(str(variables[REPORT]))))
        if problem:
            fix = "name the file that the playbook bench wrote with inference_bench_json, or remove the variable: metrics are read then."
            found.append(f"{REPORT}: {problem}. Nothing was changed. Fix: {fix}")
    folder = str(variables[FOLDER] or "") if FOLDER in variables else ""
    problem, fix = closed(os.path.realpath(os.path.expanduser(folder))) if folder else ("", "")
    if problem:
        found.append(f"{FOLDER}: {problem}, so no page could be written. Nothing was changed. Fix: {fix}")
    for name in (f"inference_{name}" for name in WRITTEN.get(playbook, ())):
        path = str(variables[name] or "") if name in variables else ""
        problem, fix = unwritable(os.path.realpath(os.path.expanduser(path))) if path else ("", "")
        if problem:
            found.append(f"{name}: {problem}, so the result would be lost. Nothing was changed. Fix: {fix}")
    return found
