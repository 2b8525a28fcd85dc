# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP connections between hosts that a plan needs: which host connects to which ports of which other host.

Sources: routers call every engine's API; prefill and decode connect to each other's connector ports and to the ranges in which
transfer engines bind random ports (both directions, because connectors differ in who connects); ranks of an instance meet at its
first host (dp_rpc) and at each other's HCCL ports; engines connect to the store's master. These are the rows of the plan's
firewall table, with the hosts that use them. Of a range only both ends are tested.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from .observed import Observed, Record

MODES = ("listen", "connect", "none")
MOST_PEERS = 32  # maximum number of hosts that one host connects to; the report states the coverage
MOST_PORTS = 24  # maximum number of ports of one peer
HANDOVER = ("kv", "kv_scheduler", "llmdatadist", "bootstrap")
INSTANCE = ("dp_rpc", "hccl")
TRANSFER_POOLS = ("ascend_direct", "transfer_engine")
OPPOSITE = {"prefill": "decode", "decode": "prefill"}
# ports of running services that expect a client at any time; others are not disturbed by a connection without data
KNOCKED_WHILE_RUNNING = ("kv", "kv_scheduler", "bootstrap", "rpc")


class Target(t.NamedTuple):
    """A port of a host, and what it is for."""

    host: str
    address: str
    port: int
    purpose: str  # such as "prefill-0 kv"
    name: str  # of the port: kv, api, ...
    protocol: str = "tcp"


Wanted = dict[str, dict[str, list[Target]]]  # source host -> target host -> ports


def planned_connections(plan: Record, left_out: t.Collection[str] = ()) -> tuple[Wanted, int]:
    """Connections to test by source and target host, and the total number of pairs of host and port in the plan.

    Pairs within one host need no network and are left out.
    """
    users = _Users(plan)
    used: dict[str, dict[Target, set[str]]] = {}  # target host -> port -> source hosts
    for target, sources in _uses(plan, users):
        if target.host not in left_out:
            used.setdefault(target.host, {}).setdefault(target, set()).update(sources - {target.host} - set(left_out))
    total = sum(len(sources) for ports in used.values() for sources in ports.values())
    order = {host["name"]: number for number, host in enumerate(plan["hosts"])}
    targets: dict[str, list[str]] = {}
    for host in sorted(used, key=order.__getitem__):
        for source in set().union(*used[host].values()):
            targets.setdefault(source, []).append(host)
    return {
        source: {
            host: _ports_of(used[host], source, order[source]) for host in _spread(hosts, MOST_PEERS, order[source])
        }
        for source, hosts in targets.items()
    }, total


def _ports_of(ports: t.Mapping[Target, t.Collection[str]], source: str, shift: int) -> list[Target]:
    """The ports of one host that a source connects to."""
    return _spread(sorted(target for target, sources in ports.items() if source in sources), MOST_PORTS, shift)


class _Users:
    """Hosts by the kinds and instances of their services."""

    def __init__(self, plan: Record) -> None:
        self.kinds: dict[str, set[str]] = {}
        self.instances: dict[tuple[str, int], set[str]] = {}
        for service in plan["services"]:
            self.kinds.setdefault(service["kind"], set()).add(service["host"])
            self.instances.setdefault((service["kind"], service["instance"]), set()).add(service["host"])

    def of(self, *kinds: str) -> set[str]:
        """Hosts with a service of one of the kinds."""
        return set().union(*(self.kinds.get(kind, set()) for kind in kinds))


def _reachable(service: Record, addresses: t.Mapping[str, str]) -> bool:
    """Whether other hosts are to reach the service: not if it binds a loopback address that is not the host's own."""
    own = service["address"] == addresses[service["host"]]
    return own or not str(service["address"]).startswith("127.")


def _uses(plan: Record, users: _Users) -> t.Iterator[tuple[Target, set[str]]]:
    addresses = {host["name"]: host["address"] for host in plan["hosts"]}
    for service in plan["services"]:
        for port in service["ports"]:
            sources = _sources(service, port, users) if _reachable(service, addresses) else set()
            for number in sorted({port["first"], port["first"] + port["count"] - 1}):
                purpose = f"{service['name']} {port['name']}"
                yield (
                    Target(service["host"], service["address"], number, purpose, port["name"], port["protocol"]),
                    sources,
                )
    sides = {kind: users.of(kind) for kind in OPPOSITE}
    for host in plan["hosts"]:
        sources = set().union(*(sides[OPPOSITE[kind]] for kind in sides if host["name"] in sides[kind]))
        for row in host["firewall"]:
            if row["for"] in TRANSFER_POOLS:
                for number in sorted({int(text) for text in row["ports"].split("-")}):
                    yield Target(host["name"], host["address"], number, row["for"], row["for"]), sources


def _sources(service: Record, port: Record, users: _Users) -> set[str]:
    """Hosts that connect to a port of a service."""
    kind, name = service["kind"], port["name"]
    if kind == "router":
        return users.of("frontend", "balancer") if name == "api" else set()
    if kind == "balancer":
        return users.of("frontend") if name == "api" else set()
    if kind == "etcd":
        return users.of("etcd") if name == "peer" else users.of("mooncake_master", *ENGINE_KINDS)
    if kind not in ENGINE_KINDS:  # the store's master and its metadata services
        return users.of(*ENGINE_KINDS) if kind != "frontend" and name != "metrics" else set()
    if name == "api":
        return users.of("router")
    if name in HANDOVER:
        return users.of(OPPOSITE.get(kind, ""), *(["router"] if name == "bootstrap" else []))
    return users.instances[kind, service["instance"]] if name in INSTANCE else set()


def _spread(items: list[t.Any], most: int, shift: int) -> list[t.Any]:
    """At most ``most`` items, evenly spaced; a different ``shift`` for each host makes all hosts cover all items together."""
    if len(items) <= most:
        return items
    step = len(items) / most
    return [items[(int(number * step) + shift) % len(items)] for number in range(most)]


def entry(plan: Record) -> Target | None:
    """The port that clients connect to: the frontend's API, else the balancer's, else the router's; None if the plan has none."""
    for kind in ("frontend", "balancer", "router"):
        for service in plan["services"]:
            for port in service["ports"] if service["kind"] == kind else []:
                if port["name"] == "api":
                    return Target(
                        service["host"], service["address"], port["first"], f"{service['name']} api", "api", "http"
                    )
    return None


def port_probes(
    plan: Record, facts: t.Mapping[str, Record], mode: str = "listen", left_out: t.Collection[str] = ()
) -> dict[str, dict[str, t.Any]]:
    """For each host the options of the module port_probe: ``{address, listen: [ports], sources: [names], peers: [{name, address, ports}]}``.

    ``sources`` connect to one of the ports in ``listen`` at least.
    Hosts without facts are left out. The key ``localhost`` has the controller's own connection. A port that is in use on its host
    gets no listener. Of a running service only ports that serve clients at any time are connected to. A host connects to one of
    its own ports, too, to see whether its listener runs. Raises ValueError for an unknown ``mode``.
    """
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; known modes: {', '.join(MODES)}")
    if mode == "none" or plan["runtime_facts"]["in_cluster"]:
        return {}
    case = Observed(plan, facts, left_out=frozenset(left_out))
    taken = {host["name"]: _taken(found) for host, found in case.gathered("host")}
    wanted = planned_connections(plan, left_out)[0]
    addresses = {host["name"]: host["address"] for host in plan["hosts"]}
    probes: dict[str, dict[str, t.Any]] = {name: {"listen": set(), "peers": {}} for name in taken}
    clients = entry(plan)
    if clients:
        probes["localhost"] = {"listen": set(), "peers": {}}
        wanted = {**wanted, "localhost": {clients.host: [clients]}}
    for source, targets in wanted.items():
        for target in (item for items in targets.values() for item in items):
            free = target.port not in taken.get(target.host, ())
            if source not in probes or target.host not in taken or not (free or _serves_anyone(target)):
                continue
            probes[source]["peers"].setdefault((target.host, target.address), set()).add(target.port)
            if free and mode == "listen" and target.address == addresses[target.host]:
                probes[target.host]["listen"].add(target.port)
    for name, probe in probes.items():
        if probe["listen"]:
            probe["peers"].setdefault((name, addresses[name]), set()).add(min(probe["listen"]))
    sources = _sources_of(probes)
    return {
        name: {"address": addresses.get(name, ""), "sources": sorted(sources.get(name, ())), **_options(probe)}
        for name, probe in probes.items()
        if probe["peers"]
    }


def _sources_of(probes: t.Mapping[str, dict[str, t.Any]]) -> dict[str, set[str]]:
    """Names of those that connect to a listener, by its host."""
    sources: dict[str, set[str]] = {}
    for source, probe in probes.items():
        for (host, _address), ports in probe["peers"].items():
            if probes[host]["listen"] & ports:
                sources.setdefault(host, set()).add(source)
    return sources


def still_listening(probes: t.Mapping[str, Record], results: t.Mapping[str, Record]) -> list[str]:
    """Hosts whose listener has not heard from all its sources, so that it has to be stopped.

    ``results`` maps a host to ``{listen, connect, controller}``, the results of port_probe; the controller's are of the source ``localhost``.
    """
    done = {host: set((found.get("connect") or {}).get("done") or ()) for host, found in results.items()}
    done["localhost"] = set().union(*((found.get("controller") or {}).get("done") or () for found in results.values()))
    sources = {
        host: probes.get(host, {}).get("sources") or [None] for host in results
    }  # without one, nobody tells that it can end
    return [
        host
        for host, found in results.items()
        if (found.get("listen") or {}).get("listening")
        and any(host not in done.get(source, ()) for source in sources[host])
    ]


def _taken(facts: Record) -> set[int]:
    return {int(socket["port"]) for socket in facts.get("listening") or []}


def _serves_anyone(target: Target) -> bool:
    return target.protocol != "tcp" or target.name in KNOCKED_WHILE_RUNNING


def _options(probe: Record) -> dict[str, t.Any]:
    return {
        "listen": sorted(probe["listen"]),
        "peers": [
            {"name": name, "address": address, "ports": sorted(ports)}
            for (name, address), ports in sorted(probe["peers"].items())
        ],
    }
