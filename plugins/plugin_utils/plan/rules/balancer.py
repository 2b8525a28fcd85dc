# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of several routers and of the balancer in front of them."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ..render.balancer import balancer_hosts, balancer_name, plain_address, socket_path
from ..render.router import flavour
from ..service import Service, bracketed, every_address
from .base import Case, Rules
from .router import flags, path, public

RULES = Rules()
PLACES = ("host", "port", "prometheus-host", "prometheus-port")  # options that differ between routers
POLICIES = ("policy", "prefill-policy", "decode-policy")
LEARNING = ("cache_aware",)  # vllm-router 0.1.17: each process has a tree of the prompts that it sent
SOCKET = 107 - len(".4194304.tmp")  # bytes; HAProxy binds the socket under such a name, then renames it


def _routers(case: Case) -> list[Service]:
    return [service for service in case.services if service.kind == "router"]


@RULES.rule(
    "BALANCER-MISSING",
    "Set inference_router.balancer to haproxy, or inference_router.instances to 1.",
    "design of the planner: clients have one address",
)
def missing(case: Case) -> t.Iterator[Finding]:
    """Several routers are planned without a balancer in front of them.

    Clients would use the first one only, and its failure would still be an outage.
    """
    settings = case.context.description.router
    if settings.balancer == "none" and len(_routers(case)) > 1 and not case.context.runtime.in_cluster:
        problem = f"{settings.instances} routers are planned, and nothing distributes requests over them"
        yield Finding.at("inference_router.instances", settings.instances, problem)


@RULES.rule(
    "BALANCER-SINGLE",
    "Set inference_router.instances to 2, or remove the balancer.",
    "design of the planner",
    "warning",
)
def single(case: Case) -> t.Iterator[Finding]:
    """A balancer is planned in front of one router.

    The router remains a single point of failure, and each request takes one step more.
    """
    if case.named("balancer") and len(_routers(case)) == 1:
        yield Finding.at("inference_router.balancer", "haproxy", "there is one router behind the balancer")


@RULES.rule(
    "BALANCER-RUNTIME",
    "Plan a router, or remove the setting. In a cluster, inference_kubernetes.router.replicas gives several.",
    "Kubernetes has services",
)
def runtime(case: Case) -> t.Iterator[Finding]:
    """Several routers or a balancer cannot run in this deployment.

    The balancer is HAProxy on a host in front of routers of this deployment.
    """
    settings = case.context.description.router
    if settings.instances == 1 and settings.balancer == "none":
        return
    name = "balancer" if settings.balancer != "none" else "instances"
    value = settings.balancer if settings.balancer != "none" else settings.instances
    where = ""
    if flavour(case.context) == "none":
        where = "a deployment without a router"
    elif case.context.runtime.in_cluster:
        where = f"runtime {case.context.description.runtime}"
    if where:
        what = "a balancer is" if name == "balancer" else f"{value} routers are"
        problem = f"{what} not available for {where}"
        yield Finding.at(f"inference_router.{name}", value, problem)


@RULES.rule(
    "BALANCER-IMAGE",
    "Set inference_router.balancer_image to an image of HAProxy 2.4 or later by its digest, such as docker.io/library/haproxy:2.8@sha256:..., or plan one "
    "router without a balancer.",
    "upstream's images have no HAProxy",
)
def balancer_image(case: Case) -> t.Iterator[Finding]:
    """The balancer has no image.

    It runs in a container as the other services do, and the engines' images do not contain HAProxy.
    """
    settings = case.context.description.router
    if case.named("balancer") and case.context.contained and not settings.balancer_image:
        yield Finding.at("inference_router.balancer", settings.balancer, "inference_router.balancer_image is not set")


@RULES.rule(
    "BALANCER-OPTION",
    "Remove the option: the planner gives each router its own address and ports.",
    "bind(2): an address and port can be bound once",
)
def option(case: Case) -> t.Iterator[Finding]:
    """An option gives several routers the same address or port.

    All routers but one end at start, or the balancer does not reach them.
    """
    if len(_routers(case)) < 2:
        return
    for name in PLACES:
        place = path(case, name)
        if place != "inference_router.flavour":
            value = " ".join(flags(case).get(name, ()))
            yield Finding.at(place, value, f"all {len(_routers(case))} routers would get --{name} {value}".rstrip())


@RULES.rule(
    "BALANCER-BIND",
    "Remove inference_router.bind, or set it to 0.0.0.0 or ::.",
    "bind(2): only an address of the host can be bound",
)
def bind(case: Case) -> t.Iterator[Finding]:
    """Routers of several hosts are to listen on one address.

    Those on other hosts end at start.
    """
    address, hosts = case.context.description.router.bind, sorted({service.host for service in _routers(case)})
    if len(hosts) > 1 and address and not every_address(address):
        problem = f"the routers on {', '.join(hosts)} cannot all listen on {address}"
        yield Finding.at("inference_router.bind", address, problem)


@RULES.rule(
    "BALANCER-POLICY",
    "Set the policy to consistent_hash, which decides alike in all routers, or accept this rule.",
    "vllm-router 0.1.17: the tree of cache_aware is kept in each process",
    "warning",
)
def policy(case: Case) -> t.Iterator[Finding]:
    """Several routers learn separately which engine has which prompts in its cache.

    Requests with the same beginning reach different engines, so fewer prompts are found in the cache.
    """
    if len(_routers(case)) < 2:
        return
    for name in POLICIES:
        for value in flags(case).get(name, ()):
            if value in LEARNING:
                problem = f"{len(_routers(case))} routers with --{name} {value} do not share what they learn"
                yield Finding.at(path(case, name), value, problem)


@RULES.rule(
    "BALANCER-SOCKET",
    "Choose a shorter inference_root or inference_deployment.",
    "unix(7): 107 bytes; HAProxy proto_uxst.c: a temporary name is bound first",
)
def socket(case: Case) -> t.Iterator[Finding]:
    """The path of the balancer's socket is too long.

    HAProxy cannot bind it and ends at start.
    """
    if not case.named("balancer"):
        return
    found = socket_path(case.context, balancer_name(len(balancer_hosts(case.context)) - 1))  # the longest
    if len(found.encode()) > SOCKET:
        problem = f"{found} has {len(found.encode())} bytes; the maximum is {SOCKET}"
        yield Finding.at("inference_root", case.context.description.root, problem)


@RULES.rule(
    "BALANCER-OPEN",
    "Set inference_router.frontend to haproxy with client_keys in inference_secrets, or inference_router.balancer_bind to an address of the cluster's "
    "private network; or accept this rule if a firewall or gateway restricts access to the port.",
    "design of the planner: the balancer restricts paths, and asks for no key",
    "warning",
)
def open_balancer(case: Case) -> t.Iterator[Finding]:
    """The balancer is reachable without a key from public networks.

    Everybody who reaches its port can use the service.
    """
    balancer = case.named("balancer")
    if not balancer:
        return
    settings = case.context.description.router
    places = {"balancer_bind": settings.balancer_bind or balancer.address}
    if settings.virtual_address:
        places["virtual_address"] = plain_address(settings.virtual_address)
    for place, address in places.items():
        if public(address):
            where = f"{bracketed(address)}:{balancer.port('api').first}"
            yield Finding.at(
                f"inference_router.{place}", address, f"the balancer accepts requests without a key on {where}"
            )
