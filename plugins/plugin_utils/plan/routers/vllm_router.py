# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM's own router, a package: for colocated engines, and for prefill and decode of the CPU engine."""

from __future__ import annotations

import re
import typing as t

from ...releases import options
from ...releases.release import Release
from ..deployment import Context
from .base import AMOUNT, COLOCATED, DISAGGREGATED, Flags, Flavour, Members, Package, Place, url

VERSION = "0.1.17"
NUMERIC = re.compile(r".*-(secs|ms|size|threshold|requests|retries|port|tokens|factor|multiplier)$")
# Each mode of the program counts with names of its own (0.1.17, seen in runs); a counter of errors appears with the first one.
# make parsers looks for them in the program.
METRICS = {
    DISAGGREGATED: (
        "vllm_router_worker_health",
        "vllm_router_pd_requests_total",
        "vllm_router_pd_decode_errors_total",
        "vllm_router_pd_prefill_errors_total",
        "vllm_router_pd_stream_errors_total",
        "vllm_router_pd_errors_total",
        "vllm_router_pd_request_duration_seconds_bucket",
    ),
    COLOCATED: (
        "vllm_router_worker_health",
        "vllm_router_requests_total",
        "vllm_router_request_errors_total",
        "vllm_router_retries_total",
        "vllm_router_retries_exhausted_total",
        "vllm_router_generate_duration_seconds_bucket",
    ),
}


def _options() -> frozenset[str]:
    known = options.known("vllm_router", VERSION)
    return frozenset(known) | {f"no-{name}" for name in known}


def _takes(name: str) -> tuple[str, str]:
    """Version 0.1.17 --help lists the choices of --decode-policy only; --policy and --prefill-policy have the same."""
    option = options.known("vllm_router", VERSION).get(
        "decode-policy" if name in ("policy", "prefill-policy") else name
    )
    if option is None:
        return "", ""
    if option.choices:
        return "|".join(map(re.escape, option.choices)), f"one of {', '.join(option.choices)}"
    if option.kind in ("flag", "bool") or not NUMERIC.fullmatch(name):
        return "", ""
    return AMOUNT


def _flags(flavour: Flavour, place: Place) -> Flags:
    flags: Flags = {"host": place.address, "port": place.port, "prometheus-host": place.address}
    flags["prometheus-port"] = place.metrics_port
    # A failed worker is removed and restored within two seconds; the defaults take three minutes.
    flags.update({"health-check-interval-secs": 2, "health-failure-threshold": 1, "health-success-threshold": 1})
    flags["policy"] = "round_robin"
    colocated = place.answering("colocated")
    if colocated:
        return {**flags, "worker-urls": [url(engine) for engine in colocated]}
    flags.update({"vllm-pd-disaggregation": True, "kv-connector": "nixl"})
    # Several engines of a pool leave and return while the router serves. Not for single ones: with this option the router answers
    # /v1/models with a list of its own, and requests without a model are not disaggregated. A router that runs with it keeps it.
    several = place.posted or any(len(place.answering(kind)) > 1 for kind in ("prefill", "decode"))
    return {**flags, "enable-igw": True} if several else flags


def _tail(place: Place) -> list[str]:
    """One option for each prefill and decode engine; colocated engines are values of one option."""
    kinds = () if place.answering("colocated") else ("prefill", "decode")
    return [argument for kind in kinds for engine in place.answering(kind) for argument in (f"--{kind}", url(engine))]


def _preferred(context: Context) -> bool:
    """For vLLM's own connectors, and for colocated engines without containers: images contain only the examples' proxies."""
    pools = context.description.pools
    if context.engine.connectors:
        return True
    return not (pools.prefill or pools.encode or context.contained)


def _members(flavour: Flavour, release: Release, argv: t.Sequence[str]) -> Members | None:
    """Between prefill and decode only with --enable-igw; then engines of the command line are no members (0.1.17, seen in runs)."""
    if "--enable-igw" in argv:
        return Members("workers", tuple(flavour.urls), posted=True)
    return None if "--vllm-pd-disaggregation" in argv else Members("workers", ("worker-urls",))


FLAVOUR = Flavour(
    name="vllm_router",
    pools=(COLOCATED, DISAGGREGATED),
    preferred=_preferred,
    package=Package(f"vllm-router=={VERSION}", "vllm_router", "vllm-router", _options(), _takes),
    flags=_flags,
    urls={"prefill": "prefill", "decode": "decode", "worker-urls": "colocated"},
    tail=_tail,
    health_path="/health",
    metrics_port=8010,
    metrics=METRICS,
    admin=("/flush_cache", "/workers", "/list_workers", "/get_loads"),
    membership=("/add_worker", "/remove_worker"),
    members=_members,
    # Version 0.1.17 sends its own key to prefill and decode; colocated engines get the client's key.
    sends_key=lambda place: not place.answering("colocated"),
    passes_key=True,
    retries=False,
)
