# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that is found for one description, word for word: nearest right and wrong values, which variable is named, where a rule is silent.

The findings are in exact_findings.txt: who changes a rule or a text reads there what else changes.
``RENEW_FINDINGS=1 pytest -n 0 test_exact_findings.py`` writes them.
"""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest
from ansible_collections.ascend.inference.tests.unit.digests import digest
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import (
    APART,
    COMMON,
    DECODE,
    FAMILIES,
    IMAGE,
    PREFILL,
    hosts,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import (
    CERTIFIED,
    LOCAL,
    MASTER,
    MEMCACHE,
    RECOMPUTE,
    ROUTER,
    STORE,
    TWO,
    C,
    D,
    P,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged


class Row(t.NamedTuple):
    """Changes of a family's description."""

    family: str
    changes: dict[str, t.Any]

    @property
    def name(self) -> str:
        """One line, which is the key in the file of findings. Of an inventory it has the hosts of each group."""
        shown: dict[str, t.Any] = {key: value for key, value in self.changes.items() if key != "inventory"}
        for name, host in self.changes.get("inventory", {}).items():
            for group in host["groups"]:
                shown.setdefault("hosts", {}).setdefault(group, []).append(name)
        text = f"{self.family} {json.dumps(shown)}"
        cut = text if len(text) <= 200 else f"{text[:190]} ..."
        return text if cut == text and shown == self.changes else f"{cut} {digest(self.changes)}"


FILE = pathlib.Path(__file__).with_name("exact_findings.txt")
COMMAND = "RENEW_FINDINGS=1 pytest -n 0 test_exact_findings.py"
HEAD = f"# SPDX-License-Identifier: GPL-3.0-or-later\n# Written by the test: {COMMAND}\n"
OF_NO_ADVISORY = {"inference_rules_ignore": ["ADVISORY"]}  # new ones are published while the tests stay
ROWS = (
    # the probe
    Row("kubernetes", {"inference_probe.enabled": True, f"{ROUTER}.flavour": "none"}),
    Row("p2p", {"inference_probe.enabled": True, f"{ROUTER}.flavour": "none"}),
    Row("pooled", {"inference_probe.enabled": True, f"{ROUTER}.flavour": "none"}),
    # a router that is not planned has no options
    Row("p2p", {f"{ROUTER}.flavour": "none", f"{ROUTER}.args": {"max-retries": -1}, f"{D}.args.additional-config": {}}),
    # networks
    Row(
        "p2p",
        {
            "inference_firewall": {
                "state": "present",
                "cluster": ["10.0.0"],
                "monitoring": ["10.0.0.0/33"],
                "clients": ["10.0.0.0/32", "::/129"],
            }
        },
    ),
    Row("p2p", {"inference_firewall": {"state": "present", "clients": ["fe80::1%eth0"]}}),
    # how long prefill holds KV cache: on CPUs by another variable
    Row("cpu", {"inference_env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 29}),
    Row("cpu", {"inference_env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 30}),
    Row("cpu", {"inference_env.VLLM_NIXL_ABORT_REQUEST_TIMEOUT": 29}),
    Row("p2p", {f"{P}.env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 0}),
    Row("p2p", {f"{P}.env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 29, "inference_env.ASCEND_CONNECT_TIMEOUT": "x"}),
    # ports that nobody binds, as one number or as a list
    Row("p2p", {f"{D}.hosts.node4.ports.dp_rpc": [12000, 12010]}),
    Row("p2p", {f"{P}.ports.llmdatadist": [5600, 5601]}),
    # groups: not in a cluster, and not the controller; at most eight hosts are named
    Row("kubernetes", {"inventory": hosts(2, {"prefil": (1,), "ungrouped": (2,)})}),
    Row(
        "p2p",
        {
            "inventory": {
                **hosts(4, APART),
                **{name: {"groups": ["ungrouped"], "variables": {}} for name in ("localhost", "127.0.0.1", "::1")},
            }
        },
    ),
    Row("p2p", {"inventory": {**hosts(4, APART), "127.0.0.2": {"groups": ["ungrouped"], "variables": {}}}}),
    Row("pooled", {"inventory": hosts(10, {"colocated": (1, 2), "colocate": range(3, 11)})}),
    Row("pooled", {"inventory": hosts(11, {"colocated": (1, 2), "colocate": range(2, 12)})}),
    Row(
        "pooled",
        {
            "inventory": hosts(
                11, {"colocated": (1, 2), "colocate": (3, 4), "router": (1,), "routr": (5,), "ungrouped": range(6, 12)}
            )
        },
    ),
    # settings without effect
    Row(
        "p2p",
        {
            "inference_encoder_cache.path": "/srv/encoder",
            "inventory": hosts(5, {**APART, "encode": (5,)}),
            "inference_pools.encode": {"tensor_parallel_size": 4},
        },
    ),
    Row("cpu", {"inference_engine_version": "0.1.0"}),
    Row("p2p", {"inference_engine_version": "0.23.0"}),
    Row(
        "p2p",
        {
            **TWO,
            f"{ROUTER}.frontend_paths": ["/v1/models"],
            f"{ROUTER}.frontend_answer_timeout": 100,
            f"{ROUTER}.frontend_client_timeout": 100,
        },
    ),
    Row("p2p", {**TWO, f"{ROUTER}.frontend_answer_timeout": 100, f"{ROUTER}.frontend_port": 9443}),
    Row("p2p", {f"{ROUTER}.frontend_answer_timeout": 100, f"{ROUTER}.frontend_client_timeout": 100}),
    Row("p2p", {f"{ROUTER}.frontend_paths": ["/v1/models"]}),
    # folders: another rule judges what is no model; a cluster's nodes have no folder of the collection
    Row("p2p", {"inference_model.path": "/"}),
    Row("p2p", {f"{P}.model": "/usr"}),
    Row("docker", {"inference_container.mounts": ["/run/podman.sock:/x", "/a/crio.sock:/y"]}),
    Row("docker", {"inference_container.mounts": ["/opt/:/x"]}),
    Row("docker", {"inference_container.mounts": ["/opt/ascend-inference:/x"]}),
    Row(
        "docker",
        {
            "inference_container.mounts": [
                "/opt/ascend:/x",
                "/opt/ascend-inference-2:/y",
                "/opt/ascend-inference/cache:/z",
            ]
        },
    ),
    Row("kubernetes", {"inference_model.path": "/opt/ascend-inference"}),
    Row("kubernetes", {"inference_kubernetes.model_claim": "models", "inference_model.path": "/var/lib"}),
    # what is installed
    Row("pooled", {"inference_hardware": "a3", "inference_engine_install": "wheel"}),
    Row("pooled", {"inference_hardware": "910a", "inference_devices": 8}),
    Row("pooled", {"inference_hardware": "910a", "inference_devices": 8, "inference_engine_install": "site"}),
    Row("docker", {"inference_hardware": "910a", "inference_devices": 16}),
    Row("cpu", {"inference_engine_install": "wheel"}),
    Row("docker", {"inference_engine_install": "site"}),
    # secrets
    Row("p2p", {"inference_secrets.api_key": True}),
    Row("p2p", {"inference_secrets.api_key": 12345}),
    Row("p2p", {"inference_secrets.api_key": "   "}),
    Row("p2p", {"inference_secrets.client_keys": "one tw,o", f"{ROUTER}.frontend": "haproxy", **CERTIFIED}),
    Row("p2p", {"inference_secrets.client_key": "one", "inference_secrets.apikey": "one"}),
    # code of a model: of a repository, and where the option is on
    Row("p2p", {"inference_model.path": "org/model", **OF_NO_ADVISORY}),
    Row("p2p", {"inference_model.path": "org/model", "inference_args.trust-remote-code": False, **OF_NO_ADVISORY}),
    Row("p2p", {f"{P}.model": "org/qwen-moe-w8a8", f"{D}.args.trust-remote-code": False, **OF_NO_ADVISORY}),
    Row("p2p", {f"{P}.model": "org/qwen-moe-w8a8", f"{P}.args.trust-remote-code": False, **OF_NO_ADVISORY}),
    # variables of the environment
    Row("p2p", {f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "page_size:1g, segment_size_mb:20,pinned_mem_register:True"}),
    Row(
        "p2p",
        {
            f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "multi_stream_lazy_reclaim:True,pin_memory_expandable_segments:False,roundup_power2_divisions:[256:1,>:8]"
        },
    ),
    Row("p2p", {f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "roundup_power2_divisions:[256:1"}),
    Row("p2p", {f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "page_size:1g;page_size:1g"}),
    Row(
        "p2p",
        {
            f"{D}.env": {
                "HCCL_RDMA_TC": "256",
                "HCCL_RDMA_RETRY_CNT": "0",
                "TASK_QUEUE_ENABLE": "3",
                "ASCEND_GLOBAL_LOG_LEVEL": "5",
                "VLLM_USE_V1": "2",
            }
        },
    ),
    Row("p2p", {f"{D}.env": {"HCCL_RDMA_TC": "131", "HCCL_RDMA_RETRY_CNT": "8", "VLLM_RPC_TIMEOUT": "0"}}),
    Row("p2p", {f"{D}.env.HCCL_RDMA_TC": "133"}),
    Row("p2p", {f"{D}.env.HCCL_RDMA_TC": "0132"}),
    Row(
        "p2p",
        {
            f"{D}.env": {
                "HCCL_RDMA_TC": "0",
                "HCCL_RDMA_RETRY_CNT": "1",
                "VLLM_RPC_TIMEOUT": "1",
                "ASCEND_GLOBAL_LOG_LEVEL": "0",
            }
        },
    ),
    Row("cpu", {f"{D}.env": {"VLLM_USE_V1": "2", "OMP_PROC_BIND": "no"}}),
    Row(
        "p2p",
        {
            f"{D}.env": {
                "OWN_HCCL_RDMA_TCC": "1",
                "VLLM_ASCEND_OWN": "1",
                "HCCL_BUFFSIZES": "200",
                "ASCEND_CONNECT_TIMEOUTS": "1",
                "OMP_NUM_THREAD": "1",
            }
        },
    ),
    Row(
        "p2p", {f"{D}.env": {"PYTORCH_NPU_ALLOC_CON": "x", "VLLM_NIXL_ABORT_REQUEST_TIMEOUTS": "3", "HCCL_IF_IPS": "x"}}
    ),
    # --additional-config: keys in a mapping and behind dots, which are the same to vLLM
    Row(
        "p2p",
        {
            f"{P}.args": {
                **PREFILL["args"],
                "additional-config.enable_kv_nzz": True,
                "additional-config.enable_kv_nz": "maybe",
            }
        },
    ),
    Row("pooled", {"inference_args": {"additional-config.enable_kv_nzz": True}}),
    Row("p2p", {f"{P}.args": {**PREFILL["args"], "additional-config.eplb_config.dynamic_eplb": True}}),
    Row(
        "p2p",
        {
            f"{P}.args": {**PREFILL["args"], "additional-config.eplb_config.dynamic_eplb": True},
            f"{P}.env.DYNAMIC_EPLB": "true",
        },
    ),
    Row(
        "p2p",
        {
            f"{P}.args": {
                **PREFILL["args"],
                "additional-config.eplb_config": {"num_redundant": 1},
                "additional-config.eplb_config.num_redundant_experts": 2,
            }
        },
    ),
    Row("pooled", {f"{C}.args": {"additional-config.layer_sharding": ["o_proj"]}}),
    Row("p2p-0.11", {f"{P}.args.additional-config": {"ascend_scheduler_config": {"enabled": True, "own": 1}}}),
    Row("p2p-0.11", {f"{P}.args.additional-config": {"ascend_scheduler_config": {"enabled": "maybe"}}}),
    Row("p2p-0.13", {f"{P}.args.additional-config": {"ascend_scheduler_config": {"own": 1}}}),
    Row(
        "newest",
        {"inference_release": "main", f"{P}.args.additional-config": {"enable_kv_nzz": True, "mc2_comm_alg": "full"}},
    ),
    Row("cpu", {f"{P}.args.additional-config": {"enable_kv_nzz": True, "eplb_config": {"dynamic_eplb": True}}}),
    Row("pooled", {f"{C}.args.additional-config": {"layer_sharding": ["o_proj"]}}),
    Row("p2p", {f"{D}.args.additional-config": {"layer_sharding": []}}),
    Row(
        "p2p",
        {
            f"{D}.args.additional-config.eplb_config": {"expert_map_record_path": "/x"},
            f"{D}.env.EXPERT_MAP_RECORD": "1",
        },
    ),
    Row(
        "p2p",
        {
            f"{D}.args.additional-config.eplb_config": {"expert_map_record_path": "/x"},
            f"{D}.env.EXPERT_MAP_RECORD": "true",
        },
    ),
    Row("p2p", {f"{D}.args.additional-config.eplb_config": {"dynamic_eplb": True}, f"{D}.env.DYNAMIC_EPLB": "1"}),
    Row("p2p", {f"{D}.args.additional-config.eplb_config": {"dynamic_eplb": True}, f"{D}.env.DYNAMIC_EPLB": "TRUE"}),
    Row(
        "p2p",
        {
            f"{D}.args.additional-config.eplb_config": {"dynamic_eplb": True},
            f"{P}.env.DYNAMIC_EPLB": "true",
            f"{D}.env.DYNAMIC_EPLB": "0",
        },
    ),
    # options by which vLLM splits ranks: derived where the plan splits them, refused elsewhere
    Row(
        "pooled",
        {f"{C}.args": {"nnodes": 2, "node-rank": 1, "master-addr": "10.1.0.1", "master-port": 29500, "headless": True}},
    ),
    Row(
        "pooled",
        {
            f"{C}.args": {
                "data-parallel-rank": 1,
                "data-parallel-start-rank": 1,
                "data-parallel-hybrid-lb": True,
                "data-parallel-external-lb": True,
            }
        },
    ),
    Row("pooled", {f"{C}.args": {"headless": False, "nnodes": None}}),
    Row("pooled", {f"{C}.hosts.node2.args.headless": True}),
    Row("p2p", {f"{D}.args.headless": True}),
    Row("p2p", {f"{D}.args.data-parallel-start-rank": 1}),
    Row("p2p", {f"{P}.args.data-parallel-start-rank": 1}),
    Row("p2p", {f"{D}.load_balancing": "external", f"{D}.args.data-parallel-start-rank": 1}),
    Row("p2p", {f"{D}.load_balancing": "external", f"{D}.args.data-parallel-rank": 1}),
    Row(
        "p2p",
        {
            f"{D}.load_balancing": "external",
            f"{D}.data_parallel_size": 1,
            f"{D}.tensor_parallel_size": 8,
            f"{D}.args.data-parallel-rank": 1,
        },
    ),
    Row(
        "p2p",
        {
            f"{D}.data_parallel_size": 1,
            f"{D}.tensor_parallel_size": 8,
            f"{D}.pipeline_parallel_size": 1,
            f"{D}.args.node-rank": 1,
        },
    ),
    Row(
        "pooled",
        {
            f"{C}.instances": 1,
            f"{C}.tensor_parallel_size": 16,
            f"{C}.args": {"max-num-seqs": 16, "nnodes": 2, "node-rank": 1},
        },
    ),
    Row("p2p", {f"{P}.args.ssl-keyfile": "/k", f"{D}.args.ssl-certfile": "/c", f"{D}.args.uds": "/run/x"}),
    Row("pooled", {f"{C}.args": {"runner": "pooling", "convert": "embed"}}),
    Row("p2p", {f"{D}.args": {**DECODE["args"], "runner": "pooling", "convert": "classify"}}),
    Row("p2p", {f"{D}.args.convert": "reward"}),
    Row("cpu", {"inference_start_timeout": 59}),
    Row("p2p", {f"{P}.args.distributed-executor-backend": "ray", f"{D}.args.distributed-executor-backend": "ray"}),
    Row(
        "p2p",
        {
            f"{P}.args.load-format": "pt",
            f"{P}.args.model-loader-extra-config": {"num_thread": 8, "enable_weights_track": True},
        },
    ),
    Row("p2p", {f"{P}.args.load-format": "mistral", f"{P}.args.model-loader-extra-config": {"device": "cpu"}}),
    Row("p2p", {f"{P}.args.load-format": "tensorizer", f"{P}.args.model-loader-extra-config": {"device": "cpu"}}),
    # several routers: what only one of them can have
    Row("p2p", {**TWO, f"{ROUTER}.args.host": "10.1.0.1"}),
    Row("p2p", {**TWO, f"{ROUTER}.args.port": 8000}),
    Row("pooled", {**TWO, f"{ROUTER}.args": {"prometheus-host": "10.1.0.1", "prometheus-port": 9000}}),
    Row("pooled", {**TWO, f"{ROUTER}.args": {"policy": "cache_aware"}}),
    Row("pooled", {f"{ROUTER}.args": {"policy": "cache_aware"}}),
    Row("p2p", {**TWO, f"{ROUTER}.balancer_bind": "198.51.100.7"}),
    Row("p2p", {**TWO, "node1.inference_address": "203.0.113.5"}),
    Row("p2p", {**TWO, "node1.inference_address": "8.8.8.8", f"{ROUTER}.balancer_bind": "10.1.0.1"}),
    Row("p2p", {**TWO, "node1.inference_address": "8.8.8.8"}),
    Row("p2p", {f"{ROUTER}.instances": 2}),
    Row("p2p", {f"{ROUTER}.balancer": "haproxy"}),
    # both sides of a transfer: what they share, which variable is named, whose model differs
    Row("both", {f"{P}.kv_transfer": "store"}),
    Row("both", {f"{P}.kv_transfer": "store", f"{D}.kv_transfer": "recompute_cpu_offload"}),
    Row("both", {f"{P}.kv_transfer": "recompute_cpu_offload", f"{D}.kv_transfer": "offloading"}),
    Row("p2p", {f"{P}.kv_transfer": "mooncake_hybrid"}),
    Row("p2p", {f"{P}.kv_transfer": "mooncake+recompute_cpu_offload"}),
    Row("p2p", {"inference_kv_transfer": "mooncake_hybrid", f"{P}.kv_transfer": "mooncake"}),
    Row(
        "p2p",
        {
            f"{P}.args.kv-transfer-config": {
                "kv_connector": "PreemptOffloadConnector",
                "kv_connector_module_path": "own",
                "kv_role": "kv_both",
            },
            f"{D}.args.kv-transfer-config": {
                "kv_connector": "PreemptOffloadConnector",
                "kv_connector_module_path": "own",
                "kv_role": "kv_both",
            },
        },
    ),
    Row(
        "p2p",
        {
            f"{P}.args.kv-transfer-config": {
                "kv_connector": "OwnConnector",
                "kv_connector_module_path": "own",
                "kv_role": "kv_producer",
            }
        },
    ),
    Row(
        "p2p",
        {
            f"{D}.args.kv_transfer_config": {
                "kv_connector": "OwnConnector",
                "kv_connector_module_path": "own",
                "kv_role": "kv_consumer",
            }
        },
    ),
    Row(
        "p2p",
        {
            "inventory": hosts(5, {**APART, "colocated": (5,)}),
            C: {"tensor_parallel_size": 8, "kv_transfer": "none"},
            f"{ROUTER}.flavour": "none",
            f"{D}.args.additional-config": {},
        },
    ),
    Row(
        "p2p",
        {
            f"{P}.env.VLLM_PP_LAYER_PARTITION": "42, 36",
            f"{P}.pipeline_parallel_size": 2,
            f"{P}.tensor_parallel_size": 4,
        },
    ),
    Row(
        "p2p",
        {f"{P}.env.VLLM_PP_LAYER_PARTITION": "78,0", f"{P}.pipeline_parallel_size": 2, f"{P}.tensor_parallel_size": 4},
    ),
    Row(
        "p2p",
        {
            f"{P}.env.VLLM_PP_LAYER_PARTITION": "42,36,2",
            f"{P}.pipeline_parallel_size": 2,
            f"{P}.tensor_parallel_size": 4,
        },
    ),
    Row("p2p", {f"{D}.env.VLLM_PP_LAYER_PARTITION": "78"}),
    Row("p2p", {f"{D}.env.VLLM_PP_LAYER_PARTITION": "42,36"}),
    Row("pooled", {f"{C}.kv.kv_connector_extra_config.prefill": {"tp_size": 4, "pp_layer_partition": "42,36"}}),
    Row("p2p", {f"{P}.kv.kv_connector_extra_config.prefill.pp_layer_partition": ""}),
    Row("p2p", {f"{P}.model": "/data/qwen-moe-w8a8", f"{D}.model": "/models/qwen-moe-w8a8/"}),
    Row("p2p", {f"{P}.model": "/models/qwen-1", f"{D}.model": "/models/qwen-2"}),
    Row("p2p", {f"{D}.model": "/models/qwen-2"}),
    Row("p2p", {f"{P}.model": "/models/qwen-moe-w8a8", f"{D}.model": "/models/qwen-2"}),
    # counts: the first wrong value on either side, and the last right ones
    Row(
        "p2p",
        {
            f"{D}.args.max-model-len": -2,
            f"{D}.args.max-num-partial-prefills": 0,
            f"{D}.args.long-prefill-token-threshold": -1,
            f"{D}.args.api-server-count": -1,
            f"{D}.args.max-loras": 0,
            f"{D}.args.max-cpu-loras": 0,
            f"{D}.args.max-lora-rank": 0,
            f"{D}.args.seed": -1,
        },
    ),
    Row(
        "p2p",
        {
            f"{D}.args.max-num-seqs": 10**6 + 1,
            f"{D}.args.max-num-batched-tokens": 10**8 + 1,
            f"{D}.args.max-num-partial-prefills": 10**6 + 1,
            f"{D}.args.long-prefill-token-threshold": 10**9 + 1,
            f"{D}.args.max-loras": 10**5 + 1,
            f"{D}.args.max-cpu-loras": 10**6 + 1,
            f"{D}.args.max-lora-rank": 10**5 + 1,
            f"{D}.args.max-logprobs": 10**7 + 1,
        },
    ),
    Row(
        "pooled",
        {
            f"{C}.args": {
                "max-num-seqs": 1,
                "max-num-partial-prefills": 1,
                "long-prefill-token-threshold": 0,
                "api-server-count": 0,
                "max-loras": 1,
                "max-cpu-loras": 1,
                "max-lora-rank": 1,
                "seed": 0,
            }
        },
    ),
    Row("p2p", {f"{D}.args.max-lora-rank": 24}),
    Row("p2p", {f"{D}.args.max-lora-rank": 513}),
    Row("p2p", {f"{D}.args.max-lora-rank": 100000}),
    Row("p2p", {f"{D}.args.max-lora-rank": 512}),
    Row("p2p", {"inference_args.max-model-len": 0}),
    Row(
        "p2p",
        {
            f"{D}.args.limit-mm-per-prompt": {
                "image": True,
                "video": -1,
                "audio": "1",
                "one": {"count": -1},
                "two": {"count": 1.5},
            }
        },
    ),
    Row("p2p", {f"{D}.args.limit-mm-per-prompt": {"image": 0, "video": {"count": 0}, "audio": {}}}),
    Row("p2p", {f"{D}.args.enable-auto-tool-choice": False}),
    Row("p2p", {f"{D}.args.enable-auto-tool-choice": True, f"{D}.args.enable-lora": True}),
    Row("p2p", {f"{D}.env.HCCL_BUFFSIZE": "0"}),
    Row("cpu", {f"{D}.env.HCCL_BUFFSIZE": "many"}),
    # links and addresses
    Row("p2p", {"inference_link": "hccs"}),
    Row("pooled", {"inference_link": "hccs", "inventory": hosts(1, {"colocated": (1,)})}),
    Row("pooled", {"inference_link": "hccs", "inference_hardware": "910a", "inference_devices": 8}),
    Row("pooled", {"inference_link": "hccs", "inference_hardware": "310p", "inference_devices": 8}),
    Row("p2p", {"node2.inference_address": "255.255.255.255"}),
    Row("p2p", {"node2.inference_address": "255.255.255.254"}),
    Row("p2p", {"node2.inference_address": "fe80::1"}),
    Row("p2p", {"node2.inference_address": "ff02::1"}),
    Row("cpu", {"node1.inference_address": "d2.rack.example"}),
    Row(
        "p2p",
        {
            "inventory": {
                **hosts(4, APART),
                "node5": {
                    "groups": ["router"],
                    "variables": {"ansible_host": "r.example", "inference_interface": "eth0"},
                },
            }
        },
    ),
    # sizes
    Row(
        "both",
        {
            f"{P}.kv_transfer": "store",
            f"{D}.kv_transfer": "store",
            f"{D}.decode_context_parallel_size": 2,
            f"{D}.tensor_parallel_size": 2,
            f"{D}.data_parallel_size": 16,
            f"{D}.pipeline_parallel_size": 1,
        },
    ),
    Row("p2p", {"inference_model.name": "Qwen3-32B"}),
    Row("p2p", {"inference_model.name": "Qwen3-32B", "inference_model.moe": "true"}),
    Row("p2p-0.13", {"inference_model.moe": "false"}),
    Row("pooled", {"inference_model.moe": "false", f"{C}.args": {"max-num-seqs": 16, "enable-expert-parallel": True}}),
    Row("pooled", {"inference_model.moe": "false", "inference_args.enable_expert_parallel": True}),
    Row(
        "pooled",
        {"inference_model.moe": "false", f"{C}.expert_parallel": True, f"{C}.args.enable-expert-parallel": False},
    ),
    Row("p2p-0.11", {f"{P}.pipeline_parallel_size": 2, f"{P}.tensor_parallel_size": 4}),
    # MemCache: keys, sizes, protocols, where nothing installs it
    Row(
        "both",
        {
            **MEMCACHE,
            f"{STORE}.options": {
                "ubsio.disk.paths": "/x",
                "ock.mmc.log_levels": "x",
                "ock.mmc.a_setting_of_tomorrow": 1,
                "log_level": "error",
            },
        },
    ),
    Row(
        "both",
        {
            **MEMCACHE,
            MASTER: {
                "ock.mmc.evict_threshold_lows": 1,
                "ock.mmc.meta.lease_ttl_m": 1,
                "ubsio.own": 1,
                "ock.mmc.local_service.dram.size": "1GB",
            },
        },
    ),
    Row("both", {**MEMCACHE, f"{STORE}.segment_size": "1500MB", f"{STORE}.options": {LOCAL + "protocol": "host_rdma"}}),
    Row(
        "both", {**MEMCACHE, f"{STORE}.segment_size": "1500MB", f"{STORE}.options": {LOCAL + "protocol": "device_sdma"}}
    ),
    Row("both", {**MEMCACHE, f"{STORE}.options": {LOCAL + "dram.size": "1500MB"}}),
    Row("both", {**MEMCACHE, f"{STORE}.options": {LOCAL + "dram.size": "much"}}),
    Row("both", {**MEMCACHE, f"{STORE}.options": {LOCAL + "protocol": "host_rdm"}}),
    Row("both", {**MEMCACHE, MASTER: {"ock.mmc.evict_threshold_low": 98, "ock.mmc.evict_threshold_high": 99}}),
    Row("both", {**MEMCACHE, MASTER: {"ock.mmc.evict_threshold_low": 99, "ock.mmc.evict_threshold_high": 0}}),
    Row("both", {**MEMCACHE, MASTER: {"ock.mmc.evict_threshold_low": 0, "ock.mmc.evict_threshold_high": "90%"}}),
    Row("both", {**MEMCACHE, f"{STORE}.segment_size": "3GB", "node1.inference_memory": 80}),
    Row(
        "both", {**MEMCACHE, f"{STORE}.segment_size": "3GB", "node1.inference_memory": 79, "node3.inference_memory": 79}
    ),
    Row(
        "both",
        {**MEMCACHE, f"{D}.kv_transfer": "mooncake", f"{STORE}.segment_size": "3GB", "node3.inference_memory": 79},
    ),
    Row(
        "both",
        {
            **MEMCACHE,
            "inventory": hosts(5, {**APART, "encode": (5,)}, inference_memory=120),
            "node5.inference_memory": 9,
            "inference_pools.encode": {"tensor_parallel_size": 4},
        },
    ),
    Row("both", {f"{STORE}.segment_size": "3GB", "node1.inference_memory": 80}),
    Row("both-0.18", {**MEMCACHE}),
    Row("both", {**MEMCACHE, "inference_release": "0.17.0rc1"}),
    Row("both", {**MEMCACHE, "inference_release": "0.17.0rc1", "inference_engine_install": "site"}),
    Row(
        "both", {**MEMCACHE, "inference_release": "0.17.0rc1", "inference_runtime": "docker", "inference_image": IMAGE}
    ),
    Row(
        "both",
        {
            **MEMCACHE,
            "inference_runtime": "docker",
            "inference_image": IMAGE,
            "inference_mooncake_master.group": "pool",
            "inventory": hosts(5, {**APART, "pool": (5,)}),
        },
    ),
    Row("both", {**MEMCACHE, "inference_mooncake_master.group": "decode"}),
    # Yuanrong: each pool that uses the store, and no settings of the other backends
    Row("pooled", {STORE: {"backend": "yuanrong"}}),
    Row("pooled", {STORE: {"backend": "yuanrong"}, f"{C}.env.DS_WORKER_ADDR": "10.1.0.1:31501"}),
    Row(
        "pooled",
        {
            STORE: {"backend": "yuanrong", "segment_size": "8GB", "options": {"x": 1}},
            "inference_env.YR_CONFIG_PATH": "/etc/y.json",
        },
    ),
    Row(
        "pooled", {STORE: {"backend": "yuanrong", "buffer_size": "1GB"}, "inference_env.YR_CONFIG_PATH": "/etc/y.json"}
    ),
    Row(
        "pooled",
        {
            STORE: {"backend": "yuanrong"},
            "inference_env.YR_CONFIG_PATH": "/etc/y.json",
            "inference_mooncake_master.port": 50090,
        },
    ),
    Row(
        "pooled",
        {
            STORE: {"backend": "yuanrong", "segment_size": "8GB"},
            "inference_env.YR_CONFIG_PATH": "/etc/y.json",
            "inference_mooncake_master.port": 50090,
        },
    ),
    Row("both", {STORE: {"backend": "yuanrong"}, f"{P}.env.YR_CONFIG_PATH": "/etc/y.json"}),
    Row(
        "both",
        {STORE: {"backend": "yuanrong"}, f"{P}.env.YR_CONFIG_PATH": "/etc/y.json", f"{D}.kv_transfer": "mooncake"},
    ),
    # several masters: why a release cannot elect one, whose hosts are too few
    Row("ha", {"inference_release": "0.21.0rc1"}),
    Row("ha", {"inference_release": "0.18.0"}),
    Row("ha", {"inference_release": "main", "inference_engine_install": "site"}),
    Row("ha", {f"{STORE}.ha.masters": 5}),
    Row("ha", {f"{STORE}.ha.masters": 3, "inventory": hosts(4, {**APART, "mooncake_master": (1, 2)})}),
    Row("ha", {f"{STORE}.ha.masters": 2, "inventory": hosts(4, {**APART, "mooncake_master": (1,), "etcd": (1, 2, 3)})}),
    Row("ha", {f"{STORE}.options.master_server_address": "etcd://e1:2379"}),
    Row("ha", {f"{P}.env.MC_STORE_CLUSTER_ID": "other", f"{D}.env.MC_STORE_CLUSTER_ID": "inference"}),
    # NPUs that servers of a generation have, interfaces, groups
    Row("pooled", {"node1.inference_devices": 17}),
    Row("pooled", {"node1.inference_devices": 16}),
    Row("cpu", {"node1.inference_devices": 17}),
    Row("kubernetes", {"inference_interface": "lo"}),
    Row("one-host", {"node1.inference_interface": "lo"}),
    Row("llmdatadist", {"node1.inference_interface": "lo", "node1.inference_address": "127.0.1.1"}),
    Row("both", {"inference_mooncake_master.group": "masters"}),
    Row("p2p", {"inference_mooncake_master.group": "masters"}),
    Row("kubernetes", {f"{ROUTER}.group": "routers"}),
    Row("p2p", {f"{ROUTER}.group": "decode"}),
    # addresses to listen on
    Row("p2p", {f"{ROUTER}.bind": "fe80::1%eth0"}),
    Row("p2p", {f"{ROUTER}.bind": "localhost"}),
    Row("p2p", {f"{ROUTER}.bind": "127.0.0.1"}),
    Row("p2p", {f"{ROUTER}.bind": "10.1.0.1"}),
    Row("p2p", {f"{ROUTER}.bind": "10.9.9.9"}),
    Row("p2p", {"node2.inference_address": "127.0.0.1", f"{ROUTER}.bind": "127.0.0.1"}),
    Row("cpu", {"node1.inference_address": "d2.rack.example", f"{ROUTER}.bind": "10.9.9.9"}),
    Row("p2p", {**TWO, f"{ROUTER}.balancer_bind": "10.1.0.3"}),
    # mounts: each of them is judged
    Row("docker", {"inference_container.mounts": ["/data", "/x:y", "/a:/b:rw", "/a:/c:ro", "/a:/c:ro"]}),
    Row("docker", {"inference_container.mounts": ["/a:/b", "/c:/d", "/e:/b/", "/f:/dev/"]}),
    Row("docker", {"inference_container.shm_size": "1g"}),
    Row("docker", {"inference_container.shm_size": "65535k"}),
    Row("docker", {"inference_container.shm_size": "67108864"}),
    Row("p2p", {"inference_container.shm_size": "1m"}),
    # a port in a range of random ports is named by the variable that set it, else by its service
    Row("p2p", {**TWO, f"{ROUTER}.balancer_port": 15500, f"{ROUTER}.balancer_status_port": 15501}),
    Row("p2p", {"inference_probe": {"enabled": True, "port": 17000}}),
    Row("pooled", {f"{ROUTER}.metrics_port": 15500}),
    Row("pooled", {f"{ROUTER}.port": 14300}),
    Row("p2p", {f"{ROUTER}.port": 14300}),
    Row("both", {"inference_mooncake_master.port": 15500, "inference_mooncake_master.metrics_port": 15501}),
    Row("both-0.18", {"inference_mooncake_master.http_metadata_port": 15502}),
    Row(
        "both",
        {
            "inference_mooncake_master.port": 15500,
            "inference_mooncake_master.group": "pool",
            "inventory": hosts(5, {**APART, "pool": (5,)}),
        },
    ),
    Row("ha", {f"{STORE}.ha.etcd_client_port": 15503, f"{STORE}.ha.etcd_peer_port": 15504}),
    Row(
        "p2p",
        {
            f"{D}.hosts.node4.ports.api": [15505],
            f"{D}.load_balancing": "external",
            f"{D}.data_parallel_size": 2,
            f"{D}.tensor_parallel_size": 16,
            f"{P}.tensor_parallel_size": 16,
            f"{P}.data_parallel_size": 1,
        },
    ),
    Row("p2p", {f"{P}.ports.api": [15500, 15600]}),
    Row("cpu", {f"{ROUTER}.port": 15500}),
    Row("cpu", {f"{P}.ports.api": 60999, f"{D}.ports.api": 32767}),
    Row("cpu", {f"{P}.ports.api": 61000}),
    # ports below 1024, and who binds them
    Row("p2p", {f"{ROUTER}.port": 80, "inference_user": "serving"}),
    Row("p2p", {f"{ROUTER}.port": 80, "inference_user": "root"}),
    # ports that meet: the one that a user can change is named
    Row("one-host", {f"{ROUTER}.port": 7101}),
    Row("one-host", {f"{P}.ports.kv": 30000, f"{D}.ports.kv": 30000, f"{ROUTER}.port": 30002}),
    Row("one-host", {f"{D}.ports.api": [7100, 7101]}),
    # ports of AscendDirect
    Row("p2p", {"inference_env.ASCEND_BASE_PORT": "x", f"{P}.ports.kv": 20001}),
    Row("p2p", {"inference_env.ASCEND_BASE_PORT": 29000, f"{P}.ports.kv": 30601}),
    Row("p2p-0.13", {"inference_env.ASCEND_BASE_PORT": 29000, f"{P}.ports.kv": 40000}),
    Row("p2p-0.13", {f"{P}.ports.kv": 36001}),
    Row("p2p-0.13", {f"{P}.ports.kv": 21601}),
    # lookup sockets of a store
    Row("one-host", {f"{P}.kv.store.mooncake_rpc_port": "5"}),
    Row(
        "one-host",
        {
            f"{P}.kv.store.lookup_rpc_port": "5",
            f"{P}.instances": 1,
            f"{D}.kv.store": {"lookup_rpc_port": "5", "consumer_is_to_load": True},
            f"{D}.instances": 1,
        },
    ),
    Row("both", {f"{P}.kv.store.lookup_rpc_port": "5"}),
    # images
    Row("docker", {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0"}),
    Row("docker", {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0-a3-openeuler"}),
    Row("docker", {"inference_image": "quay.io/ascend/vllm-ascend:v0.22.1rc1-a3"}),
    Row("docker", {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0-310p@sha256:" + 64 * "0"}),
    Row("docker", {"inference_image": "quay.io/ascend/vllm-ascend:latest@sha256:" + 64 * "0"}),
    Row("docker", {"inference_image": "registry:5000/own"}),
    Row("docker", {"inference_image": "registry.example/own:nightly-1"}),
    Row("docker", {"inference_image": "registry.example/own:v1"}),
    Row("docker", {"inference_image": ""}),
    Row("p2p", {"inference_image": IMAGE}),
    # users, times, names
    Row("docker", {"inference_container.user": "root"}),
    Row("kubernetes", {"inference_container.user": "root"}),
    Row("p2p", {"inference_stop_timeout": 10}),
    Row("p2p", {"inference_stop_timeout": 30, "inference_args.shutdown-timeout": 30}),
    Row("p2p", {"inference_stop_timeout": 30, "inference_args.shutdown-timeout": 29}),
    Row("p2p", {"inference_deployment": 40 * "a"}),
    Row("p2p", {"inference_deployment": 41 * "a"}),
    Row("p2p", {"inference_deployment": "-a"}),
    Row("p2p", {"inference_root": "/opt/../x"}),
    Row("p2p", {"inference_model.path": "models/../x"}),
    Row("p2p", {"inference_model.path": "qwen", **OF_NO_ADVISORY}),
    Row("docker", {"inference_model.path": "/models/a:b"}),
    Row("p2p", {"inference_model.path": "/models/a:b"}),
    Row("p2p", {"inference_model.name": "qwen+a/b:c_d-3"}),
    Row("p2p", {"inference_model.name": "qwen (3)"}),
    # hardware of hosts
    Row("llmdatadist", {"node2.inference_hardware": "a3", "node2.inference_devices": 16}),
    Row(
        "p2p",
        {
            "node3.inference_hardware": "a2",
            "node4.inference_hardware": "a2",
            "node3.inference_devices": 16,
            "node4.inference_devices": 16,
        },
    ),
    Row(
        "pooled",
        {"inference_kv_transfer": "none", "inference_hardware": "310p", "inference_devices": 8, "inference_store": {}},
    ),
    Row("docker", {"inference_hardware": "950", "inference_devices": 16, "inference_release": "0.18.0"}),
    Row("p2p", {"inference_hardware": "950", "inference_devices": 16, "inference_release": "0.18.0"}),
    # addresses: of several machines, and of one
    Row("p2p", {"node2.inference_address": "0.0.0.0"}),
    Row("p2p", {"node2.inference_address": "::"}),
    Row("p2p", {"node2.inference_address": "::1"}),
    Row("llmdatadist", {"node1.inference_address": "127.0.0.1", "node2.inference_address": "127.0.0.1"}),
    Row("cpu", {"node1.inference_address": "127.0.0.1"}),
    Row("cpu", {"node1.inference_address": "localhost"}),
    Row("cpu", {"node1.inference_address": "fd00::1"}),
    Row("p2p-0.13", {"node4.inference_address": "10.1.0.3"}),
    Row("cpu", {"node1.inference_interface": ""}),
    # groups with more hosts than services
    Row("both", {"inventory": hosts(4, {**APART, "mooncake_master": (2, 3)})}),
    Row("ha", {"inventory": hosts(4, {**APART, "mooncake_master": (1, 2, 3, 4), "router": (2, 3)})}),
    Row("p2p", {"inventory": hosts(4, {**APART, "mooncake_master": (2, 3)})}),
    Row(
        "p2p",
        {
            "inventory": hosts(4, {**APART, "router": (2, 3)}),
            f"{ROUTER}.flavour": "none",
            f"{D}.args.additional-config": {},
        },
    ),
    Row("p2p", {**TWO, "inventory": hosts(4, {**APART, "router": (2, 3, 4)})}),
    Row("p2p", {**TWO, "inventory": hosts(4, {**APART, "router": (2, 3)})}),
    Row("pooled", {"inventory": hosts(10, {"colocated": range(1, 11)})}),
    Row("pooled", {"inventory": hosts(11, {"colocated": range(1, 12)})}),
    Row("pooled", {"inventory": hosts(3, {"colocated": (1, 2, 3), "router": (3,)})}),
    # devices: the pool that names them is named
    Row("one-host", {f"{P}.devices": [8, 9, 10, 11, 12, 13, 14, 15]}),
    Row("one-host", {f"{P}.devices": [0, 1, 2, 3, 4, 5, 6, 7], f"{D}.devices": [7, 8, 9, 10, 11, 12, 13, 14]}),
    Row("one-host", {f"{D}.device_offset": 4}),
    Row("one-host", {f"{D}.device_offset": 12}),
    Row("one-host", {f"{D}.devices": [8, 9, 10, 11, 12, 13, 14, 16]}),
    Row("one-host", {f"{D}.devices": [8, 8, 9, 9, 10, 11, 12, 13]}),
    Row("p2p-0.13", {f"{P}.tensor_parallel_size": 1, f"{P}.data_parallel_size": 1, f"{P}.instances_per_host": 1}),
    Row(
        "p2p-0.13",
        {"inventory": hosts(4, APART, inference_devices=[0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29])},
    ),
    Row("p2p-0.13", {f"{P}.hosts.node3": {"args": {"seed": 1}}, f"{D}.hosts.node1": {}}),
    Row("kubernetes", {f"{P}.instances": 0}),
    # keys behind dots are those of the mapping, for each rule
    Row("p2p", {f"{P}.args": {**PREFILL["args"], "additional-config.recompute_scheduler_enable": True}}),
    Row("pooled", {f"{C}.args": {"max-num-seqs": 16, "additional-config.recompute_scheduler_enable": True}}),
    Row("p2p", {f"{P}.args": {**PREFILL["args"], "enforce-eager": True, "compilation-config.cudagraph_mode": "FULL"}}),
    Row(
        "p2p",
        {
            f"{P}.args": {
                **PREFILL["args"],
                "speculative-config.method": "mtp",
                "speculative-config.num_speculative_tokens": 3,
            }
        },
    ),
    Row(
        "p2p",
        {
            f"{P}.args": {
                **PREFILL["args"],
                "attention-config.indexer": "int8",
                "compilation-config.cudagraph_modes": "FULL",
            }
        },
    ),
    Row(
        "p2p",
        {
            f"{P}.args": {
                **PREFILL["args"],
                "compilation-config": {"cudagraph_mode": "NONE"},
                "compilation-config.cudagraph_capture_sizes": [0, 8],
            }
        },
    ),
    # the router: of another pool or connector, with options of the user, without a router
    Row("p2p", {f"{ROUTER}.flavour": "vllm_router", f"{D}.args.additional-config": {}}),
    Row("pooled", {f"{ROUTER}.flavour": "load_balance"}),
    Row("p2p", {f"{ROUTER}.flavour": "none"}),
    Row("p2p", {f"{ROUTER}.flavour": "none", f"{ROUTER}.args.no-such": 1, f"{D}.args.additional-config": {}}),
    Row("p2p", {f"{ROUTER}.args.port": 8000}),
    Row("p2p", {f"{ROUTER}.args.port": 8001}),
    Row("p2p", {f"{ROUTER}.args.no-such": 1}),
    Row(
        "p2p",
        {f"{ROUTER}.args.prefiller-hosts": ["10.1.0.1", "10.1.0.2"], f"{ROUTER}.args.prefiller-ports": [7100, 7100]},
    ),
    Row("p2p", {f"{ROUTER}.args.prefiller-hosts": ["10.1.0.1"], f"{ROUTER}.args.prefiller-ports": [7100]}),
    Row(
        "p2p", {f"{ROUTER}.args.decoder-hosts": ["10.1.0.3", "10.1.0.9"], f"{ROUTER}.args.decoder-ports": [7100, 7100]}
    ),
    Row("p2p", {f"{ROUTER}.args.decoder-ports": [7100, 7101]}),
    Row("pooled", {f"{ROUTER}.args.worker-urls": ["http://10.1.0.1:7100"]}),
    Row("pooled", {f"{ROUTER}.args.worker-urls": ["http://10.1.0.1:7100", "http://10.1.0.2:7100"]}),
    Row("pooled", {f"{ROUTER}.policy": "round_robin"}),
    Row("pooled", {f"{ROUTER}.policy": "no_such"}),
    Row("pooled", {f"{ROUTER}.policy": "round_robin", f"{ROUTER}.args.policy": "no_such"}),
    # who can reach the router
    Row("layerwise", {f"{ROUTER}.bind": "127.0.0.5"}),
    Row("layerwise", {f"{ROUTER}.args.host": "localhost"}),
    Row("layerwise", {f"{ROUTER}.bind": "10.1.0.1"}),
    Row("layerwise", {f"{ROUTER}.bind": "::"}),
    Row("p2p", {f"{ROUTER}.bind": "127.0.0.5"}),
    Row("p2p", {f"{ROUTER}.bind": "0.0.0.0"}),
    Row("p2p", {f"{ROUTER}.args.host": "::"}),
    Row("pooled", {f"{ROUTER}.bind": "0.0.0.0"}),
    Row(
        "p2p",
        {
            f"{ROUTER}.bind": "0.0.0.0",
            f"{ROUTER}.frontend": "haproxy",
            **CERTIFIED,
            "inference_secrets.client_keys": "one",
        },
    ),
    Row("kubernetes", {f"{ROUTER}.bind": "0.0.0.0"}),
    Row("p2p", {"node1.inference_address": "8.8.8.8", f"{ROUTER}.bind": "10.1.0.200"}),
    # the frontend and its certificate
    Row(
        "p2p",
        {f"{ROUTER}.frontend": "haproxy", f"{ROUTER}.certificate": "/c.pem", "inference_secrets.client_keys": "one"},
    ),
    Row(
        "p2p",
        {
            f"{ROUTER}.frontend": "haproxy",
            f"{ROUTER}.certificate_key": "/c.key",
            "inference_secrets.client_keys": "one",
        },
    ),
    Row("p2p", {f"{ROUTER}.frontend": "haproxy", "inference_secrets.client_keys": "one"}),
    Row("docker", {f"{ROUTER}.frontend": "haproxy", **CERTIFIED, "inference_secrets.client_keys": "one"}),
    Row(
        "p2p",
        {
            f"{ROUTER}.frontend": "haproxy",
            **CERTIFIED,
            "inference_secrets.client_keys": "one",
            f"{ROUTER}.flavour": "none",
            f"{D}.args.additional-config": {},
        },
    ),
    Row(
        "p2p",
        {
            f"{ROUTER}.frontend_paths": ["/v1/models", "v1/x", "/instances/add", "/metrics"],
            f"{ROUTER}.frontend": "haproxy",
            **CERTIFIED,
            "inference_secrets.client_keys": "one",
        },
    ),
    # options that differ: which side is named
    Row("p2p", {f"{P}.args.seed": 1}),
    Row("p2p", {f"{P}.args.seed": 1, f"{D}.args.seed": 2}),
    Row("p2p", {f"{P}.args.seed": None}),
    Row("p2p", {f"{P}.hosts.node1.args.seed": 1}),
    Row("p2p", {f"{P}.args.block-size": 128}),
    Row("p2p-0.18", {f"{P}.args.block-size": 128}),
    Row(
        "p2p",
        {
            f"{P}.args.block-size": 128,
            "inference_args.enable-chunked-prefill": False,
            f"{P}.args.max-num-batched-tokens": 32768,
            f"{D}.args.max-num-batched-tokens": 32768,
        },
    ),
    Row("p2p", {f"{P}.args.block-size": 128, "inference_model.path": "/models/DeepSeek-V4-Flash"}),
    Row("p2p-0.18", {f"{D}.args.block-size": 256}),
    Row("p2p", {f"{P}.args.served-model-name": "a b", f"{D}.args.served-model-name": "b c"}),
    Row("p2p", {f"{P}.args.served-model-name": "a"}),
    Row(
        "p2p",
        {
            "inventory": hosts(5, {**APART, "encode": (5,)}),
            "inference_pools.encode": {
                "tensor_parallel_size": 4,
                "args": {"served-model-name": "own", "quantization": None},
            },
        },
    ),
    Row("cpu", {"inference_args.block-size": 64}),
    Row("cpu", {"inference_args.block-size": 33}),
    Row(
        "p2p-0.13",
        {
            "inference_model.path": "/models/own",
            "inference_model.name": "qwen-W8A8",
            "inference_args.quantization": None,
        },
    ),
    Row("p2p-0.13", {"inference_model.path": "/models/mxfp4", "inference_args.quantization": None}),
    Row("p2p", {"inference_model.path": "/models/mxfp4", "inference_args.quantization": None}),
    Row("p2p", {"inference_model.path": "/models/w8a8x", "inference_args.quantization": None}),
    Row("cpu", {"inference_model.path": "/models/tiny-w8a8"}),
    # budgets
    Row("p2p", {f"{P}.args.enable-chunked-prefill": False, f"{P}.args.max-num-batched-tokens": 32767}),
    Row("p2p", {f"{P}.args.enable-chunked-prefill": False, f"{P}.args.max-num-batched-tokens": None}),
    Row(
        "p2p",
        {
            f"{P}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 2},
            f"{D}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1},
        },
    ),
    Row("p2p", {f"{P}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1}}),
    Row(
        "pooled",
        {f"{C}.args": {"max-num-seqs": 16, "speculative-config": {"method": "mtp", "num_speculative_tokens": 3}}},
    ),
    Row("pooled", {f"{C}.args": {"max-num-seqs": 16, "max-num-batched-tokens": 15}}),
    Row("p2p", {"inference_args.gpu-memory-utilization": "0.9x"}),
    # recomputation
    Row(
        "pooled",
        {
            "inference_kv_transfer": "none",
            "inference_store": {},
            f"{C}.args.additional-config": {"recompute_scheduler_enable": True},
        },
    ),
    Row("p2p", {f"{P}.args.additional-config": {"enable_reduce_sample": True}}),
    Row("pooled", {f"{C}.args.additional-config": {"enable_reduce_sample": True}}),
    Row("p2p", {"inference_release": "0.10.2rc1"}),
    # the environment: which variable, on which hardware, link and release
    Row("p2p", {"inference_env": {"1A": "x", "A-B": "x", "A": ["x"], "B": {"c": 1}, "C": "x\ny"}}),
    Row("p2p", {f"{D}.env": {"HCCL_IF_IP": "10.1.0.3", "VLLM_HOST_IP": "10.1.0.3"}}),
    Row("pooled", {f"{C}.env": {"VLLM_DP_SIZE": "1", "VLLM_PORT": "30000"}}),
    Row("p2p", {f"{D}.env": {"VLLM_DP_SIZE": "1", "VLLM_DP_MASTER_IP": "x"}}),
    Row("p2p", {"inference_env.PATH": "/own"}),
    Row("p2p", {"inference_env.PATH": "/own:/usr/bin"}),
    Row("p2p", {"inference_env.PATH": "/own:$PATH"}),
    Row("p2p", {f"{ROUTER}.env.PATH": "/own:/bin/x"}),
    Row("p2p", {f"{D}.env": {"HCCL_SOCKET_IFNAME": "eth1"}}),
    Row("p2p", {f"{D}.env": {"HCCL_SOCKET_IFNAME": "eth1", "GLOO_SOCKET_IFNAME": "eth1", "TP_SOCKET_IFNAME": "eth1"}}),
    Row("cpu", {f"{D}.env": {"HCCL_SOCKET_IFNAME": "eth1", "GLOO_SOCKET_IFNAME": "eth2"}}),
    Row("p2p", {f"{D}.env.CPU_AFFINITY_CONF": "1,npu0:0-1"}),
    Row("p2p", {f"{D}.env.CPU_AFFINITY_CONF": "0,npu0:0-1"}),
    Row("p2p", {f"{D}.env.CPU_AFFINITY_CONF": "2", f"{D}.args.additional-config": {"enable_cpu_binding": False}}),
    Row("p2p", {f"{D}.env": {"HTTPS_PROXY": "http://p:1", "no_proxy": "x", "all_proxy": ""}}),
    Row("p2p", {f"{ROUTER}.env": {"MY_API_KEY": "k", "HF_TOKEN": "t", "TOKENS": "x", "DB_PASSWORD": ""}}),
    Row("p2p", {f"{D}.env": {"A": "$B", "C": "$C:x", "D": "${D:-y}", "E": "`x`", "F": "$(x)", "G": "$1"}}),
    Row("kubernetes", {f"{D}.env.A": "$(B)"}),
    Row(
        "p2p",
        {"inference_env": {"HCCL_CONNECT_TIMEOUT": "0", "HCCL_EXEC_TIMEOUT": "1.5", "ASCEND_CONNECT_TIMEOUT": "0"}},
    ),
    Row("p2p", {"inference_env.HCCL_RDMA_TIMEOUT": "x"}),
    Row("p2p", {f"{P}.env.VLLM_NIXL_ABORT_REQUEST_TIMEOUT": 600}),
    Row("p2p-0.11", {"inference_env.VLLM_USE_V1": "0"}),
    Row("p2p", {"inference_env.VLLM_USE_V1": "0"}),
    Row("p2p", {"inference_env.VLLM_USE_V1": "1"}),
    Row("p2p", {"inference_env.ASCEND_BUFFER_POOL": "0:0"}),
    Row("p2p", {"inference_env.ASCEND_BUFFER_POOL": "4:8"}),
    Row("p2p-0.13", {"inference_env.ASCEND_BASE_PORT": 20000}),
    Row("both", {f"{P}.env.PYTHONHASHSEED": "1"}),
    Row("both", {f"{P}.env.PYTHONHASHSEED": "1", f"{D}.env.PYTHONHASHSEED": "1"}),
    Row("both", {"inference_env.PYTHONHASHSEED": "random"}),
    Row("p2p", {f"{P}.env.PYTHONHASHSEED": "1"}),
    Row("p2p", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "1", "inference_link": "hccs"}),
    Row("p2p", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "0", "inference_link": "hccs"}),
    Row("p2p", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "1", "inference_link": "roce"}),
    Row("pooled", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "0"}),
    Row("pooled", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "1"}),
    Row("both", {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1", "inference_link": "roce"}),
    Row("both", {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1"}),
    Row("pooled", {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1"}),
    Row("both-0.18", {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1"}),
    Row("both", {"inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": 1342177280}),
    Row(
        "both",
        {
            "inference_env": {
                "MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": 1342177280,
                "ASCEND_ENABLE_USE_FABRIC_MEM": "1",
            }
        },
    ),
    Row(
        "both",
        {
            "inference_env": {
                "MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": 2147483648,
                "ASCEND_ENABLE_USE_FABRIC_MEM": "1",
            }
        },
    ),
    Row("both", {"inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": "1GB"}),
    Row("p2p-0.18", {f"{D}.env.VLLM_ASCEND_ENABLE_FUSED_MC2": 1}),
    Row("p2p-0.18", {f"{P}.env.VLLM_ASCEND_ENABLE_FUSED_MC2": 0}),
    Row("p2p", {f"{D}.env.VLLM_ENGINE_READY_TIMEOUT_S": "599", "inference_start_timeout": 600}),
    Row("p2p", {f"{D}.env.VLLM_ENGINE_READY_TIMEOUT_S": "600", "inference_start_timeout": 600}),
    # the store: its master's options and times, sizes of segments, the pools that use it
    Row("both", {f"{MASTER}.default_kv_lease_ttl": 5000, "inference_env.ASCEND_TRANSFER_TIMEOUT": 3000}),
    Row("both", {f"{MASTER}.default_kv_lease_ttl": "11000"}),
    Row("both", {f"{MASTER}.client_ttl": 10}),
    Row("both", {f"{MASTER}.client_ttl": 10, f"{P}.args.additional-config": {"enable_cpu_binding": False}}),
    Row("both", {f"{MASTER}.eviction_ratio": 0, f"{MASTER}.eviction_high_watermark_ratio": 1}),
    Row("both", {f"{MASTER}.rpc_thread_num": 0}),
    Row("both", {f"{MASTER}.enable_offload": True}),
    Row("both", {f"{MASTER}.root_fs_dir": "/data"}),
    Row("both", {f"{STORE}.segment_size": "1024MB"}),
    Row("both", {f"{STORE}.segment_size": "0"}),
    Row("pooled", {f"{STORE}.segment_size": "33GB"}),
    Row("pooled", {f"{STORE}.segment_size": "32GB"}),
    Row("cpu", {f"{STORE}.segment_size": "1500MB"}),
    Row("cpu", {f"{STORE}.segment_size": "lots"}),
    Row("both", {f"{STORE}.options": {"protocol": "ascend", "global_segment_size": "4GB"}}),
    Row("both", {f"{STORE}.options.metadata_server": "P2PHANDSHAKE"}),
    Row("cpu", {f"{STORE}.options.protocol": "tcp"}),
    Row("cpu", {f"{STORE}.options.protocol": "ascend"}),
    Row("p2p", {f"{STORE}.options": {"x": 1}, "inference_mooncake_master.port": 50090}),
    Row("both", {f"{P}.kv.store.backend": "mooncake"}),
    Row("both", {f"{STORE}.options.master_server_address": "10.1.0.1:0"}),
    Row("both", {f"{STORE}.options.master_server_address": "10.1.0.1:65536"}),
    Row("both", {"node1.inference_memory": 107, f"{D}.kv_transfer": "mooncake", "node3.inference_memory": 10}),
    Row("both", {f"{STORE}.options": {"enable_ssd_offload": True, "ssd_offload_path": "/ssd"}}),
    Row("both", {f"{STORE}.options": {"enable_ssd_offload": False, "ssd_offload_path": "cache"}}),
    Row("both", {f"{P}.kv.store.use_layerwise": False}),
    Row("pooled", {f"{C}.kv.store.use_layerwise": True}),
    # keys behind dots, at the variable in which they are written
    *(
        Row(family, {"inference_args": {**FAMILIES[family][0].get("inference_args", {}), **args}, **more})
        for family, args, more in (
            (
                "p2p",
                {"compilation-config.cudagraph_modes": "FULL"},
                {f"{P}.args.compilation-config": {"cudagraph_capture_sizes": [1]}},
            ),
            ("p2p", {"speculative-config.num_speculative_tokens": 0}, {}),
            ("pooled", {"compilation-config.cudagraph_mode": "FULL", "enforce-eager": True}, {}),
            ("pooled", {"additional-config.no_such.x": 1}, {}),
            ("p2p", {f"additional-config.{RECOMPUTE}": True}, {}),
        )
    ),
    # connectors: which of the deployment and of the pools is named, how they are combined, and where they are known
    Row("p2p", {f"{P}.kv_transfer": "mooncake+stor", f"{D}.kv_transfer": "none+mooncake"}),
    Row("p2p", {"inference_kv_transfer": "mooncake+mooncake"}),
    Row("both", {"inference_kv_transfer": "mooncake+store+store"}),
    Row("both", {"inference_kv_transfer": "store+none"}),
    Row("both", {"inference_kv_transfer": "mooncake+mooncake_layerwise+store"}),
    Row("pooled", {"inference_kv_transfer": "mooncake+store"}),
    Row("pooled", {"inference_kv_transfer": "none", f"{C}.kv_transfer": "mooncake_layerwise"}),
    Row("cpu", {"inference_kv_transfer": "mooncake+stor", f"{P}.kv_transfer": "mooncake_hybrid+offloading"}),
    Row("cpu", {f"{D}.kv_transfer": "none"}),
    Row("p2p", {f"{P}.kv": {"kv_connector": None}, f"{D}.kv.kv_connector": "MooncakeConnectorV2"}),
    Row(
        "both",
        {
            f"{P}.args.kv-transfer-config": {
                "kv_connector": "MultiConnector",
                "kv_role": "kv_producer",
                "kv_connector_extra_config": {
                    "connectors": [
                        {"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"},
                        {"kv_connector": "MooncakeConnectorV2", "kv_role": "kv_both", "engine_id": "7"},
                        "MooncakeConnectorV1",
                    ]
                },
            }
        },
    ),
    Row("cpu", {f"{P}.kv": {"kv_connector": "MooncakeConnector", "kv_connector_module_path": "x.y"}}),
    Row("p2p", {f"{P}.kv": {"kv_connector": "OwnConnector", "kv_connector_module_path": "x.y", "kv_role": "kv_both"}}),
    Row("both", {f"{P}.kv.store.kv_role": "kv_both"}),
    Row("both", {f"{P}.kv.mooncake.kv_role": "kv_both"}),
    Row("pooled", {f"{C}.kv.kv_role": "kv_producer"}),
    Row("p2p", {f"{P}.kv.kv_role": None, f"{D}.kv.kv_role": "kv_both"}),
    # each key of the connector's configuration, with the right kind of value and with another one
    Row("p2p", {f"{P}.kv": {"kv_buffer_device": "npu", "kv_buffer_size": "1e9", "kv_rank": 0, "kv_parallel_size": 2}}),
    Row(
        "p2p",
        {
            f"{P}.kv": {
                "kv_buffer_device": "gpu",
                "kv_buffer_size": "1GB",
                "kv_rank": -1,
                "kv_parallel_size": 1.5,
                "enable_permute_local_kv": "yes",
            }
        },
    ),
    Row(
        "p2p",
        {
            f"{P}.kv": {
                "kv_ip": "10.1.0.1",
                "kv_connector_module_path": "x.y",
                "enable_permute_local_kv": "False",
                "kv_load_failure_policy": "fail",
                "kv_iq": "x",
            }
        },
    ),
    Row("p2p", {f"{P}.kv.kv_load_failure_policy": "recompute", f"{D}.kv.kv_load_failure_policy": "fail"}),
    Row("both", {f"{D}.kv.mooncake.kv_load_failure_policy": "fail", f"{P}.kv.store.kv_load_failure_policy": "retry"}),
    Row(
        "newest",
        {
            "inference_kv_transfer": "mooncake_hybrid",
            f"{P}.kv.kv_load_failure_policy": "fail",
            f"{D}.kv.kv_load_failure_policy": "recompute",
        },
    ),
    Row("cpu", {f"{D}.kv.kv_load_failure_policy": "recompute"}),
    # engine ids: of one instance, of two pools, in pods
    Row("p2p", {f"{P}.kv.engine_id": "7", f"{D}.kv.engine_id": "7"}),
    Row("p2p", {f"{P}.kv.engine_id": "7", f"{D}.kv.engine_id": "8"}),
    Row("both", {f"{D}.kv.mooncake.engine_id": "7"}),
    Row("p2p", {f"{P}.kv.engine_id": "$(POD_NAME)"}),
    Row("kubernetes", {f"{P}.kv.engine_id": "$(POD_NAME)", f"{D}.kv.engine_id": "of-all"}),
    # sizes of the pools, as a connector repeats them
    Row(
        "p2p",
        {
            f"{P}.kv.kv_connector_extra_config": {
                "prefill": {"dp_size": "2", "tp_size": 4, "pp_size": 2},
                "decode": {"dp_size": 16, "tp_size": "1", "pp_size": 1, "own": 3},
            }
        },
    ),
    Row("p2p", {f"{P}.kv.kv_connector_extra_config.prefill": 2}),
    Row("pooled", {f"{C}.kv.kv_connector_extra_config": {"prefill": {"tp_size": 9}, "decode": {"tp_size": 9}}}),
    # the port of a connector: on each host of an instance the same, which is the planned one
    Row("p2p", {f"{P}.kv.kv_port": "first", f"{D}.kv.kv_port": 30001}),
    Row("p2p", {f"{D}.kv.kv_port": 30000}),
    Row("p2p", {f"{D}.kv.kv_port": 30016}),
    Row("p2p", {f"{D}.kv.kv_port": 30015}),
    Row("cpu", {f"{D}.kv.kv_port": "first"}),
    # connectors inside MultiConnector
    Row("both", {f"{P}.kv_transfer": "store+mooncake", f"{P}.kv.store.kv_role": "kv_both"}),
    Row("both", {f"{D}.kv_transfer": "store+mooncake", f"{D}.kv.kv_connector_extra_config": {"x": 1}}),
    Row("p2p", {f"{P}.kv": {"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": "x"}}}),
    Row(
        "p2p",
        {
            f"{P}.args.kv-transfer-config": {
                "kv_connector": "MultiConnector",
                "kv_role": "kv_producer",
                "kv_connector_extra_config": {
                    "connectors": [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}]
                },
            }
        },
    ),
    # what transfers without it nothing in some releases
    Row("p2p-0.11", {f"{P}.kv.mooncake.use_ascend_direct": True}),
    Row("p2p-0.11", {f"{P}.kv.mooncake.use_ascend_direct": "true", f"{D}.kv.mooncake.use_ascend_direct": None}),
    Row("p2p", {f"{P}.kv.mooncake.use_ascend_direct": False}),
    # layer by layer
    Row("both", {**MEMCACHE, f"{P}.kv.store.use_layerwise": True, f"{D}.kv.store.use_layerwise": True}),
    Row("both", {f"{D}.kv.store.use_layerwise": True, f"{P}.kv.store.use_layerwise": "true"}),
    Row("p2p", {f"{D}.kv.kv_port": 24600, f"{D}.hosts.node4.args.seed": 1024}),
    Row("p2p", {f"{D}.kv.kv_port": 24616, f"{D}.hosts.node4.args.seed": 1024}),
    # names of options: abbreviated, short, of other releases, without a --no- form
    Row(
        "p2p", {f"{D}.args": {**DECODE["args"], "max-num-s": 1, "max-num": 1, "tp": 1, "made-up": 1, "max-num-seq": 1}}
    ),
    Row("p2p", {f"{D}.args": {**DECODE["args"], "max": 1, "disable-log-requests": True, "no-made-up": True}}),
    Row(
        "newest",
        {
            "inference_release": "main",
            "inference_args": {**COMMON, "disable-log-requests": True},
        },
    ),
    Row("newest", {"inference_release": "main", f"{D}.args": {**DECODE["args"], "grpc-port": 1}}),
    Row("p2p-0.11", {f"{D}.args.shutdown-timeout": 10, f"{D}.args.disable-log-requests": False}),
    Row("p2p", {f"{D}.args": {**DECODE["args"], "max-num-seqs": False, "no-max-model-len": True}}),
    Row("p2p", {f"{P}.args": {**PREFILL["args"], "no-enforce-eager": True}}),
    Row("p2p", {f"{P}.args": {**PREFILL["args"], "enforce_eager": True, "max_num_seqs": 8}}),
    Row(
        "p2p", {f"{P}.args": {**PREFILL["args"], "compilation-config": {}, "compilation-config.cudagraph_mode": "FULL"}}
    ),
    Row("p2p", {f"{P}.args.no-enforce-eager": True, f"{P}.args.enforce-eager": None}),
    # values of options: of each kind, none, one too many
    Row(
        "p2p",
        {
            f"{D}.args": {
                **DECODE["args"],
                "max-num-seqs": "28.0",
                "max-model-len": "32kk",
                "gpu-memory-utilization": "90%",
                "enforce-eager": "true",
                "block-size": [128, 64],
                "served-model-name": [],
                "seed": "1e3",
            }
        },
    ),
    Row(
        "p2p",
        {
            "inference_args": {**COMMON, "max-model-len": "auto"},
            f"{D}.args": {**DECODE["args"], "max-num-seqs": "+28", "gpu-memory-utilization": ".9", "seed": "None"},
        },
    ),
    Row("p2p", {f"{D}.args.max-num-batched-tokens": "1k", f"{D}.args.max-num-seqs": "None"}),
    Row("p2p", {f"{D}.args": {**DECODE["args"], "max-num-batched-tokens": True, "uvicorn-log-level": True}}),
    Row("p2p", {f"{D}.args.uvicorn-log-level": "inf", f"{D}.args.tokenizer-mode": ["auto", "slow"]}),
    Row("p2p", {f"{D}.args.uvicorn-log-level": "error"}),
    # JSON options: each of them, and those that took text before
    Row(
        "p2p",
        {
            f"{P}.args": {
                **PREFILL["args"],
                **dict.fromkeys(
                    (
                        "additional-config",
                        "hf-overrides",
                        "ec-transfer-config",
                        "speculative-config",
                        "compilation-config",
                        "override-generation-config",
                        "mm-processor-kwargs",
                        "limit-mm-per-prompt",
                        "kv-events-config",
                        "profiler-config",
                        "default-chat-template-kwargs",
                    ),
                    "no json",
                ),
            }
        },
    ),
    Row(
        "p2p",
        {f"{P}.args": {**PREFILL["args"], "hf-overrides": [1], "speculative-config": "[1]", "profiler-config": "3"}},
    ),
    Row("p2p-0.11", {f"{P}.args.compilation-config": "3", f"{P}.args.limit-mm-per-prompt": "image=2"}),
    Row("p2p-0.13", {f"{P}.args.compilation-config": "3", f"{P}.args.limit-mm-per-prompt": "image=2"}),
    Row("llmdatadist", {f"{P}.args.limit-mm-per-prompt": "image=2", f"{P}.args.hf-overrides": "x"}),
    Row("p2p", {f"{P}.args.hf-overrides": '{"a": 1, "b": 2, "a": 3}'}),
    Row("p2p", {f"{P}.args.limit-mm-per-prompt": " {'image': 1}"}),
    Row("p2p", {f"{P}.args.hf-overrides": '{"a": {"b": 2, "b": 3}}'}),
    Row("p2p", {f"{P}.args.chat-template": "{{ x }}", f"{D}.args.chat-template": "{x"}),
    Row("p2p", {f"{P}.args.served-model-name": "{x", f"{D}.args.served-model-name": "{% x %}"}),
    Row("p2p", {f"{P}.args.lora-modules": ["{% x %}", "{# x #}", "[x"], f"{P}.args.enable-lora": True}),
    # fragments of shell scripts
    Row("p2p", {f"{D}.args.download-dir": "/models/a \\", f"{P}.args.download-dir": "/models/a --seed 1"}),
    Row("p2p", {f"{D}.args.download-dir": "'/models/a", f"{P}.args.download-dir": "'/models/a'"}),
    Row("p2p", {f"{D}.args.download-dir": '/models/"a', f"{P}.args.download-dir": "/models/a -- b"}),
    Row("p2p", {f"{D}.args.download-dir": "/models/$NAME", f"{P}.args.download-dir": "/models/`name`"}),
    Row("p2p", {f"{D}.args.download-dir": "/models/$1", f"{P}.args.download-dir": "/models/${NAME}"}),
    Row("p2p", {f"{D}.args.hf-overrides": {"a": "$(b)"}, f"{P}.args.download-dir": "/models/$(name)"}),
    Row("kubernetes", {f"{D}.args.download-dir": "/models/$(NAME)", f"{P}.args.download-dir": "/models/a \\"}),
    Row("p2p", {f"{D}.args": {**DECODE["args"], "seed 1": True, "a=b": 1}}),
    # options that contradict the plan: each that is derived
    Row(
        "p2p",
        {
            f"{D}.args": {
                **DECODE["args"],
                "tensor-parallel-size": 2,
                "pipeline-parallel-size": 2,
                "prefill-context-parallel-size": 2,
                "decode-context-parallel-size": 2,
                "data-parallel-size": 16,
                "data-parallel-size-local": 8,
                "data-parallel-address": "10.1.0.4",
                "data-parallel-rpc-port": 13000,
                "port": 8000,
            }
        },
    ),
    Row(
        "p2p",
        {
            f"{D}.args": {
                **DECODE["args"],
                "tensor-parallel-size": 1,
                "pipeline-parallel-size": "1",
                "data-parallel-size": 32,
                "data-parallel-size-local": 16,
                "data-parallel-address": "10.1.0.3",
                "port": None,
            }
        },
    ),
    Row("p2p", {f"{D}.hosts.node4.args.port": 7100, f"{P}.args.port": 7101}),
    Row("p2p", {f"{D}.hosts.node4.args": {"data-parallel-start-rank": 8, "headless": False}}),
    Row("p2p", {f"{D}.hosts.node4.args": {"data-parallel-start-rank": 16, "headless": True}}),
    # files of options, secrets, addresses of the API
    Row("p2p", {f"{D}.args.config": "/etc/vllm.yaml"}),
    Row("p2p", {f"{D}.args.config": ["/etc/a.yaml", "/etc/b.yaml"]}),
    Row("p2p", {f"{D}.args": {**DECODE["args"], "api-key": "one", "hf-token": "two", "ssl-keyfile-password": "three"}}),
    Row("p2p", {f"{D}.args.host": "10.1.0.4", f"{P}.args.host": "::"}),
    Row("p2p", {f"{D}.args.host": "10.1.0.3", f"{P}.args.host": "127.0.0.1"}),
    Row("cpu", {f"{D}.args.host": "0.0.0.0"}),
    # inside of JSON options: each kind of value
    Row(
        "p2p",
        {
            f"{D}.args.compilation-config": {
                "cudagraph_capture_sizes": [1, True],
                "max_cudagraph_capture_size": "many",
                "pass_config": {"fuse_norm_quan": True, "fuse_norm_quant": "maybe"},
                "cudagraph_mode": "full",
                "mode": None,
                "cache_dir": 3,
                "backend": "",
            }
        },
    ),
    Row(
        "p2p",
        {
            f"{D}.args.compilation-config": {
                "cudagraph_capture_sizes": [1, 2],
                "max_cudagraph_capture_size": "8.0",
                "pass_config": {"fuse_norm_quant": "Off"},
                "cudagraph_mode": ["FULL"],
                "cache_dir": "/x",
            }
        },
    ),
    Row("p2p", {f"{D}.args.compilation-config": {"max_cudagraph_capture_size": True, "cudagraph_capture_sizes": 8}}),
    Row("p2p", {f"{D}.args.compilation-config": {"cudagraph_capture_sizes": [2, 1, 0, -1]}}),
    Row("p2p", {f"{D}.args.compilation-config": {"cudagraph_capture_sizes": [1]}}),
    Row(
        "p2p",
        {
            "inference_args.speculative-config": {
                "method": "mtp",
                "num_speculative_tokens": 1,
                "draft_sample_method": "x",
            }
        },
    ),
    Row(
        "p2p",
        {
            "inference_args.speculative-config.method": "",
            "inference_args.speculative-config.num_speculative_tokens": "1",
        },
    ),
    Row("p2p-0.13", {"inference_args.speculative-config": {"method": "mtp", "num_speculative_token": 1}}),
    Row("p2p", {f"{D}.args.kv-events-config": {"enable_kv_cache_events": "x", "buffer_steps": "1.5", "topics": ""}}),
    Row(
        "p2p", {f"{D}.args.structured-outputs-config.backend": "xgramar", f"{D}.args.structured-outputs-config.back": 1}
    ),
    Row("p2p", {f"{D}.args.compilation-config.pass_config.fuse_norm_quant": "maybe"}),
    *(
        Row("newest", {f"{D}.args.attention-config.indexer_kv_dtype": name})
        for name in ("int8", "int4", "bfloat16", "int16")
    ),
    # names that vLLM looks up: each kind
    Row(
        "p2p",
        {
            f"{D}.args": {
                **DECODE["args"],
                **dict.fromkeys(
                    (
                        "all2all-backend",
                        "config-format",
                        "data-parallel-backend",
                        "distributed-executor-backend",
                        "kv-cache-dtype",
                        "load-format",
                        "quantization",
                        "reasoning-parser",
                        "tokenizer-mode",
                        "tool-call-parser",
                    ),
                    "no_such",
                ),
            }
        },
    ),
    *(
        Row("p2p", {f"{D}.args.{flag}": name})
        for flag, name in (
            ("quantization", "compressed-tensors"),
            ("quantization", "deepseek_v4_fp8"),
            ("quantization", "fp8"),
            ("quantization", "modelopt_mxfp8"),
            ("quantization", "mxfp8"),
            ("load-format", "rfork"),
            ("kv-cache-dtype", "int8"),
            ("kv-cache-dtype", "int4"),
            ("kv-cache-dtype", "bfloat16"),
            ("kv-cache-dtype", "float16"),
            ("tool-call-parser", "own.Parser"),
            ("distributed-executor-backend", "my.Executor"),
            ("tool-call-parser", "$PARSER"),
            ("tool-call-parser", "hermes -x"),
        )
    ),
    Row("p2p", {f"{D}.args.tool-call-parser": "own", f"{D}.args.tool-parser-plugin": "/opt/own.py"}),
    Row("p2p", {f"{D}.args.reasoning-parser": "own", f"{D}.args.tool-parser-plugin": "/opt/own.py"}),
    # pods: settings of single instances, of Kthena, of its router and of its autoscaling
    Row(
        "kubernetes",
        {
            f"{D}.ports": {
                "api": [7300, 7301],
                "kv": [31000, 31100],
                "dp_rpc": [10600, 10700],
                "hccl": [40000, 41000],
                "bootstrap": [9000, 9001],
                "llmdatadist": [5600, 5601],
            },
            f"{P}.load_balancing": "external",
            f"{P}.hosts": {"b": {}, "a": {}},
        },
    ),
    Row("kubernetes", {f"{D}.ports.api": 7300, f"{P}.load_balancing": "external", f"{P}.data_parallel_size": 1}),
    Row(
        "kubernetes",
        {
            "inference_kubernetes": {
                "namespace": "serving",
                "workload": "native",
                "groups": 2,
                "serving": {"x": 1},
                "recovery_policy": "ServingGroupRecreate",
                "rollout": "RoleRollingUpdate",
                "partition": 1,
                "autoscaling": {"roles": {"decode": {"max": 1}}},
                "router": {"mode": "kthena_router"},
            },
            f"{P}.instances": 2,
            f"{D}.instances": 2,
        },
    ),
    Row("kubernetes", {"inference_kubernetes.workload": "native"}),
    Row(
        "kubernetes",
        {
            "inference_kubernetes": {
                "namespace": "serving",
                "kthena_version": "v0.4.0",
                "autoscaling": {"roles": {"decode": {"max": 1}, "prefill": {"max": 2}, "decod": {"max": 1}}},
            }
        },
    ),
    Row(
        "kubernetes",
        {
            "inference_kubernetes.autoscaling.roles": {"decode": {"max": 1}, "prefill": {"max": 1}},
            "inference_kubernetes.groups": 2,
            f"{P}.instances": 2,
            f"{D}.instances": 4,
        },
    ),
    *(
        Row("kubernetes", {"inference_kubernetes.router": {"mode": mode, "timeout": timeout}, **more})
        for mode, timeout, more in (
            ("kthena_router", "1m30s", {}),
            ("kthena_router", "300", {f"{P}.ports.api": 7300, f"{D}.ports.api": 7300}),
            ("kthena_router", "1.5h", {"inference_kv_transfer": "mooncake_layerwise"}),
            ("deployment", "300", {"inference_kv_transfer": "mooncake_layerwise"}),
        )
    ),
    # addresses: the number that is too large is named
    Row("p2p", {"node2.ansible_host": "192.0.2.300"}),
    Row("p2p", {"node2.ansible_host": "10.1.0"}),
    Row("kubernetes", {"inference_interface": "", "inference_kubernetes.host_network": True}),
    Row("kubernetes", {"inference_interface": "", "inference_kubernetes.host_network": False}),
    Row("kubernetes", {"inference_kubernetes.pods": {"prefil": {}, "colocated": {}}}),
    # sizes of the allocator
    *(
        Row("p2p", {"inference_env.PYTORCH_NPU_ALLOC_CONF": text})
        for text in (
            "roundup_power2_divisions:[256:1,512:2,>:8]",
            "roundup_power2_divisions:[256:1, 512:2]",
            "roundup_power2_divisions:[256:1,]",
            "roundup_power2_divisions:[256:1512:2]",
            "expandable_segments:[256:1]",
        )
    ),
)


def read() -> dict[str, str]:
    """The findings of each row as they are kept."""
    text = FILE.read_text(encoding="utf-8") if FILE.is_file() else ""
    return dict(block.split("\n", 1) for block in text.split("=== ")[1:])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name[:80])
def test_exactly_this_is_found(row):
    texts = [
        f"{item['severity']} {item['id']} {item['path']} = {item['value']}: {item['problem']}\n"
        for item in judged(row.family, row.changes)
    ]
    known = read()
    if os.environ.get("RENEW_FINDINGS"):
        known[row.name] = "".join(texts)
        order = [each.name for each in ROWS if each.name in known]
        FILE.write_text(HEAD + "".join(f"=== {name}\n{known[name]}" for name in order), encoding="utf-8")
    assert "".join(texts) == known.get(row.name), f"if that is meant: {COMMAND}, and read the changes"


def test_each_row_has_a_name_and_findings_of_its_own():
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names) and set(read()) == set(names)
