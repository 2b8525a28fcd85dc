# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of a deployment: the path of requests and KV cache, then all hosts with their devices, as data for a template."""

from __future__ import annotations

import itertools
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import spans
from ..description.values import natural, read_json
from .plan_table import count

Plan = t.Mapping[str, t.Any]
Step = dict[str, t.Any]  # what the template shows in one place
FRONTS = {"frontend": "HAProxy", "balancer": "HAProxy"}
TITLES = {
    "encode": "Encode",
    "prefill": "Prefill",
    "decode": "Decode",
    "colocated": "Prefill and decode, colocated",
    "other": "Other services",
}


def picture(plan: Plan, states: t.Mapping[str, str] | None = None) -> Step:
    """The steps of a request, the store, and the pools with their hosts. ``states``: what services do, by their names, where it is known."""
    groups = by_kind(plan)
    known = states or {}
    pools = [_pool_hosts(plan, kind, services, known) for kind, services in groups.items()]
    return {"flow": _flow(plan, groups), "store": _store(groups), "pools": pools}


def by_kind(plan: Plan) -> dict[str, list[Plan]]:
    """The services by kind of pool, in the order of a request; all others under ``other``."""
    found: dict[str, list[Plan]] = {}
    for service in plan["services"]:
        found.setdefault(kind_of(service), []).append(service)
    return {kind: found[kind] for kind in (*ENGINE_KINDS, "other") if kind in found}


def kind_of(service: Plan) -> str:
    """The pool of a service, or ``other``; in a cluster the kind is ``pod:POOL``."""
    kind = service["kind"].rsplit(":", 1)[-1]
    return kind if kind in ENGINE_KINDS else "other"


def connectors(services: t.Iterable[Plan]) -> list[str]:
    """The KV connectors in the services' command lines, without duplicates."""
    found: dict[str, None] = {}
    for service in services:
        for option, value in itertools.pairwise(service["argv"]):
            if option == "--kv-transfer-config":
                for name in _connector_names(value):
                    found[name] = None
    return list(found)


def _connector_names(value: str) -> t.Iterator[str]:
    """The connector of a kv-transfer-config, or those that a MultiConnector combines."""
    config = read_json(value)
    if not isinstance(config, dict):
        return
    children = config.get("kv_connector_extra_config", {}).get("connectors", [])
    for connector in children or [config]:
        yield str(connector.get("kv_connector", ""))


def _flow(plan: Plan, groups: t.Mapping[str, list[Plan]]) -> list[Step]:
    """Boxes for client, entry and pools with an arrow for each hop."""
    steps, others = [_box("Clients", kind="")], groups.get("other", [])
    fronts = [item for wanted in ("frontend", "balancer", "router") for item in others if item["kind"].endswith(wanted)]
    virtual = plan.get("virtual_address")
    if virtual:
        hosts = ", ".join(row["host"] for row in virtual["hosts"])
        steps += [_arrow("HTTP"), _box(virtual["address"], "keepalived", f"on one of {hosts}")]
    for service in fronts:
        api = next((port for port in service["ports"] if port["name"] == "api"), None)
        place = f"{service['host']}{':' + str(api['first']) if api else ''}"
        steps += [_arrow("HTTP"), _box(service["name"], FRONTS.get(service["kind"]) or _flavour(plan), place)]
    previous = ""
    for kind in (name for name in ENGINE_KINDS if name in groups):
        transfer = " + ".join(connectors(groups[kind])) or "no connector"
        steps += [_arrow(f"KV cache: {transfer}", "kv")] if previous == "prefill" else []
        steps += [_arrow("encoder output" if previous else "HTTP")] if previous != "prefill" else []
        steps.append(_pool(kind, groups[kind]))
        previous = kind
    return steps


def _flavour(plan: Plan) -> str:
    """What the router is; behind a frontend or a balancer the entry is not the router."""
    if any(service["kind"] in FRONTS for service in plan["services"]):
        return str(plan["software"]["router"]["flavour"])
    return str(plan["verify"].get("entry", {}).get("kind", ""))


def _arrow(label: str, kind: str = "") -> Step:
    return {"arrow": label, "kind": kind}


def _box(title: str, line: str = "", place: str = "", kind: str = "other") -> Step:
    return {"title": title, "line": line, "place": place, "kind": kind}


def _pool(kind: str, services: t.Sequence[Plan]) -> Step:
    """The box of one pool: instances, processes, devices, hosts."""
    instances = len({service["instance"] for service in services})
    devices = sum(len(service["devices"]) for service in services)
    shown = [count(range(instances), "instance"), count(services, "process", "es")]
    shown += [count(range(devices), "NPU")] if devices else []
    hosts = sorted({service["host"] for service in services}, key=natural)
    where = ", ".join(hosts) if len(hosts) <= 4 else f"{hosts[0]} … {hosts[-1]} ({len(hosts)} hosts)"
    return _box(TITLES[kind], ", ".join(shown), where, kind)


def _store(groups: t.Mapping[str, list[Plan]]) -> Step | None:
    """The services that keep the metadata of a store, and which pools share it."""
    keepers = [
        service
        for service in groups.get("other", [])
        if not service["kind"].endswith(("router", "balancer", "frontend", "probe"))
    ]
    if not keepers:
        return None
    users = [TITLES[kind].lower() for kind in groups if any("Store" in name for name in connectors(groups[kind]))]
    names = ", ".join(f"{service['name']} on {service['host']}" for service in keepers)
    return {"names": names, "users": " and ".join(users)}


def _pool_hosts(plan: Plan, kind: str, services: t.Sequence[Plan], states: t.Mapping[str, str]) -> Step:
    """One card for each host that runs services of this kind."""
    records = {host["name"]: host for host in plan["hosts"]}
    cards = []
    for name in sorted({service["host"] for service in services}, key=natural):
        own = [service for service in services if service["host"] == name]
        record = records.get(name, {})
        devices = _devices(record, plan["services"], kind) if kind != "other" else []
        labels = [_label(group, states) for group in same_instance(own)]
        cards.append({"name": name, "address": record.get("address", ""), "devices": devices, "services": labels})
    return {"title": TITLES[kind], "kind": kind, "hosts": cards}


def state_style(state: str) -> str:
    """The style of what a service does, as ``state_text`` says it."""
    return "ok" if state.startswith("running") and "silent" not in state else "error"


def same_instance(services: t.Sequence[Plan]) -> list[list[Plan]]:
    """The processes of each instance on each host, grouped."""
    groups = itertools.groupby(services, key=lambda item: (item["host"], item["kind"], item["instance"]))
    return [list(group) for dummy, group in groups]


def _label(services: t.Sequence[Plan], states: t.Mapping[str, str]) -> Step:
    """The name of a service, or the first and last of those of one instance; the ports of their APIs; the states that are not all the same good one."""
    first, last = services[0]["name"], services[-1]["name"]
    apis = spans({port["first"] for service in services for port in service["ports"] if port["name"] == "api"})
    found = sorted({states[service["name"]] for service in services if service["name"] in states})
    return {
        "name": first if first == last else f"{first} … {last}",
        "ports": apis,
        "states": [(state, state_style(state)) for state in found],
    }


def _devices(record: Plan, services: t.Sequence[Plan], kind: str) -> list[Step]:
    """A cell for each device of the host; this pool's in its colour, every second instance darker."""
    here = [service for service in services if service["host"] == record.get("name")]
    owners = {device: service for service in here for device in service["devices"]}
    return [_device(device, owners.get(device), kind) for device in record.get("devices", [])]


def _device(device: int, owner: Plan | None, kind: str) -> Step:
    own = owner is not None and kind_of(owner) == kind
    style = ("used odd" if owner["instance"] % 2 else "used") if owner and own else ""
    return {"id": device, "owner": owner["name"] if owner else "not used", "style": style}
