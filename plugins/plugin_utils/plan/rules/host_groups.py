# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the groups of the inventory's hosts."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from ...description.groups import extended, misspelt
from ...description.values import natural
from ..placement import group_of, groups_used
from .base import Case, Rules

RULES = Rules()
NO_GROUP = "ungrouped"  # Ansible's group of hosts without one
CONTROLLER = ("localhost", "127.0.0.1", "::1")
SHOWN = 8  # hosts that a finding lists


@RULES.rule(
    "GROUP-SIMILAR",
    "Rename the group, name it in the pool's group, or set inference_group if the hosts belong to another deployment.",
    "design of the planner: a host is used if it is in a group of the deployment",
    "warning",
)
def similar(case: Case) -> t.Iterator[Finding]:
    """A group of the inventory has nearly the name of a group of the deployment.

    Its hosts are not in the group that was probably meant, so the service runs on other hosts or on fewer.
    """
    members, used = _members(case), groups_used(case.context.description)
    pools = {group_of(name, pool) for name, pool in case.context.description.pools.present().items()}
    for group in sorted(set(members) - used) if not case.in_pods else ():
        for name in sorted(used):
            outside = _outside(group, name, members, used)
            if outside and (name in members or name not in pools):  # PLACE-GROUP names a pool without hosts
                problem = (
                    f"group '{group}' is not '{name}', which the deployment uses: {_listed(outside)} not in '{name}'"
                )
                yield Finding.at(f"inventory group {group}", "", problem)
                break


@RULES.rule(
    "HOST-UNUSED",
    "Put it into a group of the deployment, or set inference_group to a group without it.",
    "design of the planner: a host is used if it is in a group of the deployment",
    "warning",
)
def unused(case: Case) -> t.Iterator[Finding]:
    """A host of the inventory is in no group.

    It gets no service, and its NPUs stay idle.
    """
    hosts, used = case.context.hosts, groups_used(case.context.description)
    if case.in_pods:
        return
    common = {group for group, names in _members(case).items() if len(names) == len(hosts)}  # all, inference_group
    ordinary = common | {NO_GROUP}
    left = {
        name for name, host in hosts.items() if not used & set(host.groups) and not set(host.groups) - ordinary
    } - set(CONTROLLER)
    if left:
        yield Finding.at(
            "inventory hosts", "", f"{_listed(left)} in no group of the deployment ({', '.join(sorted(used))})"
        )


@RULES.rule(
    "HOST-TWICE",
    "Write the name as it is written elsewhere, or set ansible_host if it is another host.",
    "Ansible: names of hosts are compared letter by letter",
)
def twice(case: Case) -> t.Iterator[Finding]:
    """A host of the plan has no address, and its name differs from that of another host only in upper case or in zeros.

    Ansible takes it for another host, which it looks for by this name.
    """
    hosts = {} if case.in_pods else case.context.hosts
    alike: dict[str, list[str]] = {}
    for name in sorted(hosts, key=natural):
        alike.setdefault(re.sub(r"(?<!\d)0+(?=\d)", "", name.lower()), []).append(name)
    for name in sorted({service.host for service in case.services} & set(hosts)):
        others = [other for other in alike[re.sub(r"(?<!\d)0+(?=\d)", "", name.lower())] if other != name]
        addressed = [other for other in others if hosts[other].address != other]
        if addressed and hosts[name].address == name:
            problem = f"it has no address, and its name is nearly that of {addressed[0]}"
            yield Finding.at(f"inventory host {name}", "", problem)


def _outside(group: str, name: str, members: t.Mapping[str, set[str]], used: set[str]) -> set[str]:
    """The hosts of a group with nearly the name of a used one that were probably meant to be in that."""
    if misspelt(group, name):
        return members[group] - members.get(name, set())
    if not extended(group, name):
        return set()
    return members[group].difference(
        *(members.get(other, set()) for other in used)
    )  # prefill_decode may be the parent of both


def _members(case: Case) -> dict[str, set[str]]:
    """The names of each group's hosts."""
    found: dict[str, set[str]] = {}
    for name, host in case.context.hosts.items():
        for group in host.groups:
            found.setdefault(group, set()).add(name)
    return found


def _listed(names: t.Collection[str]) -> str:
    shown = sorted(names, key=natural)[:SHOWN]
    more = len(names) - len(shown)
    return f"{', '.join(shown)}{f' and {more} more' if more else ''} {'is' if len(names) == 1 else 'are'}"
