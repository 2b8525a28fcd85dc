# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement: which process of which instance runs on which host, with which devices and ranks.

Hosts of a pool's group are in natural order of their names, independent of the inventory's order. An instance uses as many
neighbouring hosts as it needs (a *row*); instance ``i`` is on row ``i % rows``, or ``i // instances_per_host`` if
that is set. Further instances of a row use the next devices. On a host with several pools the last one
(order: encode, prefill, decode, colocated) gets devices from the highest id down, the others from the
lowest up. So adding an instance never moves an existing one.
"""

from __future__ import annotations

import sys
import typing as t
from dataclasses import dataclass

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding
from ..description.groups import similar
from ..description.values import natural
from ..description.variables import Description, Host, Pool
from ..engines.registry import engine

FULL = "Instances cannot share devices, so this one has none."


@dataclass(frozen=True)
class Process:
    """One engine process: a host's share of an instance, or (external load balancing) one data-parallel rank.

    ``first_rank`` is its first data-parallel rank, ``first_worker`` its first worker among the instance's (a worker
    uses one device), ``local_index`` is its number among the instance's processes on the host.
    """

    host: Host
    number: int
    first_rank: int
    local_ranks: int
    local_index: int
    devices: tuple[int, ...]
    first_worker: int = 0


@dataclass(frozen=True)
class Instance:
    """One engine on one or several hosts; ``slot`` is its number among the pool's instances on its first host.

    ``nodes_per_rank`` is greater than one if tensor, pipeline or context parallelism spans hosts.
    """

    kind: str
    pool: Pool
    number: int
    slot: int
    processes: tuple[Process, ...]
    nodes_per_rank: int = 1

    @property
    def name(self) -> str:
        """The instance's name, unique in the deployment."""
        return f"{self.kind}-{self.number}"

    @property
    def first(self) -> Process:
        """The process with data-parallel rank 0."""
        return self.processes[0]

    def headless(self, process: Process) -> bool:
        """Whether a process has no API server: all but the first, except under external load balancing."""
        return process.number > 0 and (self.pool.load_balancing == "internal" or self.nodes_per_rank > 1)

    def workers(self, process: Process) -> int:
        """Workers of one process; each uses one device."""
        return process.local_ranks * self.pool.rank_devices // self.nodes_per_rank

    def process_name(self, process: Process) -> str:
        """The service's name: the instance's, with the number of the process if it has several."""
        return self.name if len(self.processes) == 1 else f"{self.name}-{process.number}"


@dataclass(frozen=True)
class Shape:
    """How a pool lies on its hosts: ``span`` hosts an instance, ``nodes`` hosts a rank, ``rows`` places side by side.

    ``ranks`` has the data-parallel ranks of each host where they are unequal, which only a pool's single instance has; else it is empty.
    """

    members: tuple[Host, ...]
    span: int
    nodes: int
    rows: int
    row_of: t.Mapping[str, int]
    ranks: tuple[int, ...] = ()

    def share(self, pool: Pool, host: Host) -> int:
        """Devices that one instance takes of a host."""
        if self.ranks:
            return self.ranks[self.members.index(host)] * pool.rank_devices
        return pool.devices_per_instance // self.span

    @property
    def broken(self) -> bool:
        """Whether the group is too small for a single instance."""
        return self.rows == 0


def group_of(name: str, pool: Pool) -> str:
    """The inventory group of a pool."""
    return pool.group or name


def hosts_of(group: str, hosts: t.Mapping[str, Host]) -> list[Host]:
    """The hosts of a group, in natural order of their names."""
    return [hosts[name] for name in sorted(hosts, key=natural) if group in hosts[name].groups]


def pool_hosts(description: Description, hosts: t.Mapping[str, Host]) -> list[Host]:
    """The hosts of all pools' groups, also those without an instance."""
    return [
        host for name, pool in description.pools.present().items() for host in hosts_of(group_of(name, pool), hosts)
    ]


def groups_used(description: Description) -> set[str]:
    """The inventory groups from which the deployment takes its hosts."""
    groups = {group_of(name, pool) for name, pool in description.pools.present().items()}
    groups |= {description.router.group, description.mooncake_master.group}
    ha = description.store.ha
    return (groups | ({ha.etcd_group} if ha and not ha.etcd_endpoints else set())) - {""}


def place(description: Description, hosts: t.Mapping[str, Host]) -> tuple[list[Instance], list[Finding]]:
    """Place every instance of every pool; an instance that does not fit is a finding."""
    instances: list[Instance] = []
    findings: list[Finding] = []
    pools = description.pools.present()
    shapes = {name: shape_of(description, pool, hosts_of(group_of(name, pool), hosts)) for name, pool in pools.items()}
    for name, pool in pools.items():
        problem = group_problem(name, pool, shapes[name], hosts)
        for number in range(0 if problem else pool.instances):
            instance, problem = _place_one(description, name, number, shapes)
            if instance:
                instances.append(instance)
            if problem:
                break
        if problem:
            findings.append(problem)
    return instances, findings


def shape_of(description: Description, pool: Pool, members: list[Host], most: int = sys.maxsize) -> Shape:
    """How a pool lies on the hosts of its group. ``most``: devices of a host that an instance may take at most."""
    if not engine(description.engine).npus:
        span, nodes = pool.hosts_per_instance or 1, 1
    else:
        span, nodes = _span(pool, min((min(len(usable(host, pool)), most) for host in members), default=0))
    rows = {host.name: index // span for index, host in enumerate(members)} if span else {}
    count = len(members) // span if span else 0
    ranks = () if count or not engine(description.engine).npus else _unequal_ranks(pool, members, most)
    if ranks:
        used = tuple(members[: len(ranks)])
        return Shape(used, len(ranks), 1, 1, {host.name: 0 for host in used}, ranks)
    return Shape(tuple(members), span, nodes, count, rows)


def _unequal_ranks(pool: Pool, members: list[Host], most: int) -> tuple[int, ...]:
    """Ranks of each host where a single instance fits only with unequal numbers of them; empty where it does not fit so, either.

    vLLM takes each host's number of ranks from that host (--data-parallel-size-local), so they may differ.
    """
    fits = [min(len(usable(host, pool)), most) // pool.rank_devices for host in members]
    if pool.instances != 1 or pool.hosts_per_instance or len(fits) < 2 or 0 in fits:
        return ()
    left, ranks = pool.data_parallel_size, []
    for fit in fits:
        if left:
            ranks.append(min(fit, left))
            left -= ranks[-1]
    return () if left else tuple(ranks)


def _span(pool: Pool, capacity: int) -> tuple[int, int]:
    """Hosts of an instance, and hosts of one data-parallel rank; (0, 0) if no layout is possible."""
    ranks, size = pool.data_parallel_size, pool.rank_devices
    if pool.hosts_per_instance and ranks % pool.hosts_per_instance == 0:
        return pool.hosts_per_instance, 1
    if size > capacity or pool.hosts_per_instance:
        nodes = pool.hosts_per_instance or -(-size // max(capacity, 1))
        fits = ranks == 1 and size % nodes == 0 and size // nodes <= capacity
        return (nodes, nodes) if fits else (0, 0)
    fit = capacity // size
    return next(span for span in range(1, ranks + 1) if ranks % span == 0 and ranks // span <= fit), 1


def group_problem(name: str, pool: Pool, shape: Shape, hosts: t.Mapping[str, Host]) -> Finding | None:
    """Why no instance of a pool can be placed: a group without hosts, or with hosts that are too small; or None."""
    path = f"inference_pools.{name}"
    if not shape.members:
        near = similar(group_of(name, pool), {group for host in hosts.values() for group in host.groups})
        fix = f"Add hosts to that group, or set {path}.group to another one. If Ansible warned that it could not parse the inventory, correct that first."
        return Finding(
            path,
            "PLACE-GROUP",
            f"the inventory has no hosts in group '{group_of(name, pool)}'",
            f"Rename the group '{near[0]}' if its hosts are meant, or set {path}.group to it." if near else fix,
            why="The pool's instances cannot be placed.",
        )
    if shape.broken:
        sizes = sorted({len(usable(host, pool)) for host in shape.members})
        have = (
            f"{sizes[0]} device{'' if sizes == [1] else 's'} each"
            if len(sizes) == 1
            else f"{sizes[0]} to {sizes[-1]} devices"
        )
        have += f" behind device_offset {pool.device_offset}" if pool.device_offset and not pool.devices else ""
        count = f"{len(shape.members)} host{'' if len(shape.members) == 1 else 's'}"
        return Finding(
            path,
            "PLACE-SPAN",
            f"an instance of {pool.devices_per_instance} devices (data parallel {pool.data_parallel_size} x "
            f"{pool.rank_devices}) does not fit on the {count} of group '{group_of(name, pool)}', with {have}",
            "Add hosts to the group, or choose sizes that the hosts divide.",
            why="Each host carries whole data-parallel ranks or, without data parallelism, an equal share of one rank. The shares of "
            "hosts are equal unless the pool has one instance only.",
        )
    return None


def _place_one(
    description: Description, name: str, number: int, shapes: t.Mapping[str, Shape]
) -> tuple[Instance | None, Finding | None]:
    pool, shape = description.pools.present()[name], shapes[name]
    path = f"inference_pools.{name}.instances"
    per_host = pool.instances_per_host
    row, slot = divmod(number, per_host) if per_host else (number % shape.rows, number // shape.rows)
    if row >= shape.rows:
        return None, Finding(
            path,
            "PLACE-CAPACITY",
            f"no host for instance {number}: only {shape.rows * per_host} fit with instances_per_host {per_host}",
            "Add hosts, or raise instances_per_host.",
            value=str(pool.instances),
            why=FULL,
        )
    processes: list[Process] = []
    for host in shape.members[row * shape.span : (row + 1) * shape.span]:
        share = shape.share(pool, host)
        devices = devices_of(description, host, name, slot, share, shapes)
        if devices is None:
            return None, Finding(
                path,
                "PLACE-CAPACITY",
                f"instance {number} needs {how_many(share, 'device')} on {host.name}, which has {len(usable(host, pool))}"
                f"{_other_demand(description, host, name, slot, shapes)}",
                "Plan fewer or smaller instances, or add hosts.",
                value=str(pool.instances),
                why=FULL,
            )
        processes += processes_on(pool, shape, host, devices, processes)
    return Instance(name, pool, number, slot, tuple(processes), shape.nodes), None


def processes_on(
    pool: Pool, shape: Shape, host: Host, devices: tuple[int, ...], others: t.Sequence[Process]
) -> list[Process]:
    """A host's processes of one instance; ``others`` are those on the hosts before it."""
    before = len(others)
    if shape.nodes > 1:
        return [Process(host, before, 0, 1, 0, devices, before * len(devices))]
    size = pool.rank_devices
    local = shape.share(pool, host) // size
    first = sum(process.local_ranks for process in others)
    if pool.load_balancing != "external" or pool.data_parallel_size == 1:
        return [Process(host, before, first, local, 0, devices, first * size)]
    return [
        Process(host, rank, rank, 1, index, devices[index * size : (index + 1) * size], rank * size)
        for index, rank in enumerate(range(first, first + local))
    ]


def usable(host: Host, pool: Pool) -> tuple[int, ...]:
    """The devices of a host that a pool may use, in ascending order or as the user listed them."""
    if pool.devices:
        return pool.devices
    return host.devices[pool.device_offset :]


def devices_of(
    description: Description, host: Host, name: str, slot: int, share: int, shapes: t.Mapping[str, Shape]
) -> tuple[int, ...] | None:
    """The devices of the pool's instance number ``slot`` on a host; None if there are too few."""
    if not engine(description.engine).npus:
        return ()
    pools = description.pools.present()
    pool = pools[name]
    present = usable(host, pool)
    if (slot + 1) * share > len(present):
        return None
    if pool.devices or pool.device_offset:
        return present[slot * share : (slot + 1) * share]
    pools_here = sharing(description, host)
    if pools_here[-1] == name and len(pools_here) > 1:
        others = sum(_demand(host, pools[other], shapes[other]) for other in pools_here[:-1])
        if len(present) - (slot + 1) * share < others:
            return None
        return present[len(present) - (slot + 1) * share : len(present) - slot * share]
    before = sum(_demand(host, pools[other], shapes[other]) for other in pools_here[: pools_here.index(name)])
    if before + (slot + 1) * share > len(present):
        return None
    return present[before + slot * share : before + (slot + 1) * share]


def sharing(description: Description, host: Host) -> list[str]:
    """The pools whose group a host is in, in start order."""
    pools = description.pools.present()
    return [name for name in ENGINE_KINDS if name in pools and group_of(name, pools[name]) in host.groups]


def _other_demand(description: Description, host: Host, name: str, slot: int, shapes: t.Mapping[str, Shape]) -> str:
    """Other users of a host's devices, for a message."""
    pools = description.pools.present()
    others = {
        other: _demand(host, pools[other], shapes[other]) for other in sharing(description, host) if other != name
    }
    parts = [f"{how_many(slot, 'instance')} of this pool"] if slot else []
    parts += [f"{how_many(count, 'device')} of pool {other}" for other, count in others.items() if count]
    return f", shared with {' and '.join(parts)}" if parts else ""


def _demand(host: Host, pool: Pool, shape: Shape) -> int:
    """Number of devices of a host that a pool needs, if the planner chooses them."""
    row = shape.row_of.get(host.name, shape.rows)
    if pool.devices or pool.device_offset or row >= shape.rows:
        return 0
    if pool.instances_per_host:
        slots = max(0, min(pool.instances_per_host, pool.instances - row * pool.instances_per_host))
    else:
        slots = pool.instances // shape.rows + (row < pool.instances % shape.rows)
    return slots * shape.share(pool, host)
