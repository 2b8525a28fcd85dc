# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's section for verification: what to prove, URLs, and the release's log lines and metrics.

The structure is that of the module ``service_verify``; log lines by release: Release.listening_line.
"""

from __future__ import annotations

import typing as t

from ..deployment import Context
from ..routers.registry import flavour_of
from ..service import Service, base_url
from .mooncake import segment_bytes
from .vllm import merged

ROLES = ("prefill", "decode", "colocated")
BLOCK_SIZE = {"vllm_ascend": 128, "vllm_cpu": 128}
ENGINE_KEY = "VLLM_API_KEY"  # vLLM reads the key from this variable, so that it is not in the command line
DRAINED = (0, 24)  # earlier releases return an empty 200 for a decode error (vllm-ascend #12166, #13140)


def verify_section(context: Context, services: t.Sequence[Service]) -> dict[str, t.Any]:
    """What verification needs, as plain data."""
    apis = [service for service in services if service.kind in ROLES and service.health]
    section: dict[str, t.Any] = {
        "mode": _mode(context),
        "model": context.served_name,
        "entry": _entry(context, services, apis),
        **{role: [_engine(api) for api in apis if api.kind == role] for role in ROLES},
        "transfer": _transfer(context),
        "release": _release(context),
        "block_size": _block_size(context),
        # Outputs of quantised engines of different sizes may diverge after some tokens.
        "match": "prefix:8" if context.description.engine == "vllm_ascend" else "exact",
    }
    if _api_key(apis):
        section["engine_api_key"] = _api_key(apis)
    master = next((service for service in services if service.kind == "mooncake_master"), None)
    if master:
        section["store"] = _store(context, master, apis)
    return section


def _mode(context: Context) -> str:
    """The mode of verification; the store is verified through mooncake_master, so not with other backends."""
    pooled = context.store and context.description.store.backend == "mooncake"
    if context.description.pools.prefill:
        return "disaggregated+pool" if pooled else "disaggregated"
    return "pool" if pooled else "colocated"


def _engine(service: Service) -> dict[str, t.Any]:
    url = base_url(service.address, service.port("api").first)
    return {"name": service.name, "host": service.host, "url": url, "log": dict(service.log)}


def _api_key(services: t.Iterable[Service]) -> str:
    """The name of the secret that engines require from clients, or nothing; its value is never in a plan."""
    return next((service.secret_env[ENGINE_KEY] for service in services if ENGINE_KEY in service.secret_env), "")


def _entry(context: Context, services: t.Sequence[Service], apis: list[Service]) -> dict[str, t.Any]:
    """The clients' entry: the router, else the first engine; for an external router the URL that the user sets."""
    url = context.description.kubernetes.router.url
    if context.runtime.in_cluster and url:
        return {
            "name": "entry",
            "host": "localhost",
            "url": url.rstrip("/"),
            "kind": "external",
            "log": {"kind": "none"},
        }
    router = next((service for service in services if service.kind == "router"), None)
    kind = flavour_of(context).name if router else "direct"
    entry = router or (apis[0] if apis else None)
    if not entry:
        return {"name": "entry", "url": "", "kind": "direct"}
    name = entry.name if router else "entry"
    found = {**_engine(entry), "name": name, "kind": kind}
    if _api_key(apis) and not (router and router.secret_env):
        found["api_key"] = _api_key(apis)  # nothing between the client and the engine adds the key
    return found


def _store(context: Context, master: Service, apis: list[Service]) -> dict[str, t.Any]:
    storing = [api.name for api in apis if "store" in context.transfer_of(_pool(context, api))]
    consumers = [api.name for api in apis if api.kind == "decode"]
    ranks = context.store_ranks
    return {
        "name": master.name,
        "host": master.host,
        "master_url": base_url(master.address, master.port("metrics").first),
        "clients": ranks,
        "capacity_bytes": ranks * segment_bytes(context),
        "writers": [name for name in storing if name not in consumers],
        "readers": storing,
        "log": dict(master.log),
    }


def _pool(context: Context, service: Service) -> t.Any:
    return getattr(context.description.pools, service.kind)


def _transfer(context: Context) -> dict[str, t.Any]:
    pools, transfer = context.description.pools, context.p2p
    if not pools.prefill or not transfer:
        return {"protocol": "none"}
    if context.description.engine == "vllm_cpu":
        return {"protocol": "bootstrap"}
    if transfer in ("mooncake", "mooncake_hybrid"):
        decode = pools.decode
        found: dict[str, t.Any] = {"protocol": "prefill_answers"}
        found["listeners_per_prefill"] = pools.prefill.devices_per_instance
        found["lines_per_request"] = decode.rank_devices if decode else 1
        return found
    if transfer == "llmdatadist":
        return {"protocol": "prefill_answers", "lines_per_request": pools.decode.rank_devices if pools.decode else 1}
    return {"protocol": "layerwise" if transfer == "mooncake_layerwise" else "prefill_answers"}


def _release(context: Context) -> dict[str, t.Any]:
    release, npu = context.release, context.description.engine == "vllm_ascend"
    lines = {}
    if npu and context.p2p in ("mooncake", "mooncake_hybrid"):
        lines = {
            "transferred": "KV cache transfer for request ",
            "delayed": "Delaying free of ",
            "listening": release.listening_line,
        }
    elif npu and context.p2p == "llmdatadist":
        # Logged before the pull; a failed pull raises and the request gets no answer (connector of 0.11.0),
        # so together with a complete answer the line proves the transfer.
        lines = {"transferred": "Try pull blocks from remote server"}
    return {
        "name": release.name,
        "has_prompt_tokens_by_source": release.prompt_tokens_by_source,
        "lines": lines,
        "known_limits": ["empty_200"] if npu and release.vllm_version < DRAINED else [],
    }


def _block_size(context: Context) -> int:
    """The engines' KV block size in tokens: the user's option, else the engine's default."""
    pools = context.description.pools
    layers = [context.description.args, *(pool.args for pool in (pools.prefill, pools.decode, pools.colocated) if pool)]
    value = str(merged(*layers).get("block-size", ""))
    return int(value) if value.isdigit() else BLOCK_SIZE[context.description.engine]
