# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the router (protocol, options, list of engines) and of the frontend."""

from __future__ import annotations

import ipaddress
import re
import typing as t
from urllib.parse import urlsplit

from ....module_utils.tools.how_many import how_many
from ...description.findings import Finding, nearest
from ...description.values import canonical
from ..render.client_paths import refused_path
from ..render.router import flavour
from ..render.vllm import split
from ..routers.base import url
from ..routers.registry import flavour_of
from ..service import Service, bracketed, every_address
from .base import Case, Rules

RULES = Rules()


def path(case: Case, flag: str) -> str:
    """Path of an option of the router."""
    for key in case.context.description.router.args:
        if canonical(key) in (flag, f"no-{flag}"):
            return f"inference_router.args.{key}"
    if flag == "policy" and case.context.description.router.policy:
        return "inference_router.policy"
    return "inference_router.flavour"


def flags(case: Case) -> dict[str, tuple[str, ...]]:
    """The router's options with their values; the values of a repeated option are joined."""
    service, found = case.named("router"), {}
    for name, values in split(service.argv) if service else ():
        found[name] = found.get(name, ()) + values
    return found


@RULES.rule(
    "CONNECTOR-PROXY",
    "Remove inference_router.flavour: the planner chooses the proxy that the connector needs.",
    "vllm-ascend examples/disaggregated_prefill_v1: only the layerwise proxy has /v1/metaserver",
)
def kind(case: Case) -> t.Iterator[Finding]:
    """The proxy does not support the connector.

    The layerwise connector needs a layerwise proxy (decode calls it back), the others a load_balance proxy; every
    request hangs or fails otherwise.
    """
    if not case.named("router") or not case.disaggregated:
        return
    found, p2p = flavour(case.context), case.context.p2p
    if p2p and p2p not in flavour_of(case.context).connectors:
        yield Finding.at("inference_router.flavour", found, f"the {found} proxy does not work with the {p2p} connector")


@RULES.rule(
    "ROUTER-POOLS",
    "Use vllm_router for a colocated pool, a prefill/decode proxy for prefill and decode.",
    "the proxies' argument lists",
)
def pools(case: Case) -> t.Iterator[Finding]:
    """The proxy does not support the configured pools.

    It has no options for their engines, so it does not start or serves no requests.
    """
    found, present = flavour_of(case.context), set(case.context.description.pools.present())
    if not case.named("router") or len(present & {"prefill", "decode"}) == 1:
        return
    if not any(served <= present for served in found.pools):
        known = " or ".join(" and ".join(sorted(served)) for served in found.pools)
        problem = f"the {found.name} proxy serves {known}, and the pools are {', '.join(sorted(present))}"
        yield Finding.at("inference_router.flavour", found.name, problem)


@RULES.rule("ROUTER-RELEASE", "Choose another flavour, or a release that has this one.", "vllm-ascend examples by tag")
def release(case: Case) -> t.Iterator[Finding]:
    """The release does not have the proxy.

    Its program is not in the release's image or sources, so the router cannot start.
    """
    found = flavour(case.context)
    if found != "none" and not flavour_of(case.context).exists(case.context.release):
        known = ", ".join(sorted(case.context.release.proxies)) or "none"
        problem = f"release {case.context.release.name} has no {found} proxy; it has {known}"
        yield Finding.at("inference_router.flavour", found, problem)


@RULES.rule(
    "ROUTER-FLAG",
    "Correct or remove the option; the planner fills in hosts and ports.",
    "argparse of the release's proxy script; vllm-router --help",
)
def flag(case: Case) -> t.Iterator[Finding]:
    """The router does not know an option.

    The router fails to start: unknown option.
    """
    found = flavour(case.context)
    if not case.named("router"):
        return
    known = flavour_of(case.context).options(case.context.release)
    for name in flags(case):
        if name not in known and known:
            hint = nearest(name, known) or f"Known: {', '.join(f'--{option}' for option in sorted(known)[:20])}."
            hint = (
                "Only the router vllm_router has policies." if path(case, name) == "inference_router.policy" else hint
            )
            yield Finding.at(path(case, name), "", f"the {found} router of this release has no option --{name}", hint)


@RULES.rule(
    "ROUTER-ENDPOINTS",
    "Remove the lists: the planner fills in every engine.",
    "the proxies pair hosts and ports by position",
)
def endpoints(case: Case) -> t.Iterator[Finding]:
    """The router's list of engines differs from the plan.

    Requests go to addresses without an engine, or engines stay idle. Hosts and ports are paired by position.
    """
    table, found = flags(case), flavour_of(case.context)
    for name, pool in found.pairs.items():
        hosts, ports = table.get(f"{name}-hosts"), table.get(f"{name}-ports")
        if hosts is None and ports is None:
            continue
        options_ = (f"{name}-hosts", f"{name}-ports")
        written = next((option for option in options_ if path(case, option) != "inference_router.flavour"), "")
        if written:
            yield from _compare(case, path(case, written), pool, hosts or (), ports or ())
    for name, pool in found.urls.items():
        if path(case, name) != "inference_router.flavour":
            expected = {url(engine) for engine in _apis(case, pool)}
            if set(table.get(name, ())) != expected:
                problem = f"the {pool} engines of this plan are {' '.join(sorted(expected)) or 'none'}"
                yield Finding.at(path(case, name), " ".join(table.get(name, ())), problem)


def _apis(case: Case, pool: str) -> list[Service]:
    return [service for service in case.services if service.kind == pool and service.health]


def _compare(case: Case, where: str, pool: str, hosts: tuple[str, ...], ports: tuple[str, ...]) -> t.Iterator[Finding]:
    if len(hosts) != len(ports):
        found = [how_many(len(hosts), "host"), how_many(len(ports), "port")]
        yield Finding.at(where, ", ".join(found), f"{' and '.join(found)} cannot be paired")
        return
    listed = set(zip(hosts, ports, strict=True))
    planned = {(engine.address, str(engine.port("api").first)) for engine in _apis(case, pool)}
    missing, extra = sorted(planned - listed), sorted(listed - planned)
    if missing or extra:
        parts = [f"{pool} engine {':'.join(pair)} is missing" for pair in missing[:4]]
        parts += [f"no {pool} engine is planned at {':'.join(pair)}" for pair in extra[:4]]
        yield Finding.at(where, " ".join(":".join(pair) for pair in sorted(listed))[:100], "; ".join(parts))


@RULES.rule(
    "ROUTER-BIND",
    "Remove inference_router.bind, or set it to an address that decode's hosts can reach.",
    "vllm-ascend load_balance_proxy_layerwise_server_example.py (0.18): 0.0.0.0 is refused",
)
def bind(case: Case) -> t.Iterator[Finding]:
    """The layerwise proxy binds an address that decode cannot call.

    Decode calls the proxy back at the address that it binds; every request waits until it times out.
    """
    if case.named("router") and flavour_of(case.context).called_back:
        address = (flags(case).get("host") or ("",))[0]
        if every_address(address) or address == "localhost" or address.startswith("127."):
            own = path(case, "host")
            place = own if own != "inference_router.flavour" else "inference_router.bind"
            severity = "" if case.context.release.vllm_version >= (0, 18) else "warning"
            problem = f"the layerwise proxy binds {address}, which decode on another host cannot reach"
            yield Finding.at(place, address, problem, severity=severity)


@RULES.rule(
    "ROUTER-RECOMPUTE",
    "Remove recompute_scheduler_enable from decode's additional-config, or use the load_balance proxy.",
    "vllm-ascend #3448, #8852: answers end with stop_reason 'recomputed'",
)
def recompute(case: Case) -> t.Iterator[Finding]:
    """Decode returns requests for recomputation, and the router does not support that.

    Only vLLM-Ascend's own proxies send such a request to prefill again; with others the client gets a truncated
    answer.
    """
    found, retries = flavour(case.context), bool(case.named("router")) and flavour_of(case.context).retries
    for view in case.of("decode"):
        if view.mapping("additional-config").get("recompute_scheduler_enable") and not retries:
            severity = "warning" if found == "none" else ""
            router = "there is no router" if found == "none" else f"the router is {found}"
            problem = f"recompute_scheduler_enable is true, but {router}"
            place = view.key_path("additional-config", "recompute_scheduler_enable")
            yield Finding.at(place, found, problem, severity=severity)


@RULES.rule(
    "ROUTER-PORT",
    "Set inference_router.port.",
    "design of the planner: health checks, firewall and verification use the planned port",
)
def port(case: Case) -> t.Iterator[Finding]:
    """The router's port is set as an option.

    Health checks, firewall and verification use the planned port, where nothing would listen.
    """
    value, planned = (flags(case).get("port") or ("",))[0], case.context.description.router.port
    own = path(case, "port")
    if case.named("router") and own != "inference_router.flavour" and value != str(planned):
        yield Finding.at(own, value, f"--port differs from inference_router.port, which is {planned}")


@RULES.rule(
    "ROUTER-ADDRESS",
    "Set inference_router.bind.",
    "design of the planner: health checks, firewall and verification use the planned address",
)
def address(case: Case) -> t.Iterator[Finding]:
    """The router's address is set as an option.

    Health checks, the URL of clients and verification use the planned address, where nothing would listen.
    """
    value, own, router = (flags(case).get("host") or ("",))[0], path(case, "host"), case.named("router")
    if own == "inference_router.flavour" or case.in_pods or not (router and router.health) or every_address(value):
        return
    planned = urlsplit(router.health.url).hostname or ""
    if value.strip("[]").lower() != planned:
        yield Finding.at(own, value, f"--host differs from the planned address, which is {planned}")


@RULES.rule(
    "ROUTER-BALANCE",
    "Set inference_pools.<pool>.load_balancing to internal, or leave the router to the planner.",
    "vllm-ascend external_dp.md: every rank is listed at the proxy",
    "warning",
)
def balance(case: Case) -> t.Iterator[Finding]:
    """External load balancing has no router.

    Every rank is a separate API server; without a router all ranks but one stay idle.
    """
    if flavour(case.context) != "none":
        return
    for name, pool in case.context.description.pools.present().items():
        if pool.load_balancing == "external" and pool.data_parallel_size > 1:
            problem = f"no router distributes requests over the {pool.data_parallel_size} ranks of pool {name}"
            yield Finding.at(f"inference_pools.{name}.load_balancing", "external", problem)


@RULES.rule(
    "ROUTER-KEY",
    "Remove api_key from inference_secrets, and restrict the engines' ports to the cluster.",
    "vllm-ascend 0.18.0 to 0.23.0, disagg_epd_proxy.py: no Authorization is sent or passed on",
)
def key(case: Case) -> t.Iterator[Finding]:
    """Engines require an API key that the proxy does not send.

    The proxy for encoders does not forward the Authorization header, so engines answer 401 to every request.
    """
    router, found = case.named("router"), flavour_of(case.context)
    if router and "api_key" in case.context.description.secrets and not (found.passes_key or router.secret_env):
        problem = f"inference_secrets has api_key, which the {found.name} proxy does not send"
        yield Finding.at("inference_router.flavour", found.name, problem)


@RULES.rule(
    "ROUTER-OPEN",
    "Set inference_router.bind to an address of the cluster's private network, and for clients inference_router.frontend to haproxy "
    "with client_keys in inference_secrets; or accept this rule if a firewall or gateway restricts access to the port.",
    "vllm-ascend load_balance_proxy_server_example.py (0.13 on): /instances/add needs no key; vllm-router 0.1.17: /add_worker; "
    "IANA special-purpose address registries",
    "warning",
)
def open_router(case: Case) -> t.Iterator[Finding]:
    """The router is reachable without a key from public networks.

    Everybody who reaches its port can use the service. With a proxy that changes its engines at run time, they can also redirect
    all requests, read their prompts and get the engines' key.
    """
    # Private addresses (RFC 1918, unique local, loopback, documentation) give no finding: without a frontend the router must
    # listen there, and a warning in almost every plan would hide the others. All addresses of a host (0.0.0.0, ::) do, because
    # the plan does not contain the host's other networks. Host names are not resolved: planning needs no network.
    router, settings = case.named("router"), case.context.description.router
    if not router or case.in_pods:
        return
    address = (flags(case).get("host") or (settings.bind or router.address,))[0]
    if not public(address):
        return
    place = path(case, "host") if path(case, "host") != "inference_router.flavour" else "inference_router.bind"
    found = flavour_of(case.context)
    changes = f", including {' and '.join(found.private)}" if found.private else ""
    door = next((kind for kind in ("frontend", "balancer") if case.named(kind)), "")
    beside = f", besides its {door}," if door else ""
    port_ = router.port("api").first
    problem = f"the {found.name} router{beside} accepts requests without a key on {bracketed(address)}:{port_}{changes}"
    yield Finding.at(place, settings.bind, problem)


def public(address: str) -> bool:
    """Whether an address is all addresses of a host or globally reachable; False for names."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return found.is_unspecified or found.is_global


@RULES.rule(
    "FRONTEND-PATHS",
    "Remove the path. The operator can use it on the router's own port, in the cluster's network.",
    "design of the frontend: an allow-list",
)
def frontend_paths(case: Case) -> t.Iterator[Finding]:
    """A path of the frontend is invalid or not for clients.

    The frontend does not start, or clients can change the router or read data of others.
    """
    for index, path_ in enumerate(case.context.description.router.frontend_paths):
        problem = refused_path(path_, flavour_of(case.context))
        if problem:
            yield Finding.at(f"inference_router.frontend_paths[{index}]", path_, problem)


@RULES.rule(
    "FRONTEND-KEYS",
    "Add client_keys to inference_secrets: the clients' keys, separated by spaces.",
    "design of the frontend: it answers 401 without a known key",
)
def frontend_keys(case: Case) -> t.Iterator[Finding]:
    """The frontend has no client keys.

    It answers 401 to every request.
    """
    if case.context.description.router.frontend != "none" and not case.context.description.secrets.get("client_keys"):
        yield Finding.at(
            "inference_router.frontend", "haproxy", "a frontend is planned, but inference_secrets has no client_keys"
        )


@RULES.rule(
    "FRONTEND-CERTIFICATE",
    "Set inference_router.certificate and certificate_key to absolute paths on the router's host.",
    "HAProxy: crt, and the key beside it",
)
def frontend_certificate(case: Case) -> t.Iterator[Finding]:
    """The frontend's certificate or key is missing or not an absolute path.

    The frontend does not start.
    """
    router = case.context.description.router
    pair = (("certificate", router.certificate), ("certificate_key", router.certificate_key))
    for name, path_ in pair:
        if path_ and not re.fullmatch(r"/[\w./@+-]+", path_):
            yield Finding.at(f"inference_router.{name}", path_, f"'{path_}' is not an absolute path without spaces")
    if bool(router.certificate) != bool(router.certificate_key):
        missing, given = "certificate_key", "certificate"
        if router.certificate_key:
            missing, given = given, missing
        yield Finding.at(f"inference_router.{missing}", "", f"{missing} is not set, but {given} is")


@RULES.rule(
    "FRONTEND-PLAIN",
    "Set inference_router.certificate and certificate_key, or accept this rule if a proxy in front of it terminates TLS.",
    "RFC 6750 section 5.3: bearer tokens need TLS",
    "warning",
)
def frontend_plain(case: Case) -> t.Iterator[Finding]:
    """The frontend has no certificate.

    Clients' keys and prompts can be read on the network.
    """
    router = case.context.description.router
    if router.frontend != "none" and not router.certificate and not router.certificate_key:
        yield Finding.at("inference_router.frontend", "haproxy", "the frontend has no certificate")


@RULES.rule(
    "FRONTEND-RUNTIME",
    "Use inference_runtime: systemd, or give clients TLS and keys in front of the router: with the playbook entry, or a gateway of your own.",
    "upstream's images have no HAProxy",
)
def frontend_runtime(case: Case) -> t.Iterator[Finding]:
    """The frontend cannot run in this deployment.

    It is the distribution's HAProxy on a host in front of a router; the images do not contain it.
    """
    router = case.context.description.router
    if router.frontend != "none" and (case.context.contained or flavour(case.context) == "none"):
        where = (
            f"runtime {case.context.description.runtime}" if case.context.contained else "a deployment without a router"
        )
        yield Finding.at("inference_router.frontend", "haproxy", f"a frontend is not available for {where}")
