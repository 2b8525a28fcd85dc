# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that compare numbers: the last right value of a variable, and the first wrong one beside it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import (
    MASTER,
    MEMCACHE,
    ROUTER,
    STORE,
    TWO,
    C,
    D,
    P,
)


@dataclass(frozen=True)
class Edge:
    """``right`` and ``wrong`` are neighbours, which ``text`` makes the value of a variable of."""

    rule: str
    family: str
    path: str
    right: int
    wrong: int
    text: t.Callable[[int], t.Any] = lambda number: number
    more: dict[str, t.Any] = field(default_factory=dict)

    def changes(self, number: int) -> dict[str, t.Any]:
        """The variables that differ from the valid deployment."""
        return {self.path: self.text(number), **self.more}


def _percent(number: int) -> float:
    return number / 100


def _gigabytes(number: int) -> str:
    return f"{number}GB"


def _virtual(number: int) -> str:
    return f"10.1.0.100/{number}"


def _folder(number: int) -> str:
    return "/tmp/" + number * "x"


SPECULATIVE = {f"{pool}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1} for pool in (P, D)}
UNROUTED = {f"{ROUTER}.flavour": "none", f"{C}.load_balancing": "external"}
FUSED = {f"{P}.env.VLLM_ASCEND_ENABLE_FUSED_MC2": 1}
PREFILL_CONTEXT = f"{P}.prefill_context_parallel_size"
DECODE_CONTEXT = f"{C}.decode_context_parallel_size"
ONE_RANK = {f"{P}.tensor_parallel_size": 2, f"{P}.data_parallel_size": 1}
NODE_PORT, ON_NODES = "inference_kubernetes.router.node_port", {"inference_kubernetes.router.service_type": "NodePort"}
BOUND = {f"{P}.args.additional-config": {"enable_cpu_binding": True}}
KV_PORTS = {f"{P}.ports.kv": 30000}  # of two instances, four ports each: 30000 to 30003 and 30100 to 30103

XLITE = {f"{C}.args.additional-config.xlite_graph_config": {"enabled": True}}
SPECULATED = {**XLITE, f"{C}.args.speculative-config.method": "ngram"}
CHUNKS = {f"{C}.args.additional-config": {"profiling_chunk_config": {"enabled": True}}}
WHOLE = {f"{D}.args.additional-config.ascend_scheduler_config": {"enabled": True}, "inference_args.max-model-len": 8192}

EDGES = (
    Edge("K8S-NODE-PORT", "kubernetes", NODE_PORT, 30000, 29999, more=ON_NODES),
    Edge("K8S-NODE-PORT", "kubernetes", NODE_PORT, 32767, 32768, more=ON_NODES),
    # one rank or stage, and two, beside what the rule forbids for several
    Edge("ROUTER-BALANCE", "pooled", f"{C}.data_parallel_size", 1, 2, more=UNROUTED),
    Edge("DENSE-DP", "pooled", f"{C}.data_parallel_size", 1, 2, more={"inference_model.moe": "false"}),
    Edge("FUSED-MC2", "p2p-0.18", f"{P}.data_parallel_size", 1, 2, more=FUSED),
    Edge("LAYERWISE-PP", "layerwise-0.11", f"{P}.pipeline_parallel_size", 1, 2, more={f"{P}.tensor_parallel_size": 4}),
    Edge("PP-PCP", "p2p", f"{P}.pipeline_parallel_size", 1, 2, more={PREFILL_CONTEXT: 2, **ONE_RANK}),
    Edge(
        "PCP-RELEASE", "p2p", f"{P}.data_parallel_size", 1, 2, more={PREFILL_CONTEXT: 2, f"{P}.tensor_parallel_size": 4}
    ),
    Edge("OPTION-ALONE", "pooled", DECODE_CONTEXT, 2, 1, more={f"{C}.args.dcp-comm-backend": "a2a"}),
    Edge("CONFIG-RANGE", "pooled", f"{C}.args.additional-config.eplb_config.eplb_policy_type", 3, 4),
    Edge("CONFIG-RANGE", "pooled", f"{C}.args.additional-config.profiling_chunk_config.max_fit_chunk", 6, 5),
    Edge("XLITE", "pooled", f"{C}.pipeline_parallel_size", 1, 2, more=XLITE),
    Edge("XLITE", "pooled", f"{C}.args.speculative-config.num_speculative_tokens", 1, 2, more=SPECULATED),
    Edge("CHUNK-PIPELINE", "pooled", f"{C}.pipeline_parallel_size", 2, 1, more=CHUNKS),
    Edge("SCHEDULER-CHUNKS", "llmdatadist", f"{D}.args.max-num-batched-tokens", 8192, 8191, more=WHOLE),
    Edge("DCP-HEADS", "pooled", DECODE_CONTEXT, 1, 2, more={"inference_model.path": "/m/Qwen3-235B-A22B"}),
    Edge(
        "CP-INTERLEAVE",
        "p2p",
        f"{P}.decode_context_parallel_size",
        1,
        2,
        more={f"{P}.args.cp-kv-cache-interleave-size": 64},
    ),
    Edge("PP-PCP", "p2p", PREFILL_CONTEXT, 1, 2, more={f"{P}.pipeline_parallel_size": 2, **ONE_RANK}),
    # 10.1.0.100 is the network of 4 addresses that it is in, and an address of the one of 2
    Edge("VIRTUAL-ADDRESS", "p2p", f"{ROUTER}.virtual_address", 31, 30, text=_virtual, more=TWO),
    # ports: the first and the last of a range
    Edge("PORT-RANGE", "p2p", f"{D}.ports.kv", 65504, 65505),  # 32 workers
    Edge("PORT-PRIVILEGED", "p2p", f"{ROUTER}.port", 1024, 1023),
    Edge("PORT-OVERLAP", "one-host", f"{D}.ports.kv", 30104, 30103, more=KV_PORTS),
    Edge("PORT-OVERLAP", "one-host", f"{D}.ports.kv", 29996, 29997, more=KV_PORTS),
    Edge("PORT-EPHEMERAL", "cpu", f"{ROUTER}.port", 32767, 32768),
    Edge("KV-PORT-POOL", "p2p", f"{P}.ports.kv", 19984, 19985),  # 16 workers
    Edge("KV-PORT-POOL", "p2p", f"{P}.ports.kv", 21601, 21600),
    Edge("PORT-POOL", "p2p", f"{D}.ports.dp_rpc", 14999, 15000),
    Edge("PORT-POOL", "p2p", f"{D}.ports.dp_rpc", 17001, 17000),
    Edge("PORT-POOL", "both", f"{D}.ports.dp_rpc", 12299, 12300),
    Edge("PORT-POOL", "both", f"{D}.ports.dp_rpc", 14301, 14300),
    # times
    Edge("TTL-TIMEOUT", "both", f"{MASTER}.default_kv_lease_ttl", 11000, 10999),
    Edge(
        "TTL-TIMEOUT",
        "both",
        "inference_env.ASCEND_TRANSFER_TIMEOUT",
        10000,
        10001,
        str,
        {f"{MASTER}.default_kv_lease_ttl": 11000},
    ),
    Edge("MASTER-CLIENT-TTL", "both", f"{MASTER}.client_ttl", 120, 119, more=BOUND),
    Edge("START-TIMEOUT", "p2p", "inference_start_timeout", 60, 59),
    Edge("STOP-TIMEOUT", "p2p", "inference_args.shutdown-timeout", 89, 90),
    Edge("HOLD-TIMEOUT", "p2p", "inference_kv_hold_timeout", 30, 29),
    Edge("KV-HOLD-LONG", "p2p", "inference_kv_hold_timeout", 1800, 1801),
    Edge("READY-TIMEOUT", "p2p", "inference_env.VLLM_ENGINE_READY_TIMEOUT_S", 1800, 1799),
    Edge("RDMA-TIMEOUT", "p2p", "inference_env.HCCL_RDMA_TIMEOUT", 5, 4, str),
    Edge("RDMA-TIMEOUT", "p2p", "inference_env.HCCL_RDMA_TIMEOUT", 24, 25, str),
    # memory
    Edge("HOST-MEMORY", "both", "node1.inference_memory", 107, 106),  # 16 ranks with 4 GB each: 64 of 106.7 GiB
    Edge("HOST-MEMORY", "both", f"{STORE}.segment_size", 512, 513, _gigabytes),  # 16 ranks: 8 TiB
    Edge("SEGMENT-HDK", "pooled", f"{STORE}.segment_size", 32, 33, _gigabytes),
    Edge("MEMCACHE-MEMORY", "both", "node1.inference_memory", 107, 106, more=MEMCACHE),
    Edge("MEMCACHE-VALUE", "both", f"{STORE}.segment_size", 1024, 1025, _gigabytes, MEMCACHE),
    Edge("SHM-SIZE", "docker", "inference_container.shm_size", 64, 63, lambda number: f"{number}m"),
    Edge("GPU-MEMORY", "p2p", "inference_args.gpu-memory-utilization", 100, 101, _percent),
    Edge("GPU-MEMORY", "p2p", "inference_args.gpu-memory-utilization", 1, 0, _percent),
    # budgets and counts
    Edge("SEQS-BUDGET", "p2p", f"{D}.args.max-num-batched-tokens", 28, 27),
    Edge("DECODE-BUDGET", "p2p", f"{D}.args.max-num-batched-tokens", 56, 55, more=SPECULATIVE),
    Edge(
        "CHUNKED-BUDGET",
        "p2p",
        f"{P}.args.max-num-batched-tokens",
        32768,
        32767,
        more={f"{P}.args.enable-chunked-prefill": False},
    ),
    Edge("MASTER-THREADS", "both", f"{MASTER}.rpc_thread_num", 16, 15),
    Edge("MASTER-VALUE", "both", f"{MASTER}.eviction_high_watermark_ratio", 100, 101, _percent),
    Edge("MASTER-VALUE", "both", f"{MASTER}.eviction_high_watermark_ratio", 0, -1, _percent),
    Edge(
        "MEMCACHE-VALUE",
        "both",
        f"{MASTER}",
        99,
        100,
        lambda number: {"ock.mmc.evict_threshold_high": number},
        MEMCACHE,
    ),
    Edge("ARG-POSITIVE", "p2p", f"{D}.args.max-num-seqs", 1, 0),
    Edge("ARG-POSITIVE", "p2p", f"{D}.args.max-logprobs", -1, -2),
    Edge("ARG-POSITIVE", "p2p", f"{D}.args.api-server-count", 1024, 1025),
    Edge("ARG-POSITIVE", "p2p", "inference_args.seed", 2**32 - 1, 2**32),
    Edge("ENV-VALUE", "p2p", "inference_env.HCCL_RDMA_TC", 63, 64, lambda number: str(4 * number)),
    Edge("ENV-VALUE", "p2p", "inference_env.HCCL_RDMA_SL", 7, 8, str),
    Edge("ENV-VALUE", "p2p", "inference_env.OMP_NUM_THREADS", 1, 0, str),
    Edge("DEVICE-COUNT", "p2p", "node2.inference_devices", 16, 17),
    Edge("ROUTER-VALUE", "p2p", f"{ROUTER}.args.max-retries", 0, -1),
    Edge("STORE-HA-ETCD", "ha", f"{STORE}.ha.etcd_members", 3, 4),
    Edge(
        "K8S-AUTOSCALING",
        "kubernetes",
        "inference_kubernetes.autoscaling",
        3,
        2,
        lambda number: {"roles": {"decode": {"max": number, "metrics": {"vllm:num_requests_waiting": 5}}}},
        {f"{D}.instances": 3},
    ),
    # lengths
    Edge("INTERFACE-NAME", "p2p", "node1.inference_interface", 15, 16, lambda number: number * "a"),
    Edge("USER-NAME", "p2p", "inference_user", 31, 32, lambda number: number * "u"),
    Edge("SUPERVISOR-SOCKET", "cpu", "inference_root", 52, 53, _folder),
    Edge("SOCKET-PATH", "p2p", "inference_env.TMPDIR", 65, 66, _folder),
    Edge("BALANCER-SOCKET", "p2p", "inference_root", 50, 51, _folder, TWO),
)

# Rules whose comparison is not of a number that a user writes, or whose right value another rule refuses.
WITHOUT = {
    "BLOCK-SIZE": "of sets",
    "FLAG-RELEASE": "of releases",
    "KV-HOLD-SHORT": "the next value is too short as well, for HOLD-TIMEOUT; test_the_shortest_hold_of_each_kind has both",
    "MEMCACHE-PACKAGE": "of releases",
    "MOUNT-FORM": "of sets",
    "POOL-RANK": "of a key; mistakes.py has the first rank that an instance has not, test_render_verify.py the last one that it has",
    "POOL-UNSERVED": "of sets",
    "ROUTER-POOLS": "of sets",
    "SEGMENT-SIZE": "of a size and a text; test_units has the sizes",
    "SPEC-MODEL": "of releases",
    "VIRTUAL-BIND": "of versions of IP",
}
