# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proxy's command line, by flavour."""

from __future__ import annotations

import posixpath
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._context import Context
from ansible_collections.ascend.inference.plugins.plugin_utils._render.vllm import merged, words
from ansible_collections.ascend.inference.plugins.plugin_utils._service import Health, Port, Service, Start, Stop
from ansible_collections.ascend.inference.plugins.plugin_utils._topology import Host

NAME = "router"
METRICS = 8010
SCRIPT = {
    "load_balance": "load_balance_proxy_server_example.py",
    "layerwise": "load_balance_proxy_layerwise_server_example.py",
}


def flavour(context: Context) -> str:
    """The router's flavour: the user's, or what the connector needs."""
    if context.description.router.flavour:
        return context.description.router.flavour
    if context.description.engine == "vllm_cpu":
        return "vllm_router"
    if context.p2p == "mooncake_layerwise":
        return "layerwise"
    return "load_balance" if context.p2p else "vllm_router"


def router_venv(context: Context) -> str:
    """Name of the router's virtual environment."""
    return f"router-{flavour(context)}-{context.release.name}"


def script_path(context: Context) -> str:
    """Where the release's own proxy script is kept; empty for a packaged router."""
    script = SCRIPT.get(flavour(context), "")
    return posixpath.join(context.venv(router_venv(context)), "share", "proxy", script) if script else ""


def router_service(context: Context, host: Host, engines: t.Sequence[Service]) -> Service:
    """The proxy in front of every engine that has an API."""
    word = context.description.router
    address = word.bind or host.address
    kind = flavour(context)
    argv = _vllm_router(context, address, engines) if kind == "vllm_router" else _script(context, address, engines)
    ports = [Port("api", word.port, protocol="http", scope="client")]
    if kind == "vllm_router":
        ports.append(Port("metrics", word.metrics_port or METRICS, protocol="http"))
    path = "/health" if kind == "vllm_router" else "/healthcheck"
    return Service(
        name=NAME,
        kind="router",
        host=host.name,
        address=address,
        argv=tuple(argv),
        env={key: str(word.env[key]) for key in sorted(word.env)},
        ports=tuple(ports),
        work_directory=context.service_directory(NAME),
        log=context.log(NAME),
        start=Start(30, tuple(one.name for one in engines if one.health)),
        health=Health(f"http://{address}:{word.port}{path}", 120),
        stop=Stop("TERM", 30),
    )


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
    prefill, decode = _targets(engines, "prefill"), _targets(engines, "decode")
    flags: dict[str, t.Any] = {
        "host": address,
        "port": context.description.router.port,
        "prefiller-hosts": [one.address for one in prefill],
        "prefiller-ports": [one.port("api").first for one in prefill],
        "decoder-hosts": [one.address for one in decode],
        "decoder-ports": [one.port("api").first for one in decode],
    }
    python = posixpath.join(context.venv(router_venv(context)), "bin", "python")
    return [python, script_path(context), *words(merged(flags, context.description.router.args))]


def _url(service: Service) -> str:
    return f"http://{service.address}:{service.port('api').first}"
