# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single mistakes: on which valid deployment, what is changed, which rule has to find it, and where."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import APART, hosts


@dataclass(frozen=True)
class Mistake:
    """One mistake; ``path`` defaults to the first changed word, ``also`` are rules that the same mistake breaks."""

    rule: str
    family: str
    changes: dict[str, t.Any]
    where: str = ""
    severity: str = "error"
    also: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The place that the finding has to name."""
        return self.where or next(iter(self.changes))


def M(rule, family, changes, where="", also=(), severity="error"):
    return Mistake(rule, family, changes, where, severity, (also,) if isinstance(also, str) else tuple(also))


def W(rule, family, changes, where="", also=()):
    return M(rule, family, changes, where, also, "warning")


P, D, C = "inference_pools.prefill", "inference_pools.decode", "inference_pools.colocated"
MASTER, STORE, ROUTER = "inference_mooncake_master.args", "inference_store", "inference_router"

ENGINE_FOLLOWS = ("K8S-MANIFEST", "K8S-ROUTER-IMAGE")
HOST_DEVICES = {"inventory": hosts(4, APART, inference_devices=list(range(0, 32, 2)))}
CERTIFIED = {f"{ROUTER}.certificate": "/etc/ssl/one.pem", f"{ROUTER}.certificate_key": "/etc/ssl/one.key"}
KNOWN = {"inference_secrets.client_keys": "one two"}

MISTAKES: tuple[Mistake, ...] = (
    # topology and devices
    M("TOPO-POOLS", "p2p", {D: None}, "inference_pools", "TRANSFER-NONE"),
    M("POOL-EMPTY", "p2p", {f"{P}.instances": 0}, also=("INSTANCE-SPREAD", "DEV-MISSING", "ROUTER-ENDPOINTS")),
    M("POOL-HOST", "p2p", {f"{P}.hosts.node9": {"args": {"seed": 1}}}),
    M("DEV-OVERLAP", "one-host", {f"{D}.devices": [0, 1, 2, 3, 4, 5, 6, 7]}),
    M("DEV-MISSING", "one-host", {f"{D}.devices": [8, 9, 10, 11, 12, 13, 14, 99]}),
    W(
        "DEV-PAIRS",
        "p2p-0.13",
        {"inventory": hosts(4, APART, inference_devices=list(range(0, 32, 2)))},
        f"{P}.instances",
    ),
    M("HARDWARE-MIX", "p2p", {"node4.inference_hardware": "a2", "node4.inference_devices": 16}, D),
    M("HARDWARE-PD", "p2p", {"inference_hardware": "310p", "inference_devices": 16}, P),
    M(
        "IMAGE-HARDWARE",
        "docker",
        {"inference_hardware": "950", "inference_devices": 16, "inference_release": "0.18.0"},
        "inference_hardware",
    ),
    M("HOST-ADDRESS", "p2p", {"node2.inference_address": "10.1.0.1"}),
    M("HOST-ADDRESS", "p2p", {"node2.inference_address": "127.0.0.1"}),
    M("ADDRESS-IPV6", "p2p-0.13", {"node1.inference_address": "fd00::1"}),
    W("INTERFACE", "p2p", {"node3.inference_interface": ""}),
    W(
        "SINGLE-HOST",
        "p2p",
        {"node1.groups": ["prefill", "router"], "node2.groups": ["prefill", "router"]},
        f"{ROUTER}.group",
    ),
    W("INSTANCE-SPREAD", "p2p", {f"{P}.instances": 1}),
    # parallel sizes
    M("TP-DIVIDES", "p2p", {f"{D}.tensor_parallel_size": 16, f"{D}.data_parallel_size": 2}),
    M(
        "TP-DIVIDES",
        "p2p",
        {f"{P}.tensor_parallel_size": 4, f"{D}.tensor_parallel_size": 8, f"{D}.data_parallel_size": 4},
        f"{D}.tensor_parallel_size",
    ),
    M("DECODE-PP", "p2p", {f"{D}.pipeline_parallel_size": 2, f"{D}.data_parallel_size": 16}),
    M(
        "PP-PCP",
        "p2p",
        {f"{P}.prefill_context_parallel_size": 2, f"{P}.pipeline_parallel_size": 2, f"{P}.tensor_parallel_size": 2},
    ),
    M("LAYERWISE-PP", "layerwise-0.11", {f"{P}.pipeline_parallel_size": 2, f"{P}.data_parallel_size": 1}),
    W("DCP-EQUAL", "p2p", {f"{P}.decode_context_parallel_size": 4}, f"{D}.decode_context_parallel_size"),
    M("DCP-DIVIDES", "p2p", {f"{P}.decode_context_parallel_size": 3}, also="DCP-EQUAL"),
    M(
        "CONTEXT-PARALLEL",
        "p2p-0.11",
        {f"{P}.prefill_context_parallel_size": 2, f"{P}.data_parallel_size": 1},
        also="FLAG-RELEASE",
    ),
    M("DENSE-DP", "p2p", {"inference_model.moe": "false"}, f"{P}.data_parallel_size"),
    W(
        "DENSE-DP",
        "p2p",
        {f"{D}.data_parallel_size": 32, "inference_model.path": "/models/Qwen3-32B-w8a8", f"{P}.data_parallel_size": 2},
    ),
    W("DENSE-EP", "pooled", {"inference_model.moe": "false", f"{C}.expert_parallel": True}, f"{C}.expert_parallel"),
    W("LLMDATADIST-TP", "llmdatadist", {f"{D}.tensor_parallel_size": 4, "inference_release": "0.11.0"}),
    # both sides of a transfer
    M("TRANSFER-PAIR", "p2p", {f"{D}.kv_transfer": "mooncake_hybrid"}),
    M("TRANSFER-PAIR", "p2p", {f"{P}.kv_transfer": "none"}),
    M("TRANSFER-PAIR", "p2p", {f"{D}.kv_transfer": "store"}, also="CONNECTOR-PROXY"),
    M("TRANSFER-PAIR", "p2p", {f"{D}.kv_transfer": "recompute_cpu_offload"}),
    M("TRANSFER-PAIR", "layerwise", {f"{P}.kv_transfer": "mooncake"}),
    M("TRANSFER-CARRIES", "p2p", {"inference_kv_transfer": "offloading"}),
    M("TRANSFER-CARRIES", "p2p", {"inference_kv_transfer": "simple_cpu_offload"}),
    M(
        "POOL-UNSERVED",
        "p2p",
        {"inventory": hosts(5, {**APART, "colocated": (5,)}), C: {"tensor_parallel_size": 8, "kv_transfer": "none"}},
        C,
    ),
    M("PP-PARTITION", "p2p", {f"{P}.env.VLLM_PP_LAYER_PARTITION": "42,36"}),
    M("PP-PARTITION", "p2p", {f"{D}.env.VLLM_PP_LAYER_PARTITION": "forty"}),
    M(
        "PP-PARTITION-TOLD",
        "p2p",
        {
            f"{P}.kv.kv_connector_extra_config.prefill.pp_layer_partition": "40,38",
            f"{P}.env.VLLM_PP_LAYER_PARTITION": "42,36",
            f"{P}.pipeline_parallel_size": 2,
            f"{P}.tensor_parallel_size": 4,
        },
    ),
    # values
    M("ARG-POSITIVE", "p2p", {f"{D}.args.max-num-seqs": 0}),
    M("ARG-POSITIVE", "p2p", {f"{P}.args.max-num-batched-tokens": -1}, also="SEQS-BUDGET"),
    M("HCCL-BUFFSIZE", "p2p", {f"{D}.env.HCCL_BUFFSIZE": "1100MB"}),
    M("LINK-HARDWARE", "pooled", {"inference_link": "hccs"}),
    M("KV-NESTED", "p2p", {f"{P}.kv.mooncake.kv_connector_extra_config": {"use_ascend_direct": True}}),
    M("ADDRESS-FORM", "p2p", {"node2.inference_address": "192.0.2.300"}),
    M("ADDRESS-FORM", "p2p", {"node2.inference_address": "d2.rack.example"}),
    M("ADDRESS-FORM", "cpu", {"node1.inference_address": "10.1.0"}),
    # ports
    M("PORT-GROUP", "p2p", {f"{D}.hosts.node4.ports.dp_rpc": 12000}),
    M("PORT-UNUSED", "p2p", {f"{D}.hosts.node4.ports.api": 7300}),
    M("PORT-UNUSED", "p2p", {f"{P}.ports.llmdatadist": 5600}),
    M("PORT-UNUSED", "p2p", {f"{P}.ports.bootstrap": 11000}),
    M("PORT-UNUSED", "cpu", {f"{P}.ports.hccl": 60000}),
    M("PORT-UNUSED", "pooled", {f"{C}.ports.kv": 30000}),
    W("PORT-UNUSED", "pooled", {f"{C}.ports.dp_rpc": 30000}),
    M("PORT-OVERLAP", "one-host", {f"{D}.ports.api": 7100}),
    M("PORT-OVERLAP", "one-host", {f"{P}.ports.kv": 30000, f"{D}.ports.kv": 30002}, f"{D}.ports.kv"),
    M("PORT-OVERLAP", "one-host", {f"{ROUTER}.port": 7100}, also="ROUTER-PORT"),
    M("PORT-OVERLAP", "both", {"inference_mooncake_master.metrics_port": 9400}),
    M("PORT-RANGE", "p2p", {f"{D}.ports.kv": 65530}),
    W("PORT-PRIVILEGED", "p2p", {f"{ROUTER}.port": 80}),
    M("KV-PORT-POOL", "p2p", {f"{P}.ports.kv": 20001}),
    M("KV-PORT-POOL", "p2p", {f"{P}.ports.kv": 21600}),
    W("KV-PORT-POOL", "p2p-0.13", {f"{P}.ports.kv": 30000}),
    M("KV-PORT-POOL", "p2p-0.13", {f"{P}.ports.kv": 20011}),
    M("KV-PORT-POOL", "p2p", {"inference_env.ASCEND_BASE_PORT": 29000, f"{P}.ports.kv": 30000}, f"{P}.ports.kv"),
    W("PORT-POOL", "p2p", {f"{D}.ports.dp_rpc": 16600}),
    W("PORT-POOL", "both", {f"{D}.ports.dp_rpc": 12321}),
    W("PORT-EPHEMERAL", "cpu", {f"{ROUTER}.port": 40000}),
    M("LOOKUP-PORT", "one-host", {f"{P}.kv.store.lookup_rpc_port": "5"}),
    # connectors
    M("TRANSFER-UNKNOWN", "p2p", {"inference_kv_transfer": "moncake"}, also=("CONNECTOR-RELEASE", "CONNECTOR-PROXY")),
    M("TRANSFER-TWO", "p2p", {"inference_kv_transfer": "mooncake+mooncake_hybrid"}),
    M("TRANSFER-NONE", "p2p", {"inference_kv_transfer": "none"}),
    W("TRANSFER-COLOCATED", "pooled", {"inference_kv_transfer": "mooncake"}, also=("STORE-UNUSED", "CONNECTOR-PROXY")),
    M("CONNECTOR-RELEASE", "p2p", {"inference_kv_transfer": "llmdatadist"}),
    M("CONNECTOR-RELEASE", "p2p-0.13", {"inference_kv_transfer": "mooncake_hybrid"}),
    M("CONNECTOR-RELEASE", "p2p", {f"{P}.kv.kv_connector": "MooncakeConnector"}),
    M(
        "CONNECTOR-CPU",
        "cpu",
        {"inference_kv_transfer": "mooncake_layerwise+store"},
        also=("CONNECTOR-RELEASE", "CONNECTOR-PROXY"),
    ),
    M("KV-ROLE", "p2p", {f"{D}.kv.kv_role": "kv_producer"}),
    M("KV-KEY", "p2p", {f"{P}.kv.kv_conector_extra_config": {"x": 1}}),
    M("KV-MODULE-PATH", "p2p", {f"{P}.kv.kv_connector_module_path": "vllm_ascend.distributed.mooncake_connector"}),
    W("KV-MODULE-PATH", "p2p-0.13", {f"{P}.kv.kv_connector_module_path": "vllm_ascend.distributed.mooncake_connector"}),
    M("ENGINE-ID", "p2p", {f"{P}.kv.engine_id": "0"}),
    M(
        "ENGINE-ID",
        "layerwise",
        {f"{P}.kv.engine_id": "0", f"{P}.instances": 1, f"{D}.kv.engine_id": "0"},
        also="INSTANCE-SPREAD",
    ),
    M("PARALLEL-MISMATCH", "p2p", {f"{D}.kv.kv_connector_extra_config.prefill.tp_size": 4}),
    M("PARALLEL-MISMATCH", "both", {f"{P}.kv.mooncake.decode": {"dp_size": 2}}, f"{P}.kv.mooncake.decode.dp_size"),
    M("KV-PORT-DERIVED", "p2p", {f"{P}.kv.kv_port": "30000"}),
    M("KV-POLICY", "p2p", {f"{D}.kv.kv_load_failure_policy": "retry"}),
    M("MULTI-ORDER", "both", {"inference_kv_transfer": "store+mooncake"}),
    M("MULTI-EMPTY", "p2p", {f"{D}.kv.kv_connector": "MultiConnector"}),
    M("ASCEND-DIRECT", "p2p-0.11", {f"{P}.kv.mooncake.use_ascend_direct": False}),
    W("STORE-LAYERWISE", "both", {f"{P}.kv.store.use_layerwise": True}),
    # the pool of KV cache
    M("MASTER-FLAG", "both", {f"{MASTER}.eviction_ration": 0.1}),
    M("MASTER-FLAG", "both-0.18", {f"{MASTER}.allocation_strategy": "random"}),
    M("MASTER-VALUE", "both", {f"{MASTER}.eviction_high_watermark_ratio": 90}),
    M("MASTER-VALUE", "both-0.18", {f"{MASTER}.default_kv_lease_ttl": "11s"}),
    M("MASTER-DERIVED", "both", {f"{MASTER}.rpc_port": 50088}),
    M("MASTER-OFFLOAD", "both", {f"{MASTER}.root_fs_dir": "/data", f"{MASTER}.enable_offload": True}),
    M("MASTER-HA", "both", {f"{MASTER}.enable_ha": True}),
    M("TTL-TIMEOUT", "both", {f"{MASTER}.default_kv_lease_ttl": 5000}),
    M("TTL-TIMEOUT", "both", {f"{MASTER}.default_kv_lease_ttl": 11000, "inference_env.ASCEND_TRANSFER_TIMEOUT": 33064}),
    W("MASTER-THREADS", "both", {f"{MASTER}.rpc_thread_num": 4}),
    W(
        "MASTER-CLIENT-TTL",
        "both",
        {f"{MASTER}.client_ttl": 10, f"{P}.args.additional-config": {"enable_cpu_binding": True}},
    ),
    M("SEGMENT-SIZE", "both", {f"{STORE}.segment_size": "lots"}),
    M("SEGMENT-ALIGN", "both", {f"{STORE}.segment_size": "1500MB"}),
    M("SEGMENT-ALIGN", "pooled", {f"{STORE}.segment_size": "1500MB"}),
    M("HOST-MEMORY", "both", {"node1.inference_memory": 64}, f"{STORE}.segment_size"),
    W("SEGMENT-HDK", "pooled", {f"{STORE}.segment_size": "60GB"}),
    M("STORE-PROTOCOL", "both", {f"{STORE}.options.protocol": "rdma"}),
    M("STORE-METADATA", "both", {f"{STORE}.options.metadata_server": "redis://10.1.0.1:6379"}),
    W("STORE-KEY", "both", {f"{STORE}.options.global_segmentsize": 1}),
    M("STORE-BACKEND", "cpu", {f"{STORE}.backend": "memcache"}),
    W("STORE-UNUSED", "p2p", {f"{STORE}.segment_size": "4GB"}, STORE),
    M(
        "SSD-OFFLOAD",
        "both",
        {f"{STORE}.options.enable_ssd_offload": True, f"{STORE}.options.ssd_offload_path": "cache"},
        f"{STORE}.options.ssd_offload_path",
    ),
    # arguments
    M("FLAG-UNKNOWN", "p2p", {f"{D}.args.max-num-sequences": 4}),
    M("FLAG-UNKNOWN", "p2p", {f"{D}.args.tensor-parallel": 1}),
    M("FLAG-RELEASE", "p2p", {"inference_args.disable-log-requests": True}),
    M("FLAG-RELEASE", "p2p-0.13", {"inference_args.shutdown-timeout": 30}),
    M("FLAG-NO-FORM", "p2p", {"inference_args.grpc": False}),
    M("FLAG-DUPLICATE", "p2p", {f"{D}.args.max_num_seqs": 4}),
    M(
        "FLAG-DUPLICATE",
        "p2p",
        {"inference_args.enable-prefix-caching": True, f"{P}.args.no-enable-prefix-caching": True},
        f"{P}.args.no-enable-prefix-caching",
    ),
    M("FLAG-VALUE", "p2p", {f"{D}.args.max-num-seqs": "many"}),
    M("FLAG-VALUE", "p2p", {f"{P}.args.enforce-eager": "true"}),
    M("FLAG-VALUE", "p2p", {"inference_args.max-model-len": True}),
    M("FLAG-CHOICE", "p2p", {"inference_args.dtype": "bfloat61"}),
    M("JSON-SYNTAX", "p2p", {f"{D}.args.additional-config": "{'recompute_scheduler_enable': True}"}),
    M("JSON-SYNTAX", "p2p", {f"{D}.args.compilation-config": '{"cudagraph_mode": "FULL_DECODE_ONLY",}'}),
    M(
        "JSON-SYNTAX",
        "p2p",
        {f"{D}.args.kv-transfer-config": '{"kv_connector": "MooncakeConnectorV1" "kv_role": "kv_consumer"}'},
    ),
    W("JSON-SYNTAX", "p2p", {f"{D}.args.additional-config": '{"a": 1, "a": 2}'}),
    M("FLAG-SHELL", "p2p", {f"{D}.args.served-model-name": "qwen --quantization ascend"}, also="NAME-DIFFERS"),
    M("FLAG-SHELL", "p2p", {f"{D}.args.reasoning-parser": "deepseek_r1 \\"}),
    W("FLAG-SHELL", "p2p", {f"{D}.args.chat-template": "$MODEL/chat.jinja"}),
    M("FLAG-DERIVED", "p2p", {f"{P}.args.tensor-parallel-size": 16}),
    M("FLAG-DERIVED", "p2p", {f"{D}.args.port": 9000}),
    M("FLAG-LATE", "p2p", {"inference_args.config": "/etc/vllm.yaml"}),
    M("SECRET-ARGUMENT", "p2p", {"inference_args.api-key": "sk-1"}),
    M("API-HOST", "p2p", {f"{P}.args.host": "127.0.0.1"}),
    # the model and its serving
    M("NAME-DIFFERS", "p2p", {f"{D}.args.served-model-name": "qwen-decode"}),
    W("MAX-MODEL-LEN", "p2p", {f"{D}.args.max-model-len": 8192}),
    W("MAX-MODEL-LEN", "p2p", {f"{P}.args.max-model-len": 65536}),
    M("BLOCK-SIZE", "p2p-0.18", {f"{P}.args.block-size": 64}),
    W("BLOCK-SIZE", "p2p", {f"{P}.args.block-size": 64}),
    M("CPU-BLOCK-SIZE", "cpu", {"inference_args.block-size": 16}),
    W("SEED-DIFFERS", "p2p", {f"{D}.args.seed": 1}),
    M("TOKENIZER-DIFFERS", "p2p", {f"{P}.args.tokenizer": "/models/other"}),
    W("TOKENIZER-MODE", "p2p", {f"{P}.args.tokenizer-mode": "slow"}),
    M("KV-DTYPE-DIFFERS", "p2p", {f"{P}.args.kv-cache-dtype": "bfloat16"}),
    M("DTYPE-DIFFERS", "p2p", {f"{P}.args.dtype": "float16"}),
    W("QUANTIZATION-DIFFERS", "p2p", {f"{P}.args.quantization": None}, also="QUANTIZATION-MISSING"),
    W("QUANTIZATION-MISSING", "p2p", {"inference_args.quantization": None}),
    M("CPU-QUANTIZATION", "cpu", {"inference_args.quantization": "ascend"}),
    W(
        "SPEC-TOKENS",
        "p2p",
        {
            f"{P}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 3},
            f"{D}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1},
        },
    ),
    W("SPEC-ONE-SIDE", "p2p", {f"{D}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1}}),
    W(
        "DECODE-BUDGET",
        "p2p",
        {
            f"{D}.args.max-num-batched-tokens": 30,
            f"{P}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1},
            f"{D}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1},
        },
    ),
    M("SEQS-BUDGET", "p2p", {f"{D}.args.max-num-batched-tokens": 8}),
    M("CHUNKED-BUDGET", "p2p", {f"{P}.args.max-num-batched-tokens": 4096, f"{P}.args.enable-chunked-prefill": False}),
    M("GPU-MEMORY", "p2p", {"inference_args.gpu-memory-utilization": 90}),
    W("EAGER-GRAPH", "p2p", {f"{P}.args.compilation-config": {"cudagraph_mode": "FULL_DECODE_ONLY"}}),
    W("RECOMPUTE-ON-PREFILL", "p2p", {f"{P}.args.additional-config": {"recompute_scheduler_enable": True}}),
    M("RECOMPUTE-COLOCATED", "pooled", {f"{C}.args.additional-config": {"recompute_scheduler_enable": True}}),
    M("RECOMPUTE-RELEASE", "llmdatadist", {f"{D}.args.additional-config": {"recompute_scheduler_enable": True}}),
    W("REDUCE-SAMPLE", "p2p", {f"{D}.args.additional-config": {"enable_reduce_sample": True}}),
    # environment
    M("ENV-NAME", "p2p", {"inference_env.HCCL BUFFSIZE": 600}),
    M("ENV-DERIVED", "p2p", {f"{D}.env.ASCEND_RT_VISIBLE_DEVICES": "0,1"}),
    W("ENV-CARDS", "p2p", {"inference_env.GLOO_SOCKET_IFNAME": "docker0"}),
    M("ENV-PROXY", "p2p", {"inference_env.HTTPS_PROXY": "http://10.9.9.9:3128"}),
    M("ENV-SECRET", "p2p", {"inference_env.VLLM_API_KEY": "sk-1"}),
    W("ENV-SHELL", "p2p", {"inference_env.HCCL_ALGO": "$ALGORITHM"}),
    M("ENV-TIMEOUT", "p2p", {"inference_env.ASCEND_CONNECT_TIMEOUT": "10s"}),
    M("RDMA-TIMEOUT", "p2p", {"inference_env.HCCL_RDMA_TIMEOUT": 60}),
    W(
        "RELEASE-ASSUMED",
        "p2p",
        {"inference_release": "0.23.1", "inference_release_base": "0.23.0"},
        "inference_release_base",
    ),
    M("WHEEL-CHIP", "p2p", {"inference_engine_install": "wheel"}),
    M("IMAGE-ONLY", "p2p", {"inference_release": "0.30.0rc2"}, "inference_runtime"),
    M("BUILD-CHIP", "p2p", {"inference_hardware": "910a", "inference_devices": 16}, also=("HARDWARE-PD",)),
    W("INSTALL-UNUSED", "docker", {"inference_engine_install": "source"}),
    W("ENV-RELEASE", "p2p", {f"{P}.env.VLLM_NIXL_ABORT_REQUEST_TIMEOUT": 900}),
    W("ENV-RELEASE", "p2p", {f"{P}.env.VLLM_ASCEND_ENABLE_CONTEXT_PARALLEL": 1}),
    M("USE-V1", "p2p-0.11", {"inference_env.VLLM_USE_V1": 0}),
    M("HASH-SEED", "both", {f"{D}.env.PYTHONHASHSEED": 7}),
    M("HASH-SEED", "pooled", {"inference_env.PYTHONHASHSEED": "random"}),
    M(
        "BUFFER-POOL",
        "pooled",
        {f"{C}.env.ASCEND_BUFFER_POOL": "4:8", f"{C}.env.ASCEND_USE_ASYNC_TRANSFER": 1},
        f"{C}.env.ASCEND_USE_ASYNC_TRANSFER",
    ),
    M("FABRIC-MEMORY", "pooled", {f"{C}.env.ASCEND_ENABLE_USE_FABRIC_MEM": 1}),
    M("INTRA-ROCE", "pooled", {f"{C}.env.HCCL_INTRA_ROCE_ENABLE": 0}),
    M("OFFLOAD-BUFFER", "both", {"inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": 1342177280}),
    W("FUSED-MC2", "p2p-0.18", {f"{P}.env.VLLM_ASCEND_ENABLE_FUSED_MC2": 1}),
    W("READY-TIMEOUT", "p2p", {"inference_env.VLLM_ENGINE_READY_TIMEOUT_S": 600}),
    # router
    M("CONNECTOR-PROXY", "p2p", {f"{ROUTER}.flavour": "layerwise"}),
    M("CONNECTOR-PROXY", "layerwise", {f"{ROUTER}.flavour": "load_balance"}),
    M("ROUTER-POOLS", "pooled", {f"{ROUTER}.flavour": "load_balance"}),
    M("ROUTER-RELEASE", "p2p-0.11", {f"{ROUTER}.flavour": "hybrid"}, also="ROUTER-POOLS"),
    M("ROUTER-FLAG", "p2p", {f"{ROUTER}.args.prefiller-hosts-num": 2}),
    M("ROUTER-FLAG", "p2p-0.18", {f"{ROUTER}.args.workers": 4}),
    M("ROUTER-FLAG", "pooled", {f"{ROUTER}.args.polocy": "round_robin"}),
    M("ROUTER-ENDPOINTS", "p2p", {f"{ROUTER}.args.prefiller-hosts": ["10.1.0.1", "10.1.0.9"]}),
    M("ROUTER-ENDPOINTS", "p2p", {f"{ROUTER}.args.decoder-ports": [7100, 7101]}),
    M("ROUTER-BIND", "layerwise", {f"{ROUTER}.bind": "0.0.0.0"}),
    M("ROUTER-RECOMPUTE", "p2p", {f"{ROUTER}.flavour": "vllm_router"}, f"{D}.args.additional-config"),
    M("ROUTER-PORT", "p2p", {f"{ROUTER}.args.port": 9000}),
    M("ROUTER-KEY", "p2p", {f"{ROUTER}.flavour": "epd", "inference_secrets.api_key": "x"}, also="ROUTER-POOLS"),
    M("FRONTEND-KEYS", "p2p", {f"{ROUTER}.frontend": "nginx", **CERTIFIED}),
    M("FRONTEND-CERTIFICATE", "p2p", {f"{ROUTER}.certificate_key": "", **KNOWN, f"{ROUTER}.certificate": "/c.pem"}),
    M("FRONTEND-CERTIFICATE", "p2p", {f"{ROUTER}.certificate": "c;pem", f"{ROUTER}.certificate_key": "/k.pem"}),
    W("FRONTEND-PLAIN", "p2p", {f"{ROUTER}.frontend": "nginx", **KNOWN}),
    M("FRONTEND-RUNTIME", "docker", {f"{ROUTER}.frontend": "nginx", **KNOWN, **CERTIFIED}),
    W(
        "ROUTER-BALANCE",
        "p2p",
        {f"{ROUTER}.flavour": "none", f"{D}.load_balancing": "external"},
        f"{D}.load_balancing",
        "ROUTER-RECOMPUTE",
    ),
    # names, paths, images, time-outs
    M("DEPLOYMENT-NAME", "p2p", {"inference_deployment": "My Service"}),
    M("ROOT-PATH", "p2p", {"inference_root": "opt/ascend"}),
    M("ROOT-SYSTEM", "p2p", {"inference_root": "/usr"}),
    M("ROOT-SYSTEM", "p2p", {"inference_root": "/home/"}),
    M("ROOT-SYSTEM", "p2p", {"inference_root": "/var/lib"}),
    M("SUPERVISOR-SOCKET", "cpu", {"inference_root": "/tmp/" + 53 * "x"}),
    M(
        "SUPERVISOR-SOCKET",
        "cpu",
        {"inference_deployment": 40 * "x", "inference_root": "/srv/" + 30 * "x"},
        "inference_root",
    ),
    M("SOCKET-PATH", "p2p", {f"{D}.env": {"VLLM_RPC_BASE_PATH": "/tmp/" + 66 * "x"}}, f"{D}.env.VLLM_RPC_BASE_PATH"),
    M("SOCKET-PATH", "p2p", {"inference_env": {"TMPDIR": "/tmp/" + 66 * "é"}}, "inference_env.TMPDIR"),
    M("MODEL-PATH", "p2p", {"inference_model.path": "/models/my model"}, also=("QUANTIZATION-MISSING", "MODEL-NAME")),
    W("MODEL-PATH", "p2p", {"inference_model.path": "qwen-w8a8"}),
    W("MODEL-NAME", "p2p", {"inference_model.name": "qwen 3"}),
    W("RELEASE-CANDIDATE", "p2p", {"inference_release": "0.22.1rc1"}),
    W("IMAGE-TAG", "docker", {"inference_image": "registry.example/vllm-ascend-own:latest"}),
    M("IMAGE-RELEASE", "docker", {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0"}),
    W("IMAGE-UNUSED", "p2p", {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0-a3"}),
    M("CPU-RUNTIME", "cpu", {"inference_runtime": "docker"}),
    W("STOP-TIMEOUT", "p2p", {"inference_args.shutdown-timeout": 600}),
    W("ROOT-USER", "p2p", {"inference_user": "root"}),
    M("IGNORE-UNKNOWN", "p2p", {"inference_rules_ignore": ["TP-DIVIDE"]}, "inference_rules_ignore[0]"),
    # kubernetes
    M("K8S-MANIFEST", "kubernetes", {"inference_kubernetes.serving": {"replcas": 2}}, "ModelServing/demo.spec.replcas"),
    M("K8S-ENGINE", "kubernetes", {"inference_engine": "vllm_cpu", "inference_hardware": "cpu"}, also=ENGINE_FOLLOWS),
    M("K8S-INSTANCES", "kubernetes", {f"{D}.instances": 0}, also=("K8S-MANIFEST", "PLACE-GROUP")),
    M("K8S-ROLE", "kubernetes", {"inference_kubernetes.pods": {"decod": {}}}, "inference_kubernetes.pods.decod"),
    M("K8S-UNIFORM", "kubernetes", {f"{D}.load_balancing": "external"}),
    M(
        "K8S-ROUTER-PORT",
        "kubernetes",
        {"inference_kubernetes.router": {"mode": "kthena_router"}, f"{P}.ports.api": 7200},
        "inference_pools",
    ),
    M(
        "K8S-ROUTER-RECOMPUTE",
        "kubernetes",
        {
            "inference_kubernetes.router": {"mode": "kthena_router"},
            "inference_pools": {"prefill": {}, "decode": {}},
            "inference_args.additional-config": {"recompute_scheduler_enable": True},
        },
        "decode-0.argv",
        also=("ROUTER-RECOMPUTE", "RECOMPUTE-ON-PREFILL"),
    ),
    M(
        "K8S-ROUTER-TIMEOUT",
        "kubernetes",
        {
            "inference_kubernetes.router": {"mode": "kthena_router", "timeout": "5 minutes"},
            "inference_pools": {"prefill": {}, "decode": {}},
        },
        "inference_kubernetes.router.timeout",
    ),
    M(
        "K8S-ROUTER-CONNECTOR",
        "kubernetes",
        {
            "inference_kv_transfer": "mooncake_layerwise",
            "inference_kubernetes.router": {"mode": "kthena_router"},
            "inference_pools": {"prefill": {}, "decode": {}},
        },
    ),
    M(
        "K8S-ROUTER-IMAGE",
        "kubernetes",
        {f"{ROUTER}.flavour": "vllm_router"},
        "inference_kubernetes.router.image",
    ),
    M(
        "K8S-ROUTER-HOST",
        "kubernetes",
        {"inference_kubernetes.router": {"mode": "host"}},
        "inference_kubernetes.router.mode",
    ),
    W("K8S-INTERFACE", "kubernetes", {"inference_interface": ""}),
    M(
        "K8S-FILE",
        "kubernetes",
        {"inference_kv_transfer": "mooncake+store", "inference_release": "0.11.0"},
        "decode-0.files",
    ),
)
