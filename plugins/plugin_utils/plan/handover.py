# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Passes the plan from the play that creates it to the plays that apply it: files of one run, on the controller.

Not a fact, because Ansible traverses a fact whenever it is used: with a thousand hosts that takes seconds for every task
of every host. Each host's part is a separate file, so that the cost depends only on the size of that part.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import typing as t

from ...module_utils.status.plan import status_plan
from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding, PlanError
from ..description.inventory import GROUP, deployment_variables, inventory_of, members, unknown_group
from ..description.misspelt import misspelt
from ..description.on_some_hosts import on_some_hosts
from ..description.written_at import written_at
from ..releases.known_issues import met
from .planner import launch_plan, refusal_of
from .record import record_of
from .render.balancer import balancer_of
from .render.router import members_of
from .render.virtual_address import virtual_address_of

Plan = dict[str, t.Any]
FOLDER = "ascend-inference-plan"
WHOLE = "plan.json"
RECORD = "record.json"
OF_THE_WHOLE = (
    "services",
    "hosts",
    "placement",
    "verify",
    "findings",
    "exposure",
    "kubernetes",
    "members",
    "balancer",
    "virtual_address",
    "recipe",
)  # sections that no host's part has


def planned(variables: t.Any, hostvars: t.Any, groups: t.Any, deployed: Plan | None = None) -> Plan:
    """Plan from Ansible's variables, around the ``placement`` of the deployed plan. Raises ``PlanError`` with all findings."""
    description, inventory, conflicts = _described(variables, hostvars, groups)
    try:
        return launch_plan(description, inventory, conflicts, deployed)
    except PlanError as error:
        paths = [finding.path for finding in (*error.findings, *error.warnings)]
        raise error.located(written_at(paths, variables, {name: hostvars[name] for name in inventory})) from None


def refusal_with(release: str, variables: t.Any, hostvars: t.Any, groups: t.Any, plan: Plan) -> str:
    """The first error of variables of which ``plan`` was made, with another known release; empty if they can be planned with it."""
    description, inventory, _conflicts = _described(variables, hostvars, groups)
    return refusal_of(description, inventory, release, plan["placement"])


def _described(
    variables: t.Any, hostvars: t.Any, groups: t.Any
) -> tuple[dict[str, t.Any], dict[str, t.Any], list[Finding]]:
    """The variables of the deployment and of its hosts, and their conflicts."""
    hosts = members(groups, str(variables[GROUP]) if GROUP in variables else "")
    hostvars = {name: hostvars[name] for name in hosts}  # Ansible recomputes them at each access
    description, conflicts = deployment_variables(variables, hostvars, hosts)
    conflicts += on_some_hosts(description, variables, hostvars, groups)
    conflicts += misspelt(names_of(variables, hostvars))
    conflicts += unknown_group(groups, str(variables[GROUP]) if GROUP in variables else "")
    return description, inventory_of(hostvars, hosts), conflicts


def names_of(variables: t.Any, hostvars: t.Any) -> set[str]:
    """The names of all variables of the controller and of hosts."""
    return {str(name) for source in (variables, *hostvars.values()) for name in source}


def folder_of(temporary: str) -> str:
    """The plan's folder in the run's temporary folder, which Ansible removes at the end."""
    return os.path.join(temporary, FOLDER)


def part_name(host: str) -> str:
    """File name of a host's part; host names may contain any character."""
    return hashlib.sha256(host.encode()).hexdigest()[:32] + ".json"


def parts(plan: Plan) -> t.Iterator[tuple[str, Plan]]:
    """Each host with its part: a plan of the same structure with only the host's record and services.

    ``stages`` lists the stages of all hosts, which are synchronised between stages; ``verify`` and cluster sections are
    omitted, since they concern the whole deployment. ``members`` is in the parts of the routers' hosts, ``balancer`` and
    ``virtual_address`` in those of the balancers' hosts, each with what concerns this host.
    ``question`` is what the
    module service_status needs for this host.
    """
    services: dict[str, list[t.Any]] = {}
    for service in plan["services"]:
        services.setdefault(service["host"], []).append(service)
    shared = _shared(plan)
    for host in plan["hosts"]:
        yield host["name"], _part(plan, shared, host, services.get(host["name"], []))


def part_of(plan: Plan, name: str) -> Plan:
    """The part of one host. For all hosts `parts` takes less time."""
    host = next(host for host in plan["hosts"] if host["name"] == name)
    return _part(plan, _shared(plan), host, [service for service in plan["services"] if service["host"] == name])


def _shared(plan: Plan) -> Plan:
    return {**{key: plan[key] for key in plan if key not in OF_THE_WHOLE}, "stages": stages(plan)}


def _part(plan: Plan, shared: Plan, host: Plan, services: list[t.Any]) -> Plan:
    part: Plan = {**shared, "hosts": [host], "services": services}
    if members_of(plan, host["name"]):
        part["members"] = plan["members"]
    if balancer_of(plan, host["name"]):
        part["balancer"] = balancer_of(plan, host["name"])
    if virtual_address_of(plan, host["name"]):
        part["virtual_address"] = virtual_address_of(plan, host["name"])
    issues = _shown_in_logs(plan)
    if issues and any(service["kind"] in ENGINE_KINDS for service in services):
        part["known_issues"] = issues  # what a diagnosis on the host needs
    known = {"verify": plan.get("verify") or {}, "exposure": plan.get("exposure")}
    question = status_plan({**part, **known}, host["name"])
    return {**part, "question": question}


def _shown_in_logs(plan: Plan) -> list[dict[str, str]]:
    return [issue for issue in met(plan) if issue["signs"]]


def stages(plan: t.Mapping[str, t.Any]) -> list[int]:
    """The stages in which services start, in order."""
    return sorted({service["start"]["stage"] for service in plan["services"]})


def generated(plan: t.Mapping[str, t.Any]) -> bool:
    """Whether a file's content is generated at deployment, which needs the whole plan on each host."""
    return any("from" in file for service in plan["services"] for file in service["files"])


def hand_over(plan: Plan, folder: str) -> None:
    """Write the plan and each host's part; with files generated at deployment each part is the whole plan."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):  # of an earlier plan of this run
        os.remove(os.path.join(folder, RECORD))
    issues = _shown_in_logs(plan) if plan.get("kubernetes") else []  # there the whole plan is applied, not parts
    _write(os.path.join(folder, WHOLE), {**plan, "known_issues": issues} if issues else plan)
    whole = generated(plan)
    for host, part in parts(plan):
        more = {key: part[key] for key in ("stages", "question", "known_issues") if key in part}
        _write(os.path.join(folder, part_name(host)), {**plan, **more} if whole else part)


def _write(path: str, value: t.Any) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(value))  # dumps is implemented in C, dump is not


def take(folder: str, host: str = "", record: bool = False) -> Plan:
    """The whole plan, one host's part, or the record of the plan. Raises ``FileNotFoundError`` if this run created none."""
    if record:
        _make_record(folder)
    name = RECORD if record else part_name(host) if host else WHOLE
    with open(os.path.join(folder, name), encoding="utf-8") as stream:
        found: Plan = json.load(stream)
        return found


def _make_record(folder: str) -> None:
    """Pack the plan when the first host asks for its record: it takes as long as all that is written, and most playbooks need none.

    Workers of Ansible ask at the same time; one of them packs.
    """
    path = os.path.join(folder, RECORD)
    with open(f"{path}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            _write(path, record_of({key: value for key, value in take(folder).items() if key != "known_issues"}))
