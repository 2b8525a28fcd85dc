# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's variables out of an inventory: those of the deployment, and each host's own.

A variable may be set anywhere that Ansible looks: ``group_vars/all``, extra variables, ``host_vars`` of the controller, or the
variables of any group or host of the deployment. A variable of the deployment has one value: hosts that see different
values of it are a finding. ``inference_group`` names a group; then only its hosts belong to the deployment, so that one
inventory holds several.
"""

from __future__ import annotations

import typing as t

from ..runtimes.registry import in_cluster
from .findings import Finding
from .loader import plain
from .variables import HOST_WORDS, OPERATIONAL, PREFIX

GROUP = PREFIX + "group"
OWN = frozenset([*(PREFIX + name for name in HOST_WORDS), "ansible_host", "ansible_connection"])
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


def inventory_of(hostvars: t.Mapping[str, Variables], hosts: t.Mapping[str, list[str]]) -> dict[str, t.Any]:
    """Each host's groups and own variables, as the planner reads them."""
    return {
        name: {
            "groups": hosts[name],
            "variables": {word: plain(variables[word]) for word in OWN if word in variables},
        }
        for name, variables in ((name, hostvars[name]) for name in hosts)
    }


def is_word(name: str) -> bool:
    """Whether a variable describes the deployment; those that control the playbooks or belong to one host do not."""
    return name.startswith(PREFIX) and name not in OPERATIONAL and name not in OWN


def words_of(
    controller: Variables, hostvars: t.Mapping[str, Variables], hosts: t.Iterable[str]
) -> tuple[dict[str, t.Any], list[Finding]]:
    """The deployment's variables: the controller's, then what its hosts see, which has to agree; and all conflicts.

    Variables of a host (devices, hardware, interface, address) are read of each host, whatever the controller sees; on
    kubernetes the nodes are in no inventory, so that there the controller's stand for all of them.
    """
    found = {str(key): plain(controller[key]) for key in controller if is_word(str(key))}
    seen: dict[str, tuple[str, t.Any]] = {}
    conflicts: list[Finding] = []
    for host in hosts:
        variables = hostvars[host]
        for key in sorted(str(name) for name in variables if is_word(str(name))):
            value = plain(variables[key])
            first, agreed = seen.setdefault(key, (host, value))
            if value != agreed and not any(conflict.path == key for conflict in conflicts):
                conflicts.append(_conflict(key, first, agreed, host, value))
    result = {**found, **{key: value for key, (dummy, value) in seen.items()}}
    if in_cluster(result.get(PREFIX + "runtime")):
        result.update({key: plain(controller[key]) for key in OF_NODES if key in controller})
    return result, conflicts


def _conflict(key: str, first: str, agreed: t.Any, host: str, value: t.Any) -> Finding:
    shown = [f" {str(seen)[:60]!r}" if key != PREFIX + "secrets" else " a secret" for seen in (agreed, value)]
    return Finding(
        key,
        "VARIABLE-CONFLICT",
        f"conflicting values:{shown[0]} on {first},{shown[1]} on {host}",
        "Set it once for the whole deployment (what differs by pool or host belongs into inference_pools), or name the "
        "deployment's group with inference_group.",
        why="It describes the whole deployment, so it has one value.",
    )
