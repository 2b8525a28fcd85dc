# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of both sides of a transfer: prefill and decode must match, and every pool must get requests."""

from __future__ import annotations

import posixpath
import typing as t

from ...description.findings import Finding
from ...engines.registry import ENGINES
from ..render import kv
from ..routers.registry import flavour_of
from .base import Case, Rules
from .engine_view import KV, extra_of

RULES = Rules()
# Connectors that share KV cache between engines, and those that store it only for their own engine. All others,
# including those newer than this list, transfer it from engine to engine.
STORES = {
    *(kv.ASCEND_NAMES[name] for name in ("store", "ucm")),
    *(engine.connectors["store"] for engine in ENGINES if "store" in engine.connectors),
    "MooncakeConnectorStoreV1",
}
OWN_ENGINE = {
    kv.ASCEND_NAMES[name] for name in ("offloading", "preempt_offload", "simple_cpu_offload", "recompute_cpu_offload")
} | {
    "LMCacheAscendConnector",  # its server, through which engines would share, is not started here
}


def names(view: t.Any) -> set[str]:
    """Names of an engine's connectors, including those inside MultiConnector."""
    return {str(connector.get("kv_connector", "")) for connector in view.connectors} - {"MultiConnector", ""}


def stores(view: t.Any) -> set[str]:
    """Connectors of an engine that share KV cache with other engines."""
    return names(view) & STORES


def known(case: Case, view: t.Any) -> set[str]:
    """Connectors of the release, and those with their own module."""
    own = {
        str(connector.get("kv_connector")) for connector in view.connectors if connector.get("kv_connector_module_path")
    }
    return own | set(case.context.release.connectors)


def where(case: Case, view: t.Any) -> str:
    """The variable that sets an engine's connector."""
    pools = case.context.description.pools
    if view.table.get(KV) and any(
        "kv-transfer-config" in key.replace("_", "-") for _path, args in view.layers("args") for key in args
    ):
        return str(view.path(KV))
    for name in (view.kind, "decode", "prefill"):
        pool = getattr(pools, name)
        if pool and pool.kv_transfer:
            return f"inference_pools.{name}.kv_transfer"
    return "inference_kv_transfer"


def written(case: Case, place: str, view: t.Any) -> str:
    """What the user wrote at a place: the word of a transfer, else the connectors of an engine."""
    _root, _dot, rest = place.partition("inference_pools.")
    own = getattr(case.context.description.pools, rest.partition(".")[0], None) if rest else case.context.description
    return str(own.kv_transfer) if place.endswith("kv_transfer") and own else shown(names(view))


def shown(found: t.Collection[str]) -> str:
    """Connectors as text."""
    return "+".join(sorted(found)) or "none"


@RULES.rule(
    "TRANSFER-PAIR",
    "Give prefill and decode the same inference_kv_transfer, or use the store on both.",
    "vllm-ascend kv_transfer/kv_p2p: each connector has its own protocol between the two sides",
)
def pair(case: Case) -> t.Iterator[Finding]:
    """Prefill and decode have different connectors.

    Decode waits for KV cache that never arrives or recomputes every prompt, and prefill holds its blocks in vain.
    """
    for prefill, decode, sent, taken in _sides(case):
        if sent != taken and not stores(prefill) & stores(decode):
            text = f"prefill has {shown(names(prefill))}, decode has {shown(names(decode))}"
            place = where(case, decode)
            own = prefill if place.startswith("inference_pools.prefill.") else decode
            yield Finding.at(place, written(case, place, own), text)


@RULES.rule(
    "TRANSFER-CARRIES",
    "Use mooncake, or a store that both pools share.",
    "vLLM OffloadingConnector and similar: blocks are copied to the memory of the engine's own host and back",
)
def carries(case: Case) -> t.Iterator[Finding]:
    """The connectors do not transfer KV cache from prefill to decode.

    Offloading connectors store the KV cache only for their own engine, so decode recomputes every prompt.
    """
    for prefill, decode, sent, taken in _sides(case):
        if not sent and not taken and not stores(prefill) & stores(decode):
            text = f"{shown(names(prefill) | names(decode))} stores the KV cache only for its own engine"
            yield Finding.at(where(case, decode), written(case, where(case, decode), decode), text)


def _sides(case: Case) -> t.Iterator[tuple[t.Any, t.Any, set[str], set[str]]]:
    """Every pair of prefill and decode, with the transferring connectors of each side."""
    views = case.of("prefill", "decode")
    if not case.disaggregated or not any(names(view) for view in views):
        return
    if any(KV in view.table and not names(view) or names(view) - known(case, view) for view in views):
        return  # reported by another rule
    for prefill in case.of("prefill"):
        for decode in case.of("decode"):
            yield prefill, decode, *(names(view) - STORES - OWN_ENGINE for view in (prefill, decode))


@RULES.rule(
    "POOL-UNSERVED",
    "Remove the pool, deploy it separately, or set inference_router.flavour: none and route requests yourself.",
    "the proxies' lists of engines",
)
def unserved(case: Case) -> t.Iterator[Finding]:
    """The router sends no request to a pool.

    The pool's engines load the model and stay idle.
    """
    present, found = set(case.context.description.pools.present()), flavour_of(case.context)
    served = next((pools for pools in found.pools if pools <= present), None)
    if not case.named("router") or served is None:
        return
    for name in sorted(present - served):
        text = f"the {found.name} router sends requests to {' and '.join(sorted(served))} only"
        yield Finding.at(f"inference_pools.{name}", "", text)


@RULES.rule(
    "PP-PARTITION",
    "Set VLLM_PP_LAYER_PARTITION on the pool with pipeline parallelism, with one number of layers for each pipeline rank.",
    "vLLM distributed/utils.py get_pp_indices: the partition has as many numbers as there are pipeline ranks",
)
def partition(case: Case) -> t.Iterator[Finding]:
    """VLLM_PP_LAYER_PARTITION does not match the pipeline ranks.

    The engine fails to start, or the connector reads layers from the wrong rank and decode gets wrong KV cache.
    """
    for view in case.engine_views:
        value, size = view.env.get("VLLM_PP_LAYER_PARTITION"), view.instance.pool.pipeline_parallel_size
        if value is None:
            continue
        parts = [part.strip() for part in value.split(",")]
        path = view.env_path("VLLM_PP_LAYER_PARTITION")
        if not all(part.isdecimal() and int(part) for part in parts):
            yield Finding.at(path, value, f"'{value}' is not a list of whole numbers")
        elif len(parts) != size:
            yield Finding.at(path, value, f"it has {len(parts)} parts, but {view.kind} has {size} pipeline ranks")


@RULES.rule(
    "PP-PARTITION-DERIVED",
    "Remove pp_layer_partition from kv_connector_extra_config: the planner sets it from prefill's environment.",
    "vllm-ascend mooncake_connector.py: layers of a pipeline rank, get_prefill_pp_indices",
)
def partition_mismatch(case: Case) -> t.Iterator[Finding]:
    """The connector's pp_layer_partition differs from prefill's VLLM_PP_LAYER_PARTITION.

    Decode uses it to map layers to pipeline ranks and reads the wrong ones, without an error.
    """
    expected = kv.layer_partition(case.context.description)
    for view in case.engine_views if case.disaggregated else ():
        for connector in view.connectors:
            side = extra_of(connector).get("prefill")
            value = side.get("pp_layer_partition") if isinstance(side, dict) else None
            if isinstance(side, dict) and "tp_size" in side and (value or "") != expected:
                path = view.kv_path("kv_connector_extra_config", "prefill", "pp_layer_partition")
                yield Finding.at(path, value or "", f"prefill's VLLM_PP_LAYER_PARTITION is {expected or 'not set'}")


@RULES.rule(
    "MODEL-PAIR",
    "Set the same model for prefill and decode, or accept this rule if both directories hold the same architecture.",
    "vllm-ascend mooncake connectors: blocks are copied as they are",
    "warning",
)
def models(case: Case) -> t.Iterator[Finding]:
    """Prefill and decode load different models.

    The KV cache of one model means nothing to another one: the transfer fails, or answers are wrong without an error.
    """
    usual = case.context.description.model.path
    names_ = {
        view.kind: posixpath.basename((view.instance.pool.model or usual).rstrip("/"))
        for view in case.of("prefill", "decode")
    }
    for kind in names_ if len(set(names_.values())) > 1 else ():
        own = getattr(case.context.description.pools, kind).model
        if own and names_[kind] != posixpath.basename(usual.rstrip("/")):
            problem = f"prefill loads {names_['prefill']}, decode loads {names_['decode']}"
            yield Finding.at(f"inference_pools.{kind}.model", own, problem)
