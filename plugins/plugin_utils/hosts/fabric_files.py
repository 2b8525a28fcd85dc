# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide for the playbook fabric with what its tasks registered, and with the files with addresses that ``inference_fabric`` names."""

from __future__ import annotations

import pathlib
import typing as t

from ..description.findings import Finding, finding_lines
from ..description.loader import plain
from .fabric_settings import fabric_refusals, fabric_settings
from .observed import Record

NOTHING = (
    "No planned host has inference_fabric, so there is nothing to set. Fix: set it in group_vars or host_vars, for instance "
    "inference_fabric: {tls: false}"
)


def registered(hostvars: t.Any, hosts: t.Any, name: str) -> dict[str, t.Any]:
    """What the playbook's task ``name`` registered on each host; {} where it did not run."""
    return {str(host): plain(hostvars[host].get(f"__inference_fabric_{name}")) or {} for host in hosts}


def settings(hostvars: t.Any, hosts: t.Any, plan: t.Any, back: bool) -> dict[str, t.Any]:
    """``{order, moves, devices, refusal}``; with ``back`` each host has the values that it kept, and hosts change in the reverse order."""
    if back:
        return {"order": plain(hosts)[::-1], "moves": plain(hosts), "devices": {}, "refusal": ""}
    folder = hostvars[hosts[0]].get("inventory_dir") or ""
    found = settings_with_files(plain(plan)["hosts"], registered(hostvars, hosts, "links"), str(folder))
    refusal = _refusal(found["findings"]) or ("" if found["order"] else NOTHING)
    return {"order": [], "refusal": refusal} if refusal else {**found, "refusal": ""}


def refused(hostvars: t.Any, order: t.Any, plan: t.Any) -> dict[str, t.Any]:
    """``{refusal}``, empty if all devices can change; else also an ``order`` without hosts."""
    parts = (registered(hostvars, order, name) for name in ("forecast", "npus", "status"))
    refusal = _refusal(fabric_refusals(plain(plan), plain(order), *parts))
    return {"order": [], "refusal": refusal} if refusal else {"refusal": ""}


def _refusal(findings: t.Sequence[dict[str, str]]) -> str:
    lines = finding_lines([Finding.from_dict(finding) for finding in findings])
    return "\n".join(["No host was changed.", *lines]) if findings else ""


def settings_with_files(hosts: t.Sequence[Record], facts: Record, folder: str) -> dict[str, t.Any]:
    """``fabric_settings``, with the texts of files below ``folder``; a file that cannot be read is a finding instead."""
    paths = {host["fabric"]["addresses_file"] for host in hosts if host.get("fabric")} - {""}
    files, missing = {}, []
    for path in sorted(paths):
        try:
            files[path] = (pathlib.Path(folder) / path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            fix = "Correct inference_fabric.addresses_file."
            missing.append(Finding(path, "FABRIC-VALUE", f"cannot be read: {error}", fix).as_dict())
    found = fabric_settings(hosts, facts, files)
    return {**found, "findings": missing or found["findings"]}
