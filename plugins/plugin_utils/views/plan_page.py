# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as one self-contained HTML page: the path of requests and KV cache, then all hosts with their devices.

The page depends only on the plan and loads nothing. All values of the plan are escaped.
"""

from __future__ import annotations

import itertools
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.values import natural, read_json
from ..hosts.page import escaped, whole_page
from .plan_table import count, spans

Plan = t.Mapping[str, t.Any]
FRONTS = {"frontend": "nginx", "balancer": "HAProxy"}
TITLES = {
    "encode": "Encode",
    "prefill": "Prefill",
    "decode": "Decode",
    "colocated": "Prefill and decode, colocated",
    "other": "Other services",
}
STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --prefill: #2f7ed8; --decode: #2e9e5b; --encode: #c77c11;
  --colocated: #8a5cc7; --other: #667; }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 86rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; } p { margin: .3rem 0; }
small { opacity: .75; } ul { margin: 0; padding-left: 1.1rem; }
.flow { display: flex; align-items: stretch; margin: 1.2rem 0; }
.box { border: 1px solid var(--line); border-top: 5px solid var(--other); border-radius: 8px; padding: .5rem .8rem;
  overflow-wrap: break-word; }
.box b, .box span, .box small { display: block; } .box small { overflow-wrap: anywhere; }
.prefill { --own: var(--prefill); } .decode { --own: var(--decode); } .encode { --own: var(--encode); }
.colocated { --own: var(--colocated); } .other { --own: var(--other); } .box[class*=" "] { border-top-color: var(--own); }
.arrow { flex: 1 0 4.5rem; max-width: 12rem; display: flex; flex-direction: column; justify-content: center; text-align: center;
  font-size: .8rem; padding: 0 .3rem; overflow-wrap: anywhere; }
.arrow i { display: block; height: 2px; background: currentColor; margin: .25rem .35rem .25rem 0; position: relative; opacity: .6; }
.arrow i::after { content: ""; position: absolute; right: -.35rem; top: -5px; border: 6px solid transparent; border-left: 9px solid; border-right: 0; }
.arrow.kv { font-weight: 600; flex-basis: 11rem; max-width: 15rem; } .arrow.kv i { height: 4px; opacity: 1; } .arrow.kv i::after { top: -4px; }
.store { border: 1px dashed var(--line); border-radius: 8px; padding: .5rem .8rem; overflow-wrap: anywhere; }
.hosts { display: grid; grid-template-columns: repeat(auto-fill, minmax(14.5rem, 1fr)); gap: .6rem; align-items: start; }
.host { border: 1px solid var(--line); border-radius: 8px; padding: .5rem .7rem; min-width: 0; overflow-wrap: anywhere; }
.host header { display: flex; justify-content: space-between; gap: .5rem; } .host ul { font-size: .85rem; list-style: none; padding: 0; }
.devices { display: grid; grid-template-columns: repeat(8, 1fr); gap: 3px; margin: .4rem 0; }
.devices span { border-radius: 4px; background: var(--soft); font-size: .7rem; text-align: center; line-height: 1.5rem; }
.devices .used { background: var(--own); color: #fff; } .devices .odd { background: color-mix(in srgb, var(--own) 72%, #000); }
table { border-collapse: collapse; font-size: .85rem; } td, th { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--soft);
  vertical-align: top; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } .error { color: #cf3030; } summary { cursor: pointer; }
@media print { body { font-size: 11px; } .scroll { overflow: visible; } * { print-color-adjust: exact; } .host, tr { break-inside: avoid; } }
@media (max-width: 44rem) {
  .flow { flex-direction: column; } .arrow, .arrow.kv { flex: none; max-width: none; flex-direction: row; align-items: center; gap: .6rem;
    justify-content: flex-start; padding: .3rem 1rem; }
  .arrow i, .arrow.kv i { width: 2px; height: 1.8rem; margin: 0 0 .4rem; order: -1; } .arrow.kv i { width: 4px; }
  .arrow i::after, .arrow.kv i::after { top: auto; bottom: -.4rem; right: auto; left: 50%; margin-left: -6px; border: 6px solid transparent;
    border-top: 9px solid; border-bottom: 0; }
}
"""


def plan_page(plan: Plan) -> str:
    """The page's text."""
    title = f"Plan of {plan['deployment']}"
    groups = by_kind(plan)
    body = [
        f"<h1>{escaped(title)}</h1>",
        f"<p>{escaped(plan['model']['name'])}, release {escaped(plan['release'])}, {escaped(plan['engine'])} on {escaped(plan['runtime'])}; "
        f"{count(plan['hosts'], 'host')}, {count(plan['services'], 'service')}</p>",
        _flow(plan, groups),
        *(_hosts(plan, kind, services) for kind, services in groups.items()),
        _services(plan),
        _findings(plan),
    ]
    return whole_page(title, STYLE, "\n" + "\n".join(part for part in body if part) + "\n")


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


def _flow(plan: Plan, groups: t.Mapping[str, list[Plan]]) -> str:
    """Boxes for client, entry and pools with an arrow for each hop, and the store below."""
    parts, others = ['<div class="box"><b>Clients</b></div>'], groups.get("other", [])
    fronts = [item for wanted in ("frontend", "balancer", "router") for item in others if item["kind"].endswith(wanted)]
    virtual = plan.get("virtual_address")
    if virtual:
        parts += [_arrow("HTTP"), f'<div class="box other"><b>{escaped(virtual["address"])}</b><span>keepalived</span>']
        parts.append(f"<small>on one of {escaped(', '.join(row['host'] for row in virtual['hosts']))}</small></div>")
    for service in fronts:
        api = next((port for port in service["ports"] if port["name"] == "api"), None)
        place = f"{service['host']}{':' + str(api['first']) if api else ''}"
        kind = FRONTS.get(service["kind"]) or _flavour(plan)
        parts += [
            _arrow("HTTP"),
            f'<div class="box other"><b>{escaped(service["name"])}</b><span>{escaped(kind)}</span>',
        ]
        parts.append(f"<small>{escaped(place)}</small></div>")
    previous = ""
    for kind in (name for name in ENGINE_KINDS if name in groups):
        transfer = " + ".join(connectors(groups[kind])) or "no connector"
        parts.append(
            _arrow("KV cache: " + transfer, "kv")
            if previous == "prefill"
            else _arrow("encoder output" if previous else "HTTP")
        )
        parts.append(_pool(kind, groups[kind]))
        previous = kind
    return f'<div class="flow">{"".join(parts)}</div>{_store(groups)}'


def _flavour(plan: Plan) -> str:
    """What the router is; behind a frontend or a balancer the entry is not the router."""
    if any(service["kind"] == "balancer" for service in plan["services"]):
        return str(plan["software"]["router"]["flavour"])
    return str(plan["verify"].get("entry", {}).get("kind", ""))


def _arrow(label: str, kind: str = "") -> str:
    return f'<div class="arrow {kind}"><span>{escaped(label)}</span><i></i></div>'


def _pool(kind: str, services: t.Sequence[Plan]) -> str:
    """The box of one pool: instances, processes, devices, hosts."""
    instances = len({service["instance"] for service in services})
    devices = sum(len(service["devices"]) for service in services)
    shown = [count(range(instances), "instance"), count(services, "process", "es")]
    shown += [count(range(devices), "NPU")] if devices else []
    hosts = sorted({service["host"] for service in services}, key=natural)
    where = ", ".join(hosts) if len(hosts) <= 4 else f"{hosts[0]} … {hosts[-1]} ({len(hosts)} hosts)"
    return f'<div class="box {kind}"><b>{escaped(TITLES[kind])}</b><span>{", ".join(shown)}</span><small>{escaped(where)}</small></div>'


def _store(groups: t.Mapping[str, list[Plan]]) -> str:
    metadata_services = [
        service
        for service in groups.get("other", [])
        if not service["kind"].endswith(("router", "balancer", "frontend", "probe"))
    ]
    if not metadata_services:
        return ""
    names = ", ".join(f"{service['name']} on {service['host']}" for service in metadata_services)
    users = [TITLES[kind].lower() for kind in groups if any("Store" in name for name in connectors(groups[kind]))]
    shared = f"; shared by {' and '.join(users)}" if users else ""
    return f'<p class="store"><b>KV store</b> in host memory, metadata by {escaped(names)}{escaped(shared)}</p>'


def _hosts(plan: Plan, kind: str, services: t.Sequence[Plan]) -> str:
    """One card for each host that runs services of this kind."""
    records = {host["name"]: host for host in plan["hosts"]}
    cards = []
    for name in sorted({service["host"] for service in services}, key=natural):
        own = [service for service in services if service["host"] == name]
        record = records.get(name, {})
        address = f"<small>{escaped(record['address'])}</small>" if record else ""
        lines = "".join(f"<li>{_label(group)}</li>" for group in same_instance(own))
        devices = _devices(record, plan["services"], kind) if kind != "other" else ""
        cards.append(
            f'<div class="host"><header><b>{escaped(name)}</b>{address}</header>{devices}<ul>{lines}</ul></div>'
        )
    return f'<h2>{escaped(TITLES[kind])}</h2><div class="hosts {kind}">{"".join(cards)}</div>'


def same_instance(services: t.Sequence[Plan]) -> list[list[Plan]]:
    """The processes of each instance on each host, grouped."""
    groups = itertools.groupby(services, key=lambda item: (item["host"], item["kind"], item["instance"]))
    return [list(group) for dummy, group in groups]


def _label(services: t.Sequence[Plan]) -> str:
    """The name of a service, or the first and last of those of one instance, with the ports of their APIs."""
    first, last = services[0]["name"], services[-1]["name"]
    apis = spans({port["first"] for service in services for port in service["ports"] if port["name"] == "api"})
    return escaped(first if first == last else f"{first} … {last}") + (
        f" <small>port {escaped(apis)}</small>" if apis else ""
    )


def _devices(record: Plan, services: t.Sequence[Plan], kind: str) -> str:
    """A cell for each device of the host; this pool's in its colour, every second instance darker."""
    owners = {
        device: service
        for service in services
        if service["host"] == record.get("name")
        for device in service["devices"]
    }
    cells = []
    for device in record.get("devices", []):
        owner = owners.get(device)
        if owner is None or kind_of(owner) != kind:
            cells.append(f'<span title="{escaped(owner["name"] if owner else "not used")}">{device}</span>')
        else:
            shade = " odd" if owner["instance"] % 2 else ""
            cells.append(f'<span class="used{shade}" title="{escaped(owner["name"])}">{device}</span>')
    return f'<div class="devices">{"".join(cells)}</div>' if cells else ""


def _services(plan: Plan) -> str:
    """Every service with its ports, collapsed."""
    rows = []
    for service in plan["services"]:
        ports = ", ".join(
            f"{port['name']} {spans(range(port['first'], port['first'] + port['count']))}" for port in service["ports"]
        )
        cells = (service["name"], service["host"], spans(service["devices"]), ports)
        rows.append("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in cells) + "</tr>")
    head = "<tr><th>Service</th><th>Host</th><th>Devices</th><th>Ports</th></tr>"
    return (
        f"<h2>Services and ports</h2><details><summary>{count(plan['services'], 'service')}</summary>"
        f'<div class="scroll"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div></details>'
    )


def _findings(plan: Plan) -> str:
    if not plan["findings"]:
        return ""
    items = "".join(
        f"<li><b>{escaped(item['severity'])}</b> {escaped(item['path'])}: {escaped(item['problem'])} <small>{escaped(item['id'])}</small></li>"
        for item in plan["findings"]
    )
    return f"<h2>Findings</h2><ul>{items}</ul>"
