# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a pool with too few devices fit: fewer instances on each host, devices that a variable leaves out, or free hosts."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding
from ..description.values import natural
from ..description.variables import Description, Host, Pool, all_devices
from ..engines.registry import engine
from .placement import group_of, groups_used, hosts_of, place, sharing, usable

OWN = " tried"  # no group of an inventory has this name
SHOWN = 8  # hosts that a fix lists


def with_free_hosts(
    findings: t.Iterable[Finding], description: Description, hosts: t.Mapping[str, Host]
) -> list[Finding]:
    """The findings; one of a pool without enough devices begins its fix with what suffices, placed as a trial."""
    return [
        _fewer_per_host(finding, description, hosts)
        or _with_all_devices(finding, description, hosts)
        or _with_free_hosts(finding, description, hosts)
        for finding in findings
    ]


def _with_all_devices(finding: Finding, description: Description, hosts: t.Mapping[str, Host]) -> Finding | None:
    """The finding with the variable that leaves out the devices with which the pool would fit; None if none does."""
    name, pools = _pool_of(finding), description.pools.present()
    if finding.id not in ("PLACE-CAPACITY", "PLACE-SPAN") or name not in pools or not engine(description.engine).npus:
        return None
    pool, members = pools[name], hosts_of(group_of(name, pools[name]), hosts)
    for key, usual in (("devices", ()), ("device_offset", 0)):
        wider = _with(description, name, dataclasses.replace(pool, **{key: usual}))
        if getattr(pool, key) and _placed(wider, hosts, name):
            fix = f"Remove inference_pools.{name}.{key}: with all devices of its hosts the pool fits. Or choose smaller sizes."
            return dataclasses.replace(finding, fix=fix)
    whole = {host.name: dataclasses.replace(host, devices=all_devices(host.hardware)) for host in hosts.values()}
    fewer = [host for host in members if len(host.devices) < len(whole[host.name].devices)]
    if fewer and _placed(description, whole, name):
        has = f"{len(fewer[0].devices)} of the {len(whole[fewer[0].name].devices)} devices of {fewer[0].hardware}"
        fix = f"inference_devices gives {_listed(host.name for host in fewer)} {has}, and with all the pool fits: correct it, or choose smaller sizes."
        return dataclasses.replace(finding, fix=fix)
    for hardware in sorted({host.hardware for host in hosts.values()} | {description.hardware} - {""}):
        others = [host for host in members if len(all_devices(host.hardware)) < len(all_devices(hardware))]
        larger = {host.name: dataclasses.replace(host, devices=all_devices(hardware)) for host in others}
        if others and _placed(description, {**hosts, **larger}, name):
            is_ = f"{_listed(host.name for host in others)} {'is' if len(others) == 1 else 'are'} {others[0].hardware}"
            has = f"with {how_many(len(all_devices(others[0].hardware)), 'device')}"
            fix = f"{is_} {has}: correct inference_hardware if it is {hardware}, or choose smaller sizes, or hosts with more devices."
            return dataclasses.replace(finding, fix=fix)
    return None


def _placed(description: Description, hosts: t.Mapping[str, Host], name: str) -> bool:
    """Whether the pool has its places."""
    return name not in map(_pool_of, place(description, hosts)[1])


def _pool_of(finding: Finding) -> str:
    """The pool that a finding of a pool is about."""
    return (*finding.path.split("."), "")[1]


def _fewer_per_host(finding: Finding, description: Description, hosts: t.Mapping[str, Host]) -> Finding | None:
    """The finding with an instances_per_host that fits, if the one that is set does not; None if that does not help."""
    name = _pool_of(finding)
    pool = description.pools.present().get(name)
    if finding.id != "PLACE-CAPACITY" or not pool or not pool.instances_per_host:
        return None
    most = min(len(usable(host, pool)) for host in hosts_of(group_of(name, pool), hosts))
    ways = {most // pool.devices_per_instance: "set it to {}", 0: "remove it"}
    fits = [
        text.format(count)
        for count, text in ways.items()
        if count < pool.instances_per_host
        and not place(_with(description, name, dataclasses.replace(pool, instances_per_host=count)), hosts)[1]
    ]
    wanted = pool.instances_per_host * pool.devices_per_instance
    fix = f"instances_per_host {pool.instances_per_host} needs {wanted} devices on each host: {' or '.join(fits)}."
    return dataclasses.replace(finding, fix=fix) if fits else None


def _with_free_hosts(finding: Finding, description: Description, hosts: t.Mapping[str, Host]) -> Finding:
    name, pools = _pool_of(finding), description.pools.present()
    if finding.id not in ("PLACE-CAPACITY", "PLACE-SPAN") or name not in pools or not engine(description.engine).npus:
        return finding
    group = group_of(name, pools[name])
    members = hosts_of(group, hosts)
    own = [host for host in members if sharing(description, host) == [name]]
    free = [host for host in _free(description, hosts) if host not in own]
    for kept in (own, members) if free else ():
        chosen = sorted({host.name for host in (*kept, *free)}, key=natural)
        if _fits(description, hosts, name, chosen):
            shared = any(group_of(other, pool) == group for other, pool in pools.items() if other != name)
            there = f"inference_pools.{name}.group names a group that" if shared else f"the group '{group}'"
            free_ = f"{_listed(host.name for host in free)} {'is' if len(free) == 1 else 'are'} free"
            return dataclasses.replace(
                finding, fix=f"{free_}: the pool fits if {there} has {_listed(chosen)} and no other host."
            )
    return finding


def _listed(names: t.Iterable[str]) -> str:
    found = list(names)
    return ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def _free(description: Description, hosts: t.Mapping[str, Host]) -> list[Host]:
    """Hosts with devices on which nothing is placed, without those that have another service's group."""
    busy = {process.host.name for instance in place(description, hosts)[0] for process in instance.processes}
    pools = {group_of(name, pool) for name, pool in description.pools.present().items()}
    others = groups_used(description) - pools
    free = [host for host in hosts.values() if host.name not in busy and host.devices and not host.here]
    return [host for host in free if not others & set(host.groups)]


def _fits(description: Description, hosts: t.Mapping[str, Host], name: str, chosen: t.Collection[str]) -> bool:
    """Whether all is placed if the pool has these hosts."""
    pool = dataclasses.replace(description.pools.present()[name], group=OWN)
    moved = {
        host.name: dataclasses.replace(host, groups=(*host.groups, *([OWN] if host.name in chosen else ())))
        for host in hosts.values()
    }
    return not place(_with(description, name, pool), moved)[1]


def _with(description: Description, name: str, pool: Pool) -> Description:
    return dataclasses.replace(description, pools=dataclasses.replace(description.pools, **{name: pool}))
