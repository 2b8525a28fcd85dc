# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of user-defined ports: ports without effect, and rendezvous ports that differ."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ...description.findings import Finding
from ...description.variables import HostSettings, Ports
from ..ports import GROUP, of_list
from .base import Case, Rules

RULES = Rules()
NAMES = tuple(field.name for field in dataclasses.fields(Ports))


@RULES.rule(
    "PORT-GROUP",
    "Remove the port from this host, and set it at the instance's first host or for the whole pool.",
    "vLLM: --data-parallel-rpc-port and --master-port are the same on all nodes of an engine",
)
def group_port(case: Case) -> t.Iterator[Finding]:
    """A host of an instance has a different rendezvous port from the instance's first host.

    All processes of an instance connect to one port of its first host; a process that uses another port never starts.
    """
    bound = _bound(case)
    for instance in case.context.instances:
        if not instance.pool.hosts:
            continue
        first = instance.first
        numbers = case.context.ports[instance.process_name(first)]
        for host in dict.fromkeys(
            process.host.name for process in instance.processes if process.host is not first.host
        ):
            own = instance.pool.hosts.get(host, HostSettings())
            for name in GROUP:
                first_ports, right = getattr(own.ports, name), getattr(numbers, name)
                if first_ports and name in bound[instance.kind, ""] and of_list(first_ports, instance.slot, 1) != right:
                    path = f"inference_pools.{instance.kind}.hosts.{host}.ports.{name}"
                    problem = f"the processes of {instance.name} connect to port {right} of {first.host.name}"
                    yield Finding.at(path, _shown(first_ports), problem)


@RULES.rule("PORT-UNUSED", "Remove it.", "design of the planner: the ports that each process binds")
def unused(case: Case) -> t.Iterator[Finding]:
    """A port is set that no process binds.

    The setting has no effect: the port is neither opened nor reserved, and no peer uses it. A rendezvous port of engines
    without data parallelism does no harm.
    """
    bound, counts = _bound(case), _counts(case)
    for kind, pool in case.context.description.pools.present().items():
        path = f"inference_pools.{kind}"
        places = [(path, pool.ports, "")]
        places += [(f"{path}.hosts.{host}", pool.hosts[host].ports, host) for host in pool.hosts]
        for place, ports, host in places:
            used = bound.get((kind, host), set(NAMES))  # a host without processes of the pool is POOL-HOST's
            for name in NAMES:
                first_ports = getattr(ports, name)
                if first_ports and name not in used:
                    problem = f"no process of pool {kind}{f' on {host}' if host else ''} binds a port {name}"
                    severity = "warning" if name == "dp_rpc" else ""
                    yield Finding.at(f"{place}.ports.{name}", _shown(first_ports), problem, severity=severity)
                surplus = first_ports[max(counts[kind, host], 1) :] if name in used else ()
                if surplus:
                    problem = f"no instance{f' on {host}' if host else ''} has the first port {surplus[0]}"
                    yield Finding.at(f"{place}.ports.{name}", _shown(first_ports), problem, severity="warning")


def _counts(case: Case) -> dict[tuple[str, str], int]:
    """How many entries of a list instances can have: by pool the numbers that there are, by pool and host its instances."""
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    for instance in case.context.instances:
        found[instance.kind, ""] = max(found[instance.kind, ""], instance.number + 1, instance.pool.instances)
        found.update({(instance.kind, process.host.name) for process in instance.processes})
    return found


def _bound(case: Case) -> dict[tuple[str, str], set[str]]:
    """Port names by pool and host; the empty host name stands for all hosts of the pool."""
    found: dict[tuple[str, str], set[str]] = {}
    for service, dummy, dummy in case.engines:
        names = {port.name for port in service.ports}
        # The connector gets a first port; the number of ports that it binds is not known to the plan.
        if service.kind == "decode" and "sfa_remote_d2h" in case.context.everywhere:
            names.add("kv")
        for host in ("", service.host):
            found.setdefault((service.kind, host), set()).update(names)
    for kind, host in found:
        found[kind, host] |= found[kind, ""] & set(GROUP)
    return found


def _shown(first_ports: tuple[int, ...]) -> str:
    return str(first_ports[0]) if len(first_ports) == 1 else str(list(first_ports))
