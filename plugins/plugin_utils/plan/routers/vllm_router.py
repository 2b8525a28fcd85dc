# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM's own router, a package: for colocated engines, and for prefill and decode of the CPU engine."""

from __future__ import annotations

from ...releases import options
from ..deployment import Context
from .base import COLOCATED, DISAGGREGATED, Flags, Flavour, Package, Place, url

VERSION = "0.1.17"


def _options() -> frozenset[str]:
    known = options.known("vllm_router", VERSION)
    return frozenset(known) | {f"no-{name}" for name in known}


def _flags(flavour: Flavour, place: Place) -> Flags:
    flags: Flags = {"host": place.address, "port": place.port, "prometheus-host": place.address}
    flags["prometheus-port"] = place.metrics_port
    # A failed worker is removed and restored within two seconds; the defaults take three minutes.
    flags.update({"health-check-interval-secs": 2, "health-failure-threshold": 1, "health-success-threshold": 1})
    flags["policy"] = "round_robin"
    colocated = place.answering("colocated")
    if colocated:
        return {**flags, "worker-urls": [url(engine) for engine in colocated]}
    return {**flags, "vllm-pd-disaggregation": True, "kv-connector": "nixl"}


def _tail(place: Place) -> list[str]:
    """One option for each prefill and decode engine; colocated engines are values of one option."""
    kinds = () if place.answering("colocated") else ("prefill", "decode")
    return [argument for kind in kinds for engine in place.answering(kind) for argument in (f"--{kind}", url(engine))]


def _preferred(context: Context) -> bool:
    """For the CPU engine, and for colocated engines without containers: images contain only the examples' proxies."""
    pools = context.description.pools
    if context.description.engine == "vllm_cpu":
        return True
    return not (pools.prefill or pools.encode or context.contained)


FLAVOUR = Flavour(
    name="vllm_router",
    pools=(COLOCATED, DISAGGREGATED),
    preferred=_preferred,
    package=Package(f"vllm-router=={VERSION}", "vllm_router", "vllm-router", _options()),
    flags=_flags,
    urls={"prefill": "prefill", "decode": "decode", "worker-urls": "colocated"},
    tail=_tail,
    health_path="/health",
    metrics_port=8010,
    admin=("/flush_cache", "/workers", "/list_workers", "/get_loads"),
    membership=("/add_worker", "/remove_worker"),
    # Version 0.1.17 sends its own key to prefill and decode; colocated engines get the client's key.
    sends_key=lambda place: not place.answering("colocated"),
    passes_key=True,
    retries=False,
)
