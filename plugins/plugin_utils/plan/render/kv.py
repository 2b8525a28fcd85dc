# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``--kv-transfer-config`` of every connector, derived from the topology; both sides get the sizes of both roles.

Keys that a release ignores are omitted: ``kv_connector_module_path`` (fatal if it is outdated), ``engine_id`` (a pinned one
outlives its process and makes peers use outdated addresses), ``kv_rank`` and others. Sources: vllm-ascend's
connectors by tag.
"""

from __future__ import annotations

import posixpath
import typing as t

from ...description.values import merged
from ...description.variables import Description
from ..deployment import Context
from ..placement import Instance, Process
from ..ports import D2RH, WITH_PORT, carries, d2rh_ports

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
    "preempt_offload": "PreemptOffloadConnector",
    "ucm": "UCMConnector",
}
# Other classes of upstream with the same work: vLLM's own, and names of other releases
ALSO = {
    "MooncakeConnector": "mooncake",
    "MooncakeConnectorStoreV1": "store",
    "MooncakeStoreConnector": "store",
}
WORDS = {name.lower(): word for name, word in (*ALSO.items(), *((name, word) for word, name in ASCEND_NAMES.items()))}
UB_KEY = "ascend_local_comm_res_path"
UB_VARIABLES = ("ASCEND_LOCAL_COMM_RES", "ASCEND_LOCAL_COMM_RES_PATH", "ASCEND_GLOBAL_RESOURCE_CONFIG")
# Engines of all pools both read and write the shared cache (vllm-ascend ucm_deployment.md)
BOTH_WAYS = ("ucm",)


def connector_name(context: Context, transfer: str) -> str:
    """The connector's registered name in this release."""
    if context.engine.connectors:
        return context.engine.connectors.get(transfer, transfer)
    name = ASCEND_NAMES.get(transfer, transfer)
    if name == "AscendStoreConnector" and name not in context.release.connectors:
        return "MooncakeConnectorStoreV1"
    return name


def word_of(name: str) -> str:
    """The word of inference_kv_transfer for the name of a connector's class; empty for an unknown one."""
    return WORDS.get(name.lower(), "")


def kv_transfer_config(context: Context, instance: Instance, process: Process | None = None) -> dict[str, t.Any] | None:
    """The configuration of one instance, or None without a transfer.

    ``inference_pools.<pool>.kv`` is merged over it: a key with the name of one of the pool's connectors (``store``, ``mooncake``, ...)
    contains entries of that connector's ``kv_connector_extra_config``, all others are keys of the configuration.
    """
    if instance.kind == "encode":
        return None
    transfers = context.transfer_of(instance.pool)
    own = instance.pool.kv
    children = [
        merged(
            _child(context, instance, transfer, process or instance.first),
            {"kv_connector_extra_config": own.get(transfer, {})},
        )
        for transfer in transfers
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
    return _tidy(merged(config, {key: own[key] for key in own if key not in transfers}))


def ec_transfer_config(context: Context, instance: Instance) -> dict[str, t.Any] | None:
    """Producer and consumer of encoder output; None without an ``encode`` pool."""
    pools = context.description.pools
    if not pools.encode or instance.kind == "decode" or (instance.kind == "colocated" and pools.prefill):
        return None
    encoder_cache = context.description.encoder_cache
    return {
        "ec_connector": encoder_cache.connector,
        "ec_role": "ec_producer" if instance.kind == "encode" else "ec_consumer",
        "ec_connector_extra_config": {
            "shared_storage_path": encoder_cache.path or posixpath.join(context.shared_directory("cache"), "encoder"),
        },
    }


def layer_partition(description: Description) -> str:
    """Layers of each pipeline rank of prefill, '42,36'; empty if vLLM splits them evenly."""
    prefill = description.pools.prefill
    if not prefill or prefill.pipeline_parallel_size == 1:
        return ""
    partition = prefill.env.get("VLLM_PP_LAYER_PARTITION", description.env.get("VLLM_PP_LAYER_PARTITION"))
    return "" if partition is None else str(partition)


def _tidy(config: dict[str, t.Any]) -> dict[str, t.Any]:
    return {key: value for key, value in config.items() if key != "kv_connector_extra_config" or value}


def _child(context: Context, instance: Instance, transfer: str, process: Process) -> dict[str, t.Any]:
    role = "kv_both" if transfer in BOTH_WAYS else ROLE[instance.kind]
    config: dict[str, t.Any] = {"kv_connector": connector_name(context, transfer), "kv_role": role}
    if transfer == "store":
        config["kv_connector_extra_config"] = _store(context, instance)
        return config
    if context.engine.connectors:
        return config
    port = context.ports[instance.process_name(process)].kv
    if transfer in WITH_PORT:
        config["kv_port"] = str(port)
        direct = {"use_ascend_direct": True} if context.release.use_ascend_direct else {}
        config["kv_connector_extra_config"] = {**direct, **_sizes(context)}
        if transfer == D2RH and instance.kind == "decode":
            pulls, ready = d2rh_ports(instance, port)
            own = {"d2rh_zmq_port": pulls, "d2rh_scheduler_ready_port": ready}
            config["kv_connector_extra_config"].update(own)
        config["kv_connector_extra_config"].update(_links_of_a_950(context, instance, process))
    elif transfer == "llmdatadist":
        config.update(kv_buffer_device="npu", kv_parallel_size=1)
    elif transfer == "sfa_remote_d2h":
        if instance.kind == "decode":
            config["kv_port"] = port
        config["kv_connector_extra_config"] = {"transfer_backend": "memfabric"}
    return config


def _links_of_a_950(context: Context, instance: Instance, process: Process) -> dict[str, str]:
    """The folder of the files ub_endpoint_npu_N.json, which transfers between NPUs of 950 hosts need (installation.md, MiniMax-M3.md of 0.30.0rc2).

    The code reads it beside a single connector only. Who sets one of the variables knows another kind of link.
    """
    pool, folder = instance.pool, context.release.ub_endpoints
    layers = (context.description.env, pool.env, *(one.env for one in (*pool.hosts.values(), *pool.ranks.values())))
    if process.host.hardware != "950" or context.runtime.in_cluster or len(context.transfer_of(pool)) > 1 or not folder:
        return {}
    return {} if any(name in layer for layer in layers for name in UB_VARIABLES) else {UB_KEY: folder}


def _store(context: Context, instance: Instance) -> dict[str, t.Any]:
    """The store's part; its lookup_rpc_port is not a TCP port but part of a socket file's name, unique on the host."""
    number = ("prefill", "decode", "colocated", "encode").index(instance.kind) * 100 + instance.slot
    if context.engine.connectors:
        return {"lookup_rpc_port": str(number)}
    extra: dict[str, t.Any] = {context.release.store_port_key: str(number)}
    if instance.kind == "decode" and not carries(context.transfer_of(instance.pool)):
        extra["consumer_is_to_load"] = True  # decode gets the prompt's KV cache from the store alone; false by default
    own = instance.pool.kv.get("store")
    if instance.kind == "decode" and isinstance(own, dict) and own.get("consumer_is_to_put"):
        extra.update(_prefill_pipeline(context))
    if "AscendStoreConnector" in context.release.connectors:
        extra["backend"] = context.description.store.backend
    elif instance.kind == "colocated":
        extra["register_buffer"] = True
    return extra


def _prefill_pipeline(context: Context) -> dict[str, t.Any]:
    """Prefill's pipeline settings for a decode engine that writes to the store (ascend_store/pool_worker.py)."""
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
