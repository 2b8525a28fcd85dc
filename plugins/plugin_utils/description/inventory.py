# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the user's variables from an inventory: those of the deployment and those of each host.

A variable may be set wherever Ansible reads variables: ``group_vars/all``, extra variables, ``host_vars`` of the controller, or
any group or host of the deployment. A variable of the deployment has one value: different values on different hosts
are a finding. With ``inference_group`` only the hosts of that group belong to the deployment, so that one
inventory can contain several.
"""

from __future__ import annotations

import typing as t

from ..runtimes.registry import in_cluster
from .findings import Finding
from .groups import similar
from .loader import plain
from .variables import HOST_VARIABLES, OPERATIONAL, PREFIX

GROUP = PREFIX + "group"
OWN = frozenset([*(PREFIX + name for name in HOST_VARIABLES), "ansible_host", "ansible_connection"])
OF_NODES = tuple(PREFIX + name for name in ("devices", "hardware", "interface"))

Variables = t.Mapping[str, t.Any]


def members(groups: t.Mapping[str, t.Any], only: str = "") -> dict[str, list[str]]:
    """Each host of the deployment with its groups, both sorted."""
    inside = set(groups.get(only, ())) if only else None
    found: dict[str, list[str]] = {}
    for group in sorted(groups, key=str):
        for name in groups[group]:
            if inside is None or name in inside:
                found.setdefault(str(name), []).append(str(group))
    return {name: found[name] for name in sorted(found)}


def unknown_group(groups: t.Mapping[str, t.Any], only: str) -> list[Finding]:
    """The finding for an inference_group without hosts."""
    if not only or groups.get(only):
        return []
    problem = f"group '{only}' has no hosts" if only in groups else f"the inventory has no group '{only}'"
    near = "".join(f"Did you mean '{group}'? " for group in similar(only, map(str, groups))[:1])
    fix = f"{near}Name the group that has all hosts of the deployment."
    why = "Only hosts of this group belong to the deployment, so it would have none."
    return [Finding(GROUP, "GROUP-UNKNOWN", problem, fix, value=only, why=why)]


def inventory_of(hostvars: t.Mapping[str, Variables], hosts: t.Mapping[str, list[str]]) -> dict[str, t.Any]:
    """The groups and variables of each host, as input of the planner."""
    return {
        name: {
            "groups": hosts[name],
            "variables": {key: plain(variables[key]) for key in OWN if key in variables},
        }
        for name, variables in ((name, hostvars[name]) for name in hosts)
    }


def is_deployment_variable(name: str) -> bool:
    """Whether a variable belongs to the deployment, not to the control of playbooks or to a single host."""
    return name.startswith(PREFIX) and name not in OPERATIONAL and name not in OWN


def deployment_variables(
    controller: Variables, hostvars: t.Mapping[str, Variables], hosts: t.Iterable[str]
) -> tuple[dict[str, t.Any], list[Finding]]:
    """The deployment's variables (the controller's, then those of its hosts, which must agree), and all conflicts.

    Host variables (devices, hardware, interface, address) are read from each host, not from the controller. On
    kubernetes the nodes are not in the inventory, so the controller's values apply to all of them.
    """
    found = {str(key): plain(controller[key]) for key in controller if is_deployment_variable(str(key))}
    seen: dict[str, tuple[str, t.Any]] = {}
    conflicts: list[Finding] = []
    for host in hosts:
        variables = hostvars[host]
        for key in sorted(str(name) for name in variables if is_deployment_variable(str(name))):
            value = plain(variables[key])
            first, agreed = seen.setdefault(key, (host, value))
            if value != agreed and not any(conflict.path == key for conflict in conflicts):
                conflicts.append(_conflict(key, first, agreed, host, value))
    result = {**found, **{key: value for key, (dummy, value) in seen.items()}}
    if in_cluster(result.get(PREFIX + "runtime")):
        result.update({key: plain(controller[key]) for key in OF_NODES if key in controller})
    return result, conflicts


def common_value(key: str, hostvars: t.Mapping[str, Variables], hosts: t.Iterable[str]) -> tuple[t.Any, list[Finding]]:
    """The value of a variable that controls a run and must be the same on all these hosts, and the conflict if it is not.

    Text; empty where it is not set.
    """
    values = {host: plain(hostvars[host][key]) if key in hostvars[host] else "" for host in hosts}
    for host, value in values.items():
        first, agreed = next(iter(values.items()))
        if value != agreed:
            return agreed, [_conflict(key, first, agreed, host, value)]
    return next(iter(values.values()), ""), []


def _conflict(key: str, first: str, agreed: t.Any, host: str, value: t.Any) -> Finding:
    shown = [f" {str(seen)[:60]!r}" if key != PREFIX + "secrets" else " a secret" for seen in (agreed, value)]
    return Finding(
        key,
        "VARIABLE-CONFLICT",
        f"conflicting values:{shown[0]} on {first},{shown[1]} on {host}",
        "Set it once for the whole deployment (settings per pool or host belong in inference_pools), or select the "
        "deployment's group with inference_group.",
        why="The variable applies to the whole deployment, so it must have one value.",
    )
