# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's section for verification: what to prove, URLs, and the release's log lines and metrics.

The structure is that of the module ``service_verify``; log lines by release: Release.listening_line.
"""

from __future__ import annotations

import dataclasses
import math
import typing as t

from ....module_utils.tools.engine_kinds import ANSWERING_KINDS
from ...description.variables import Verify
from ..deployment import Context
from ..routers.registry import flavour_of
from ..service import Service, base_url
from .balancer import plain_address
from .client_paths import ADMIN
from .frontend import KEYS
from .mooncake import contributes, segment_bytes
from .vllm import merged

ENGINE_KEY = "VLLM_API_KEY"  # vLLM reads the key from this variable, so that it is not in the command line
RANK_HEADER = (0, 11, 1)  # from then on vLLM serves a request by the rank of X-data-parallel-rank (vllm #24945)
TOKENS = 16  # of each answer
PARSERS = ("reasoning-parser", "tool-call-parser", "chat-template")
NO_TOLERANCE = ("reason", "server_name", "ca_file")  # of inference_verify
DRAINED = (0, 24)  # earlier releases return an empty 200 for a decode error (vllm-ascend #12166, #13140)


def verify_section(context: Context, services: t.Sequence[Service]) -> dict[str, t.Any]:
    """What verification needs, as plain data."""
    apis = [service for service in services if service.kind in ANSWERING_KINDS and service.health]
    section: dict[str, t.Any] = {
        "mode": _mode(context),
        "model": context.served_name,
        "entry": _entry(context, services, apis),
        **{role: [_api(context, api) for api in apis if api.kind == role] for role in ANSWERING_KINDS},
        "transfer": _transfer(context),
        "release": _release(context),
        "block_size": _block_size(context),
        **_strictness(context),
    }
    frontend = next((service for service in services if service.kind == "frontend"), None)
    routers = [service for service in services if service.kind == "router"]
    if routers and (frontend or context.balanced):
        section["routers"] = [_engine(router) for router in routers]
    if _api_key(apis):
        section["engine_api_key"] = _api_key(apis)
    masters = [service for service in services if service.kind == "mooncake_master"]
    if masters:
        section["store"] = _store(context, masters, apis)
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


def _api(context: Context, service: Service) -> dict[str, t.Any]:
    """An engine's API, with the data-parallel ranks behind it and the registry of vLLM's own Mooncake connector."""
    pool, found = _pool(context, service), _engine(service)
    internal = pool.load_balancing == "internal"
    if internal and pool.data_parallel_size > 1:
        found["ranks"] = pool.data_parallel_size
    registry = next((port for port in service.ports if port.name == "bootstrap"), None)
    if registry and (internal or pool.data_parallel_size == 1):
        found["bootstrap"] = base_url(service.address, registry.first)
    return found


def _strictness(context: Context) -> dict[str, t.Any]:
    """What is asked and compared, by the engine and ``inference_verify``."""
    description, engine = context.description, context.engine
    wish, options = description.verify, _options(context)
    tie, difference = engine.near_tie, engine.probability_difference
    compared = wish.compared_tokens or engine.compared_tokens
    chunk = str(options.get("max-num-batched-tokens", ""))
    limit = description.router.frontend_parallel_requests if description.router.frontend != "none" else 0
    usual = Verify()
    changed = [
        f"{field.name} {getattr(wish, field.name)}"
        for field in dataclasses.fields(Verify)
        if field.name not in NO_TOLERANCE and getattr(wish, field.name) != getattr(usual, field.name)
    ]
    return {
        "match": "exact" if compared >= TOKENS else f"prefix:{compared}",
        "min_prompt_tokens": wish.min_prompt_tokens,
        "max_pairs": wish.max_pairs,
        "prompts": wish.prompts,
        "agreement": wish.agreement,
        "near_tie": round(-math.log((wish.near_tie or tie) / 100), 4) + 0.0,  # nats
        "logprob_difference": round(math.log1p((wish.probability_difference or difference) / 100), 4),
        "burst": min(wish.burst, limit) if limit else wish.burst,
        "chunk_tokens": int(chunk) if chunk.isdigit() else engine.chunk_tokens,
        "long_prompt_tokens": wish.long_prompt_tokens,
        "parsers": [f"{name} {options[name]}" for name in PARSERS if options.get(name)],
        "changed": changed,
        "reason": wish.reason,
    }


def _options(context: Context) -> dict[str, t.Any]:
    """The users' options of the engines that process prompts and answer clients."""
    pools = context.description.pools
    return merged(
        context.description.args, *(pool.args for pool in (pools.decode, pools.prefill, pools.colocated) if pool)
    )


def _api_key(services: t.Iterable[Service]) -> str:
    """The name of the secret that engines require from clients, or nothing; its value is never in a plan."""
    return next((service.secret_env[ENGINE_KEY] for service in services if ENGINE_KEY in service.secret_env), "")


def _entry(context: Context, services: t.Sequence[Service], apis: list[Service]) -> dict[str, t.Any]:
    """The clients' entry: the frontend, else the balancer, else the router, else the first engine; for an external router the URL that the user sets."""
    url = context.description.kubernetes.router.url
    if context.runtime.in_cluster and url:
        return {
            "name": "entry",
            "host": "localhost",
            "url": url.rstrip("/"),
            "kind": "external",
            "log": {"kind": "none"},
        }
    frontend = next((service for service in services if service.kind == "frontend"), None)
    if frontend:
        return _frontend(context, frontend)
    router = next((service for service in services if service.kind == "router"), None)
    kind = flavour_of(context).name if router else "direct"
    balancer = next((service for service in services if service.kind == "balancer"), None)
    if balancer:
        kind = context.description.router.balancer
    entry = balancer or router or (apis[0] if apis else None)
    if not entry:
        return {"name": "entry", "url": "", "kind": "direct"}
    name = entry.name if router else "entry"
    found = {**_engine(entry), "name": name, "kind": kind}
    if _api_key(apis) and not (router and router.secret_env):
        found["api_key"] = _api_key(apis)  # nothing between the client and the engine adds the key
    if balancer and context.description.router.virtual_address:
        found["url"] = base_url(plain_address(context.description.router.virtual_address), balancer.port("api").first)
    if balancer:
        found["refused_paths"] = _refused_paths(context)
    return found


def _frontend(context: Context, service: Service) -> dict[str, t.Any]:
    """The frontend as clients reach it: its protocol, a key, and the paths that it refuses."""
    port, wish = service.port("api"), context.description.verify
    found = _engine(service)
    found["url"] = found["url"].replace("http://", f"{port.protocol}://", 1)
    found.update(kind=service.kind, api_key=KEYS)
    found["refused_paths"] = _refused_paths(context)
    found.update({"server_name": wish.server_name} if wish.server_name else {})
    found.update({"ca_path": wish.ca_file} if wish.ca_file else {})
    return found


def _refused_paths(context: Context) -> list[str]:
    """Paths of operators, which clients must not reach."""
    served = context.description.router.frontend_paths
    return sorted({*flavour_of(context).private, *ADMIN} - set(served))


def _store(context: Context, masters: t.Sequence[Service], apis: list[Service]) -> dict[str, t.Any]:
    """The store, with all of its masters if there are several."""
    master = masters[0]
    storing = [api.name for api in apis if "store" in context.transfer_of(_pool(context, api))]
    consumers = [api.name for api in apis if api.kind == "decode"]
    several = [
        {"name": item.name, "host": item.host, "url": _metrics_url(item), "log": dict(item.log)}
        for item in (masters if len(masters) > 1 else ())
    ]
    return {
        **({"masters": several} if several else {}),
        "name": master.name,
        "host": master.host,
        "master_url": _metrics_url(master),
        # The master counts clients that mounted a segment (measured with Mooncake 0.3.13.post1).
        "clients": sum(item.pool.devices_per_instance for item in context.storing if contributes(context, item.pool)),
        "capacity_bytes": sum(
            item.pool.devices_per_instance * segment_bytes(context, item.pool) for item in context.storing
        ),
        "writers": [name for name in storing if name not in consumers],
        "readers": storing,
        "log": dict(master.log),
    }


def _metrics_url(service: Service) -> str:
    return base_url(service.address, service.port("metrics").first)


def _pool(context: Context, service: Service) -> t.Any:
    return getattr(context.description.pools, service.kind)


def _transfer(context: Context) -> dict[str, t.Any]:
    pools, transfer = context.description.pools, context.p2p
    if not pools.prefill or not transfer:
        return {"protocol": "none"}
    if context.engine.connectors:
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
    release, npu = context.release, context.engine.npus
    lines = {}
    if not context.engine.connectors and context.p2p in ("mooncake", "mooncake_hybrid"):
        lines = {
            "transferred": "KV cache transfer for request ",
            "delayed": "Delaying free of ",
            "listening": release.listening_line,
        }
    elif not context.engine.connectors and context.p2p == "llmdatadist":
        # Logged before the pull; a failed pull raises and the request gets no answer (connector of 0.11.0),
        # so together with a complete answer the line proves the transfer. "All transfers completed for request: ID" of prefill (0.9.1rc2 to
        # 0.10.1rc1) would be after it. But a rank logs it only if all ranks of decode report to this one rank, which they do only if prefill
        # has no tensor parallelism, or decode has none (send_finish_to_remote, _increment_task_count).
        lines = {"transferred": "Try pull blocks from remote server"}
    return {
        "name": release.name,
        "has_prompt_tokens_by_source": release.prompt_tokens_by_source,
        "has_rank_header": release.vllm_version >= RANK_HEADER,
        "lines": lines,
        "known_limits": ["empty_200"] if npu and release.vllm_version < DRAINED else [],
    }


def _block_size(context: Context) -> int:
    """The engines' KV block size in tokens: the user's option, else the engine's default."""
    pools = context.description.pools
    layers = [context.description.args, *(pool.args for pool in (pools.prefill, pools.decode, pools.colocated) if pool)]
    value = str(merged(*layers).get("block-size", ""))
    return int(value) if value.isdigit() else context.engine.block_size
