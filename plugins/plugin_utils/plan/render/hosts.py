# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements for each host: reserved ports, kernel settings, firewall rules."""

from __future__ import annotations

import dataclasses
import typing as t

from ....module_utils.tools.engine_kinds import ANSWERING_KINDS
from ...description.findings import spans
from ...description.values import natural, size
from ...description.variables import Host
from ..deployment import Context
from ..ports import EPHEMERAL, random_pools
from ..service import Port, Service
from .container import device_files
from .memcache import dram
from .mooncake import segment_bytes
from .npu import link_of
from .software import mooncake_needed

MAP_COUNT = 1000000  # memory maps per process; registering large segments needs more than the default (N17)
METRICS = ("metrics",)


def planned_hosts(context: Context, services: t.Iterable[Service]) -> list[dict[str, t.Any]]:
    """The hosts with services, by name."""
    by_host: dict[str, list[Service]] = {}
    for service in services:
        by_host.setdefault(service.host, []).append(service)
    return [_host(context, context.hosts[name], by_host[name]) for name in sorted(by_host, key=natural)]


def _host(context: Context, host: Host, services: list[Service]) -> dict[str, t.Any]:
    npu = context.engine.npus and any(service.devices for service in services)
    transport = npu and (context.store or mooncake_needed(context))
    pools = random_pools(context.release, host, context.store) if transport else ()
    ports = [port for service in services for port in service.ports]
    reserved = sorted({number for port in ports for number in range(port.first, port.last + 1) if number >= EPHEMERAL})
    return {
        "name": host.name,
        "address": host.address,
        "interface": host.interface,
        "hardware": host.hardware,
        "devices": list(host.devices),
        "device_files": list(device_files(host)) if npu else [],
        "reserved_ports": reserved,
        "sysctl": _sysctl([*ports, *pools], npu),
        "store_mib": _store_mib(context, services),
        "firewall": _firewall(services, pools),
        **_fabric(host),
        **(_tune(context, host, _store_mib(context, services)) if npu and not context.runtime.in_cluster else {}),
    }


def _fabric(host: Host) -> dict[str, t.Any]:
    """The settings of the NPUs' network, if the host has any."""
    if host.fabric is None:
        return {}
    fabric = dataclasses.asdict(host.fabric)
    return {"fabric": {key: list(value) if isinstance(value, tuple) else value for key, value in fabric.items()}}


def _tune(context: Context, host: Host, store_mib: int) -> dict[str, t.Any]:
    """The profile of tuning and, for latency, what belongs to it; memory of huge pages in MiB."""
    if host.tune_profile != "latency":
        return {"tune": {"profile": host.tune_profile}}
    paged = host.tune.huge_pages and link_of(context, host) == "roce"
    return {
        "tune": {
            "profile": host.tune_profile,
            "irqbalance": host.tune.irqbalance,
            "housekeeping": host.tune.housekeeping,
            "huge_pages_mib": store_mib if paged else 0,
            "transparent_huge_pages": host.tune.transparent_huge_pages,
        }
    }


def _store_mib(context: Context, services: list[Service]) -> int:
    """Memory of the store's segments on the host: every worker that uses the store mounts one."""
    backend = context.description.store.backend
    if not context.store or backend not in ("mooncake", "memcache"):
        return 0
    pools = {name: pool for name, pool in context.description.pools.present().items() if name in ANSWERING_KINDS}
    each = {
        name: segment_bytes(context, pool) if backend == "mooncake" else size(dram(context)) or 0
        for name, pool in pools.items()
        if "store" in context.transfer_of(pool)
    }
    return sum(max(len(item.devices), 1) * each.get(item.kind, 0) for item in services) // 2**20


def _sysctl(ports: list[Port], npu: bool) -> dict[str, str]:
    """Kernel settings: reserved ports, and limits for engines on NPUs."""
    high = sorted({number for port in ports for number in range(max(port.first, EPHEMERAL), port.last + 1)})
    settings = {"net.ipv4.ip_local_reserved_ports": spans(high, ",")} if high else {}
    return {**settings, "vm.max_map_count": str(MAP_COUNT)} if npu else settings


def _firewall(services: list[Service], pools: t.Iterable[Port]) -> list[dict[str, t.Any]]:
    """Firewall rules by source: ``cluster`` (the deployment's hosts), ``client``, ``monitoring``."""
    rows = [
        (port.first, port.last, "monitoring" if port.name in METRICS else port.scope, f"{service.name} {port.name}")
        for service in services
        for port in service.ports
    ]
    rows += [(pool.first, pool.last, "cluster", pool.name) for pool in pools]
    return [
        {"ports": str(first) if first == last else f"{first}-{last}", "protocol": "tcp", "from": who, "for": what}
        for first, last, who, what in sorted(rows)
    ]
