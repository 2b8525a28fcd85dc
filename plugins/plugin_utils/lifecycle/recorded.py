# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorded plan as it is now: hosts may have other names in the inventory, and runs that were killed, or hosts that died, changed what runs.

A machine with another name keeps its services: no name of a host is in what a service runs with.
"""

from __future__ import annotations

import typing as t
from urllib.parse import urlsplit

from ..description.values import natural
from .before import Pending, Plan, whole

Runs = t.Mapping[str, t.Mapping[str, t.Any]]
TEXT = "~ host {old} is called {new} now (same address, {address}): its services stay"


def renamed(plan: Plan, deployed: Plan, runs: Runs) -> dict[str, str]:
    """{name in the deployed plan: name in ``plan``} of hosts that only one of them has, and that have the same address.

    ``runs``: {host of ``plan``: what service_state found there}. If all planned services of a host are down, another machine may have the address.
    """
    before, now = (_named(each) for each in (deployed, plan))
    fresh = {address: name for address, name in now.items() if name not in before.values()}
    gone = {address: name for address, name in before.items() if name not in now.values()}
    return {
        name: fresh[address]
        for address, name in gone.items()
        if address in fresh and _serves(fresh[address], plan, runs)
    }


def as_renamed(deployed: Plan, names: t.Mapping[str, str]) -> dict[str, t.Any]:
    """The deployed plan with these names of hosts in what a change reads of it."""
    if not names:
        return dict(deployed)
    return {
        **deployed,
        "hosts": [{**host, "name": names.get(host["name"], host["name"])} for host in deployed["hosts"]],
        "services": [
            {**each, "host": names.get(each["host"], each["host"]), **_peers(each, names)}
            for each in deployed["services"]
        ],
    }


def lines(plan: Plan, names: t.Mapping[str, str]) -> list[str]:
    """What plan_diff says of hosts that have other names."""
    addresses = {host["name"]: host["address"] for host in plan["hosts"]}
    return [TEXT.format(old=old, new=new, address=addresses[new]) for old, new in names.items()]


def _named(plan: Plan) -> dict[str, str]:
    """{address: name} of hosts that have an address of their own."""
    rows = [
        (host["address"], host["name"]) for host in plan.get("hosts", ()) if host.get("address")
    ]  # other versions may have none
    every = [address for address, _name in rows]
    return {address: name for address, name in rows if every.count(address) == 1}


def _serves(host: str, plan: Plan, runs: Runs) -> bool:
    down = (runs.get(host) or {}).get("down")
    names = {service["name"] for service in plan["services"] if service["host"] == host}
    return not names or not isinstance(down, list) or not names <= set(map(str, down))


def _peers(service: Plan, names: t.Mapping[str, str]) -> dict[str, t.Any]:
    peers = service.get("peers")
    return {"peers": [names.get(peer, peer) for peer in peers]} if peers else {}


def listed_by(results: t.Iterable[t.Any]) -> dict[str, list[str]]:
    """{pool: [url]} of all routers, from results of the module router_members; one that failed or did not run has no list."""
    found: dict[str, list[str]] = {}
    for result in results:
        for kind, urls in ((result or {}).get("before") or {}).items():
            found.setdefault(kind, []).extend(urls)
    return found


def as_listed(deployed: Plan, plan: Plan, listed: t.Mapping[str, t.Collection[str]]) -> Plan:
    """The deployed plan with the URLs under which routers have its engines, after a run that gave them other ports was killed before it was recorded.

    ``listed``: {pool: [url]} of the routers that answer. A URL that neither plan has belongs to an engine of its pool and host, first to one that is
    listed under none of its own; of several, to the first one by name and port, because they are changed in this order. An engine that is listed
    under several URLs has an entry for each: which of them answers is not known.
    """
    engines = (deployed.get("members") or {}).get("engines", ())
    planned = (plan.get("members") or {}).get("engines", ())
    known = {engine["url"] for engine in (*engines, *planned)}
    stray = {
        kind: sorted({url for url in urls if url not in known and _port(url)}, key=_port)
        for kind, urls in listed.items()
    }
    here = {url for urls in listed.values() for url in urls}
    own = {
        name: {engine["url"] for engine in (*engines, *planned) if engine["name"] == name} for name in _names(engines)
    }
    deployed_urls = {engine["url"] for engine in engines}
    found, twice = {}, []
    # A run that was killed before it was recorded changed these; of other URLs another engine may have been deployed with it.
    for engine in planned:
        listed_own = own.get(engine["name"], set()) & here
        if engine["url"] in listed_own and engine["url"] not in deployed_urls:
            if listed_own == {engine["url"]}:
                found[engine["name"]] = engine["url"]
            else:  # it did not run under the URL that was deployed, which was not taken out
                twice.append(engine)
    # Those without a URL of their own first: sorted() keeps the order by name.
    ordered = sorted(engines, key=lambda engine: natural(engine["name"]))
    for engine in sorted(ordered, key=lambda engine: bool(own[engine["name"]] & here)):
        same = [url for url in stray.get(engine["kind"], ()) if _host(url) == _host(engine["url"])]
        if same:
            stray[engine["kind"]].remove(same[0])
            if (
                own[engine["name"]] & here
            ):  # a run gave it another port and was killed before the router forgot this one
                twice.append({**engine, "url": same[0]})
            else:
                found[engine["name"]] = same[0]
    if not found and not twice:
        return deployed
    changed = [*({**engine, "url": found.get(engine["name"], engine["url"])} for engine in engines), *twice]
    return {**deployed, "members": {**deployed["members"], "engines": changed}}


def as_begun(deployed: Plan, plan: Plan, revisions: t.Iterable[str]) -> Plan:
    """The deployed plan with another revision than ``plan`` if engines may have one, since a change was interrupted that the record does not know.

    ``revisions``: those that engines may have, see module_utils/files/journal.py.
    """
    others = sorted(set(revisions) - {plan.get("revision")})
    return {**deployed, "revision": others[0]} if deployed and others else deployed


def as_running(deployed: Plan, plan: Plan, pending: Pending) -> Plan:
    """The deployed plan with the planned services that run and that it lacks, after a run that added them was killed before it was recorded.

    ``pending``: as `steps` asks of each host. They have their planned NPUs, ports and URLs here: nobody noted those with which they run.
    """
    known = {service["name"] for service in deployed.get("services", ())}
    down = {(host, name) for host, found in pending.items() for name in found["down"]}
    services = [
        service
        for service in plan["services"]
        if service["name"] not in known
        and service["host"] in pending
        and (service["host"], service["name"]) not in down
    ]
    if not deployed or not services:
        return deployed
    members = {"engines": [], **(deployed.get("members") or {})}
    engines = [each for each in (plan.get("members") or {}).get("engines", ()) if each["name"] in _names(services)]
    members = {**members, "engines": [*members["engines"], *engines]} if engines else deployed.get("members")
    return {**deployed, "services": [*deployed["services"], *services], "members": members}


def without_silent(deployed: Plan, plan: Plan, silent: t.Collection[str]) -> Plan:
    """The deployed plan without the services of instances that ended on hosts which the plan does not have: nobody asks those hosts.

    ``silent``: URLs that the routers have, that are not planned, and where nobody answers.
    """
    hosts = {host["name"] for host in plan["hosts"]}
    engines = (deployed.get("members") or {}).get("engines", ())
    names = whole({engine["name"] for engine in engines if engine["url"] in silent}, deployed)
    stay = [each for each in deployed.get("services", ()) if each["name"] not in names or each["host"] in hosts]
    return {**deployed, "services": stay} if names else deployed


def left_out(deployed: Plan, plan: Plan, listed: t.Mapping[str, t.Collection[str]]) -> set[str]:
    """Names of deployed engines that the routers have under none of their URLs; none if no router answers. ``deployed``: the result of `as_listed`."""
    here = {url for urls in listed.values() for url in urls}
    engines = (deployed.get("members") or {}).get("engines", ())
    planned = (plan.get("members") or {}).get("engines", ())
    found = {engine["name"] for engine in (*engines, *planned) if engine["url"] in here}
    return _names(engines) - found if here else set()


def _names(engines: t.Iterable[t.Mapping[str, t.Any]]) -> set[str]:
    return {engine["name"] for engine in engines}


def _host(url: str) -> str:
    return url.rpartition(":")[0]


def _port(url: str) -> int:
    """0 without one: what a router lists may be any text."""
    try:
        return urlsplit(url).port or 0
    except ValueError:
        return 0
