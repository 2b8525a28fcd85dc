# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the router: it speaks the connector's protocol, knows its own flags, and lists exactly the engines."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import nearest
from ...releases import options
from ..render.router import flavour
from ..render.vllm import canonical
from ..service import Service
from .base import Case, Found, Rules
from .engine_view import split

RULES = Rules()
ROUTER = "0.1.17"
LAYERWISE = "mooncake_layerwise"
LISTS = {"prefiller": "prefill", "decoder": "decode", "encoder": "encode", "server": "colocated", "dp": "colocated"}


def path(case: Case, flag: str) -> str:
    """Where a flag of the router stands."""
    for key in case.context.description.router.args:
        if canonical(key) in (flag, f"no-{flag}"):
            return f"inference_router.args.{key}"
    return "inference_router.flavour"


def flags(case: Case) -> dict[str, tuple[str, ...]]:
    """The router's flags with their values; a repeated flag's values come together."""
    service, found = case.named("router"), {}
    for name, values in split(service.argv) if service else ():
        found[name] = found.get(name, ()) + values
    return found


@RULES.rule(
    "CONNECTOR-PROXY",
    "Leave inference_router.flavour out: the planner takes the proxy that the connector needs.",
    "vllm-ascend examples/disaggregated_prefill_v1: /v1/metaserver is the layerwise proxy's only",
)
def kind(case: Case) -> t.Iterator[Found]:
    """The proxy speaks the connector's protocol: layerwise with the layerwise connector, load_balance with the others."""
    if not case.named("router") or not case.disaggregated:
        return
    found, p2p = flavour(case.context), case.context.p2p
    layerwise = found in ("layerwise", "epd_layerwise")
    foreign = ("mooncake", "mooncake_hybrid", "llmdatadist") if layerwise else (LAYERWISE,)
    if p2p in foreign and found != "none":
        yield Found("inference_router.flavour", found, f"this proxy does not work with {p2p}")


@RULES.rule(
    "ROUTER-POOLS",
    "Use vllm_router for a colocated pool, a prefill/decode proxy for prefill and decode.",
    "the proxies' argument lists",
)
def pools(case: Case) -> t.Iterator[Found]:
    """The proxy is made for the pools that there are."""
    found = flavour(case.context)
    if not case.named("router"):
        return
    together = case.context.description.pools.colocated and not case.disaggregated
    if case.disaggregated and found in ("dp", "hybrid") or together and found in ("load_balance", "layerwise"):
        yield Found("inference_router.flavour", found)
    elif found in ("epd", "epd_layerwise") and not case.context.description.pools.encode:
        yield Found("inference_router.flavour", found, "it needs an encode pool")


@RULES.rule("ROUTER-RELEASE", "Choose another flavour, or a release that has this one.", "vllm-ascend examples by tag")
def release(case: Case) -> t.Iterator[Found]:
    """The release has the proxy."""
    found = flavour(case.context)
    if found not in ("none", "vllm_router") and found not in case.context.release.proxies:
        known = ", ".join(sorted(case.context.release.proxies)) or "none"
        text = f"release {case.context.release.name} has no {found} proxy; it has: {known}"
        yield Found("inference_router.flavour", found, text)


@RULES.rule(
    "ROUTER-FLAG",
    "Correct or remove the flag; hosts and ports are filled in by the planner.",
    "argparse of the release's proxy script; vllm-router --help",
)
def flag(case: Case) -> t.Iterator[Found]:
    """Every flag of the router is one that it knows: argparse ends it otherwise."""
    found = flavour(case.context)
    if not case.named("router"):
        return
    if found == "vllm_router":
        known = set(options.known("vllm_router", ROUTER))
        known |= {f"no-{name}" for name in known}
    else:
        known = {one[2:] for one in case.context.release.proxies.get(found, ())}
    for name in flags(case):
        if name not in known and known:
            hint = nearest(name, known) or f"Known: {', '.join('--' + one for one in sorted(known)[:20])}."
            yield Found(path(case, name), message=f"--{name} is not a flag of this release's {found}", fix=hint.strip())


@RULES.rule(
    "ROUTER-ENDPOINTS",
    "Leave the lists out: the planner fills in every engine.",
    "the proxies pair hosts and ports by position",
)
def endpoints(case: Case) -> t.Iterator[Found]:
    """The router lists exactly the engines that answer, hosts and ports in pairs."""
    table = flags(case)
    for name, pool in LISTS.items():
        hosts, ports = table.get(f"{name}-hosts"), table.get(f"{name}-ports")
        if hosts is None and ports is None:
            continue
        said = next(
            (one for one in (f"{name}-hosts", f"{name}-ports") if path(case, one) != "inference_router.flavour"), ""
        )
        if said:
            yield from _compare(case, path(case, said), pool, hosts or (), ports or ())
    for name, pool in (("prefill", "prefill"), ("decode", "decode"), ("worker-urls", "colocated")):
        if path(case, name) != "inference_router.flavour" and flavour(case.context) == "vllm_router":
            expected = {f"http://{one.address}:{one.port('api').first}" for one in _apis(case, pool)}
            if set(table.get(name, ())) != expected:
                yield Found(
                    path(case, name), " ".join(table.get(name, ())), f"the engines are {' '.join(sorted(expected))}"
                )


def _apis(case: Case, pool: str) -> list[Service]:
    return [one for one in case.services if one.kind == pool and one.health]


def _compare(case: Case, where: str, pool: str, hosts: tuple[str, ...], ports: tuple[str, ...]) -> t.Iterator[Found]:
    if len(hosts) != len(ports):
        yield Found(
            where, f"{len(hosts)} hosts, {len(ports)} ports", "hosts and ports are pairs, so there is one of each"
        )
        return
    told = set(zip(hosts, ports, strict=True))
    real = {(one.address, str(one.port("api").first)) for one in _apis(case, pool)}
    missing, extra = sorted(real - told), sorted(told - real)
    if missing or extra:
        parts = [f"missing {':'.join(one)}" for one in missing[:4]] + [
            f"nobody answers at {':'.join(one)}" for one in extra[:4]
        ]
        yield Found(where, " ".join(":".join(one) for one in sorted(told))[:100], "; ".join(parts))


@RULES.rule(
    "ROUTER-BIND",
    "Leave inference_router.bind out, or set it to an address that decode's hosts reach.",
    "vllm-ascend load_balance_proxy_layerwise_server_example.py (0.18): 0.0.0.0 is refused",
)
def bind(case: Case) -> t.Iterator[Found]:
    """Decode calls the layerwise proxy back at the address that it binds, so that has to be one."""
    service, layerwise = case.named("router"), flavour(case.context) in ("layerwise", "epd_layerwise")
    if service and layerwise:
        address = (flags(case).get("host") or ("",))[0]
        if address in ("0.0.0.0", "::", "localhost") or address.startswith("127."):  # compared with, nothing binds here
            own = path(case, "host")
            place = own if own != "inference_router.flavour" else "inference_router.bind"
            yield Found(place, address, severity="" if case.context.release.vllm_version >= (0, 18) else "warning")


@RULES.rule(
    "ROUTER-RECOMPUTE",
    "Take recompute_scheduler_enable out of decode's additional-config, or use the load_balance proxy.",
    "vllm-ascend #3448, #8852: answers end with stop_reason 'recomputed'",
)
def recompute(case: Case) -> t.Iterator[Found]:
    """Only vLLM-Ascend's own proxies finish a request that decode gives back for recomputing; others cut the answer."""
    found = flavour(case.context)
    for words in case.of("decode"):
        if words.mapping("additional-config").get("recompute_scheduler_enable") and found in ("vllm_router", "none"):
            severity = "warning" if found == "none" else ""
            yield Found(words.path("additional-config"), found, f"the router is {found}", severity=severity)


@RULES.rule(
    "ROUTER-PORT",
    "Set inference_router.port.",
    "the planner: health checks, firewall and verification use the planned port",
)
def port(case: Case) -> t.Iterator[Found]:
    """The router's port is said once, with inference_router.port."""
    told = (flags(case).get("port") or ("",))[0]
    if case.named("router") and told != str(case.context.description.router.port):
        yield Found(path(case, "port"), told, f"inference_router.port is {case.context.description.router.port}")


@RULES.rule(
    "ROUTER-BALANCE",
    "Set inference_pools.<pool>.load_balancing to internal, or leave the router to the planner.",
    "vllm-ascend external_dp.md: every rank is listed at the proxy",
    "warning",
)
def nobody(case: Case) -> t.Iterator[Found]:
    """With external load balancing something has to spread requests over the ranks, and there is no router."""
    if flavour(case.context) != "none":
        return
    for name, pool in case.context.description.pools.present().items():
        if pool.load_balancing == "external" and pool.data_parallel_size > 1:
            yield Found(f"inference_pools.{name}.load_balancing", "external")


@RULES.rule(
    "ROUTER-KEY",
    "Leave api_key out of inference_secrets, and let nobody but the cluster reach the engines' ports.",
    "vllm-ascend 0.18.0 to 0.23.0, disagg_epd_proxy.py: no Authorization is sent or passed on",
)
def key(case: Case) -> t.Iterator[Found]:
    """The proxy in front of encoders has no key, so engines that ask for one would answer it 401."""
    if flavour(case.context) == "epd" and "api_key" in case.context.description.secrets:
        yield Found("inference_router.flavour", "epd", "inference_secrets has api_key")


@RULES.rule(
    "FRONTEND-KEYS",
    "Add client_keys to inference_secrets: the clients' keys, separated by blanks.",
    "the planner: the frontend answers 401 without a key that it knows",
)
def frontend_keys(case: Case) -> t.Iterator[Found]:
    """A frontend knows at least one key, or nobody gets in."""
    if case.context.description.router.frontend == "nginx" and "client_keys" not in case.context.description.secrets:
        yield Found("inference_router.frontend", "nginx", "inference_secrets has no client_keys")


@RULES.rule(
    "FRONTEND-CERTIFICATE",
    "Set inference_router.certificate and certificate_key to absolute paths on the router's host.",
    "nginx: ssl_certificate, ssl_certificate_key",
)
def frontend_certificate(case: Case) -> t.Iterator[Found]:
    """Certificate and key come together, as paths that a configuration file can hold."""
    word = case.context.description.router
    pair = (("certificate", word.certificate), ("certificate_key", word.certificate_key))
    for name, path_ in pair:
        if path_ and not re.fullmatch(r"/[\w./@+-]+", path_):
            yield Found(f"inference_router.{name}", path_)
    if bool(word.certificate) != bool(word.certificate_key):
        missing = "certificate_key" if word.certificate else "certificate"
        yield Found(f"inference_router.{missing}", "", "the other one is set")


@RULES.rule(
    "FRONTEND-PLAIN",
    "Set inference_router.certificate and certificate_key, or accept this rule where something before it speaks TLS.",
    "RFC 6750 section 5.3: bearer tokens need TLS",
    "warning",
)
def frontend_plain(case: Case) -> t.Iterator[Found]:
    """Without TLS, clients' keys and prompts can be read on the way."""
    word = case.context.description.router
    if word.frontend == "nginx" and not word.certificate and not word.certificate_key:
        yield Found("inference_router.frontend", "nginx", "it has no certificate")


@RULES.rule(
    "FRONTEND-RUNTIME",
    "Use inference_runtime: systemd, or put a proxy of your own in front.",
    "upstream's images have no nginx",
)
def frontend_runtime(case: Case) -> t.Iterator[Found]:
    """The frontend is the distribution's nginx on the host, and stands in front of a router."""
    word = case.context.description.router
    if word.frontend == "nginx" and (case.context.contained or flavour(case.context) == "none"):
        yield Found("inference_router.frontend", "nginx")
