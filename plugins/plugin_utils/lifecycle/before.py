# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs as it is deployed and is planned elsewhere or not at all, and which services stop before others start."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]
Pending = t.Mapping[str, t.Mapping[str, t.Any]]
Key = tuple[str, int]  # kind and number of an instance
FRONTS = ("frontend", "balancer", "router")  # the first of them that is planned is the clients' entry


def instances_of(services: t.Iterable[Service]) -> dict[Key, set[str]]:
    """Names of the services of each instance."""
    found: dict[Key, set[str]] = {}
    for service in services:
        if service["kind"] in ENGINE_KINDS:
            found.setdefault((service["kind"], service["instance"]), set()).add(service["name"])
    return found


def elsewhere(plan: Plan, deployed: Plan, pending: Pending) -> dict[str, Service]:
    """The deployed services that run, as far as is known, and that the plan does not have or has on another host, by name.

    Hosts that ``pending`` does not have are not asked, because the plan does not have them: their services count as running.
    """
    hosts = {service["name"]: service["host"] for service in plan["services"]}
    return {
        service["name"]: service
        for service in deployed.get("services", ())
        if hosts.get(service["name"]) != service["host"] and known_to_run(service, pending) is not False
    }


def known_to_run(service: Service, pending: Pending) -> bool | None:
    """Whether a deployed service that is not planned on its host runs there; None if nobody asked."""
    others = pending.get(service["host"], {}).get("other")
    return None if others is None else service["unit"] in others


def old_instances(
    plan: Plan, deployed: Plan, gone: t.Mapping[str, Service], down: t.Collection[str]
) -> dict[Key, set[str]]:
    """Instances that run as deployed and that the plan does not have, or has with a process elsewhere: they serve until all others have changed.

    ``gone``: the result of `elsewhere`.
    """
    planned = {service["name"]: service["host"] for service in plan["services"]}
    found = {}
    for key, names in instances_of(deployed.get("services", ())).items():
        hosts = {service["name"]: service["host"] for service in deployed["services"] if service["name"] in names}
        here = {name for name in names if planned.get(name) == hosts[name]}
        if here != names and names - here <= set(gone) and not here & set(down):
            found[key] = names
    return found


def moved_entry(plan: Plan, deployed: Plan, pending: Pending) -> tuple[str, bool | None]:
    """The clients' entry if it runs on another host than planned, and whether that is known; ("", None) if it stays.

    With a virtual address clients do not see where the balancers are.
    """
    if virtual_address(plan) and virtual_address(plan) == virtual_address(deployed):
        return "", None
    planned = {service["name"]: service for service in plan["services"]}
    kinds = {service["kind"] for service in plan["services"]}
    kind = next((kind for kind in FRONTS if kind in kinds), "")
    for name, service in elsewhere(plan, deployed, pending).items():
        if service["kind"] == kind and service["instance"] == 0 and name in planned:
            return name, known_to_run(service, pending)
    return "", None


def entry_urls(plan: Plan, deployed: Plan) -> tuple[str, str, str]:
    """The clients' entry if its URL changes where it is, and this URL as deployed and as planned; three empty texts if it does not."""
    before, after = ((each.get("verify") or {}).get("entry") or {} for each in (deployed, plan))
    same = all(before.get(key) == after.get(key) for key in ("name", "host"))
    if not same or not before.get("url") or not after.get("url") or before["url"] == after["url"]:
        return "", "", ""
    return after["name"], before["url"], after["url"]


def virtual_address(plan: Plan) -> str:
    """The virtual address of the clients' entry; empty without one."""
    return str((plan.get("virtual_address") or {}).get("address") or "")


def lost_address(plan: Plan, deployed: Plan) -> str:
    """The virtual address that clients use and that the plan does not have; empty if they can go on with theirs."""
    before = virtual_address(deployed)
    return before if before != virtual_address(plan) else ""


def removed_entry(plan: Plan, deployed: Plan, pending: Pending) -> tuple[str, bool | None]:
    """The clients' entry if the plan has none of its kind, and whether it is known to run; ("", None) if it stays, moves, or does not run."""
    before = {service["kind"] for service in deployed.get("services", ())}
    kind = next((kind for kind in FRONTS if kind in before), "")
    if kind not in {service["kind"] for service in plan["services"]}:
        for name, service in elsewhere(plan, deployed, pending).items():
            if service["kind"] == kind and service["instance"] == 0:
                return name, known_to_run(service, pending)
    return "", None


def taken_from(plan: Plan, deployed: Plan, pending: Pending, down: t.Collection[str]) -> dict[str, dict[str, set[str]]]:
    """{host: {running service: the other services that get its NPUs or ports}}."""
    takers: dict[tuple[str, str], set[str]] = {}
    for service in plan["services"]:
        for used in _used(service):
            takers.setdefault((service["host"], used), set()).add(service["name"])
    planned = {service["name"]: service["host"] for service in plan["services"]}
    gone = elsewhere(plan, deployed, pending)
    found: dict[str, dict[str, set[str]]] = {}
    for service in deployed.get("services", ()):
        name, host = service["name"], service["host"]
        runs = name not in down if planned.get(name) == host else name in gone
        new = {taker for used in _used(service) for taker in takers.get((host, used), ())} - {name}
        if runs and new:
            found.setdefault(host, {})[name] = new
    return found


def _used(service: Service) -> t.Iterator[str]:
    """What two services of a host cannot have at once: NPUs and ports."""
    for device in service["devices"]:
        yield f"npu {device}"
    for ports in service["ports"]:
        for port in range(ports["first"], ports["first"] + ports["count"]):
            yield f"port {port}"


def torn(plan: Plan, outdated: t.Collection[str], gone: t.Mapping[str, Service]) -> set[str]:
    """Names of engines whose other processes run on hosts where the plan has none of them: the instance starts anew as a whole."""
    found: set[str] = set()
    for names in instances_of(plan["services"]).values():
        if names & set(gone) and names & set(outdated):
            found |= names
    return found


def leftovers(plan: Plan, gone: t.Mapping[str, Service], old: t.Container[Key]) -> set[str]:
    """Names of processes that run elsewhere than planned, of instances that have others where they were and no longer serve as a whole.

    ``old``: the result of `old_instances`. A process that is left over would look for its peers, and find the new ones.
    """
    return {
        name
        for key, names in instances_of(plan["services"]).items()
        if key not in old and names - set(gone)
        for name in names & set(gone)
    }


def orphaned(names: t.Collection[str], plan: Plan, gone: t.Mapping[str, Service]) -> dict[str, list[str]]:
    """{host: names of those that run there}, only hosts that the plan does not have."""
    hosts = {host["name"] for host in plan["hosts"]}
    found: dict[str, list[str]] = {}
    for name in sorted(set(names) & set(gone)):
        if gone[name]["host"] not in hosts:
            found.setdefault(gone[name]["host"], []).append(name)
    return found


def whole(names: t.Collection[str], deployed: Plan) -> set[str]:
    """``names`` with all services of their instances."""
    every = instances_of(deployed.get("services", ()))
    return {*names, *(name for group in every.values() if group & set(names) for name in group)}


def by_host(
    names: t.Collection[str], plan: Plan, deployed: Plan, gone: t.Mapping[str, Service], down: t.Collection[str]
) -> dict[str, list[str]]:
    """{host: names of those that run there}, only hosts of the plan."""
    hosts = {host["name"] for host in plan["hosts"]}
    planned = {service["name"]: service["host"] for service in plan["services"]}
    found: dict[str, set[str]] = {}
    for service in deployed.get("services", ()):
        name, host = service["name"], service["host"]
        runs = name in gone or (planned.get(name) == host and name not in down)
        if name in names and host in hosts and runs:
            found.setdefault(host, set()).add(name)
    return {host: sorted(found[host]) for host in sorted(found)}


def engines_as_deployed(names: t.Collection[str], deployed: Plan) -> list[dict[str, t.Any]]:
    """The APIs of deployed engines as the routers have them: [{name, kind, url}]."""
    return [dict(engine) for engine in (deployed.get("members") or {}).get("engines", ()) if engine["name"] in names]
