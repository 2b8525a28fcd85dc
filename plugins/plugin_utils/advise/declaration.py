# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other pool sizes look like in the inventory: on which of the same hosts they fit, and the variables and groups to set."""

from __future__ import annotations

import collections
import copy
import typing as t

import yaml

from ..description.inventory import GROUP, deployment_variables, members
from ..description.values import built_in, natural
from ..plan.handover import planned
from .sizes import Sizes

Record = t.Mapping[str, t.Any]
ROLES = ("prefill", "decode")
POOLS = "inference_pools"


class Place(t.NamedTuple):
    """Where the instances of a pool are, from the plan's placement.

    hosts: in the order of instances; devices: of one instance; spanned: hosts of one instance; most: instances that fit on one host.
    """

    instances: int
    hosts: list[str]
    devices: int
    spanned: int
    most: int

    def hosts_for(self, instances: int) -> int:
        """Hosts that so many instances need."""
        return instances * self.spanned if self.spanned > 1 else -(-instances // self.most)


def place_of(plan: Record, role: str) -> Place:
    """The place of a pool that has instances."""
    found = [item for item in plan["placement"]["instances"] if item["kind"] == role]
    found.sort(key=lambda item: item["number"])
    on_host = collections.Counter(host for item in found for host, _devices in item["hosts"])
    devices = max(sum(len(devices) for _host, devices in item["hosts"]) for item in found)
    smallest = min(len(host["devices"]) for host in plan["hosts"] if host["name"] in on_host)
    most = max([*on_host.values(), *([smallest // devices] if devices else [])])
    return Place(len(found), list(on_host), devices, max(len(item["hosts"]) for item in found), most)


def possible_sizes(plan: Record) -> list[Sizes]:
    """All sizes of both pools that need no more devices than the pools have now, and no more hosts if each has hosts of its own.

    Of decode always as many instances as are left: idle devices help nobody.
    """
    prefill, decode = (place_of(plan, role) for role in ROLES)
    devices = prefill.instances * prefill.devices + decode.instances * decode.devices
    apart, hosts = not set(prefill.hosts) & set(decode.hosts), len({*prefill.hosts, *decode.hosts})
    found = []
    # On processors an instance has no devices; the number of instances is what stays the same there.
    sizes = (prefill.devices or 1, decode.devices or 1)
    total = devices or prefill.instances + decode.instances
    for number in range(1, total // sizes[0] + 1):
        left = (total - number * sizes[0]) // sizes[1]
        while apart and left > 0 and prefill.hosts_for(number) + decode.hosts_for(left) > hosts:
            left -= 1
        if left > 0:
            found.append(Sizes(number, left))
    return found


def declaration(plan: Record, pools: t.Any, sizes: Sizes, taken: t.Collection[str]) -> dict[str, t.Any]:
    """``{groups, variables}``: new groups with their hosts, and the variable inference_pools with these sizes.

    ``pools``: the variable as it is; ``taken``: names of groups that exist. Hosts change their pool only if the pools have hosts of
    their own and need other numbers of them; then a pool names a new group, because an inventory cannot take a host out of a group.
    """
    places = {role: place_of(plan, role) for role in ROLES}
    wanted = copy.deepcopy(dict(pools or {}))
    hosts = {role: places[role].hosts for role in ROLES}
    if not set(hosts["prefill"]) & set(hosts["decode"]):
        hosts = _divided(places, sizes)
    groups = {}
    for role in ROLES:
        own = dict(wanted.get(role) or {})
        own["instances"] = getattr(sizes, role)
        if set(hosts[role]) != set(places[role].hosts):
            own["group"] = _free(f"advised_{role}", taken)
            groups[own["group"]] = sorted(hosts[role], key=natural)
        wanted[role] = own
    return {"groups": groups, "variables": {POOLS: wanted}}


def _divided(places: t.Mapping[str, Place], sizes: Sizes) -> dict[str, list[str]]:
    """The hosts of both pools: the one that shrinks gives its last ones."""
    need = {role: places[role].hosts_for(getattr(sizes, role)) for role in ROLES}
    kept = {role: places[role].hosts[: need[role]] for role in ROLES}
    spare = [host for role in ROLES for host in places[role].hosts[need[role] :]]
    for role in ROLES:
        missing = need[role] - len(kept[role])
        kept[role], spare = [*kept[role], *spare[:missing]], spare[missing:]
    return kept


def _free(name: str, taken: t.Collection[str]) -> str:
    number, found = 2, name
    while found in taken:
        number, found = number + 1, f"{name}_{number}"
    return found


def pools_of(controller: t.Any, hostvars: t.Any, groups: Record) -> t.Any:
    """The variable inference_pools as the user set it, without what a recipe adds."""
    hosts = members(groups, str(controller[GROUP]) if GROUP in controller else "")
    return deployment_variables(controller, {name: hostvars[name] for name in hosts}, hosts)[0].get(POOLS)


def plan_of(declared: Record, controller: t.Any, hostvars: t.Any, groups: Record, deployed: Record) -> dict[str, t.Any]:
    """The plan of the inventory with a declaration, around what runs. Raises ``PlanError`` if the planner refuses it."""
    changed = declared["variables"]
    names = {str(host) for hosts in groups.values() for host in hosts}
    variables = {name: collections.ChainMap(changed, hostvars[name]) for name in names}
    return planned(
        collections.ChainMap(changed, controller), variables, {**groups, **declared["groups"]}, dict(deployed)
    )


def settings_text(declared: Record) -> str:
    """The declaration as it is set in the inventory, for people."""
    return _text({**_children(declared), "vars": built_in(declared["variables"])})


def trial_text(declared: Record, controller: t.Any, groups: Record) -> str:
    """The declaration as an inventory that is read after the present one, ``-i hosts.yml -i FILE``, and changes no file of it.

    The variables are those of hosts, because files of ``group_vars`` precede what an inventory sets for its groups.
    """
    hosts = sorted(built_in(list(members(groups, str(controller[GROUP]) if GROUP in controller else ""))), key=natural)
    variables = built_in(declared["variables"])  # the same object for all hosts: written once
    return _text({"hosts": dict.fromkeys(hosts, variables), **_children(declared)})


def _children(declared: Record) -> dict[str, t.Any]:
    children = {name: {"hosts": dict.fromkeys(hosts)} for name, hosts in built_in(declared["groups"]).items()}
    return {"children": children} if children else {}


def _text(content: Record) -> str:
    return yaml.safe_dump({"all": content}, sort_keys=False, width=120, default_flow_style=None, allow_unicode=True)
