# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement: which process of which instance runs on which host, with which devices and ranks."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import Complaint
from ansible_collections.ascend.inference.plugins.plugin_utils._topology import (
    POOLS,
    Description,
    Host,
    Pool,
    natural,
)


@dataclass(frozen=True)
class Process:
    """One engine process: a host's share of an instance, or (external load balancing) one data-parallel rank."""

    host: Host
    number: int
    first_rank: int
    local_ranks: int
    local_index: int
    devices: tuple[int, ...]


@dataclass(frozen=True)
class Instance:
    """One engine, over one host or several; ``slot`` counts the pool's instances on its first host."""

    kind: str
    pool: Pool
    number: int
    slot: int
    processes: tuple[Process, ...]

    @property
    def name(self) -> str:
        """The instance's name, unique in the deployment."""
        return f"{self.kind}-{self.number}"

    @property
    def first(self) -> Process:
        """The process that holds data-parallel rank 0."""
        return self.processes[0]

    def process_name(self, process: Process) -> str:
        """The service's name: the instance's, with the process' number where it has several."""
        return self.name if len(self.processes) == 1 else f"{self.name}-{process.number}"


def group_of(name: str, pool: Pool) -> str:
    """The inventory group that carries a pool."""
    return pool.group or name


def hosts_of(group: str, hosts: t.Mapping[str, Host]) -> list[Host]:
    """The hosts of a group, in natural order of their names, whatever the inventory's order."""
    return [hosts[name] for name in sorted(hosts, key=natural) if group in hosts[name].groups]


def place(description: Description, hosts: t.Mapping[str, Host]) -> tuple[list[Instance], list[Complaint]]:
    """Place every instance of every pool; what does not fit is a complaint."""
    instances: list[Instance] = []
    complaints: list[Complaint] = []
    pools = description.pools.present()
    for name, pool in pools.items():
        members = hosts_of(group_of(name, pool), hosts)
        if not members:
            complaints.append(
                Complaint(
                    f"inference_pools.{name}",
                    "PLACE-GROUP",
                    f"the inventory has no host in group '{group_of(name, pool)}'",
                    f"Put hosts into that group or name another one with inference_pools.{name}.group.",
                )
            )
            continue
        for number in range(pool.instances):
            instance, problem = _place_one(description, name, pool, number, members, pools)
            if problem:
                complaints.append(problem)
                break
            if instance:
                instances.append(instance)
    return instances, complaints


def _place_one(
    description: Description, name: str, pool: Pool, number: int, members: list[Host], pools: t.Mapping[str, Pool]
) -> tuple[Instance | None, Complaint | None]:
    capacity = min(len(_usable(host, pool)) for host in members)
    span = pool.hosts_per_instance or (
        1 if description.engine == "vllm_cpu" else max(1, -(-pool.devices_per_instance // max(capacity, 1)))
    )
    path = f"inference_pools.{name}"
    if span > len(members) or pool.data_parallel_size % span:
        return None, Complaint(
            path,
            "PLACE-SPAN",
            f"an instance of {pool.devices_per_instance} devices (data parallel {pool.data_parallel_size} x "
            f"{pool.rank_devices}) has to span {span} hosts of {capacity} devices, but the group has {len(members)} "
            f"hosts and {span} does not divide its data-parallel size",
            "Add hosts to the group, or choose a data-parallel size that the hosts divide.",
        )
    rows = len(members) // span
    index, slot = (
        (divmod(number, pool.instances_per_host)) if pool.instances_per_host else (number % rows, number // rows)
    )
    if index >= rows:
        return None, Complaint(
            f"{path}.instances",
            "PLACE-CAPACITY",
            f"instance {number} has no host: {pool.instances_per_host} instances a host on {rows} places",
            "Add hosts, or raise instances_per_host.",
        )
    local = pool.data_parallel_size // span
    processes: list[Process] = []
    for position, host in enumerate(members[index * span : (index + 1) * span]):
        devices = _devices(description, host, name, pool, slot, local * pool.rank_devices, pools)
        if devices is None:
            return None, Complaint(
                f"{path}.instances",
                "PLACE-CAPACITY",
                f"instance {number} needs {local * pool.rank_devices} devices on {host.name}, which has no more than "
                f"{len(_usable(host, pool))} and carries {slot} instances of this pool before it",
                "Plan fewer or smaller instances, or add hosts.",
            )
        if pool.load_balancing == "external" and pool.data_parallel_size > 1:
            size = pool.rank_devices if devices else 0
            for rank in range(local):
                processes.append(
                    Process(
                        host, len(processes), position * local + rank, 1, rank, devices[rank * size : (rank + 1) * size]
                    )
                )
        else:
            processes.append(Process(host, len(processes), position * local, local, 0, devices))
    return Instance(name, pool, number, slot, tuple(processes)), None


def _usable(host: Host, pool: Pool) -> tuple[int, ...]:
    if pool.devices:
        return pool.devices
    return host.devices[pool.device_offset :]


def _devices(
    description: Description, host: Host, name: str, pool: Pool, slot: int, share: int, pools: t.Mapping[str, Pool]
) -> tuple[int, ...] | None:
    """The devices of the pool's instance number ``slot`` on a host; None when they run out.

    On a host that carries several pools the last one counts from the highest device downwards, so that growing either
    pool moves no device of the other.
    """
    if description.engine == "vllm_cpu":
        return ()
    usable = _usable(host, pool)
    if (slot + 1) * share > len(usable):
        return None
    sharing = [one for one in POOLS if one in pools and group_of(one, pools[one]) in host.groups]
    if sharing[-1] == name and len(sharing) > 1 and not pool.devices and not pool.device_offset:
        return usable[len(usable) - (slot + 1) * share : len(usable) - slot * share]
    return usable[slot * share : (slot + 1) * share]
