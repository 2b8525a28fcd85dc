# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``--kv-transfer-config`` of every connector, from the topology; both roles' sizes are told to both sides.

What a release ignores is left out: ``kv_connector_module_path`` (fatal where it is stale), ``engine_id`` (a pinned one
outlives its process and makes peers read stale addresses), ``kv_rank`` and the like. Sources: vllm-ascend's
connectors by tag.
"""

from __future__ import annotations

import posixpath
import typing as t

from ...description.variables import Description
from ..deployment import Context
from ..placement import Instance, Process
from ..ports import WITH_PORT

ROLE = {"prefill": "kv_producer", "decode": "kv_consumer", "colocated": "kv_both", "encode": "kv_both"}
ASCEND_NAMES = {
    "mooncake": "MooncakeConnectorV1",
    "mooncake_hybrid": "MooncakeHybridConnector",
    "mooncake_layerwise": "MooncakeLayerwiseConnector",
    "mooncake_v2": "MooncakeConnectorV2",
    "mooncake_pull": "MooncakePullConnector",
    "mooncake_d2rh": "MooncakeD2RHConnectorV1",
    "llmdatadist": "LLMDataDistCMgrConnector",
    "store": "AscendStoreConnector",
    "sfa_remote_d2h": "SfaRemoteD2HConnector",
    "recompute_cpu_offload": "RecomputeCPUOffloadConnector",
    "simple_cpu_offload": "SimpleCPUOffloadConnector",
    "offloading": "OffloadingConnector",
    "lmcache": "LMCacheAscendConnector",
    "ucm": "UCMConnector",
}
CPU_NAMES = {"mooncake": "MooncakeSerialConnector", "store": "MooncakeStoreConnector"}
# Each engine both reads and writes what is shared, whatever its pool (vllm-ascend ucm_deployment.md)
BOTH_WAYS = ("ucm",)


def connector_name(context: Context, word: str) -> str:
    """The connector's registered name in this release."""
    if context.description.engine == "vllm_cpu":
        return CPU_NAMES.get(word, word)
    name = ASCEND_NAMES.get(word, word)
    if name == "AscendStoreConnector" and name not in context.release.connectors:
        return "MooncakeConnectorStoreV1"
    return name


def kv_transfer_config(context: Context, instance: Instance, process: Process | None = None) -> dict[str, t.Any] | None:
    """The configuration of one instance, or None where nothing is carried.

    ``inference_pools.<pool>.kv`` goes on top: a key that names one of the pool's connectors (``store``, ``mooncake``, ...)
    holds entries of that connector's ``kv_connector_extra_config``, every other key is one of the configuration itself.
    """
    if instance.kind == "encode":
        return None
    words = context.transfer_of(instance.pool)
    own = instance.pool.kv
    children = [
        deep(
            _child(context, instance, word, process or instance.first), {"kv_connector_extra_config": own.get(word, {})}
        )
        for word in words
    ]
    if not children:
        return None
    config = children[0]
    if len(children) > 1:
        extra = {"connectors": [_tidy(item) for item in children]}
        config = {
            "kv_connector": "MultiConnector",
            "kv_role": ROLE[instance.kind],
            "kv_connector_extra_config": extra,
        }
    return _tidy(deep(config, {key: own[key] for key in own if key not in words}))


def ec_transfer_config(context: Context, instance: Instance) -> dict[str, t.Any] | None:
    """Who computes the encoder's output and who takes it; None without an ``encode`` pool."""
    pools = context.description.pools
    if not pools.encode or instance.kind == "decode" or (instance.kind == "colocated" and pools.prefill):
        return None
    words = context.description.encoder_cache
    return {
        "ec_connector": words.connector,
        "ec_role": "ec_producer" if instance.kind == "encode" else "ec_consumer",
        "ec_connector_extra_config": {
            "shared_storage_path": words.path or posixpath.join(context.description.root, "cache", "encoder"),
        },
    }


def layer_partition(description: Description) -> str:
    """Layers of each pipeline rank of prefill, '42,36'; empty where vLLM splits them evenly."""
    prefill = description.pools.prefill
    if not prefill or prefill.pipeline_parallel_size == 1:
        return ""
    told = prefill.env.get("VLLM_PP_LAYER_PARTITION", description.env.get("VLLM_PP_LAYER_PARTITION"))
    return "" if told is None else str(told)


def deep(base: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """``over`` on top of ``base``, mapping by mapping; a null takes a key away."""
    result = dict(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = deep(result[key], value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def _tidy(config: dict[str, t.Any]) -> dict[str, t.Any]:
    return {key: value for key, value in config.items() if key != "kv_connector_extra_config" or value}


def _child(context: Context, instance: Instance, word: str, process: Process) -> dict[str, t.Any]:
    role = "kv_both" if word in BOTH_WAYS else ROLE[instance.kind]
    config: dict[str, t.Any] = {"kv_connector": connector_name(context, word), "kv_role": role}
    if word == "store":
        config["kv_connector_extra_config"] = _store(context, instance)
        return config
    if context.description.engine == "vllm_cpu":
        return config
    port = context.ports[instance.process_name(process)].kv
    if word in WITH_PORT:
        config["kv_port"] = str(port)
        direct = {"use_ascend_direct": True} if context.release.use_ascend_direct else {}
        config["kv_connector_extra_config"] = {**direct, **_sizes(context)}
    elif word == "llmdatadist":
        config.update(kv_buffer_device="npu", kv_parallel_size=1)
    elif word == "sfa_remote_d2h":
        if instance.kind == "decode":
            config["kv_port"] = port
        config["kv_connector_extra_config"] = {"transfer_backend": "memfabric"}
    return config


def _store(context: Context, instance: Instance) -> dict[str, t.Any]:
    """The pool's part; its lookup number is no TCP port but names a socket file, unique on the host."""
    number = ("prefill", "decode", "colocated", "encode").index(instance.kind) * 100 + instance.slot
    if context.description.engine == "vllm_cpu":
        return {"lookup_rpc_port": str(number)}
    extra: dict[str, t.Any] = {context.release.store_port_key: str(number)}
    own = instance.pool.kv.get("store")
    if instance.kind == "decode" and isinstance(own, dict) and own.get("consumer_is_to_put"):
        extra.update(_prefill_pipeline(context))
    if "AscendStoreConnector" in context.release.connectors:
        extra["backend"] = context.description.store.backend
    elif instance.kind == "colocated":
        extra["register_buffer"] = True
    return extra


def _prefill_pipeline(context: Context) -> dict[str, t.Any]:
    """What a decode that writes to the store has to know of prefill's pipeline (ascend_store/pool_worker.py)."""
    prefill, partition = context.description.pools.prefill, layer_partition(context.description)
    if not prefill or prefill.pipeline_parallel_size == 1:
        return {}
    size = {"prefill_pp_size": prefill.pipeline_parallel_size}
    return {**size, "prefill_pp_layer_partition": partition} if partition else size


def _sizes(context: Context) -> dict[str, t.Any]:
    sizes: dict[str, dict[str, t.Any]] = {}
    for role in ("prefill", "decode"):
        pool = getattr(context.description.pools, role)
        if pool:
            sizes[role] = {"dp_size": pool.data_parallel_size, "tp_size": pool.tensor_parallel_size}
            if pool.pipeline_parallel_size > 1:
                sizes[role]["pp_size"] = pool.pipeline_parallel_size
    partition = layer_partition(context.description)
    if partition:
        sizes["prefill"]["pp_layer_partition"] = partition
    return sizes
