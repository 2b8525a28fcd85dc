# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the virtual address of the clients' entry."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ..render.balancer import balancer_hosts, plain_address
from ..render.virtual_address import ip_of, unmovable
from ..service import every_address
from .base import Case, Rules

RULES = Rules()
PLACE = "inference_router.virtual_address"


@RULES.rule(
    "VIRTUAL-ADDRESS",
    "Write an unused address of the hosts' network, such as 10.0.0.100.",
    "keepalived.conf(5): virtual_ipaddress",
)
def address(case: Case) -> t.Iterator[Finding]:
    """The virtual address is none that can move between the balancers' hosts.

    Such an address cannot be put on either host, or one of the hosts has it all the time.
    """
    given = case.context.description.router.virtual_address
    problem = given and unmovable(given, {host.name: host.address for host in case.context.hosts.values()})
    if problem:
        yield Finding.at(PLACE, given, problem)


@RULES.rule(
    "VIRTUAL-HOSTS",
    "Set inference_router to {instances: 2, balancer: haproxy, ...}, and put two hosts into the routers' group whose addresses are IP addresses of the "
    "virtual address's family.",
    "design of the planner: each balancer is on the host of a router",
)
def hosts(case: Case) -> t.Iterator[Finding]:
    """A virtual address is planned without balancers on two hosts.

    There is no other host that could get it.
    """
    settings = case.context.description.router
    if not settings.virtual_address or case.in_pods:
        return
    if not case.context.balanced or not case.named("balancer"):
        yield Finding.at(
            PLACE, settings.virtual_address, "no balancer is planned that could listen on a virtual address"
        )
        return
    found = balancer_hosts(case.context)
    if len(found) < 2:
        problem = f"all routers run on {found[0].name}" if settings.instances > 1 else "there is one router"
        yield Finding.at(PLACE, settings.virtual_address, f"{problem}, so no other host can get the virtual address")
        return
    virtual = ip_of(plain_address(settings.virtual_address))
    for host in found:
        own = ip_of(host.address)
        if own is None or (virtual and own.version != virtual.version):
            problem = f"{host.name} has the address {host.address}, which is no IP address of the same family"
            yield Finding.at(PLACE, settings.virtual_address, problem)


@RULES.rule(
    "VIRTUAL-RUNTIME",
    "Set inference_runtime to systemd or docker, or remove the virtual address and use one that is set up in front of the service.",
    "design of the collection: keepalived is a unit of root's systemd",
)
def runtime(case: Case) -> t.Iterator[Finding]:
    """A virtual address is requested for a runtime without units of root's systemd.

    Nothing would start keepalived, so no host would have the address.
    """
    settings, kind = case.context.description.router, case.context.runtime
    # A runtime that reserves no ports runs without root.
    if settings.virtual_address and (kind.in_cluster or not kind.reserves_ports):
        problem = f"a virtual address is not available for runtime {case.context.description.runtime}"
        yield Finding.at(PLACE, settings.virtual_address, problem)


@RULES.rule(
    "VIRTUAL-FRONTEND",
    "Remove inference_router.frontend, or the virtual address. The playbook entry gives clients TLS, keys and an address that moves between two hosts.",
    "design of the planner: the frontend runs on the first router's host only",
)
def frontend(case: Case) -> t.Iterator[Finding]:
    """A virtual address is planned behind a frontend, which runs on one host.

    Clients use the frontend's address, and the loss of its host is still an outage.
    """
    settings = case.context.description.router
    if settings.virtual_address and settings.frontend != "none":
        yield Finding.at(PLACE, settings.virtual_address, f"the frontend {settings.frontend} runs on one host")


@RULES.rule(
    "VIRTUAL-BIND",
    "Remove inference_router.balancer_bind: each balancer listens on the address of its host and on the virtual one. Or set it to 0.0.0.0, or to :: "
    "for addresses of IPv6.",
    "bind(2): only an address of the host can be bound",
)
def bind(case: Case) -> t.Iterator[Finding]:
    """The balancers of two hosts are to listen on one address, or on none of the virtual address's family.

    One of them ends at its start, or no client is answered at the virtual address.
    """
    settings = case.context.description.router
    if not settings.virtual_address or not settings.balancer_bind:
        return
    place, problem = "inference_router.balancer_bind", ""
    virtual, bound = ip_of(plain_address(settings.virtual_address)), ip_of(settings.balancer_bind)
    if not every_address(settings.balancer_bind):
        problem = f"the balancers of two hosts cannot both listen on {settings.balancer_bind}"
    elif virtual and bound and virtual.version > bound.version:  # "::" includes the addresses of IPv4
        problem = f"the balancers listen on {settings.balancer_bind}, which does not include {settings.virtual_address}"
    if problem:
        yield Finding.at(place, settings.balancer_bind, problem)
