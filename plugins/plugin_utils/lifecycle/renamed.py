# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that have another name in the inventory than in the deployed plan. Their services stay: no name of a host is in what a service runs with."""

from __future__ import annotations

import typing as t

Plan = t.Mapping[str, t.Any]
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
