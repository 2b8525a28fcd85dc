# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between a source and our plan that are meant, by reason; none of them names an entry.

A class holds for every deployment of its kind, so also for those nobody has looked at yet. Whatever is not covered by a
class is a difference, and the run fails.
"""

from __future__ import annotations

import re
import typing as t

REASONS = {
    "BIND": "a service binds its host's own address, where the source binds all of them (or leaves that to the default)",
    "DERIVED": "the planner states what the release, the hardware and the link need (pages knowledge_environment, knowledge_ports, knowledge_connectors)",
    "IGNORED": "the source sets a key that this release ignores, or that is fatal where it is stale (page knowledge_connectors)",
    "NAME": "the source uses a name that another connector bears too; the registered one is rendered (page knowledge_connectors)",
    "RANK0": "the source's data-parallel address is not of the host that starts rank 0: the ranks would never meet",
    "SPARE": "the source shows an engine more devices than its sizes use",
    "LEGACY": "the source's old launcher hands ranks over in its environment; vLLM's flags say the same",
}

# Environment that the planner adds by itself (page knowledge_environment); engines of any source may lack it.
DERIVED_ENV = frozenset(
    {
        "ACL_OP_INIT_MODE",
        "ASCEND_AUTO_CONNECT",
        "ASCEND_BUFFER_POOL",
        "ASCEND_CONNECT_TIMEOUT",
        "ASCEND_ENABLE_USE_FABRIC_MEM",
        "ASCEND_INFERENCE_SERVICE",
        "ASCEND_PROCESS_LOG_PATH",
        "ASCEND_RT_VISIBLE_DEVICES",
        "ASCEND_TRANSFER_TIMEOUT",
        "DISAGGREGATED_PREFILL_RANK_TABLE_PATH",
        "GLOO_SOCKET_IFNAME",
        "HCCL_CONNECT_TIMEOUT",
        "HCCL_IF_BASE_PORT",
        "HCCL_IF_IP",
        "HCCL_INTRA_ROCE_ENABLE",
        "HCCL_RDMA_TIMEOUT",
        "HCCL_SOCKET_IFNAME",
        "HOME",
        "MMC_LOCAL_CONFIG_PATH",
        "MOONCAKE_CONFIG_PATH",
        "OMP_NUM_THREADS",
        "OMP_PROC_BIND",
        "PYTHONHASHSEED",
        "PYTORCH_NPU_ALLOC_CONF",
        "TASK_QUEUE_ENABLE",
        "TP_SOCKET_IFNAME",
        "VLLM_ASCEND_LLMDD_RPC_IP",
        "VLLM_ASCEND_LLMDD_RPC_PORT",
        "VLLM_ENGINE_READY_TIMEOUT_S",
        "VLLM_HOST_IP",
        "VLLM_LLMDD_RPC_PORT",
        "VLLM_USE_V1",
    }
)
DERIVED_FLAGS = frozenset({"cp-kv-cache-interleave-size", "shutdown-timeout"})
# What vLLM takes from its defaults on an instance of one host: the planner states it, for two may share the host.
ONE_HOST_FLAGS = frozenset({"data-parallel-address", "data-parallel-rpc-port"})
IGNORED_KEYS = frozenset(
    {"engine_id", "kv_buffer_device", "kv_connector_module_path", "kv_parallel_size", "kv_rank", "use_ascend_direct"}
)
NAMES = {"MooncakeConnector": "MooncakeConnectorV1", "MooncakeConnectorStoreV1": "AscendStoreConnector"}
LEGACY_ENV = re.compile(r"VLLM_DP_|PHYSICAL_DEVICES$")

# A source may knowingly do what a rule forbids: its own lint says so as a warning. The user would write
# inference_rules_ignore, and the plan says that the rule was set aside.
ACCEPTABLE = {
    "KV-PORT-RESERVED-1000": re.compile("PORT"),
    "SPEC-TOKENS": re.compile("SPEC"),
    "BLOCK-SIZE-DIFFERS": re.compile("BLOCK"),
    "DECODE-TOKEN-BUDGET": re.compile("TOKEN|BUDGET|BATCH"),
    "MAX-LEN-DIFFERS": re.compile("LEN"),
    "DUP-FLAG": re.compile("DUP"),
    "REMOVED-AT-HEAD": re.compile("MODULE|CONNECTOR|ENGINE"),
}

# Mistakes of a source that cannot get into a plan, by lint rule.
REPAIRS = {
    "DUP-FLAG": "a flag is written once",
    "ENGINE-ID-DUP": "no engine id is written: each process makes its own",
    "PARALLEL-MISMATCH": "the sizes that connectors are told follow from the pools",
    "PROXY-ENDPOINTS": "the proxy's lists follow from the engines that have an API",
    "PROXY-UNKNOWN-FLAG": "the proxy's lists are rendered with flags that the release has",
    "REMOVED-AT-HEAD": "the connector's module is left to the release",
    "SHELL-SYNTAX": "no shell script is written by hand",
}


def matches(lint: str, rule: str) -> bool:
    """Whether one of our rules is about what a lint rule of the corpus found."""
    known = {
        "JSON-SYNTAX": "JSON",
        "KV-PORT-OVERLAP": "PORT",
        "KV-PORT-RESERVED-100": "PORT",
        "PARALLEL-MISMATCH": "SIZE|PARALLEL|KV|ROLE|DENSE",
        "PROXY-ENDPOINTS": "ROUTER|PROXY|PLACE",  # hosts that cannot carry the engines' ranks: no list fits them
        "PROXY-KIND": "ROUTER|PROXY",
        "PROXY-UNKNOWN-FLAG": "ROUTER|PROXY|FLAG",
        "SERVED-NAME-DIFFERS": "NAME|SERVED",
        "SHELL-SYNTAX": "FLAG|ARG",
    }
    if lint in known:
        return bool(re.search(known[lint], rule))
    shared = {word for word in lint.split("-") if len(word) > 2} & set(rule.split("-"))
    return bool(shared)


def acceptable(lints: t.Iterable[str], rule: str) -> bool:
    """Whether the source's own warnings cover what a rule refuses."""
    return any(ACCEPTABLE[lint].search(rule) for lint in lints if lint in ACCEPTABLE)
