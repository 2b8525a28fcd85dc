# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of a highly available store: its masters, and the members of etcd.

Each has a number, which is part of its name, and keeps number and host while the host may still run it.
"""

from __future__ import annotations

import typing as t

from ..description.variables import Description, Host
from .placement import hosts_of

Record = t.Mapping[str, t.Any]
MASTERS, ETCD = "masters", "etcd"  # keys of a placement


def store_hosts(
    description: Description,
    hosts: t.Mapping[str, Host],
    engine_hosts: t.Sequence[Host],
    stay: t.Sequence[Host],
    deployed: Record,
) -> tuple[tuple[Host, ...], tuple[Host, ...]]:
    """The hosts of the masters and of etcd, by number; fewer than wanted if there are not enough; none without ``inference_store.ha``.

    ``stay``: hosts that may keep one if no group is named; ``deployed``: the ``placement`` of the deployed plan, {} without one.
    """
    ha = description.store.ha
    if ha is None:
        return (), ()
    group = hosts_of(description.mooncake_master.group, hosts)
    before = deployed.get(MASTERS) or [deployed.get("mooncake_master", "")]
    masters = _numbered(ha.masters, group or engine_hosts, group or stay, before)
    if ha.etcd_endpoints:
        return masters, ()
    own = hosts_of(ha.etcd_group, hosts)
    candidates = [*masters, *group, *engine_hosts]
    return masters, _numbered(ha.etcd_members, own or candidates, own or [*candidates, *stay], deployed.get(ETCD, ()))


def _numbered(
    count: int, candidates: t.Iterable[Host], stay: t.Iterable[Host], deployed: t.Sequence[str]
) -> tuple[Host, ...]:
    """At most ``count`` different hosts: the deployed ones at their numbers if they are in ``stay``, the others in the order of the candidates."""
    members = {host.name: host for host in candidates}
    staying = {host.name: host for host in stay}
    kept = [staying.get(name) for name in deployed[:count]] + [None] * (count - len(deployed[:count]))
    taken = {host.name for host in kept if host}
    free = iter([host for name, host in members.items() if name not in taken])
    return tuple(host for host in (found or next(free, None) for found in kept) if host)
