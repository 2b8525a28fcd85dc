# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two hosts of an entry: what they cannot be, and how keepalived keeps the address on one of them."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..plan.render import virtual_address
from .settings import Entry

NUMBERS = ("one", "two")  # the hosts in the order of their group, as the programs name them
NAME = "_entry"  # of the address on its hosts; no deployment has this name
ALIVE = "/alive"  # the page that keepalived asks for: whether any model has a router that answers
MOST = len(NUMBERS)


@dataclass(frozen=True)
class Member:
    """One host of an entry: ``number`` as NUMBERS has it, and its address, which counts only beside a second host."""

    number: str
    address: str


@dataclass(frozen=True)
class Pair:
    """The host whose files are made, and the other one, None if it is alone."""

    own: Member
    other: Member | None


def pair_of(hosts: t.Mapping[str, str], host: str) -> Pair:
    """``hosts``: addresses by the names of the inventory group, one or two; ``host``: the one whose files are made."""
    members = {name: Member(number, hosts[name]) for name, number in zip(hosts, NUMBERS, strict=False)}
    return Pair(members[host], next((member for name, member in members.items() if name != host), None))


def own_address(entry: Entry, pair: Pair) -> str:
    """Where the host is asked itself: alone it has the clients' address."""
    return pair.own.address if pair.other else entry.address


def impossible_pair(entry: Entry, hosts: t.Mapping[str, str]) -> t.Iterator[tuple[str, str, str]]:
    """What of two hosts cannot work: where, what is wrong, and how to fix it. Nothing for one host."""
    if len(hosts) < MOST:
        return
    virtual = virtual_address.ip_of(entry.address)
    for name, address in hosts.items():
        own = virtual_address.ip_of(address)
        if own is None or (virtual and own.version != virtual.version):
            problem = (
                f"the host {name} has the address {address}, which is no IP address of the family of {entry.address}"
            )
            yield "", problem, f"Set inference_address of {name} to its IP address."
    if len(set(hosts.values())) < len(hosts):
        yield "", "both hosts of the group entry have the same address", "Set inference_address of each to its own."
    problem = entry.address and virtual_address.unmovable(entry.address, hosts)
    if problem:
        fix = "Write an unused IP address of the hosts' network, which keepalived puts on one of the two hosts."
        yield ".address", problem, fix


def kept_address(entry: Entry, pair: Pair, name: str) -> dict[str, t.Any]:
    """What the role virtual_address reads as a plan on the host ``name``: its section is empty if one host has the entry."""
    if not pair.other or entry.state == "absent":
        return {"deployment": NAME, "virtual_address": {}}
    kept = virtual_address.Kept(NAME, entry.address, entry.virtual_router_id, entry.virtual_interface)
    page = virtual_address.Page("127.0.0.1", entry.status_port, ALIVE)
    texts = virtual_address.keeper_texts(kept, pair.own.address, pair.other.address, page)
    section = {
        "address": entry.address,
        "virtual": virtual_address.with_length(entry.address),
        "port": entry.port,
        "interface": entry.virtual_interface,
        "program": virtual_address.PROGRAM,
        "variable": "inference_entry.address",
        "hosts": [{"host": name, "address": pair.own.address, **texts}],
    }
    return {"deployment": NAME, "virtual_address": section}
