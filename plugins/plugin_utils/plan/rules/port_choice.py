# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the ports that a user names: each one has an effect, and means the same to all who meet at it."""

from __future__ import annotations

import dataclasses
import typing as t

from ...description.variables import HostWords, Ports
from ..ports import GROUP, of_list
from .base import Case, Found, Rules

RULES = Rules()
NAMES = tuple(one.name for one in dataclasses.fields(Ports))


@RULES.rule(
    "PORT-GROUP",
    "Remove the port from this host, and set it at the instance's first host or for the whole pool.",
    "vLLM: --data-parallel-rpc-port and --master-port are the same on all nodes of an engine",
)
def group_port(case: Case) -> t.Iterator[Found]:
    """All processes of an instance meet at one port of its first host: one that waits at another port never starts."""
    bound = _bound(case)
    for instance in case.context.instances:
        if not instance.pool.hosts:
            continue
        first = instance.first
        numbers = case.context.ports[instance.process_name(first)]
        for host in dict.fromkeys(one.host.name for one in instance.processes if one.host is not first.host):
            own = instance.pool.hosts.get(host, HostWords())
            for name in GROUP:
                asked, right = getattr(own.ports, name), getattr(numbers, name)
                if asked and name in bound[instance.kind, ""] and of_list(asked, instance.slot, 1) != right:
                    path = f"inference_pools.{instance.kind}.hosts.{host}.ports.{name}"
                    yield Found(path, _shown(asked), f"{instance.name} meets at port {right} of {first.host.name}")


@RULES.rule("PORT-UNUSED", "Remove it.", "the planner: the ports that each process binds")
def unused(case: Case) -> t.Iterator[Found]:
    """A port that no process binds has no effect: it is neither opened nor kept free, and no peer uses it.

    Many write a rendezvous port for engines without data parallelism, whom it does not harm.
    """
    bound = _bound(case)
    for kind, pool in case.context.description.pools.present().items():
        path = f"inference_pools.{kind}"
        places = [(path, pool.ports, "")]
        places += [(f"{path}.hosts.{host}", pool.hosts[host].ports, host) for host in pool.hosts]
        for place, ports, host in places:
            used = bound.get((kind, host), set(NAMES))  # a host without processes of the pool is POOL-HOST's
            for name in NAMES:
                asked = getattr(ports, name)
                if asked and name not in used:
                    text = f"no process of {kind}{f' on {host}' if host else ''} has a port {name}"
                    severity = "warning" if name == "dp_rpc" else ""
                    yield Found(f"{place}.ports.{name}", _shown(asked), text, severity=severity)


def _bound(case: Case) -> dict[tuple[str, str], set[str]]:
    """Names of the ports that the processes of a pool have on a host, and under no host's name on all of them."""
    found: dict[tuple[str, str], set[str]] = {}
    for service, dummy, dummy in case.engines:
        names = {port.name for port in service.ports}
        # This connector is given a port, though the plan does not know how many it binds from there on.
        if service.kind == "decode" and "sfa_remote_d2h" in case.context.everywhere:
            names.add("kv")
        for host in ("", service.host):
            found.setdefault((service.kind, host), set()).update(names)
    for kind, host in found:
        found[kind, host] |= found[kind, ""] & set(GROUP)
    return found


def _shown(asked: tuple[int, ...]) -> str:
    return str(asked[0]) if len(asked) == 1 else str(list(asked))
