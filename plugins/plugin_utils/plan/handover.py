# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan on its way from the play that makes it to the plays that carry it out: files of one run, on the controller.

A fact would do, but Ansible walks through a fact each time that it is used: with a thousand hosts that is seconds for every task
of every host. A host's part is a file of its own, so that using it costs what it holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import typing as t

from ..description.inventory import GROUP, inventory_of, members, words_of
from .planner import launch_plan

Plan = dict[str, t.Any]
FOLDER = "ascend-inference-plan"
WHOLE = "plan.json"
OF_THE_WHOLE = ("services", "hosts", "verify", "findings", "kubernetes", "recipe")  # sections that no host's part has


def planned(variables: t.Any, hostvars: t.Any, groups: t.Any) -> Plan:
    """Ansible's variables in, the plan out; ``PlanError`` with all findings."""
    hosts = members(groups, str(variables[GROUP]) if GROUP in variables else "")
    hostvars = {name: hostvars[name] for name in hosts}  # Ansible puts them together anew each time
    description, conflicts = words_of(variables, hostvars, hosts)
    return launch_plan(description, inventory_of(hostvars, hosts), conflicts)


def folder_of(temporary: str) -> str:
    """The plan's folder in the run's temporary folder, which Ansible removes at the end."""
    return os.path.join(temporary, FOLDER)


def part_name(host: str) -> str:
    """File name of a host's part; names of hosts may hold anything."""
    return hashlib.sha256(host.encode()).hexdigest()[:32] + ".json"


def parts(plan: Plan) -> t.Iterator[tuple[str, Plan]]:
    """Each host with its part: a plan of the same form that holds its own record and services only.

    ``stages`` names the stages of all hosts, who wait for each other between them; ``verify`` and what is about a cluster are
    left out, since they are about the deployment as a whole.
    """
    services: dict[str, list[t.Any]] = {}
    for service in plan["services"]:
        services.setdefault(service["host"], []).append(service)
    shared = {key: plan[key] for key in plan if key not in OF_THE_WHOLE}
    shared["stages"] = stages(plan)
    for host in plan["hosts"]:
        yield host["name"], {**shared, "hosts": [host], "services": services.get(host["name"], [])}


def stages(plan: t.Mapping[str, t.Any]) -> list[int]:
    """The stages in which services start, in order."""
    return sorted({service["start"]["stage"] for service in plan["services"]})


def generated(plan: t.Mapping[str, t.Any]) -> bool:
    """Whether a file's content is made on deployment, which needs the whole plan on each host."""
    return any("from" in file for service in plan["services"] for file in service["files"])


def hand_over(plan: Plan, folder: str) -> None:
    """Write the plan and each host's part; a plan with files made on deployment is everybody's part."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _write(os.path.join(folder, WHOLE), plan)
    whole = generated(plan)
    for host, part in parts(plan):
        _write(os.path.join(folder, part_name(host)), {**plan, "stages": part["stages"]} if whole else part)


def _write(path: str, value: t.Any) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(value))  # dumps is C, dump is not


def take(folder: str, host: str = "") -> Plan:
    """The whole plan, or one host's part; ``FileNotFoundError`` if this run made none."""
    with open(os.path.join(folder, part_name(host) if host else WHOLE), encoding="utf-8") as stream:
        found: Plan = json.load(stream)
        return found
