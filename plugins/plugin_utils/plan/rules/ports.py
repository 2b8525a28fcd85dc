# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of ports: no two meet, none lies where something else binds."""

from __future__ import annotations

import typing as t

from ...description.variables import Master
from ..service import Port, Service
from .base import Case, Found, Rules
from .engine_view import Words, extra_of

RULES = Rules()
EPHEMERAL = (32768, 60999)  # net.ipv4.ip_local_port_range as Linux has it
TRANSFER_ENGINE = (15000, 17000)
STORE_CLIENT = (12300, 14300)
NARROW = 100  # ports of AscendDirect's pool for each device, from Mooncake 0.3.8 on; a thousand before


def said(case: Case, service: Service, port: Port) -> str:
    """The user's word behind a planned port; an empty string where the planner chose it."""
    description = case.context.description
    if service.kind == "router":
        if port.name == "metrics":
            return "inference_router.metrics_port" if description.router.metrics_port else ""
        return "inference_router.port"
    if service.kind == "mooncake_master":
        name = {"rpc": "port", "metrics": "metrics_port", "http_metadata": "http_metadata_port"}.get(port.name, "port")
        told = getattr(description.mooncake_master, name)
        return f"inference_mooncake_master.{name}" if told and told != getattr(Master(), name) else ""
    pool = description.pools.present().get(service.kind)
    own = pool.hosts.get(service.host) if pool else None
    if own and getattr(own.ports, port.name, None):
        return f"inference_pools.{service.kind}.hosts.{service.host}.ports.{port.name}"
    if pool and getattr(pool.ports, port.name, None):
        return f"inference_pools.{service.kind}.ports.{port.name}"
    return ""


def where(case: Case, service: Service, port: Port) -> str:
    """The user's word behind a planned port, or the service where the planner chose it."""
    return said(case, service, port) or f"{service.host}.{service.name}.ports.{port.name}"


def shown(port: Port) -> str:
    """A port or a range of ports."""
    return str(port.first) if port.count == 1 else f"{port.first}-{port.last}"


def planned(case: Case) -> t.Iterator[tuple[Service, Port]]:
    """Every port of every service."""
    for service in case.services:
        for port in service.ports:
            yield service, port


def meets(port: Port, pool: tuple[int, int]) -> bool:
    """Whether a range and a pool have a port in common; both ends of both count."""
    return port.first <= pool[1] and port.last >= pool[0]


@RULES.rule(
    "PORT-OVERLAP",
    "Leave the ports to the planner, or choose first ports that lie further apart.",
    "vllm-ascend #4725, #10019",
)
def overlaps(case: Case) -> t.Iterator[Found]:
    """Two services of a host may not bind the same port."""
    by_host: dict[str, list[tuple[Service, Port]]] = {}
    for service, port in planned(case):
        by_host.setdefault(service.host, []).append((service, port))
    for ports in by_host.values():
        ports.sort(key=lambda one: (one[1].first, one[1].last, one[0].name, one[1].name))
        reach: tuple[Service, Port] | None = None
        for service, port in ports:
            if reach and port.first <= reach[1].last:
                pair = [(service, port), reach]
                if not said(case, service, port) and said(case, *reach):
                    pair.reverse()  # name the one that the user can change
                (own, mine), (other, its) = pair
                text = f"{own.name} on {own.host} shares ports with {other.name} ({its.name} {shown(its)})"
                yield Found(where(case, own, mine), shown(mine), text)
            if not reach or port.last > reach[1].last:
                reach = (service, port)


@RULES.rule("PORT-RANGE", "Choose a lower first port.", "TCP")
def outside(case: Case) -> t.Iterator[Found]:
    """A port is a number from 1 to 65535."""
    for service, port in planned(case):
        if port.first < 1 or port.last > 65535:
            yield Found(where(case, service, port), shown(port))


@RULES.rule(
    "PORT-PRIVILEGED",
    "Choose a port from 1024 on, or let a web server in front listen there.",
    "capabilities(7), CAP_NET_BIND_SERVICE",
    "warning",
)
def privileged(case: Case) -> t.Iterator[Found]:
    """Ports below 1024 can only be bound by root or with a capability, and services run as an unprivileged user."""
    for service, port in planned(case):
        if 0 < port.first < 1024 and case.context.description.user != "root":
            yield Found(where(case, service, port), shown(port))


def ascend_direct(case: Case, words: Words, stride: int = 0) -> tuple[int, int] | None:
    """AscendDirect's random pool on an engine's host, of the release's Mooncake or of one with another stride.

    Both ends can be bound.
    """
    stride = stride or case.context.release.ascend_direct_stride
    base = words.env.get("ASCEND_BASE_PORT", "20000") if stride == 100 else "20000"
    devices = words.process.host.devices
    if not stride or not devices or not base.isdecimal():
        return None
    return int(base), int(base) + stride * (max(devices) + 1)


@RULES.rule(
    "KV-PORT-POOL",
    "Leave inference_pools.<pool>.ports.kv out, or choose a first port above the pool.",
    "Mooncake ascend_direct_transport.cpp; vllm-ascend #8938, #6455, #14263",
)
def kv_port_pool(case: Case) -> t.Iterator[Found]:
    """The ports of the connector lie outside of the pool in which Mooncake's AscendDirect listens at random.

    With Mooncake 0.3.7 the pool has a thousand ports a device and a port in it collides now and then; from 0.3.8 on it
    has a hundred and a port in it collides soon. Ports in the first hundreds are in both, so no update mends them.
    """
    if not case.npu:
        return
    wide = case.context.release.ascend_direct_stride > 100
    words_of = {(one.kind, one.process.host.name): one for one in case.words}
    for service, instance, process in case.engines:
        for port in service.ports:
            if port.name != "kv":
                continue
            words = words_of.get((service.kind, service.host)) or Words(
                case.context.description, service, instance, process
            )
            pool = ascend_direct(case, words)
            if pool and meets(port, pool):
                narrow = ascend_direct(case, words, NARROW) or pool
                yield Found(
                    where(case, service, port),
                    shown(port),
                    f"AscendDirect listens at random from {pool[0]} to {pool[1]} on a host with "
                    f"{len(process.host.devices)} devices, and the connector's ports lie in it",
                    severity="warning" if wide and not meets(port, narrow) else "",
                )


@RULES.rule(
    "PORT-POOL",
    "Choose a port outside of 12300-14300, 15000-17000 and AscendDirect's pool, or leave it to the planner.",
    "Mooncake utils.h AutoPortBinder, transfer engine's rpc ports; vllm-ascend #9841",
    "warning",
)
def random_pools(case: Case) -> t.Iterator[Found]:
    """A planned port lies where Mooncake's transfer engine or store clients listen at random on that host."""
    if not case.npu or not case.context.p2p and not case.context.store:
        return
    mooncake = {service.host for service, dummy, dummy in case.engines}
    pools = [("the transfer engine", TRANSFER_ENGINE)]
    if case.context.store:
        pools.append(("store clients", STORE_CLIENT))
    for service, port in planned(case):
        for name, pool in pools:
            if service.host in mooncake and meets(port, pool):
                yield Found(
                    where(case, service, port),
                    shown(port),
                    f"{name} of Mooncake listen at random from {pool[0]} to {pool[1]} on {service.host}",
                )


@RULES.rule(
    "PORT-EPHEMERAL",
    "Choose ports below 32768, or a runtime that may reserve them (systemd, docker).",
    "Linux ip_local_reserved_ports; vllm-ascend #405",
    "warning",
)
def ephemeral(case: Case) -> t.Iterator[Found]:
    """Without root the kernel may hand a planned port from 32768 to 60999 to any outgoing connection."""
    if case.context.description.runtime != "supervisor":
        return
    for service, port in planned(case):
        if meets(port, EPHEMERAL) and port.name != "hccl":
            yield Found(where(case, service, port), shown(port))


@RULES.rule(
    "LOOKUP-PORT",
    "Leave lookup_rpc_port out: the planner numbers the instances of a host.",
    "vllm-ascend #12771; ascend_store connector: ipc://.../lookup_rpc_port_<n>",
)
def lookup_port(case: Case) -> t.Iterator[Found]:
    """The store connector's lookup_rpc_port names a socket file, so each instance of a host has its own."""
    seen: dict[tuple[str, str], tuple[str, bool]] = {}
    for service, instance, process in case.engines if case.context.store else ():
        words = Words(case.context.description, service, instance, process)
        for connector in words.connectors if not process.number else ():
            extra = extra_of(connector)
            key = next((one for one in ("lookup_rpc_port", "mooncake_rpc_port") if one in extra), "")
            # a consumer that does not load from the store looks nothing up
            own = (service.name, service.kind != "decode" or bool(extra.get("consumer_is_to_load")))
            other = seen.setdefault((service.host, str(extra[key])), own) if key else own
            if other != own:
                path = words.kv_path("kv_connector_extra_config", key)
                text = f"{own[0]} on {service.host} has the number of {other[0]}"
                yield Found(path, extra[key], text, severity="" if own[1] and other[1] else "warning")
