# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The virtual address of the clients' entry: keepalived on the hosts of two balancers keeps it on one of them (VRRP, RFC 5798).

Both hosts have the same priority, and preempt. So the address stays where it is while the balancer there answers, also when the other host
returns, and it leaves when the balancer there does not answer and the other one does. With ``nopreempt`` it would not leave: a host
that has it with a lower priority would keep it. A balancer that does not answer lowers the priority and is no fault of the host, because with
a fault on both hosts none would have the address.
"""

from __future__ import annotations

import ipaddress
import typing as t

from ..deployment import Context
from ..service import Service
from .balancer import NAME, plain_address
from .template import filled

PROGRAM = "/usr/sbin/keepalived"
FOLDER = "/etc/ascend-inference/virtual-address"
INTERFACE = "@INTERFACE@"  # filled in on the host, which knows its interfaces
USER = "nobody"  # runs the script of the health check
PRIORITY, WEIGHT = 100, 50

# Unicast, because many networks drop multicast. Nothing is resolved or mailed.
CONFIGURATION = """# Written by ascend.inference: changes here are lost.
global_defs {
    router_id @NAME@
    enable_script_security
    script_user @USER@
    vrrp_check_unicast_src
}
vrrp_script balancer {
    script "@SCRIPT@"
    user @USER@
    interval 1
    timeout 2
    fall 2
    rise 2
    weight -@WEIGHT@
}
vrrp_instance entry {
    state BACKUP
    interface @INTERFACE@
    virtual_router_id @ID@
    priority @PRIORITY@
    advert_int 1
    unicast_src_ip @OWN@
    unicast_peer {
        @PEER@
    }
    virtual_ipaddress {
        @ADDRESS@ dev @INTERFACE@
    }
    track_script {
        balancer
    }
}
"""
# Bash alone: it is on every host, and one process each second costs little.
SCRIPT = """#!/bin/bash
# Written by ascend.inference: changes here are lost.
# Whether the balancer of this host answers, and sends requests to a router at least.
exec 3<>/dev/tcp/@OWN@/@PORT@ || exit 1
printf 'GET @PATH@ HTTP/1.0\\r\\n\\r\\n' >&3
read -r -t 2 line <&3 && [[ $line == HTTP/*' 200 '* ]]
"""


class Kept(t.NamedTuple):
    """A virtual address: ``name`` is that of the deployment, and of what its hosts have for it; an empty ``interface`` is found on the host."""

    name: str
    virtual: str
    router_id: int
    interface: str


class Page(t.NamedTuple):
    """The page of a host that tells by status 200 that the address may be there."""

    address: str
    port: int
    path: str


def kept_address(context: Context) -> bool:
    """Whether keepalived keeps the clients' address: with a virtual address, where balancers run on hosts."""
    return bool(context.description.router.virtual_address) and context.balanced


def virtual_address_section(context: Context, services: t.Sequence[Service]) -> dict[str, t.Any]:
    """The plan's ``virtual_address``, {} without one:

    ``{address, virtual, port, interface, program, router_id, hosts: [{host, address, service, configuration, script}]}``; ``virtual``: the address with the
    length of its prefix; ``configuration``: keepalived's, in which INTERFACE stands for ``interface`` if that is empty; ``script``: that of the
    health check.
    """
    balancers = [service for service in services if service.kind == NAME]
    if not kept_address(context) or len(balancers) < 2:
        return {}
    settings = context.description.router
    addresses = [context.hosts[balancer.host].address for balancer in balancers]
    return {
        "virtual_address": {
            "address": plain_address(settings.virtual_address),
            "virtual": with_length(settings.virtual_address),
            "port": settings.balancer_port,
            "interface": settings.virtual_interface,
            "program": PROGRAM,
            "router_id": settings.virtual_router_id,
            "hosts": [
                {
                    "host": balancer.host,
                    "address": own,
                    "service": balancer.name,
                    **_texts(context, own, next(address for address in addresses if address != own)),
                }
                for balancer, own in zip(balancers, addresses, strict=True)
            ],
        }
    }


def virtual_address_of(plan: t.Mapping[str, t.Any], host: str) -> dict[str, t.Any]:
    """The section with what concerns one host; {} on a host without a balancer. ``plan``: a whole plan."""
    section = plan.get("virtual_address") or {}
    hosts = [row for row in section.get("hosts", ()) if row["host"] == host]
    return {**section, "hosts": hosts} if hosts else {}


def _texts(context: Context, own: str, peer: str) -> dict[str, str]:
    settings, name = context.description.router, context.description.deployment
    kept = Kept(name, settings.virtual_address, settings.virtual_router_id, settings.virtual_interface)
    return keeper_texts(kept, own, peer, Page(own, settings.balancer_status_port, "/health"))


def keeper_texts(kept: Kept, own: str, peer: str, page: Page) -> dict[str, str]:
    """``{configuration, script}`` of one host. ``own``, ``peer``: IP addresses of this host and of the other one."""
    values = {
        "NAME": f"ascend-inference-{kept.name}",
        "USER": USER,
        "SCRIPT": f"{FOLDER}/{kept.name}.sh",
        "WEIGHT": str(WEIGHT),
        "ID": str(kept.router_id),
        "PRIORITY": str(PRIORITY),
        "OWN": own,
        "PEER": peer,
        "ADDRESS": with_length(kept.virtual),
        "INTERFACE": kept.interface or INTERFACE,
    }
    check = {"OWN": page.address, "PORT": str(page.port), "PATH": page.path}
    return {"configuration": filled(CONFIGURATION, values), "script": filled(SCRIPT, check)}


def unmovable(virtual: str, owners: t.Mapping[str, str]) -> str:
    """Why an address cannot move between hosts; empty if it can. ``owners``: addresses of hosts by their names."""
    try:
        interface = ipaddress.ip_interface(virtual)
    except ValueError:
        return f"'{virtual}' is not an IP address"
    found, network = interface.ip, interface.network
    if network.num_addresses > 2 and found in (network.network_address, network.broadcast_address):
        return f"{virtual} is the first or last address of its network, which no host can have"
    if not network.prefixlen:
        return f"the prefix of {virtual} is that of the default route, which would replace the host's own one"
    if found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local:
        return f"{virtual} is not an address that clients can reach on one of several hosts"
    have = sorted(name for name, address in owners.items() if ip_of(address) == found)
    return f"{virtual} is the address of {', '.join(have)}" if have else ""


def ip_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a text is, else None."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def with_length(virtual: str) -> str:
    """A virtual address with the length of its prefix: that of one address by default, so that it brings no route."""
    return str(ipaddress.ip_interface(virtual))
