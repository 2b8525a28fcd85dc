# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of ports: overlaps, invalid ranges, and ranges that other software binds."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ...description.store_ha import StoreHa
from ...description.variables import Master
from ..service import Port, Service
from .base import Case, Rules
from .engine_view import EngineView, extra_of

RULES = Rules()
EPHEMERAL = (32768, 60999)  # Linux default of net.ipv4.ip_local_port_range
TRANSFER_ENGINE = (15000, 17000)
STORE_CLIENT = (12300, 14300)
NARROW = 100  # ports of AscendDirect's range for each device, from Mooncake 0.3.8 on; 1000 before


def variable_of(case: Case, service: Service, port: Port) -> str:
    """The variable that set a planned port; an empty string if the planner chose it."""
    description = case.context.description
    if service.kind == "router":
        if port.name == "metrics":
            return "inference_router.metrics_port" if description.router.metrics_port else ""
        return "inference_router.port"
    if service.kind == "balancer":
        return "inference_router.balancer_port" if port.name == "api" else "inference_router.balancer_status_port"
    if service.kind == "probe":
        return "inference_probe.port"
    if service.kind == "mooncake_master":
        name = {"rpc": "port", "metrics": "metrics_port", "http_metadata": "http_metadata_port"}.get(port.name, "port")
        value = getattr(description.mooncake_master, name)
        return f"inference_mooncake_master.{name}" if value and value != getattr(Master(), name) else ""
    if service.kind == "etcd":
        value = getattr(description.store.ha, f"etcd_{port.name}_port", 0)
        return (
            f"inference_store.ha.etcd_{port.name}_port" if value != getattr(StoreHa(), f"etcd_{port.name}_port") else ""
        )
    pool = description.pools.present().get(service.kind)
    own = pool.hosts.get(service.host) if pool else None
    if own and getattr(own.ports, port.name, None):
        return f"inference_pools.{service.kind}.hosts.{service.host}.ports.{port.name}"
    if pool and getattr(pool.ports, port.name, None):
        return f"inference_pools.{service.kind}.ports.{port.name}"
    return ""


def where(case: Case, service: Service, port: Port) -> str:
    """The variable that set a planned port, or the service if the planner chose it."""
    return variable_of(case, service, port) or f"{service.host}.{service.name}.ports.{port.name}"


def shown(port: Port) -> str:
    """A port or a range of ports."""
    return str(port.first) if port.count == 1 else f"{port.first}-{port.last}"


def planned(case: Case) -> t.Iterator[tuple[Service, Port]]:
    """Every port of every service."""
    for service in case.services:
        for port in service.ports:
            yield service, port


def meets(port: Port, pool: tuple[int, int]) -> bool:
    """Whether a port range overlaps a pool; both ends are inclusive."""
    return port.first <= pool[1] and port.last >= pool[0]


@RULES.rule(
    "PORT-OVERLAP",
    "Leave the ports to the planner, or choose first ports with a larger distance.",
    "vllm-ascend #4725, #10019",
)
def overlaps(case: Case) -> t.Iterator[Finding]:
    """Two services of one host have the same port.

    The second service to start cannot bind the port.
    """
    by_host: dict[str, list[tuple[Service, Port]]] = {}
    for service, port in planned(case):
        by_host.setdefault(service.host, []).append((service, port))
    for ports in by_host.values():
        ports.sort(key=lambda pair: (pair[1].first, pair[1].last, pair[0].name, pair[1].name))
        reach: tuple[Service, Port] | None = None
        for service, port in ports:
            if reach and port.first <= reach[1].last:
                pair = [(service, port), reach]
                if not variable_of(case, service, port) and variable_of(case, *reach):
                    pair.reverse()  # report the port that the user can change
                (own, own_port), (other, other_port) = pair
                problem = (
                    f"{own.name} and {other.name} on {own.host} share ports: {own_port.name} {shown(own_port)} overlaps {other_port.name} "
                    f"{shown(other_port)}"
                )
                yield Finding.at(where(case, own, own_port), shown(own_port), problem)
            if not reach or port.last > reach[1].last:
                reach = (service, port)


@RULES.rule("PORT-RANGE", "Choose a lower first port.", "TCP")
def outside(case: Case) -> t.Iterator[Finding]:
    """A port number is not in the range 1 to 65535.

    No process can bind it.
    """
    for service, port in planned(case):
        if port.first < 1 or port.last > 65535:
            problem = (
                f"{service.name} on {service.host} would need {port.name} {shown(port)}; the highest port is 65535"
            )
            yield Finding.at(where(case, service, port), shown(port), problem)


@RULES.rule(
    "PORT-PRIVILEGED",
    "Choose a port of 1024 or higher, or use a reverse proxy for the lower port.",
    "capabilities(7), CAP_NET_BIND_SERVICE",
    "warning",
)
def privileged(case: Case) -> t.Iterator[Finding]:
    """A service that does not run as root has a port below 1024.

    Only root or a process with CAP_NET_BIND_SERVICE can bind such a port.
    """
    for service, port in planned(case):
        if 0 < port.first < 1024 and case.context.description.user != "root":
            user = case.context.description.user or "the services' user"
            problem = f"{service.name} runs as {user}, which cannot bind port {shown(port)}"
            yield Finding.at(where(case, service, port), shown(port), problem)


def ascend_direct(case: Case, view: EngineView, stride: int = 0) -> tuple[int, int] | None:
    """AscendDirect's range of random ports on an engine's host, for the release's Mooncake or another stride.

    Both ends are inclusive.
    """
    stride = stride or case.context.release.ascend_direct_stride
    base = view.env.get("ASCEND_BASE_PORT", "20000") if stride == 100 else "20000"
    devices = view.process.host.devices
    if not stride or not devices or not base.isdecimal():
        return None
    return int(base), int(base) + stride * (max(devices) + 1)


@RULES.rule(
    "KV-PORT-POOL",
    "Remove inference_pools.<pool>.ports.kv, or choose a first port above that range.",
    "Mooncake ascend_direct_transport.cpp; vllm-ascend #8938, #6455, #14263",
)
def kv_port_pool(case: Case) -> t.Iterator[Finding]:
    """The connector's ports are in the range of AscendDirect's random ports.

    Engines then collide on a port at startup: often if the range has a hundred ports per device (Mooncake 0.3.8 and
    later), sometimes if it has a thousand.
    """
    if not case.npu:
        return
    wide = case.context.release.ascend_direct_stride > 100
    views = {(view.kind, view.process.host.name): view for view in case.engine_views}
    for service, instance, process in case.engines:
        for port in service.ports:
            if port.name != "kv":
                continue
            view = views.get((service.kind, service.host)) or EngineView(
                case.context.description, service, instance, process
            )
            pool = ascend_direct(case, view)
            if pool and meets(port, pool):
                narrow = ascend_direct(case, view, NARROW) or pool
                yield Finding.at(
                    where(case, service, port),
                    shown(port),
                    f"ports {shown(port)} are in {pool[0]}-{pool[1]}, the range of AscendDirect's random ports on a host with "
                    f"{len(process.host.devices)} devices",
                    severity="warning" if wide and not meets(port, narrow) else "",
                )


@RULES.rule(
    "PORT-POOL",
    "Choose a port outside of 12300-14300, 15000-17000 and AscendDirect's range, or leave it to the planner.",
    "Mooncake utils.h AutoPortBinder, transfer engine's rpc ports; vllm-ascend #9841",
    "warning",
)
def random_pools(case: Case) -> t.Iterator[Finding]:
    """A planned port is in the range of random ports of Mooncake's transfer engine or store clients.

    The second process cannot bind the port, so restarts fail occasionally.
    """
    if not case.npu or not case.context.p2p and not case.context.store:
        return
    mooncake = {service.host for service, dummy, dummy in case.engines}
    pools = [("transfer engine", TRANSFER_ENGINE)]
    if case.context.store:
        pools.append(("store clients", STORE_CLIENT))
    for service, port in planned(case):
        for name, pool in pools:
            if service.host in mooncake and meets(port, pool):
                yield Finding.at(
                    where(case, service, port),
                    shown(port),
                    f"Mooncake's {name} on {service.host} may bind any port of {pool[0]}-{pool[1]}, including {shown(port)}",
                )


@RULES.rule(
    "PORT-EPHEMERAL",
    "Choose ports below 32768, or a runtime that reserves ports (systemd, docker).",
    "Linux ip_local_reserved_ports; vllm-ascend #405",
    "warning",
)
def ephemeral(case: Case) -> t.Iterator[Finding]:
    """A planned port is in the kernel's ephemeral range and cannot be reserved without root.

    An outgoing connection may use the port when the service starts, so starts fail occasionally.
    """
    if case.context.runtime.reserves_ports:
        return
    for service, port in planned(case):
        if meets(port, EPHEMERAL) and port.name != "hccl":
            problem = f"{shown(port)} is in the ephemeral range {EPHEMERAL[0]}-{EPHEMERAL[1]}"
            yield Finding.at(where(case, service, port), shown(port), problem)


@RULES.rule(
    "LOOKUP-PORT",
    "Remove the number: the planner counts the instances of a host.",
    "vllm-ascend #12771; ascend_store connector: ipc://.../lookup_rpc_port_<n>",
)
def lookup_port(case: Case) -> t.Iterator[Finding]:
    """Two instances of one host have the same lookup_rpc_port.

    The number is part of a socket file's name: the second instance fails to start or replaces the first one's socket.
    """
    seen: dict[tuple[str, str], tuple[str, bool]] = {}
    for service, instance, process in case.engines if case.context.store else ():
        view = EngineView(case.context.description, service, instance, process)
        for connector in view.connectors if not process.number else ():
            extra = extra_of(connector)
            key = next((name for name in ("lookup_rpc_port", "mooncake_rpc_port") if name in extra), "")
            # a consumer that does not load from the store opens no lookup socket
            own = (service.name, service.kind != "decode" or bool(extra.get("consumer_is_to_load")))
            other = seen.setdefault((service.host, str(extra[key])), own) if key else own
            if other != own:
                path = view.kv_path("kv_connector_extra_config", key)
                problem = f"{own[0]} and {other[0]} on {service.host} have the same {key} {extra[key]}"
                yield Finding.at(path, extra[key], problem, severity="" if own[1] and other[1] else "warning")
