# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proxy's command line, by flavour."""

from __future__ import annotations

import posixpath
import typing as t

from ...description.variables import Host
from ...releases.release import DEFAULT, RELEASES
from ..deployment import Context
from ..service import Health, Port, Service, Start, Stop
from .container import SOURCES, container
from .proxies import health_path, lists_of
from .vllm import merged, words

NAME = "router"
METRICS = 8010
NEWEST = RELEASES[DEFAULT["vllm_ascend"]]  # whose scripts serve engines that bring none


def flavour(context: Context) -> str:
    """The router's flavour: the user's, or what the pools and the connector need."""
    pools = context.description.pools
    if context.description.router.flavour:
        return context.description.router.flavour
    if context.description.engine == "vllm_cpu":
        return "vllm_router"
    if pools.encode:
        return "epd" if pools.colocated else "epd_layerwise"
    if context.p2p in ("mooncake_layerwise", "sfa_remote_d2h"):
        return "layerwise"
    if pools.prefill:
        return "load_balance"
    # Images hold the examples' proxies, not the packaged router.
    return (
        next((one for one in ("dp", "hybrid") if one in context.release.proxies), "none")
        if context.contained
        else "vllm_router"
    )


def router_venv(context: Context) -> str:
    """Name of the router's virtual environment."""
    return f"router-{flavour(context)}-{context.release.name}"


def script_source(context: Context) -> str:
    """The path of the release's own proxy script in vLLM-Ascend's sources; empty for a packaged router."""
    known = context.release.proxy_paths or NEWEST.proxy_paths
    return known.get(flavour(context), "")


def script_path(context: Context) -> str:
    """Where the release's own proxy script is kept; empty for a packaged router."""
    source = script_source(context)
    if not source:
        return ""
    if context.contained:
        return posixpath.join(SOURCES, source)
    return posixpath.join(context.venv(router_venv(context)), "share", "proxy", posixpath.basename(source))


def router_service(context: Context, host: Host, engines: t.Sequence[Service]) -> Service:
    """The proxy in front of every engine that has an API."""
    word = context.description.router
    address = word.bind or host.address
    reached = host.address if address in ("0.0.0.0", "::") else address
    kind = flavour(context)
    argv = _vllm_router(context, address, engines) if kind == "vllm_router" else _script(context, address, engines)
    ports = [Port("api", word.port, protocol="http", scope="client")]
    if kind == "vllm_router":
        ports.append(Port("metrics", word.metrics_port or METRICS, protocol="http"))
    directory, npu = context.service_directory(NAME), context.description.engine == "vllm_ascend"
    contained = npu and context.contained
    # Releases up to 0.18 and the layerwise proxy import vLLM for its logger. In an image that loads torch, and torch the NPUs' libraries,
    # which need the driver; this container has none.
    env = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} if contained and script_source(context) else {}
    env.update({key: str(word.env[key]) for key in sorted(word.env)})
    asked = "api_key" in context.description.secrets and sends_key(kind, engines)
    return Service(
        name=NAME,
        kind="router",
        host=host.name,
        address=reached,
        argv=tuple(argv),
        env=env,
        secret_env={"OPENAI_API_KEY": "api_key"} if asked else {},
        ports=tuple(ports),
        work_directory=directory,
        start=Start(30, tuple(one.name for one in engines if one.health)),
        health=Health(f"http://{reached}:{word.port}{health_path(kind)}", 120),
        stop=Stop("TERM", 30),
        container=container(context, host, NAME, directory, False) if contained else None,
    )


def sends_key(kind: str, engines: t.Sequence[Service]) -> bool:
    """Whether this router asks engines with a key of its own, OPENAI_API_KEY, in place of the client's.

    All of vLLM-Ascend's proxies do, but the one for encoders, which sends none at all. vllm-router 0.1.17 does between
    prefill and decode; in front of equal engines it passes on what the client sent.
    """
    if kind == "vllm_router":
        return not _targets(engines, "colocated")
    return kind != "epd"


def _targets(engines: t.Sequence[Service], kind: str) -> list[Service]:
    return [one for one in engines if one.kind == kind and one.health]


def _vllm_router(context: Context, address: str, engines: t.Sequence[Service]) -> list[str]:
    word = context.description.router
    argv = [posixpath.join(context.venv(router_venv(context)), "bin", "vllm-router")]
    flags: dict[str, t.Any] = {"host": address, "port": word.port, "prometheus-host": address}
    flags["prometheus-port"] = word.metrics_port or METRICS
    # A dead worker is out within two seconds, and back as soon; the defaults take three minutes.
    flags.update({"health-check-interval-secs": 2, "health-failure-threshold": 1, "health-success-threshold": 1})
    flags["policy"] = "round_robin"
    together = _targets(engines, "colocated")
    if together:
        flags["worker-urls"] = [_url(one) for one in together]
        return argv + words(merged(flags, word.args))
    flags.update({"vllm-pd-disaggregation": True, "kv-connector": "nixl"})
    tail: list[str] = []
    for kind, flag in (("prefill", "--prefill"), ("decode", "--decode")):
        for one in _targets(engines, kind):
            tail += [flag, _url(one)]
    return argv + words(merged(flags, word.args)) + tail


def _script(context: Context, address: str, engines: t.Sequence[Service]) -> list[str]:
    word = context.description.router
    lists = lists_of(flavour(context), address, word.port, lambda kind: _targets(engines, kind))
    python = "python3" if context.contained else posixpath.join(context.venv(router_venv(context)), "bin", "python")
    return [python, script_path(context), *words(merged(lists, word.args))]


def _url(service: Service) -> str:
    return f"http://{service.address}:{service.port('api').first}"
