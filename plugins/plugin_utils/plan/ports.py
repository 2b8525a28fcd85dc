# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Port assignment: first port of each range, without overlaps, also when instances are added later.

Every pool has a part of each range, and an instance's position in it is derived from its slot on the host: adding an
instance never changes another's ports. Ports are assigned here, once for each process; renderers only print them. The ranges
in which engines bind random ports (AscendDirect, transfer engine, store clients; Mooncake's sources, see the rules page) are
avoided.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t
from dataclasses import dataclass

from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding
from ..description.variables import Description, Host, Ports
from ..engines.base import Engine
from ..releases.release import Release
from .placement import Instance, Process
from .service import Port

ORDER = {"prefill": 0, "decode": 1, "colocated": 2, "encode": 3}
API_BASE, API_SPAN, API_STEP = 7100, 200, 16
DP_RPC_BASE, DP_RPC_SPAN = 10500, 100
BOOTSTRAP_BASE, BOOTSTRAP_SPAN = 11000, 100
LLMDATADIST_BASE, LLMDATADIST_SPAN, LLMDATADIST_STEP = 5600, 300, 16
HCCL_BASE, HCCL_SPAN, HCCL_STEP = 60000, 800, 100
KV_SPAN, KV_STEP = 2600, 100
ASCEND_DIRECT_BASE = 20000
TRANSFER_ENGINE = Port("transfer_engine", 15000, 2001)
STORE_CLIENT = Port("store_client", 12300, 2001)
# Connectors with a listening port for each worker, and those of them whose schedulers listen behind the workers' ports, one
# for each data-parallel rank (vllm-ascend kv_p2p/mooncake/base_scheduler.py)
WITH_PORT = ("mooncake", "mooncake_hybrid", "mooncake_layerwise", "mooncake_v2", "mooncake_pull", "mooncake_d2rh")
WITH_SCHEDULER_PORT = ("mooncake_v2", "mooncake_pull")
# Decode has two more listening ports for each worker behind them: the pull into the host's memory, and the scheduler's for its
# answers, of which each data-parallel rank uses the first (vllm-ascend mooncake_d2rh_connector.py; by default 38100 and 38200,
# which two instances of a host would share)
D2RH = "mooncake_d2rh"
P2P = (*WITH_PORT, "llmdatadist", "sfa_remote_d2h")
EPHEMERAL = 32768  # from here on the kernel hands out ports (net.ipv4.ip_local_port_range)


@dataclass(frozen=True)
class Assigned:
    """The port numbers of one process.

    ``kv`` is the connector's kv_port; the connector adds the number of each worker of the instance to it.
    ``dp_rpc`` (rendezvous of data-parallel ranks, or of the nodes of one rank) and ``bootstrap`` are equal in all
    processes of an instance. ``hccl`` is shared by the instance's processes on a host, which add the device's number.
    """

    api: int
    kv: int
    dp_rpc: int
    hccl: int
    bootstrap: int
    llmdatadist: int


def ascend_direct_pool(release: Release, highest_device: int) -> Port:
    """AscendDirect's range of random ports: 20000 + stride x device, both ends inclusive
    (Mooncake ascend_direct_transport.cpp)."""
    return Port("ascend_direct", ASCEND_DIRECT_BASE, release.ascend_direct_stride * (highest_device + 1) + 1)


def random_pools(release: Release, host: Host, store: bool) -> tuple[Port, ...]:
    """Ranges of a host in which its engines bind random ports; no planned port may be in one."""
    if not host.devices:
        return ()
    pools = (ascend_direct_pool(release, max(host.devices)), TRANSFER_ENGINE)
    return (*pools, STORE_CLIENT) if store else pools


def kv_base(release: Release, highest_device: int) -> int:
    """First port above AscendDirect's range of random ports."""
    return max(22000, -(-(ascend_direct_pool(release, highest_device).last + 1) // 100) * 100)


GROUP = ("dp_rpc", "bootstrap")  # rendezvous ports of an instance's processes: those of its first host


def assign(instances: t.Iterable[Instance], release: Release, d2rh: bool = False) -> dict[str, Assigned]:
    """The ports of every process, by the process' name. ``d2rh``: whether a pool has the connector of that name."""
    found = {}
    for instance in instances:
        for process in instance.processes:
            found[instance.process_name(process)] = _assigned(instance, process, release, d2rh)
    return found


def _assigned(instance: Instance, process: Process, release: Release, d2rh: bool) -> Assigned:
    pool, order, slot = instance.pool, ORDER[instance.kind], instance.slot
    step = -(-pool.devices_per_instance // KV_STEP) * KV_STEP
    if release.scheduler_ports:
        step = -(-(pool.devices_per_instance + pool.data_parallel_size) // KV_STEP) * KV_STEP
    if d2rh:
        step = -(-3 * pool.devices_per_instance // KV_STEP) * KV_STEP
    workers = instance.workers(process)

    def first(name: str, base: int, distance: int) -> int:
        host = instance.first.host if name in GROUP else process.host
        own: tuple[int, ...] = getattr(pool.hosts[host.name].ports, name) if host.name in pool.hosts else ()
        if own:
            return of_list(own, slot, distance)
        first_ports: tuple[int, ...] = getattr(pool.ports, name)
        if len(first_ports) > 1:
            return of_list(first_ports, instance.number, distance)
        return (first_ports[0] if first_ports else base) + slot * distance

    return Assigned(
        api=first("api", API_BASE + order * API_SPAN, API_STEP) + process.local_index,
        kv=first("kv", kv_base(release, _highest_device(instance)) + order * KV_SPAN, step),
        dp_rpc=first("dp_rpc", DP_RPC_BASE + order * DP_RPC_SPAN, 1),
        hccl=first("hccl", HCCL_BASE + order * HCCL_SPAN, HCCL_STEP),
        bootstrap=first("bootstrap", BOOTSTRAP_BASE + order * BOOTSTRAP_SPAN, 1),
        llmdatadist=first("llmdatadist", LLMDATADIST_BASE + order * LLMDATADIST_SPAN, LLMDATADIST_STEP)
        + process.local_index * workers,
    )


def of_list(first_ports: tuple[int, ...], index: int, distance: int) -> int:
    """The first port at ``index``; one number counts on by ``distance``, a list that is too short is a finding."""
    if len(first_ports) == 1:
        return first_ports[0] + index * distance
    beyond = max(0, index - len(first_ports) + 1)
    return first_ports[index - beyond] + beyond * max(distance, 1)


def _highest_device(instance: Instance) -> int:
    """The highest device of the instance's hosts: AscendDirect's pool reaches that far."""
    hosts = {process.host.name: process.host for process in instance.processes}
    return max((host.devices[-1] for host in hosts.values() if host.devices), default=-1)


def carries(transfer: t.Collection[str]) -> bool:
    """Whether one of a pool's connectors carries KV cache from prefill to decode."""
    return any(part in P2P for part in transfer)


def bound(
    instance: Instance, process: Process, assigned: Assigned, transfer: t.Collection[str], engine: Engine
) -> tuple[Port, ...]:
    """The ports that a process binds; ``transfer`` holds the connectors of its pool ('mooncake', 'store')."""
    found = []
    if not instance.headless(process):
        found.append(Port("api", assigned.api, protocol="http"))
    parts = transfer if instance.kind != "encode" else ()
    if not engine.connectors:
        found += _of_connectors(instance, process, assigned, parts)
    elif instance.kind == "prefill" and carries(parts):
        found.append(Port("bootstrap", assigned.bootstrap, protocol="http"))
    if not engine.npus:
        return tuple(found)
    if process.number == 0 and (instance.pool.data_parallel_size > 1 or instance.nodes_per_rank > 1):
        found.append(Port("dp_rpc", assigned.dp_rpc))
    if process.local_index == 0:  # shared by the instance's processes on the host, by device
        found.append(Port("hccl", assigned.hccl, 16))
    return tuple(found)


def _of_connectors(
    instance: Instance, process: Process, assigned: Assigned, parts: t.Collection[str]
) -> t.Iterator[Port]:
    """The ports of vLLM-Ascend's connectors."""
    workers = instance.workers(process)
    if any(part in WITH_PORT for part in parts):
        yield Port("kv", assigned.kv + process.first_worker, workers)
    if any(part in WITH_SCHEDULER_PORT for part in parts):
        behind = assigned.kv + instance.pool.devices_per_instance + process.first_rank
        yield Port("kv_scheduler", behind, process.local_ranks)
    if D2RH in parts and instance.kind == "decode":
        pulls, ready = d2rh_ports(instance, assigned.kv)
        yield Port("d2rh", pulls + process.first_worker, workers)
        if not (instance.nodes_per_rank > 1 and process.number):
            size = instance.pool.rank_devices
            ranks = size * (process.local_ranks - 1) + 1
            yield Port("d2rh_ready", ready + process.first_rank * size, ranks)
    if "llmdatadist" in parts:
        yield Port("llmdatadist", assigned.llmdatadist, workers)


def d2rh_ports(instance: Instance, kv: int) -> tuple[int, int]:
    """d2rh_zmq_port and d2rh_scheduler_ready_port of a decode instance; the connector adds the worker's number to both."""
    return kv + instance.pool.devices_per_instance, kv + 2 * instance.pool.devices_per_instance


def short_lists(description: Description, instances: t.Iterable[Instance]) -> list[Finding]:
    """Lists of first ports with fewer entries than instances of the pool, or of one host of it. A kept instance may have a higher number than those."""
    instances = list(instances)
    on_host = collections.Counter(
        (instance.kind, host)
        for instance in instances
        for host in {process.host.name for process in instance.processes}
    )
    found = []
    for name, pool in description.pools.present().items():
        path = f"inference_pools.{name}"
        highest = max((instance.number for instance in instances if instance.kind == name), default=-1)
        places = [(path, pool.ports, max(pool.instances, highest + 1))]
        places += [(f"{path}.hosts.{host}", pool.hosts[host].ports, on_host[name, host]) for host in pool.hosts]
        for place, ports, count in places:
            for port in dataclasses.fields(Ports):
                first_ports = getattr(ports, port.name)
                if 1 < len(first_ports) < count:
                    number = highest if place == path and highest >= pool.instances else None
                    found.append(_short(f"{place}.ports.{port.name}", first_ports, count, number))
    return found


def _short(path: str, first_ports: tuple[int, ...], count: int, number: int | None) -> Finding:
    """``number``: the highest one of an instance, if it is not the last of as many as are planned."""
    whose = how_many(count, "instance") if number is None else f"the numbers 0 to {number} of instances that run"
    each = "instance" if number is None else "of these numbers, also if no instance has it at present"
    return Finding(
        path,
        "PORT-LIST",
        f"{len(first_ports)} first ports are listed for {whose}",
        f"Give one number, or one for each {each}.",
        value=str(list(first_ports)),
        why="A list gives each instance its own first port.",
    )
