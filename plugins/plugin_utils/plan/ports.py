# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports: where each range begins, so that no two meet, whatever is added later.

Every pool owns a span of each range, and an instance's place in the span follows from its slot on the host: adding an
instance never moves another's ports. The pools that engines bind at random (AscendDirect, transfer engine, store
clients; Mooncake's sources, see the rules page) are kept clear.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ..description.findings import Finding
from ..description.variables import Description, Host, Ports
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
EPHEMERAL = 32768  # from here on the kernel hands out ports (net.ipv4.ip_local_port_range)


@dataclass(frozen=True)
class Assigned:
    """First port of each of an instance's ranges."""

    api: int
    kv: int
    dp_rpc: int
    hccl: int
    bootstrap: int
    llmdatadist: int


def ascend_direct_pool(release: Release, highest_device: int) -> Port:
    """The pool in which AscendDirect binds at random: 20000 + stride x device, the upper end included (rules.md 1)."""
    return Port("ascend_direct", ASCEND_DIRECT_BASE, release.ascend_direct_stride * (highest_device + 1) + 1)


def random_pools(release: Release, host: Host, store: bool) -> tuple[Port, ...]:
    """Pools of a host in which its engines bind ports of their own choice; no planned port may lie in one."""
    if not host.devices:
        return ()
    pools = (ascend_direct_pool(release, max(host.devices)), TRANSFER_ENGINE)
    return (*pools, STORE_CLIENT) if store else pools


def kv_base(release: Release, highest_device: int) -> int:
    """First port above the pool that AscendDirect binds at random."""
    return max(22000, -(-(ascend_direct_pool(release, highest_device).last + 1) // 100) * 100)


def assign(instance: Instance, release: Release, highest_device: int) -> Assigned:
    """Ports of one instance, from the user's first ports or the pool's own span."""
    pool, order, slot = instance.pool, ORDER[instance.kind], instance.slot
    step = -(-pool.devices_per_instance // KV_STEP) * KV_STEP
    own = pool.hosts.get(instance.first.host.name)

    def first(name: str, base: int, distance: int) -> int:
        asked = (getattr(own.ports, name) if own else ()) or getattr(pool.ports, name)
        if len(asked) > 1:
            beyond = max(0, instance.number - len(asked) + 1)  # a list that is too short is a complaint of its own
            return asked[instance.number - beyond] + beyond * max(distance, 1)
        return int(asked[0] if asked else base) + slot * distance

    return Assigned(
        api=first("api", API_BASE + order * API_SPAN, API_STEP),
        kv=first("kv", kv_base(release, highest_device) + order * KV_SPAN, step),
        dp_rpc=first("dp_rpc", DP_RPC_BASE + order * DP_RPC_SPAN, 1),
        hccl=first("hccl", HCCL_BASE + order * HCCL_SPAN, HCCL_STEP),
        bootstrap=first("bootstrap", BOOTSTRAP_BASE + order * BOOTSTRAP_SPAN, 1),
        llmdatadist=first("llmdatadist", LLMDATADIST_BASE + order * LLMDATADIST_SPAN, LLMDATADIST_STEP),
    )


def short_lists(description: Description) -> list[Finding]:
    """Lists of first ports that have fewer entries than the pool has instances."""
    found = []
    for name, pool in description.pools.present().items():
        for port in dataclasses.fields(Ports):
            asked = getattr(pool.ports, port.name)
            if 1 < len(asked) < pool.instances:
                found.append(
                    Finding(
                        f"inference_pools.{name}.ports.{port.name}",
                        "PORT-LIST",
                        f"the list has {len(asked)} first ports for {pool.instances} instances",
                        "Give one number, or one for each instance.",
                        value=str(list(asked)),
                    )
                )
    return found


def at_host(instance: Instance, process: Process, name: str, assigned: int) -> int:
    """A process' first port: what the user says of this very host, else the instance's."""
    own = instance.pool.hosts.get(process.host.name)
    ports = own.ports if own else Ports()
    asked: tuple[int, ...] = getattr(ports, name)
    return asked[0] if asked and process.host is not instance.first.host else assigned


def api_port(assigned: Assigned, process: Process) -> int:
    """A process' API port: each data-parallel rank of a host has its own under external load balancing."""
    return assigned.api + process.local_index
