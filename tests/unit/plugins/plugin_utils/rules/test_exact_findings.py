# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that is found for one description, word for word: nearest right and wrong values, which variable is named, where a rule is silent."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import (
    APART,
    DECODE,
    IMAGE,
    PREFILL,
    hosts,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import (
    CERTIFIED,
    LOCAL,
    MASTER,
    MEMCACHE,
    ROUTER,
    STORE,
    TWO,
    C,
    D,
    P,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged


class Row(t.NamedTuple):
    """Changes of a family's description, and all findings as ``severity RULE place = value: problem``."""

    family: str
    changes: dict[str, t.Any]
    found: list[str]


OF_NO_ADVISORY = {"inference_rules_ignore": ["ADVISORY"]}  # new ones are published while the tests stay
ROWS = (
    # the probe
    Row(
        "kubernetes",
        {"inference_probe.enabled": True, f"{ROUTER}.flavour": "none"},
        ["error PROBE-RUNTIME inference_probe.enabled = True: the runtime kubernetes has no host for the probe"],
    ),
    Row(
        "p2p",
        {"inference_probe.enabled": True, f"{ROUTER}.flavour": "none"},
        ["error PROBE-ENTRY inference_probe.enabled = True: the deployment has no router that clients use"],
    ),
    Row("pooled", {"inference_probe.enabled": True, f"{ROUTER}.flavour": "none"}, []),
    # a router that is not planned has no options
    Row(
        "p2p",
        {f"{ROUTER}.flavour": "none", f"{ROUTER}.args": {"max-retries": -1}, f"{D}.args.additional-config": {}},
        [],
    ),
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
        [
            "error FIREWALL-NETWORK inference_firewall.clients[1] = ::/129: '::/129' is not an IP address or network",
            "error FIREWALL-NETWORK inference_firewall.cluster[0] = 10.0.0: '10.0.0' is not an IP address or network",
            "error FIREWALL-NETWORK inference_firewall.monitoring[0] = 10.0.0.0/33: '10.0.0.0/33' is not an IP address or network",
        ],
    ),
    Row(
        "p2p",
        {"inference_firewall": {"state": "present", "clients": ["fe80::1%eth0"]}},
        [
            "error VARIABLE-TEXT inference_firewall.clients[0] = 'fe80::1%eth0': an IP address or a network, such as 10.0.0.0/24 is expected"
        ],
    ),
    # how long prefill holds KV cache: on CPUs by another variable
    Row(
        "cpu",
        {"inference_env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 29},
        [
            "warning HOLD-TIMEOUT inference_env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT = 29: KV blocks are held for 29 seconds only"
        ],
    ),
    Row("cpu", {"inference_env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 30}, []),
    Row("cpu", {"inference_env.VLLM_NIXL_ABORT_REQUEST_TIMEOUT": 29}, []),
    Row(
        "p2p",
        {f"{P}.env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 0},
        [
            (
                "error ENV-TIMEOUT inference_pools.prefill.env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT = 0: '0' is not a whole number of "
                "seconds above zero"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{P}.env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": 29, "inference_env.ASCEND_CONNECT_TIMEOUT": "x"},
        [
            "error ENV-TIMEOUT inference_env.ASCEND_CONNECT_TIMEOUT = x: 'x' is not a whole number of milliseconds above zero"
        ],
    ),
    # ports that nobody binds, as one number or as a list
    Row(
        "p2p",
        {f"{D}.hosts.node4.ports.dp_rpc": [12000, 12010]},
        [
            (
                "error PORT-GROUP inference_pools.decode.hosts.node4.ports.dp_rpc = [12000, 12010]: the processes of decode-0 connect to "
                "port 10600 of node3"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{P}.ports.llmdatadist": [5600, 5601]},
        [
            "error PORT-UNUSED inference_pools.prefill.ports.llmdatadist = [5600, 5601]: no process of pool prefill binds a port llmdatadist"
        ],
    ),
    # groups: not in a cluster, and not the controller; at most eight hosts are named
    Row("kubernetes", {"inventory": hosts(2, {"prefil": (1,), "ungrouped": (2,)})}, []),
    Row(
        "p2p",
        {
            "inventory": {
                **hosts(4, APART),
                **{name: {"groups": ["ungrouped"], "variables": {}} for name in ("localhost", "127.0.0.1", "::1")},
            }
        },
        [],
    ),
    Row(
        "p2p",
        {"inventory": {**hosts(4, APART), "127.0.0.2": {"groups": ["ungrouped"], "variables": {}}}},
        [
            "warning HOST-UNUSED inventory hosts = : 127.0.0.2 is in no group of the deployment (decode, mooncake_master, prefill, router)"
        ],
    ),
    Row(
        "pooled",
        {"inventory": hosts(10, {"colocated": (1, 2), "colocate": range(3, 11)})},
        [
            (
                "warning GROUP-SIMILAR inventory group colocate = : group 'colocate' is not 'colocated', which the deployment uses: "
                "node3, node4, node5, node6, node7, node8, node9, node10 are not in 'colocated'"
            )
        ],
    ),
    Row(
        "pooled",
        {"inventory": hosts(11, {"colocated": (1, 2), "colocate": range(2, 12)})},
        [
            (
                "warning GROUP-SIMILAR inventory group colocate = : group 'colocate' is not 'colocated', which the deployment uses: "
                "node3, node4, node5, node6, node7, node8, node9, node10 and 1 more are not in 'colocated'"
            )
        ],
    ),
    Row(
        "pooled",
        {
            "inventory": hosts(
                11, {"colocated": (1, 2), "colocate": (3, 4), "router": (1,), "routr": (5,), "ungrouped": range(6, 12)}
            )
        },
        [
            (
                "warning GROUP-SIMILAR inventory group colocate = : group 'colocate' is not 'colocated', which the deployment uses: "
                "node3, node4 are not in 'colocated'"
            ),
            (
                "warning GROUP-SIMILAR inventory group routr = : group 'routr' is not 'router', which the deployment uses: node5 is not "
                "in 'router'"
            ),
            (
                "warning HOST-UNUSED inventory hosts = : node6, node7, node8, node9, node10, node11 are in no group of the deployment "
                "(colocated, mooncake_master, router)"
            ),
        ],
    ),
    # settings without effect
    Row(
        "p2p",
        {
            "inference_encoder_cache.path": "/srv/encoder",
            "inventory": hosts(5, {**APART, "encode": (5,)}),
            "inference_pools.encode": {"tensor_parallel_size": 4},
        },
        [],
    ),
    Row("cpu", {"inference_engine_version": "0.1.0"}, []),
    Row("p2p", {"inference_engine_version": "0.23.0"}, []),
    Row(
        "p2p",
        {
            **TWO,
            f"{ROUTER}.frontend_paths": ["/v1/models"],
            f"{ROUTER}.frontend_answer_timeout": 100,
            f"{ROUTER}.frontend_client_timeout": 100,
        },
        [],
    ),
    Row(
        "p2p",
        {**TWO, f"{ROUTER}.frontend_answer_timeout": 100, f"{ROUTER}.frontend_port": 9443},
        ["warning FRONTEND-UNUSED inference_router.frontend_port = : frontend_port is set without a frontend"],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.frontend_answer_timeout": 100, f"{ROUTER}.frontend_client_timeout": 100},
        [
            (
                "warning FRONTEND-UNUSED inference_router.frontend_answer_timeout = : frontend_answer_timeout, frontend_client_timeout "
                "are set without a frontend"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.frontend_paths": ["/v1/models"]},
        ["warning FRONTEND-UNUSED inference_router.frontend_paths = : frontend_paths is set without a frontend"],
    ),
    # folders: another rule judges what is no model; a cluster's nodes have no folder of the collection
    Row("p2p", {"inference_model.path": "/"}, ["error MODEL-PATH inference_model.path = /: '/' names no model"]),
    Row(
        "p2p",
        {f"{P}.model": "/usr"},
        [
            "error FOLDER-SYSTEM inference_pools.prefill.model = /usr: /usr is a folder of the operating system or of all users"
        ],
    ),
    Row(
        "docker",
        {"inference_container.mounts": ["/run/podman.sock:/x", "/a/crio.sock:/y"]},
        [
            (
                "error FOLDER-SYSTEM inference_container.mounts[0] = /run/podman.sock: mount '/run/podman.sock:/x': /run/podman.sock is "
                "the socket of a container engine, over which a service becomes root"
            ),
            (
                "error FOLDER-SYSTEM inference_container.mounts[1] = /a/crio.sock: mount '/a/crio.sock:/y': /a/crio.sock is the socket "
                "of a container engine, over which a service becomes root"
            ),
        ],
    ),
    Row(
        "docker",
        {"inference_container.mounts": ["/opt/:/x"]},
        [
            (
                "error FOLDER-SYSTEM inference_container.mounts[0] = /opt/: mount '/opt/:/x': /opt/ contains inference_root, with the "
                "files and secrets of all services"
            )
        ],
    ),
    Row(
        "docker",
        {"inference_container.mounts": ["/opt/ascend-inference:/x"]},
        [
            (
                "error FOLDER-SYSTEM inference_container.mounts[0] = /opt/ascend-inference: mount '/opt/ascend-inference:/x': "
                "/opt/ascend-inference contains inference_root, with the files and secrets of all services"
            )
        ],
    ),
    Row(
        "docker",
        {
            "inference_container.mounts": [
                "/opt/ascend:/x",
                "/opt/ascend-inference-2:/y",
                "/opt/ascend-inference/cache:/z",
            ]
        },
        [],
    ),
    Row("kubernetes", {"inference_model.path": "/opt/ascend-inference"}, []),
    Row("kubernetes", {"inference_kubernetes.model_claim": "models", "inference_model.path": "/var/lib"}, []),
    # what is installed
    Row(
        "pooled",
        {"inference_hardware": "a3", "inference_engine_install": "wheel"},
        ["error WHEEL-CHIP inference_engine_install = wheel: the wheel of release 0.23.0 is for a2, but hosts are a3"],
    ),
    Row(
        "pooled",
        {"inference_hardware": "910a", "inference_devices": 8},
        [
            "error BUILD-CHIP inference_hardware = 910a: vLLM-Ascend has no build for 910a",
            "error HARDWARE-PD inference_pools.colocated = 910a: node1 is 910a, which cannot transfer KV cache",
            "error HARDWARE-PD inference_pools.colocated = 910a: node2 is 910a, which cannot transfer KV cache",
        ],
    ),
    Row(
        "pooled",
        {"inference_hardware": "910a", "inference_devices": 8, "inference_engine_install": "site"},
        [
            "error HARDWARE-PD inference_pools.colocated = 910a: node1 is 910a, which cannot transfer KV cache",
            "error HARDWARE-PD inference_pools.colocated = 910a: node2 is 910a, which cannot transfer KV cache",
        ],
    ),
    Row(
        "docker",
        {"inference_hardware": "910a", "inference_devices": 16},
        [
            "error HARDWARE-PD inference_pools.decode = 910a: node3 is 910a, which cannot transfer KV cache",
            "error HARDWARE-PD inference_pools.decode = 910a: node4 is 910a, which cannot transfer KV cache",
            "error HARDWARE-PD inference_pools.prefill = 910a: node1 is 910a, which cannot transfer KV cache",
            "error HARDWARE-PD inference_pools.prefill = 910a: node2 is 910a, which cannot transfer KV cache",
        ],
    ),
    Row(
        "cpu",
        {"inference_engine_install": "wheel"},
        ["warning INSTALL-UNUSED inference_engine_install = wheel: wheel has no effect: the engine is vllm_cpu"],
    ),
    Row(
        "docker",
        {"inference_engine_install": "site"},
        ["warning INSTALL-UNUSED inference_engine_install = site: site has no effect: docker runs images"],
    ),
    # secrets
    Row(
        "p2p",
        {"inference_secrets.api_key": True},
        ["error SECRET-FORM inference_secrets.api_key = (hidden): api_key is empty or not text"],
    ),
    Row("p2p", {"inference_secrets.api_key": 12345}, []),
    Row(
        "p2p",
        {"inference_secrets.api_key": "   "},
        ["error SECRET-FORM inference_secrets.api_key = (hidden): api_key is empty or not text"],
    ),
    Row(
        "p2p",
        {"inference_secrets.client_keys": "one tw,o", f"{ROUTER}.frontend": "nginx", **CERTIFIED},
        [
            "error SECRET-FORM inference_secrets.client_keys = (hidden): client_keys has other characters than A-Z a-z 0-9 . _ ~ + / = -"
        ],
    ),
    Row(
        "p2p",
        {"inference_secrets.client_key": "one", "inference_secrets.apikey": "one"},
        [
            "warning SECRET-UNKNOWN inference_secrets.apikey = (hidden): no service reads the secret 'apikey'",
            "warning SECRET-UNKNOWN inference_secrets.client_key = (hidden): no service reads the secret 'client_key'",
        ],
    ),
    # code of a model: of a repository, and where the option is on
    Row(
        "p2p",
        {"inference_model.path": "org/model", **OF_NO_ADVISORY},
        [
            "warning REMOTE-CODE inference_args.trust-remote-code = true: the engine downloads and runs code of org/model"
        ],
    ),
    Row("p2p", {"inference_model.path": "org/model", "inference_args.trust-remote-code": False, **OF_NO_ADVISORY}, []),
    Row(
        "p2p",
        {f"{P}.model": "org/qwen-moe-w8a8", f"{D}.args.trust-remote-code": False, **OF_NO_ADVISORY},
        [
            "warning REMOTE-CODE inference_args.trust-remote-code = true: the engine downloads and runs code of org/qwen-moe-w8a8"
        ],
    ),
    Row("p2p", {f"{P}.model": "org/qwen-moe-w8a8", f"{P}.args.trust-remote-code": False, **OF_NO_ADVISORY}, []),
    # variables of the environment
    Row("p2p", {f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "page_size:1g, segment_size_mb:20,pinned_mem_register:True"}, []),
    Row(
        "p2p",
        {
            f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "multi_stream_lazy_reclaim:True,pin_memory_expandable_segments:False,roundup_power2_divisions:[256:1,>:8]"
        },
        [],
    ),
    Row(
        "p2p",
        {f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "roundup_power2_divisions:[256:1"},
        [
            (
                "error ENV-VALUE inference_pools.decode.env.PYTORCH_NPU_ALLOC_CONF = roundup_power2_divisions:[256:1: "
                "'roundup_power2_divisions:[256:1' is not NAME:VALUE of max_split_size_mb, garbage_collection_threshold, "
                "expandable_segments, base_addr_aligned_kb, page_size"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env.PYTORCH_NPU_ALLOC_CONF": "page_size:1g;page_size:1g"},
        [
            (
                "error ENV-VALUE inference_pools.decode.env.PYTORCH_NPU_ALLOC_CONF = page_size:1g;page_size:1g: "
                "'page_size:1g;page_size:1g' is not NAME:VALUE of max_split_size_mb, garbage_collection_threshold, expandable_segments, "
                "base_addr_aligned_kb, page_size"
            )
        ],
    ),
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
        [
            "error ENV-VALUE inference_pools.decode.env.ASCEND_GLOBAL_LOG_LEVEL = 5: '5' is not a number from 0 to 4",
            "error ENV-VALUE inference_pools.decode.env.HCCL_RDMA_RETRY_CNT = 0: '0' is not a number from 1 to 7",
            "error ENV-VALUE inference_pools.decode.env.HCCL_RDMA_TC = 256: '256' is not a multiple of 4 from 0 to 252",
            "error ENV-VALUE inference_pools.decode.env.TASK_QUEUE_ENABLE = 3: '3' is not 0, 1 or 2",
            "error ENV-VALUE inference_pools.decode.env.VLLM_USE_V1 = 2: '2' is not 0 or 1",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env": {"HCCL_RDMA_TC": "131", "HCCL_RDMA_RETRY_CNT": "8", "VLLM_RPC_TIMEOUT": "0"}},
        [
            "error ENV-VALUE inference_pools.decode.env.HCCL_RDMA_RETRY_CNT = 8: '8' is not a number from 1 to 7",
            "error ENV-VALUE inference_pools.decode.env.HCCL_RDMA_TC = 131: '131' is not a multiple of 4 from 0 to 252",
            "error ENV-VALUE inference_pools.decode.env.VLLM_RPC_TIMEOUT = 0: '0' is not a whole number above 0",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env.HCCL_RDMA_TC": "133"},
        ["error ENV-VALUE inference_pools.decode.env.HCCL_RDMA_TC = 133: '133' is not a multiple of 4 from 0 to 252"],
    ),
    Row(
        "p2p",
        {f"{D}.env.HCCL_RDMA_TC": "0132"},
        ["error ENV-VALUE inference_pools.decode.env.HCCL_RDMA_TC = 0132: '0132' is not a multiple of 4 from 0 to 252"],
    ),
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
        [],
    ),
    Row("cpu", {f"{D}.env": {"VLLM_USE_V1": "2", "OMP_PROC_BIND": "no"}}, []),
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
        [
            "warning ENV-TYPO inference_pools.decode.env.ASCEND_CONNECT_TIMEOUTS = 1: nothing reads ASCEND_CONNECT_TIMEOUTS",
            "warning ENV-TYPO inference_pools.decode.env.HCCL_BUFFSIZES = 200: nothing reads HCCL_BUFFSIZES",
            "warning ENV-TYPO inference_pools.decode.env.OMP_NUM_THREAD = 1: nothing reads OMP_NUM_THREAD",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env": {"PYTORCH_NPU_ALLOC_CON": "x", "VLLM_NIXL_ABORT_REQUEST_TIMEOUTS": "3", "HCCL_IF_IPS": "x"}},
        [
            "warning ENV-TYPO inference_pools.decode.env.HCCL_IF_IPS = x: nothing reads HCCL_IF_IPS",
            "warning ENV-TYPO inference_pools.decode.env.PYTORCH_NPU_ALLOC_CON = x: nothing reads PYTORCH_NPU_ALLOC_CON",
            "warning ENV-TYPO inference_pools.decode.env.VLLM_NIXL_ABORT_REQUEST_TIMEOUTS = 3: nothing reads VLLM_NIXL_ABORT_REQUEST_TIMEOUTS",
        ],
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
        [
            (
                "warning CONFIG-VALUE inference_pools.prefill.args.additional-config.enable_kv_nz = maybe: enable_kv_nz takes true or "
                "false, not 'maybe'"
            ),
            "warning CONFIG-KEY inference_pools.prefill.args.additional-config.enable_kv_nzz = True: release 0.23.0 reads no enable_kv_nzz",
        ],
    ),
    Row(
        "pooled",
        {"inference_args": {"additional-config.enable_kv_nzz": True}},
        [
            "warning CONFIG-KEY inference_args.additional-config.enable_kv_nzz = True: release 0.23.0 reads no enable_kv_nzz"
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args": {**PREFILL["args"], "additional-config.eplb_config.dynamic_eplb": True}},
        [
            (
                "error EPLB-ENVIRONMENT inference_pools.prefill.args.additional-config.eplb_config.dynamic_eplb = True: dynamic_eplb is "
                "set, and DYNAMIC_EPLB is not"
            )
        ],
    ),
    Row(
        "p2p",
        {
            f"{P}.args": {**PREFILL["args"], "additional-config.eplb_config.dynamic_eplb": True},
            f"{P}.env.DYNAMIC_EPLB": "true",
        },
        [],
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
        [
            (
                "error CONFIG-KEY inference_pools.prefill.args.additional-config.eplb_config.num_redundant = 1: release 0.23.0 reads no "
                "num_redundant in eplb_config"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{C}.args": {"additional-config.layer_sharding": ["o_proj"]}},
        [
            (
                "error CONFIG-ROLE inference_pools.colocated.args.additional-config.layer_sharding = ['o_proj']: layer_sharding is set "
                "in pool colocated"
            )
        ],
    ),
    Row("p2p-0.11", {f"{P}.args.additional-config": {"ascend_scheduler_config": {"enabled": True, "own": 1}}}, []),
    Row(
        "p2p-0.11",
        {f"{P}.args.additional-config": {"ascend_scheduler_config": {"enabled": "maybe"}}},
        [
            (
                "warning CONFIG-VALUE inference_pools.prefill.args.additional-config.ascend_scheduler_config.enabled = maybe: "
                "ascend_scheduler_config.enabled takes true or false, not 'maybe'"
            )
        ],
    ),
    Row(
        "p2p-0.13",
        {f"{P}.args.additional-config": {"ascend_scheduler_config": {"own": 1}}},
        [
            (
                "warning CONFIG-KEY inference_pools.prefill.args.additional-config.ascend_scheduler_config = {'own': 1}: release 0.13.0 "
                "reads no ascend_scheduler_config; 0.7.3 to 0.11.0 did"
            )
        ],
    ),
    Row(
        "newest",
        {"inference_release": "main", f"{P}.args.additional-config": {"enable_kv_nzz": True, "mc2_comm_alg": "full"}},
        [
            "warning CONFIG-KEY inference_pools.prefill.args.additional-config.enable_kv_nzz = True: release main reads no enable_kv_nzz",
            (
                "warning CONFIG-VALUE inference_pools.prefill.args.additional-config.mc2_comm_alg = full: mc2_comm_alg takes one of "
                "fullmesh, fullmesh_v2, hierarchy, not 'full'"
            ),
        ],
    ),
    Row("cpu", {f"{P}.args.additional-config": {"enable_kv_nzz": True, "eplb_config": {"dynamic_eplb": True}}}, []),
    Row(
        "pooled",
        {f"{C}.args.additional-config": {"layer_sharding": ["o_proj"]}},
        [
            (
                "error CONFIG-ROLE inference_pools.colocated.args.additional-config.layer_sharding = ['o_proj']: layer_sharding is set "
                "in pool colocated"
            )
        ],
    ),
    Row("p2p", {f"{D}.args.additional-config": {"layer_sharding": []}}, []),
    Row(
        "p2p",
        {
            f"{D}.args.additional-config.eplb_config": {"expert_map_record_path": "/x"},
            f"{D}.env.EXPERT_MAP_RECORD": "1",
        },
        [
            (
                "error EPLB-ENVIRONMENT inference_pools.decode.args.additional-config.eplb_config.expert_map_record_path = /x: "
                "expert_map_record_path is set, and DYNAMIC_EPLB is not"
            )
        ],
    ),
    Row(
        "p2p",
        {
            f"{D}.args.additional-config.eplb_config": {"expert_map_record_path": "/x"},
            f"{D}.env.EXPERT_MAP_RECORD": "true",
        },
        [],
    ),
    Row("p2p", {f"{D}.args.additional-config.eplb_config": {"dynamic_eplb": True}, f"{D}.env.DYNAMIC_EPLB": "1"}, []),
    Row(
        "p2p", {f"{D}.args.additional-config.eplb_config": {"dynamic_eplb": True}, f"{D}.env.DYNAMIC_EPLB": "TRUE"}, []
    ),
    Row(
        "p2p",
        {
            f"{D}.args.additional-config.eplb_config": {"dynamic_eplb": True},
            f"{P}.env.DYNAMIC_EPLB": "true",
            f"{D}.env.DYNAMIC_EPLB": "0",
        },
        [
            (
                "error EPLB-ENVIRONMENT inference_pools.decode.args.additional-config.eplb_config.dynamic_eplb = True: dynamic_eplb is "
                "set, and DYNAMIC_EPLB is not"
            )
        ],
    ),
    # options by which vLLM splits ranks: derived where the plan splits them, refused elsewhere
    Row(
        "pooled",
        {f"{C}.args": {"nnodes": 2, "node-rank": 1, "master-addr": "10.1.0.1", "master-port": 29500, "headless": True}},
        [
            (
                "error FLAG-DERIVED inference_pools.colocated.args.headless = True: --headless is False in this plan; it is derived from "
                "inference_pools.colocated.hosts_per_instance"
            ),
            "error FLAG-LAUNCH inference_pools.colocated.args.headless = True: the plan does not start colocated with --headless",
            "error FLAG-LAUNCH inference_pools.colocated.args.master-addr = 10.1.0.1: the plan does not start colocated with --master-addr",
            "error FLAG-LAUNCH inference_pools.colocated.args.master-port = 29500: the plan does not start colocated with --master-port",
            "error FLAG-LAUNCH inference_pools.colocated.args.nnodes = 2: the plan does not start colocated with --nnodes",
            (
                "error FLAG-DERIVED inference_pools.colocated.args.node-rank = 1: --node-rank is 0 in this plan; it is derived from "
                "inference_pools.colocated.hosts_per_instance"
            ),
            "error FLAG-LAUNCH inference_pools.colocated.args.node-rank = 1: the plan does not start colocated with --node-rank",
        ],
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
        [
            (
                "error FLAG-LAUNCH inference_pools.colocated.args.data-parallel-external-lb = True: the plan does not start colocated "
                "with --data-parallel-external-lb"
            ),
            (
                "error FLAG-LAUNCH inference_pools.colocated.args.data-parallel-hybrid-lb = True: the plan does not start colocated with "
                "--data-parallel-hybrid-lb"
            ),
            (
                "error FLAG-DERIVED inference_pools.colocated.args.data-parallel-rank = 1: --data-parallel-rank is 0 in this plan; it is "
                "derived from inference_pools.colocated.load_balancing"
            ),
            (
                "error FLAG-LAUNCH inference_pools.colocated.args.data-parallel-rank = 1: the plan does not start colocated with "
                "--data-parallel-rank"
            ),
            (
                "error FLAG-DERIVED inference_pools.colocated.args.data-parallel-start-rank = 1: --data-parallel-start-rank is 0 in this "
                "plan; it is derived from inference_pools.colocated.data_parallel_size"
            ),
            (
                "error FLAG-LAUNCH inference_pools.colocated.args.data-parallel-start-rank = 1: the plan does not start colocated with "
                "--data-parallel-start-rank"
            ),
        ],
    ),
    Row(
        "pooled",
        {f"{C}.args": {"headless": False, "nnodes": None}},
        [
            (
                "error FLAG-NO-FORM inference_pools.colocated.args.headless = False: vLLM 0.23.0 has no option --no-headless, so "
                "--headless cannot be false"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{C}.hosts.node2.args.headless": True},
        [
            (
                "error FLAG-DERIVED inference_pools.colocated.hosts.node2.args.headless = True: --headless is False in this plan; it is "
                "derived from inference_pools.colocated.hosts_per_instance"
            ),
            "error FLAG-LAUNCH inference_pools.colocated.hosts.node2.args.headless = True: the plan does not start colocated with --headless",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.args.headless": True},
        [
            (
                "error FLAG-DERIVED inference_pools.decode.args.headless = True: --headless is False in this plan; it is derived from "
                "inference_pools.decode.hosts_per_instance"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{D}.args.data-parallel-start-rank": 1},
        [
            (
                "error FLAG-DERIVED inference_pools.decode.args.data-parallel-start-rank = 1: --data-parallel-start-rank is 0 in this "
                "plan; it is derived from inference_pools.decode.data_parallel_size"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args.data-parallel-start-rank": 1},
        [
            (
                "error FLAG-DERIVED inference_pools.prefill.args.data-parallel-start-rank = 1: --data-parallel-start-rank is 0 in this "
                "plan; it is derived from inference_pools.prefill.data_parallel_size"
            ),
            (
                "error FLAG-LAUNCH inference_pools.prefill.args.data-parallel-start-rank = 1: the plan does not start prefill with "
                "--data-parallel-start-rank"
            ),
        ],
    ),
    Row(
        "p2p",
        {f"{D}.load_balancing": "external", f"{D}.args.data-parallel-start-rank": 1},
        [
            (
                "error FLAG-DERIVED inference_pools.decode.args.data-parallel-start-rank = 1: --data-parallel-start-rank is 0 in this "
                "plan; it is derived from inference_pools.decode.data_parallel_size"
            ),
            (
                "error FLAG-LAUNCH inference_pools.decode.args.data-parallel-start-rank = 1: the plan does not start decode with "
                "--data-parallel-start-rank"
            ),
        ],
    ),
    Row(
        "p2p",
        {f"{D}.load_balancing": "external", f"{D}.args.data-parallel-rank": 1},
        [
            (
                "error FLAG-DERIVED inference_pools.decode.args.data-parallel-rank = 1: --data-parallel-rank is 0 in this plan; it is "
                "derived from inference_pools.decode.load_balancing"
            )
        ],
    ),
    Row(
        "p2p",
        {
            f"{D}.load_balancing": "external",
            f"{D}.data_parallel_size": 1,
            f"{D}.tensor_parallel_size": 8,
            f"{D}.args.data-parallel-rank": 1,
        },
        [
            (
                "error FLAG-DERIVED inference_pools.decode.args.data-parallel-rank = 1: --data-parallel-rank is 0 in this plan; it is "
                "derived from inference_pools.decode.load_balancing"
            ),
            "error FLAG-LAUNCH inference_pools.decode.args.data-parallel-rank = 1: the plan does not start decode with --data-parallel-rank",
        ],
    ),
    Row(
        "p2p",
        {
            f"{D}.data_parallel_size": 1,
            f"{D}.tensor_parallel_size": 8,
            f"{D}.pipeline_parallel_size": 1,
            f"{D}.args.node-rank": 1,
        },
        [
            (
                "error FLAG-DERIVED inference_pools.decode.args.node-rank = 1: --node-rank is 0 in this plan; it is derived from "
                "inference_pools.decode.hosts_per_instance"
            ),
            "error FLAG-LAUNCH inference_pools.decode.args.node-rank = 1: the plan does not start decode with --node-rank",
        ],
    ),
    Row(
        "pooled",
        {
            f"{C}.instances": 1,
            f"{C}.tensor_parallel_size": 16,
            f"{C}.args": {"max-num-seqs": 16, "nnodes": 2, "node-rank": 1},
        },
        [
            (
                "error FLAG-DERIVED inference_pools.colocated.args.node-rank = 1: --node-rank is 0 in this plan; it is derived from "
                "inference_pools.colocated.hosts_per_instance"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args.ssl-keyfile": "/k", f"{D}.args.ssl-certfile": "/c", f"{D}.args.uds": "/run/x"},
        [
            "error API-PLAIN inference_pools.decode.args.ssl-certfile = /c: --ssl-certfile changes the protocol of the API",
            "error API-PLAIN inference_pools.decode.args.uds = /run/x: --uds changes the protocol of the API",
            "error API-PLAIN inference_pools.prefill.args.ssl-keyfile = /k: --ssl-keyfile changes the protocol of the API",
        ],
    ),
    Row("pooled", {f"{C}.args": {"runner": "pooling", "convert": "embed"}}, []),
    Row(
        "p2p",
        {f"{D}.args": {**DECODE["args"], "runner": "pooling", "convert": "classify"}},
        [
            "error RUNNER-POOLING inference_pools.decode.args.convert = classify: --convert classify in a decode pool",
            "error RUNNER-POOLING inference_pools.decode.args.runner = pooling: --runner pooling in a decode pool",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.args.convert": "reward"},
        [
            "error FLAG-CHOICE inference_pools.decode.args.convert = reward: --convert takes one of auto, classify, embed, none, not 'reward'",
            "error RUNNER-POOLING inference_pools.decode.args.convert = reward: --convert reward in a decode pool",
        ],
    ),
    Row("cpu", {"inference_start_timeout": 59}, []),
    Row(
        "p2p",
        {f"{P}.args.distributed-executor-backend": "ray", f"{D}.args.distributed-executor-backend": "ray"},
        ["error RAY inference_pools.decode.args.distributed-executor-backend = ray: workers would be started by Ray"],
    ),
    Row(
        "p2p",
        {
            f"{P}.args.load-format": "pt",
            f"{P}.args.model-loader-extra-config": {"num_thread": 8, "enable_weights_track": True},
        },
        [
            "error LOADER-KEY inference_pools.prefill.args.model-loader-extra-config.num_thread = : the loader has no key 'num_thread'"
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args.load-format": "mistral", f"{P}.args.model-loader-extra-config": {"device": "cpu"}},
        [
            "error LOADER-KEY inference_pools.prefill.args.model-loader-extra-config.device = : the loader has no key 'device'"
        ],
    ),
    Row("p2p", {f"{P}.args.load-format": "tensorizer", f"{P}.args.model-loader-extra-config": {"device": "cpu"}}, []),
    # several routers: what only one of them can have
    Row(
        "p2p",
        {**TWO, f"{ROUTER}.args.host": "10.1.0.1"},
        ["error BALANCER-OPTION inference_router.args.host = 10.1.0.1: all 2 routers would get --host 10.1.0.1"],
    ),
    Row(
        "p2p",
        {**TWO, f"{ROUTER}.args.port": 8000},
        ["error BALANCER-OPTION inference_router.args.port = 8000: all 2 routers would get --port 8000"],
    ),
    Row(
        "pooled",
        {**TWO, f"{ROUTER}.args": {"prometheus-host": "10.1.0.1", "prometheus-port": 9000}},
        [
            "error BALANCER-OPTION inference_router.args.prometheus-host = 10.1.0.1: all 2 routers would get --prometheus-host 10.1.0.1",
            "error BALANCER-OPTION inference_router.args.prometheus-port = 9000: all 2 routers would get --prometheus-port 9000",
        ],
    ),
    Row(
        "pooled",
        {**TWO, f"{ROUTER}.args": {"policy": "cache_aware"}},
        [
            (
                "warning BALANCER-POLICY inference_router.args.policy = cache_aware: 2 routers with --policy cache_aware do not share "
                "what they learn"
            )
        ],
    ),
    Row("pooled", {f"{ROUTER}.args": {"policy": "cache_aware"}}, []),
    Row("p2p", {**TWO, f"{ROUTER}.balancer_bind": "198.51.100.7"}, []),
    Row("p2p", {**TWO, "node1.inference_address": "203.0.113.5"}, []),
    Row(
        "p2p",
        {**TWO, "node1.inference_address": "8.8.8.8", f"{ROUTER}.balancer_bind": "10.1.0.1"},
        [
            (
                "warning ROUTER-OPEN inference_router.bind = : the load_balance router, besides its balancer, accepts requests without a "
                "key on 8.8.8.8:8000, including /instances/add and /instances/remove and /reset_prefix_cache"
            )
        ],
    ),
    Row(
        "p2p",
        {**TWO, "node1.inference_address": "8.8.8.8"},
        [
            "warning BALANCER-OPEN inference_router.balancer_bind = 8.8.8.8: the balancer accepts requests without a key on 8.8.8.8:8001",
            (
                "warning ROUTER-OPEN inference_router.bind = : the load_balance router, besides its balancer, accepts requests without a "
                "key on 8.8.8.8:8000, including /instances/add and /instances/remove and /reset_prefix_cache"
            ),
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.instances": 2},
        [
            "error BALANCER-MISSING inference_router.instances = 2: 2 routers are planned, and nothing distributes requests over them"
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.balancer": "haproxy"},
        ["warning BALANCER-SINGLE inference_router.balancer = haproxy: there is one router behind the balancer"],
    ),
    # both sides of a transfer: what they share, which variable is named, whose model differs
    Row("both", {f"{P}.kv_transfer": "store"}, []),
    Row(
        "both",
        {f"{P}.kv_transfer": "store", f"{D}.kv_transfer": "recompute_cpu_offload"},
        [
            (
                "error TRANSFER-CARRIES inference_pools.decode.kv_transfer = RecomputeCPUOffloadConnector: "
                "AscendStoreConnector+RecomputeCPUOffloadConnector stores the KV cache only for its own engine"
            )
        ],
    ),
    Row(
        "both",
        {f"{P}.kv_transfer": "recompute_cpu_offload", f"{D}.kv_transfer": "offloading"},
        [
            (
                "error TRANSFER-CARRIES inference_pools.decode.kv_transfer = OffloadingConnector: "
                "OffloadingConnector+RecomputeCPUOffloadConnector stores the KV cache only for its own engine"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{P}.kv_transfer": "mooncake_hybrid"},
        [
            (
                "error TRANSFER-PAIR inference_pools.prefill.kv_transfer = MooncakeHybridConnector: prefill has MooncakeHybridConnector, "
                "decode has MooncakeConnectorV1"
            )
        ],
    ),
    Row("p2p", {f"{P}.kv_transfer": "mooncake+recompute_cpu_offload"}, []),
    Row(
        "p2p",
        {"inference_kv_transfer": "mooncake_hybrid", f"{P}.kv_transfer": "mooncake"},
        [
            (
                "error TRANSFER-PAIR inference_pools.prefill.kv_transfer = MooncakeConnectorV1: prefill has MooncakeConnectorV1, decode "
                "has MooncakeHybridConnector"
            )
        ],
    ),
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
        [
            (
                "error TRANSFER-CARRIES inference_pools.decode.args.kv-transfer-config = PreemptOffloadConnector: "
                "PreemptOffloadConnector stores the KV cache only for its own engine"
            ),
            (
                "error KV-ROLE inference_pools.decode.args.kv-transfer-config.kv_role = kv_both: PreemptOffloadConnector of the decode "
                "pool has kv_both instead of kv_consumer"
            ),
            (
                "error KV-ROLE inference_pools.prefill.args.kv-transfer-config.kv_role = kv_both: PreemptOffloadConnector of the prefill "
                "pool has kv_both instead of kv_producer"
            ),
        ],
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
        [
            "error TRANSFER-PAIR inference_kv_transfer = MooncakeConnectorV1: prefill has OwnConnector, decode has MooncakeConnectorV1"
        ],
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
        [
            (
                "error TRANSFER-PAIR inference_pools.decode.args.kv_transfer_config = OwnConnector: prefill has MooncakeConnectorV1, "
                "decode has OwnConnector"
            )
        ],
    ),
    Row(
        "p2p",
        {
            "inventory": hosts(5, {**APART, "colocated": (5,)}),
            C: {"tensor_parallel_size": 8, "kv_transfer": "none"},
            f"{ROUTER}.flavour": "none",
            f"{D}.args.additional-config": {},
        },
        [],
    ),
    Row(
        "p2p",
        {
            f"{P}.env.VLLM_PP_LAYER_PARTITION": "42, 36",
            f"{P}.pipeline_parallel_size": 2,
            f"{P}.tensor_parallel_size": 4,
        },
        [],
    ),
    Row(
        "p2p",
        {f"{P}.env.VLLM_PP_LAYER_PARTITION": "78,0", f"{P}.pipeline_parallel_size": 2, f"{P}.tensor_parallel_size": 4},
        [
            "error PP-PARTITION inference_pools.prefill.env.VLLM_PP_LAYER_PARTITION = 78,0: '78,0' is not a list of whole numbers"
        ],
    ),
    Row(
        "p2p",
        {
            f"{P}.env.VLLM_PP_LAYER_PARTITION": "42,36,2",
            f"{P}.pipeline_parallel_size": 2,
            f"{P}.tensor_parallel_size": 4,
        },
        [
            (
                "error PP-PARTITION inference_pools.prefill.env.VLLM_PP_LAYER_PARTITION = 42,36,2: it has 3 parts, but prefill has 2 "
                "pipeline ranks"
            )
        ],
    ),
    Row("p2p", {f"{D}.env.VLLM_PP_LAYER_PARTITION": "78"}, []),
    Row(
        "p2p",
        {f"{D}.env.VLLM_PP_LAYER_PARTITION": "42,36"},
        [
            "error PP-PARTITION inference_pools.decode.env.VLLM_PP_LAYER_PARTITION = 42,36: it has 2 parts, but decode has 1 pipeline ranks"
        ],
    ),
    Row("pooled", {f"{C}.kv.kv_connector_extra_config.prefill": {"tp_size": 4, "pp_layer_partition": "42,36"}}, []),
    Row("p2p", {f"{P}.kv.kv_connector_extra_config.prefill.pp_layer_partition": ""}, []),
    Row("p2p", {f"{P}.model": "/data/qwen-moe-w8a8", f"{D}.model": "/models/qwen-moe-w8a8/"}, []),
    Row(
        "p2p",
        {f"{P}.model": "/models/qwen-1", f"{D}.model": "/models/qwen-2"},
        [
            "warning MODEL-PAIR inference_pools.decode.model = /models/qwen-2: prefill loads qwen-1, decode loads qwen-2",
            "warning MODEL-PAIR inference_pools.prefill.model = /models/qwen-1: prefill loads qwen-1, decode loads qwen-2",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.model": "/models/qwen-2"},
        [
            "warning MODEL-PAIR inference_pools.decode.model = /models/qwen-2: prefill loads qwen-moe-w8a8, decode loads qwen-2"
        ],
    ),
    Row(
        "p2p",
        {f"{P}.model": "/models/qwen-moe-w8a8", f"{D}.model": "/models/qwen-2"},
        [
            "warning MODEL-PAIR inference_pools.decode.model = /models/qwen-2: prefill loads qwen-moe-w8a8, decode loads qwen-2"
        ],
    ),
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
        [
            "error ARG-POSITIVE inference_pools.decode.args.api-server-count = -1: api-server-count is below the minimum, 0",
            (
                "error ARG-POSITIVE inference_pools.decode.args.long-prefill-token-threshold = -1: long-prefill-token-threshold is below "
                "the minimum, 0"
            ),
            "error ARG-POSITIVE inference_pools.decode.args.max-cpu-loras = 0: max-cpu-loras is below the minimum, 1",
            "error ARG-POSITIVE inference_pools.decode.args.max-lora-rank = 0: max-lora-rank is below the minimum, 1",
            "error ARG-POSITIVE inference_pools.decode.args.max-loras = 0: max-loras is below the minimum, 1",
            "error ARG-POSITIVE inference_pools.decode.args.max-model-len = -2: max-model-len is below the minimum, -1",
            "error ARG-POSITIVE inference_pools.decode.args.max-num-partial-prefills = 0: max-num-partial-prefills is below the minimum, 1",
            "error ARG-POSITIVE inference_pools.decode.args.seed = -1: seed is below the minimum, 0",
        ],
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
        [
            (
                "error ARG-POSITIVE inference_pools.decode.args.long-prefill-token-threshold = 1000000001: long-prefill-token-threshold "
                "is above the maximum, 1000000000"
            ),
            "error ARG-POSITIVE inference_pools.decode.args.max-cpu-loras = 1000001: max-cpu-loras is above the maximum, 1000000",
            "error ARG-POSITIVE inference_pools.decode.args.max-logprobs = 10000001: max-logprobs is above the maximum, 10000000",
            "error ARG-POSITIVE inference_pools.decode.args.max-lora-rank = 100001: max-lora-rank is above the maximum, 100000",
            "error ARG-POSITIVE inference_pools.decode.args.max-loras = 100001: max-loras is above the maximum, 100000",
            (
                "error ARG-POSITIVE inference_pools.decode.args.max-num-batched-tokens = 100000001: max-num-batched-tokens is above the "
                "maximum, 100000000"
            ),
            (
                "error ARG-POSITIVE inference_pools.decode.args.max-num-partial-prefills = 1000001: max-num-partial-prefills is above "
                "the maximum, 1000000"
            ),
            "error ARG-POSITIVE inference_pools.decode.args.max-num-seqs = 1000001: max-num-seqs is above the maximum, 1000000",
        ],
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
        [],
    ),
    Row(
        "p2p",
        {f"{D}.args.max-lora-rank": 24},
        [
            (
                "error ARG-POSITIVE inference_pools.decode.args.max-lora-rank = 24: max-lora-rank is 24, not one of 1, 8, 16, 32, 64, "
                "128, 256, 320, 512"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{D}.args.max-lora-rank": 513},
        [
            (
                "error ARG-POSITIVE inference_pools.decode.args.max-lora-rank = 513: max-lora-rank is 513, not one of 1, 8, 16, 32, 64, "
                "128, 256, 320, 512"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{D}.args.max-lora-rank": 100000},
        [
            (
                "error ARG-POSITIVE inference_pools.decode.args.max-lora-rank = 100000: max-lora-rank is 100000, not one of 1, 8, 16, "
                "32, 64, 128, 256, 320, 512"
            )
        ],
    ),
    Row("p2p", {f"{D}.args.max-lora-rank": 512}, []),
    Row(
        "p2p",
        {"inference_args.max-model-len": 0},
        [
            "error ARG-POSITIVE inference_args.max-model-len = 0: max-model-len is 0; only -1 means the largest that fits"
        ],
    ),
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
        [
            "error ARG-POSITIVE inference_pools.decode.args.limit-mm-per-prompt.audio = 1: the limit of audio is not a number from 0 on",
            "error ARG-POSITIVE inference_pools.decode.args.limit-mm-per-prompt.image = True: the limit of image is not a number from 0 on",
            (
                "error ARG-POSITIVE inference_pools.decode.args.limit-mm-per-prompt.one = {'count': -1}: the limit of one is not a "
                "number from 0 on"
            ),
            (
                "error ARG-POSITIVE inference_pools.decode.args.limit-mm-per-prompt.two = {'count': 1.5}: the limit of two is not a "
                "number from 0 on"
            ),
            "error ARG-POSITIVE inference_pools.decode.args.limit-mm-per-prompt.video = -1: the limit of video is not a number from 0 on",
        ],
    ),
    Row("p2p", {f"{D}.args.limit-mm-per-prompt": {"image": 0, "video": {"count": 0}, "audio": {}}}, []),
    Row("p2p", {f"{D}.args.enable-auto-tool-choice": False}, []),
    Row(
        "p2p",
        {f"{D}.args.enable-auto-tool-choice": True, f"{D}.args.enable-lora": True},
        [
            "error FLAG-NEEDS inference_pools.decode.args.enable-auto-tool-choice = : enable-auto-tool-choice is set without tool-call-parser"
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env.HCCL_BUFFSIZE": "0"},
        ["error HCCL-BUFFSIZE inference_pools.decode.env.HCCL_BUFFSIZE = 0: '0' is not a number of MiB"],
    ),
    Row("cpu", {f"{D}.env.HCCL_BUFFSIZE": "many"}, []),
    # links and addresses
    Row("p2p", {"inference_link": "hccs"}, []),
    Row("pooled", {"inference_link": "hccs", "inventory": hosts(1, {"colocated": (1,)})}, []),
    Row(
        "pooled",
        {"inference_link": "hccs", "inference_hardware": "910a", "inference_devices": 8},
        [
            "error BUILD-CHIP inference_hardware = 910a: vLLM-Ascend has no build for 910a",
            "error LINK-HARDWARE inference_link = hccs: there is no HCCS link between hosts of generation 910a",
            "error HARDWARE-PD inference_pools.colocated = 910a: node1 is 910a, which cannot transfer KV cache",
            "error HARDWARE-PD inference_pools.colocated = 910a: node2 is 910a, which cannot transfer KV cache",
        ],
    ),
    Row(
        "pooled",
        {"inference_link": "hccs", "inference_hardware": "310p", "inference_devices": 8},
        [
            "error LINK-HARDWARE inference_link = hccs: there is no HCCS link between hosts of generation 310p",
            "error HARDWARE-PD inference_pools.colocated = 310p: node1 is 310p, which cannot transfer KV cache",
            "error HARDWARE-PD inference_pools.colocated = 310p: node2 is 310p, which cannot transfer KV cache",
        ],
    ),
    Row(
        "p2p",
        {"node2.inference_address": "255.255.255.255"},
        [
            "error ADDRESS-FORM node2.inference_address = 255.255.255.255: 255.255.255.255 is a multicast or broadcast address"
        ],
    ),
    Row("p2p", {"node2.inference_address": "255.255.255.254"}, []),
    Row(
        "p2p",
        {"node2.inference_address": "fe80::1"},
        ["warning ADDRESS-IPV6 node2.inference_address = fe80::1: node2 has an IPv6 address"],
    ),
    Row(
        "p2p",
        {"node2.inference_address": "ff02::1"},
        ["error ADDRESS-FORM node2.inference_address = ff02::1: ff02::1 is a multicast or broadcast address"],
    ),
    Row("cpu", {"node1.inference_address": "d2.rack.example"}, []),
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
        [],
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
        [],
    ),
    Row(
        "p2p",
        {"inference_model.name": "Qwen3-32B"},
        [
            (
                "warning DENSE-DP inference_pools.decode.data_parallel_size = 32: the model is dense (its name contains Qwen3-32B) and "
                "has 32 data-parallel ranks"
            ),
            (
                "warning DENSE-DP inference_pools.prefill.data_parallel_size = 2: the model is dense (its name contains Qwen3-32B) and "
                "has 2 data-parallel ranks"
            ),
        ],
    ),
    Row("p2p", {"inference_model.name": "Qwen3-32B", "inference_model.moe": "true"}, []),
    Row("p2p-0.13", {"inference_model.moe": "false"}, []),
    Row(
        "pooled",
        {"inference_model.moe": "false", f"{C}.args": {"max-num-seqs": 16, "enable-expert-parallel": True}},
        [
            (
                "warning DENSE-EP inference_pools.colocated.args.enable-expert-parallel = True: inference_model.moe is false: the model "
                "has no experts"
            )
        ],
    ),
    Row(
        "pooled",
        {"inference_model.moe": "false", "inference_args.enable_expert_parallel": True},
        [
            "warning DENSE-EP inference_args.enable_expert_parallel = True: inference_model.moe is false: the model has no experts"
        ],
    ),
    Row(
        "pooled",
        {"inference_model.moe": "false", f"{C}.expert_parallel": True, f"{C}.args.enable-expert-parallel": False},
        [],
    ),
    Row("p2p-0.11", {f"{P}.pipeline_parallel_size": 2, f"{P}.tensor_parallel_size": 4}, []),
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
        [
            "error MEMCACHE-KEY inference_store.options.log_level = error: mmc-local.conf has no key 'log_level'",
            "error MEMCACHE-KEY inference_store.options.ock.mmc.log_levels = x: mmc-local.conf has no key 'ock.mmc.log_levels'",
            "error MEMCACHE-KEY inference_store.options.ubsio.disk.paths = /x: mmc-local.conf has no key 'ubsio.disk.paths'",
        ],
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
        [
            (
                "error MEMCACHE-KEY inference_mooncake_master.args.ock.mmc.evict_threshold_lows = 1: mmc-meta.conf has no key "
                "'ock.mmc.evict_threshold_lows'"
            ),
            (
                "error MEMCACHE-KEY inference_mooncake_master.args.ock.mmc.meta.lease_ttl_m = 1: mmc-meta.conf has no key "
                "'ock.mmc.meta.lease_ttl_m'"
            ),
        ],
    ),
    Row(
        "both",
        {**MEMCACHE, f"{STORE}.segment_size": "1500MB", f"{STORE}.options": {LOCAL + "protocol": "host_rdma"}},
        [],
    ),
    Row(
        "both",
        {**MEMCACHE, f"{STORE}.segment_size": "1500MB", f"{STORE}.options": {LOCAL + "protocol": "device_sdma"}},
        [
            (
                "warning MEMCACHE-VALUE inference_store.segment_size = 1500MB: 1500MB is not a whole number of GB, in which device_sdma "
                "registers memory"
            )
        ],
    ),
    Row(
        "both",
        {**MEMCACHE, f"{STORE}.options": {LOCAL + "dram.size": "1500MB"}},
        [
            (
                "warning MEMCACHE-VALUE inference_store.options.ock.mmc.local_service.dram.size = 1500MB: 1500MB is not a whole number "
                "of GB, in which device_sdma registers memory"
            )
        ],
    ),
    Row(
        "both",
        {**MEMCACHE, f"{STORE}.options": {LOCAL + "dram.size": "much"}},
        [
            "error MEMCACHE-VALUE inference_store.options.ock.mmc.local_service.dram.size = much: 'much' is not a size such as 10GB"
        ],
    ),
    Row(
        "both",
        {**MEMCACHE, f"{STORE}.options": {LOCAL + "protocol": "host_rdm"}},
        [
            "error MEMCACHE-VALUE inference_store.options.ock.mmc.local_service.protocol = host_rdm: there is no protocol host_rdm"
        ],
    ),
    Row("both", {**MEMCACHE, MASTER: {"ock.mmc.evict_threshold_low": 98, "ock.mmc.evict_threshold_high": 99}}, []),
    Row(
        "both",
        {**MEMCACHE, MASTER: {"ock.mmc.evict_threshold_low": 99, "ock.mmc.evict_threshold_high": 0}},
        [
            "error MEMCACHE-VALUE inference_mooncake_master.args.ock.mmc.evict_threshold_high = 0: 0 is not a percentage from 1 to 99",
            "error MEMCACHE-VALUE inference_mooncake_master.args.ock.mmc.evict_threshold_low = 99: 99 is not a percentage from 1 to 98",
        ],
    ),
    Row(
        "both",
        {**MEMCACHE, MASTER: {"ock.mmc.evict_threshold_low": 0, "ock.mmc.evict_threshold_high": "90%"}},
        [
            "error MEMCACHE-VALUE inference_mooncake_master.args.ock.mmc.evict_threshold_high = 90%: 90% is not a percentage from 1 to 99",
            "error MEMCACHE-VALUE inference_mooncake_master.args.ock.mmc.evict_threshold_low = 0: 0 is not a percentage from 1 to 98",
        ],
    ),
    Row("both", {**MEMCACHE, f"{STORE}.segment_size": "3GB", "node1.inference_memory": 80}, []),
    Row(
        "both",
        {**MEMCACHE, f"{STORE}.segment_size": "3GB", "node1.inference_memory": 79, "node3.inference_memory": 79},
        [
            "error MEMCACHE-MEMORY inference_store.segment_size = 3GB: 16 ranks on node1 use 48 GiB of its 79 GiB",
            "error MEMCACHE-MEMORY inference_store.segment_size = 3GB: 16 ranks on node3 use 48 GiB of its 79 GiB",
        ],
    ),
    Row(
        "both",
        {**MEMCACHE, f"{D}.kv_transfer": "mooncake", f"{STORE}.segment_size": "3GB", "node3.inference_memory": 79},
        [],
    ),
    Row(
        "both",
        {
            **MEMCACHE,
            "inventory": hosts(5, {**APART, "encode": (5,)}, inference_memory=120),
            "node5.inference_memory": 9,
            "inference_pools.encode": {"tensor_parallel_size": 4},
        },
        [],
    ),
    Row("both", {f"{STORE}.segment_size": "3GB", "node1.inference_memory": 80}, []),
    Row("both-0.18", {**MEMCACHE}, []),
    Row(
        "both",
        {**MEMCACHE, "inference_release": "0.17.0rc1"},
        ["error MEMCACHE-PACKAGE inference_store.backend = memcache: release 0.17.0rc1 does not bring memcache_hybrid"],
    ),
    Row(
        "both",
        {**MEMCACHE, "inference_release": "0.17.0rc1", "inference_engine_install": "site"},
        ["warning RELEASE-CANDIDATE inference_release = 0.17.0rc1: 0.17.0rc1 is a release candidate"],
    ),
    Row(
        "both",
        {**MEMCACHE, "inference_release": "0.17.0rc1", "inference_runtime": "docker", "inference_image": IMAGE},
        ["warning RELEASE-CANDIDATE inference_release = 0.17.0rc1: 0.17.0rc1 is a release candidate"],
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
        [],
    ),
    Row("both", {**MEMCACHE, "inference_mooncake_master.group": "decode"}, []),
    # Yuanrong: each pool that uses the store, and no settings of the other backends
    Row(
        "pooled",
        {STORE: {"backend": "yuanrong"}},
        [
            (
                "error STORE-EXTERNAL inference_store.backend = yuanrong: the backend yuanrong needs YR_CONFIG_PATH or DS_WORKER_ADDR, "
                "and pool colocated has none of them"
            )
        ],
    ),
    Row("pooled", {STORE: {"backend": "yuanrong"}, f"{C}.env.DS_WORKER_ADDR": "10.1.0.1:31501"}, []),
    Row(
        "pooled",
        {
            STORE: {"backend": "yuanrong", "segment_size": "8GB", "options": {"x": 1}},
            "inference_env.YR_CONFIG_PATH": "/etc/y.json",
        },
        ["warning STORE-EXTERNAL inference_store = : segment_size, options have no effect with backend yuanrong"],
    ),
    Row(
        "pooled",
        {STORE: {"backend": "yuanrong", "buffer_size": "1GB"}, "inference_env.YR_CONFIG_PATH": "/etc/y.json"},
        ["warning STORE-EXTERNAL inference_store = : buffer_size has no effect with backend yuanrong"],
    ),
    Row(
        "pooled",
        {
            STORE: {"backend": "yuanrong"},
            "inference_env.YR_CONFIG_PATH": "/etc/y.json",
            "inference_mooncake_master.port": 50090,
        },
        [
            "warning STORE-EXTERNAL inference_mooncake_master = : inference_mooncake_master has no effect with backend yuanrong"
        ],
    ),
    Row(
        "pooled",
        {
            STORE: {"backend": "yuanrong", "segment_size": "8GB"},
            "inference_env.YR_CONFIG_PATH": "/etc/y.json",
            "inference_mooncake_master.port": 50090,
        },
        [
            "warning STORE-EXTERNAL inference_mooncake_master = : inference_mooncake_master has no effect with backend yuanrong",
            "warning STORE-EXTERNAL inference_store = : segment_size has no effect with backend yuanrong",
        ],
    ),
    Row(
        "both",
        {STORE: {"backend": "yuanrong"}, f"{P}.env.YR_CONFIG_PATH": "/etc/y.json"},
        [
            (
                "error STORE-EXTERNAL inference_store.backend = yuanrong: the backend yuanrong needs YR_CONFIG_PATH or DS_WORKER_ADDR, "
                "and pool decode has none of them"
            )
        ],
    ),
    Row(
        "both",
        {STORE: {"backend": "yuanrong"}, f"{P}.env.YR_CONFIG_PATH": "/etc/y.json", f"{D}.kv_transfer": "mooncake"},
        [],
    ),
    # several masters: why a release cannot elect one, whose hosts are too few
    Row(
        "ha",
        {"inference_release": "0.21.0rc1"},
        [
            "error STORE-HA-BUILD inference_store.ha = 0.21.0rc1: the Mooncake of release 0.21.0rc1 is built from source, without etcd"
        ],
    ),
    Row(
        "ha",
        {"inference_release": "0.18.0"},
        [
            "error STORE-HA-BUILD inference_store.ha = 0.18.0: the Mooncake of release 0.18.0 is built from source, without etcd"
        ],
    ),
    Row(
        "ha",
        {"inference_release": "main", "inference_engine_install": "site"},
        ["warning RELEASE-CANDIDATE inference_release = main: main is the development branch"],
    ),
    Row(
        "ha",
        {f"{STORE}.ha.masters": 5},
        ["error VARIABLE-RANGE inference_store.ha.masters = 5: 5 is not a whole number from 2 to 3"],
    ),
    Row(
        "ha",
        {f"{STORE}.ha.masters": 3, "inventory": hosts(4, {**APART, "mooncake_master": (1, 2)})},
        [
            "error STORE-HA-MASTERS inference_store.ha.masters = 3: 3 masters are wanted, and group 'mooncake_master' has 2 hosts"
        ],
    ),
    Row(
        "ha",
        {f"{STORE}.ha.masters": 2, "inventory": hosts(4, {**APART, "mooncake_master": (1,), "etcd": (1, 2, 3)})},
        [
            "error STORE-HA-MASTERS inference_store.ha.masters = 2: 2 masters are wanted, and group 'mooncake_master' has one host"
        ],
    ),
    Row(
        "ha",
        {f"{STORE}.options.master_server_address": "etcd://e1:2379"},
        [
            (
                "error STORE-HA-LEADER inference_store.options.master_server_address = etcd://e1:2379: master_server_address is "
                "etcd://e1:2379, and the masters are elected in etcd://10.1.0.1:9410;10.1.0.2:9410;10.1.0.3:9410"
            )
        ],
    ),
    Row(
        "ha",
        {f"{P}.env.MC_STORE_CLUSTER_ID": "other", f"{D}.env.MC_STORE_CLUSTER_ID": "inference"},
        [
            (
                "error STORE-HA-LEADER inference_pools.prefill.env.MC_STORE_CLUSTER_ID = other: MC_STORE_CLUSTER_ID of prefill is other, "
                "and the masters have inference"
            )
        ],
    ),
    # NPUs that servers of a generation have, interfaces, groups
    Row(
        "pooled",
        {"node1.inference_devices": 17},
        [
            "warning DEVICE-COUNT node1.inference_devices = 17: 17 devices are listed, and a server of generation a2 has at most 16"
        ],
    ),
    Row("pooled", {"node1.inference_devices": 16}, []),
    Row("cpu", {"node1.inference_devices": 17}, []),
    Row("kubernetes", {"inference_interface": "lo"}, []),
    Row("one-host", {"node1.inference_interface": "lo"}, []),
    Row(
        "llmdatadist",
        {"node1.inference_interface": "lo", "node1.inference_address": "127.0.1.1"},
        ["error HOST-ADDRESS node1.inference_address = 127.0.1.1: other hosts cannot reach a loopback address"],
    ),
    Row(
        "both",
        {"inference_mooncake_master.group": "masters"},
        ["warning GROUP-EMPTY inference_mooncake_master.group = masters: no host is in group 'masters'"],
    ),
    Row(
        "p2p",
        {"inference_mooncake_master.group": "masters"},
        ["warning STORE-UNUSED inference_mooncake_master = : group is set, but no pool uses the store"],
    ),
    Row("kubernetes", {f"{ROUTER}.group": "routers"}, []),
    Row(
        "p2p",
        {f"{ROUTER}.group": "decode"},
        [
            "warning SINGLE-HOST inference_router.group = decode: group 'decode' has the hosts node3, node4; only node3 gets the router"
        ],
    ),
    # addresses to listen on
    Row("p2p", {f"{ROUTER}.bind": "fe80::1%eth0"}, []),
    Row("p2p", {f"{ROUTER}.bind": "localhost"}, []),
    Row("p2p", {f"{ROUTER}.bind": "127.0.0.1"}, []),
    Row("p2p", {f"{ROUTER}.bind": "10.1.0.1"}, []),
    Row("p2p", {f"{ROUTER}.bind": "10.9.9.9"}, []),
    Row(
        "p2p",
        {"node2.inference_address": "127.0.0.1", f"{ROUTER}.bind": "127.0.0.1"},
        ["error HOST-ADDRESS node2.inference_address = 127.0.0.1: other hosts cannot reach a loopback address"],
    ),
    Row("cpu", {"node1.inference_address": "d2.rack.example", f"{ROUTER}.bind": "10.9.9.9"}, []),
    Row(
        "p2p",
        {**TWO, f"{ROUTER}.balancer_bind": "10.1.0.3"},
        [
            "error BIND-ADDRESS inference_router.balancer_bind = 10.1.0.3: 10.1.0.3 is the address of node3, and the balancer runs on node1"
        ],
    ),
    # mounts: each of them is judged
    Row(
        "docker",
        {"inference_container.mounts": ["/data", "/x:y", "/a:/b:rw", "/a:/c:ro", "/a:/c:ro"]},
        [
            "error MOUNT-FORM inference_container.mounts[0] = /data: '/data' is not SOURCE:TARGET or SOURCE:TARGET:ro with absolute paths",
            "error MOUNT-FORM inference_container.mounts[1] = /x:y: '/x:y' is not SOURCE:TARGET or SOURCE:TARGET:ro with absolute paths",
        ],
    ),
    Row(
        "docker",
        {"inference_container.mounts": ["/a:/b", "/c:/d", "/e:/b/", "/f:/dev/"]},
        [
            "error MOUNT-FORM inference_container.mounts[2] = /e:/b/: /b is also the target of '/a:/b'",
            (
                "error MOUNT-FORM inference_container.mounts[3] = /f:/dev/: /dev of the container is replaced, which holds its own "
                "devices or programs"
            ),
        ],
    ),
    Row("docker", {"inference_container.shm_size": "1g"}, []),
    Row(
        "docker",
        {"inference_container.shm_size": "65535k"},
        ["error SHM-SIZE inference_container.shm_size = 65535k: '65535k' means 67107840 bytes, less than 64m"],
    ),
    Row("docker", {"inference_container.shm_size": "67108864"}, []),
    Row("p2p", {"inference_container.shm_size": "1m"}, []),
    # a port in a range of random ports is named by the variable that set it, else by its service
    Row(
        "p2p",
        {**TWO, f"{ROUTER}.balancer_port": 15500, f"{ROUTER}.balancer_status_port": 15501},
        [
            (
                "warning PORT-POOL inference_router.balancer_port = 15500: Mooncake's transfer engine on node1 may bind any port of "
                "15000-17000, including 15500"
            ),
            (
                "warning PORT-POOL inference_router.balancer_status_port = 15501: Mooncake's transfer engine on node1 may bind any port "
                "of 15000-17000, including 15501"
            ),
        ],
    ),
    Row(
        "p2p",
        {"inference_probe": {"enabled": True, "port": 17000}},
        [
            (
                "warning PORT-POOL inference_probe.port = 17000: Mooncake's transfer engine on node1 may bind any port of 15000-17000, "
                "including 17000"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{ROUTER}.metrics_port": 15500},
        [
            (
                "warning PORT-POOL inference_router.metrics_port = 15500: Mooncake's transfer engine on node1 may bind any port of "
                "15000-17000, including 15500"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{ROUTER}.port": 14300},
        [
            (
                "warning PORT-POOL inference_router.port = 14300: Mooncake's store clients on node1 may bind any port of 12300-14300, "
                "including 14300"
            )
        ],
    ),
    Row("p2p", {f"{ROUTER}.port": 14300}, []),
    Row(
        "both",
        {"inference_mooncake_master.port": 15500, "inference_mooncake_master.metrics_port": 15501},
        [
            (
                "warning PORT-POOL inference_mooncake_master.metrics_port = 15501: Mooncake's transfer engine on node1 may bind any port "
                "of 15000-17000, including 15501"
            ),
            (
                "warning PORT-POOL inference_mooncake_master.port = 15500: Mooncake's transfer engine on node1 may bind any port of "
                "15000-17000, including 15500"
            ),
        ],
    ),
    Row(
        "both-0.18",
        {"inference_mooncake_master.http_metadata_port": 15502},
        [
            (
                "warning PORT-POOL inference_mooncake_master.http_metadata_port = 15502: Mooncake's transfer engine on node1 may bind "
                "any port of 15000-17000, including 15502"
            )
        ],
    ),
    Row(
        "both",
        {
            "inference_mooncake_master.port": 15500,
            "inference_mooncake_master.group": "pool",
            "inventory": hosts(5, {**APART, "pool": (5,)}),
        },
        [],
    ),
    Row(
        "ha",
        {f"{STORE}.ha.etcd_client_port": 15503, f"{STORE}.ha.etcd_peer_port": 15504},
        [
            (
                "warning PORT-POOL inference_store.ha.etcd_client_port = 15503: Mooncake's transfer engine on node1 may bind any port of "
                "15000-17000, including 15503"
            ),
            (
                "warning PORT-POOL inference_store.ha.etcd_client_port = 15503: Mooncake's transfer engine on node2 may bind any port of "
                "15000-17000, including 15503"
            ),
            (
                "warning PORT-POOL inference_store.ha.etcd_client_port = 15503: Mooncake's transfer engine on node3 may bind any port of "
                "15000-17000, including 15503"
            ),
            (
                "warning PORT-POOL inference_store.ha.etcd_peer_port = 15504: Mooncake's transfer engine on node1 may bind any port of "
                "15000-17000, including 15504"
            ),
            (
                "warning PORT-POOL inference_store.ha.etcd_peer_port = 15504: Mooncake's transfer engine on node2 may bind any port of "
                "15000-17000, including 15504"
            ),
            (
                "warning PORT-POOL inference_store.ha.etcd_peer_port = 15504: Mooncake's transfer engine on node3 may bind any port of "
                "15000-17000, including 15504"
            ),
        ],
    ),
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
        [
            (
                "warning PORT-POOL inference_pools.decode.hosts.node4.ports.api = 15505: Mooncake's transfer engine on node4 may bind "
                "any port of 15000-17000, including 15505"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{P}.ports.api": [15500, 15600]},
        [
            (
                "warning PORT-POOL inference_pools.prefill.ports.api = 15500: Mooncake's transfer engine on node1 may bind any port of "
                "15000-17000, including 15500"
            ),
            (
                "warning PORT-POOL inference_pools.prefill.ports.api = 15600: Mooncake's transfer engine on node2 may bind any port of "
                "15000-17000, including 15600"
            ),
        ],
    ),
    Row("cpu", {f"{ROUTER}.port": 15500}, []),
    Row(
        "cpu",
        {f"{P}.ports.api": 60999, f"{D}.ports.api": 32767},
        [
            "warning PORT-EPHEMERAL inference_pools.prefill.ports.api = 60999: 60999 is in the ephemeral range 32768-60999"
        ],
    ),
    Row("cpu", {f"{P}.ports.api": 61000}, []),
    # ports below 1024, and who binds them
    Row(
        "p2p",
        {f"{ROUTER}.port": 80, "inference_user": "serving"},
        ["warning PORT-PRIVILEGED inference_router.port = 80: router runs as serving, which cannot bind port 80"],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.port": 80, "inference_user": "root"},
        ["warning ROOT-USER inference_user = root: services would run as root"],
    ),
    # ports that meet: the one that a user can change is named
    Row("one-host", {f"{ROUTER}.port": 7101}, []),
    Row(
        "one-host",
        {f"{P}.ports.kv": 30000, f"{D}.ports.kv": 30000, f"{ROUTER}.port": 30002},
        [
            (
                "error PORT-OVERLAP inference_pools.prefill.ports.kv = 30000-30003: prefill-0 and decode-0 on node1 share ports: kv "
                "30000-30003 overlaps kv 30000-30003"
            ),
            (
                "error PORT-OVERLAP inference_pools.prefill.ports.kv = 30100-30103: prefill-1 and decode-1 on node1 share ports: kv "
                "30100-30103 overlaps kv 30100-30103"
            ),
            "error PORT-OVERLAP inference_router.port = 30002: router and decode-0 on node1 share ports: api 30002 overlaps kv 30000-30003",
        ],
    ),
    Row(
        "one-host",
        {f"{D}.ports.api": [7100, 7101]},
        [
            (
                "error PORT-OVERLAP inference_pools.decode.ports.api = 7100: decode-0 and prefill-0 on node1 share ports: api 7100 "
                "overlaps api 7100"
            )
        ],
    ),
    # ports of AscendDirect
    Row("p2p", {"inference_env.ASCEND_BASE_PORT": "x", f"{P}.ports.kv": 20001}, []),
    Row("p2p", {"inference_env.ASCEND_BASE_PORT": 29000, f"{P}.ports.kv": 30601}, []),
    Row(
        "p2p-0.13",
        {"inference_env.ASCEND_BASE_PORT": 29000, f"{P}.ports.kv": 40000},
        [
            (
                "warning ENV-RELEASE inference_env.ASCEND_BASE_PORT = 29000: Mooncake 0.3.7.post2 of release 0.13.0 does not read "
                "ASCEND_BASE_PORT; 0.3.8 and later do"
            )
        ],
    ),
    Row("p2p-0.13", {f"{P}.ports.kv": 36001}, []),
    Row(
        "p2p-0.13",
        {f"{P}.ports.kv": 21601},
        [
            (
                "warning KV-PORT-POOL inference_pools.prefill.ports.kv = 21601-21616: ports 21601-21616 are in 20000-36000, the range of "
                "AscendDirect's random ports on a host with 16 devices"
            )
        ],
    ),
    # lookup sockets of a store
    Row("one-host", {f"{P}.kv.store.mooncake_rpc_port": "5"}, []),
    Row(
        "one-host",
        {
            f"{P}.kv.store.lookup_rpc_port": "5",
            f"{P}.instances": 1,
            f"{D}.kv.store": {"lookup_rpc_port": "5", "consumer_is_to_load": True},
            f"{D}.instances": 1,
        },
        [
            (
                "error LOOKUP-PORT inference_pools.prefill.kv.store.lookup_rpc_port = 5: prefill-0 and decode-0 on node1 have the same "
                "lookup_rpc_port 5"
            )
        ],
    ),
    Row("both", {f"{P}.kv.store.lookup_rpc_port": "5"}, []),
    # images
    Row(
        "docker",
        {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0"},
        [
            (
                "error IMAGE-RELEASE inference_image = quay.io/ascend/vllm-ascend:v0.23.0: this image has the suffix '', but images for "
                "a3 hosts end in '-a3'"
            )
        ],
    ),
    Row(
        "docker",
        {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0-a3-openeuler"},
        [
            (
                "warning IMAGE-DIGEST inference_image = quay.io/ascend/vllm-ascend:v0.23.0-a3-openeuler: the image "
                "quay.io/ascend/vllm-ascend:v0.23.0-a3-openeuler is named by a tag"
            )
        ],
    ),
    Row(
        "docker",
        {"inference_image": "quay.io/ascend/vllm-ascend:v0.22.1rc1-a3"},
        [
            (
                "error IMAGE-RELEASE inference_image = quay.io/ascend/vllm-ascend:v0.22.1rc1-a3: this is the image of release 0.22.1rc1, "
                "but inference_release is 0.23.0"
            )
        ],
    ),
    Row(
        "docker",
        {"inference_image": "quay.io/ascend/vllm-ascend:v0.23.0-310p@sha256:" + 64 * "0"},
        [
            (
                "error IMAGE-RELEASE inference_image = "
                "quay.io/ascend/vllm-ascend:v0.23.0-310p@sha256:0000000000000000000000000000000000000000000000000000000000000000: this "
                "image has the suffix '-310p', but images for a3 hosts end in '-a3'"
            )
        ],
    ),
    Row("docker", {"inference_image": "quay.io/ascend/vllm-ascend:latest@sha256:" + 64 * "0"}, []),
    Row(
        "docker",
        {"inference_image": "registry:5000/own"},
        ["warning IMAGE-TAG inference_image = registry:5000/own: 'latest' is a moving tag"],
    ),
    Row(
        "docker",
        {"inference_image": "registry.example/own:nightly-1"},
        ["warning IMAGE-TAG inference_image = registry.example/own:nightly-1: 'nightly-1' is a moving tag"],
    ),
    Row(
        "docker",
        {"inference_image": "registry.example/own:v1"},
        [
            "warning IMAGE-DIGEST inference_image = registry.example/own:v1: the image registry.example/own:v1 is named by a tag"
        ],
    ),
    Row(
        "docker",
        {"inference_image": ""},
        ["warning IMAGE-DIGEST inference_image = : the image quay.io/ascend/vllm-ascend:v0.23.0-a3 is named by a tag"],
    ),
    Row(
        "p2p",
        {"inference_image": IMAGE},
        [
            (
                "warning IMAGE-UNUSED inference_image = "
                "registry.example/vllm-ascend@sha256:0000000000000000000000000000000000000000000000000000000000000000: inference_runtime "
                "systemd starts no containers"
            )
        ],
    ),
    # users, times, names
    Row(
        "docker",
        {"inference_container.user": "root"},
        ["warning CONTAINER-ROOT inference_container.user = root: processes in containers would run as root"],
    ),
    Row("kubernetes", {"inference_container.user": "root"}, []),
    Row("p2p", {"inference_stop_timeout": 10}, []),
    Row("p2p", {"inference_stop_timeout": 30, "inference_args.shutdown-timeout": 30}, []),
    Row("p2p", {"inference_stop_timeout": 30, "inference_args.shutdown-timeout": 29}, []),
    Row("p2p", {"inference_deployment": 40 * "a"}, []),
    Row(
        "p2p",
        {"inference_deployment": 41 * "a"},
        [
            (
                "error DEPLOYMENT-NAME inference_deployment = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: "
                "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is not a name of at most 40 lower-case letters, digits and hyphens"
            )
        ],
    ),
    Row(
        "p2p",
        {"inference_deployment": "-a"},
        [
            "error DEPLOYMENT-NAME inference_deployment = -a: '-a' is not a name of at most 40 lower-case letters, digits and hyphens"
        ],
    ),
    Row(
        "p2p",
        {"inference_root": "/opt/../x"},
        [
            "error ROOT-PATH inference_root = /opt/../x: '/opt/../x' is not an absolute path of letters, digits and . _ / -"
        ],
    ),
    Row(
        "p2p",
        {"inference_model.path": "models/../x"},
        ["error MODEL-PATH inference_model.path = models/../x: 'models/../x' contains a space, '~' or '..'"],
    ),
    Row(
        "p2p",
        {"inference_model.path": "qwen", **OF_NO_ADVISORY},
        [
            "warning REMOTE-CODE inference_args.trust-remote-code = true: the engine downloads and runs code of qwen",
            "warning MODEL-PATH inference_model.path = qwen: 'qwen' is neither an absolute path nor owner/name",
        ],
    ),
    Row(
        "docker",
        {"inference_model.path": "/models/a:b"},
        [
            "error MODEL-PATH inference_model.path = /models/a:b: '/models/a:b' contains ':', which separates the two folders of a mount"
        ],
    ),
    Row("p2p", {"inference_model.path": "/models/a:b"}, []),
    Row("p2p", {"inference_model.name": "qwen+a/b:c_d-3"}, []),
    Row(
        "p2p",
        {"inference_model.name": "qwen (3)"},
        ["warning MODEL-NAME inference_model.name = qwen (3): 'qwen (3)' contains characters that need quoting"],
    ),
    # hardware of hosts
    Row(
        "llmdatadist",
        {"node2.inference_hardware": "a3", "node2.inference_devices": 16},
        ["error HARDWARE-PD inference_kv_transfer = llmdatadist: llmdatadist cannot connect a2 and a3"],
    ),
    Row(
        "p2p",
        {
            "node3.inference_hardware": "a2",
            "node4.inference_hardware": "a2",
            "node3.inference_devices": 16,
            "node4.inference_devices": 16,
        },
        [],
    ),
    Row(
        "pooled",
        {"inference_kv_transfer": "none", "inference_hardware": "310p", "inference_devices": 8, "inference_store": {}},
        [],
    ),
    Row("docker", {"inference_hardware": "950", "inference_devices": 16, "inference_release": "0.18.0"}, []),
    Row("p2p", {"inference_hardware": "950", "inference_devices": 16, "inference_release": "0.18.0"}, []),
    # addresses: of several machines, and of one
    Row(
        "p2p",
        {"node2.inference_address": "0.0.0.0"},
        ["error HOST-ADDRESS node2.inference_address = 0.0.0.0: 0.0.0.0 is not the address of a host"],
    ),
    Row(
        "p2p",
        {"node2.inference_address": "::"},
        ["error HOST-ADDRESS node2.inference_address = ::: :: is not the address of a host"],
    ),
    Row(
        "p2p",
        {"node2.inference_address": "::1"},
        ["error HOST-ADDRESS node2.inference_address = ::1: other hosts cannot reach a loopback address"],
    ),
    Row(
        "llmdatadist",
        {"node1.inference_address": "127.0.0.1", "node2.inference_address": "127.0.0.1"},
        [
            "error HOST-ADDRESS node1.inference_address = 127.0.0.1: other hosts cannot reach a loopback address",
            "error HOST-ADDRESS node2.inference_address = 127.0.0.1: other hosts cannot reach a loopback address",
        ],
    ),
    Row("cpu", {"node1.inference_address": "127.0.0.1"}, []),
    Row("cpu", {"node1.inference_address": "localhost"}, []),
    Row(
        "cpu",
        {"node1.inference_address": "fd00::1"},
        ["warning ADDRESS-IPV6 node1.inference_address = fd00::1: node1 has an IPv6 address"],
    ),
    Row(
        "p2p-0.13",
        {"node4.inference_address": "10.1.0.3"},
        ["error HOST-ADDRESS node4.inference_address = 10.1.0.3: node3 has the same address"],
    ),
    Row("cpu", {"node1.inference_interface": ""}, []),
    # groups with more hosts than services
    Row(
        "both",
        {"inventory": hosts(4, {**APART, "mooncake_master": (2, 3)})},
        [
            (
                "warning SINGLE-HOST inference_mooncake_master.group = mooncake_master: group 'mooncake_master' has the hosts node2, "
                "node3; only node2 gets the mooncake_master"
            )
        ],
    ),
    Row(
        "ha",
        {"inventory": hosts(4, {**APART, "mooncake_master": (1, 2, 3, 4), "router": (2, 3)})},
        [
            "warning SINGLE-HOST inference_router.group = router: group 'router' has the hosts node2, node3; only node2 gets the router"
        ],
    ),
    Row("p2p", {"inventory": hosts(4, {**APART, "mooncake_master": (2, 3)})}, []),
    Row(
        "p2p",
        {
            "inventory": hosts(4, {**APART, "router": (2, 3)}),
            f"{ROUTER}.flavour": "none",
            f"{D}.args.additional-config": {},
        },
        [],
    ),
    Row(
        "p2p",
        {**TWO, "inventory": hosts(4, {**APART, "router": (2, 3, 4)})},
        [
            (
                "warning SINGLE-HOST inference_router.group = router: group 'router' has the hosts node2, node3, node4; only 2 of them "
                "get a router"
            )
        ],
    ),
    Row("p2p", {**TWO, "inventory": hosts(4, {**APART, "router": (2, 3)})}, []),
    Row(
        "pooled",
        {"inventory": hosts(10, {"colocated": range(1, 11)})},
        [
            (
                "warning INSTANCE-SPREAD inference_pools.colocated.instances = 2: node3, node4, node5, node6, node7, node8, node9, "
                "node10 of pool colocated stay idle"
            )
        ],
    ),
    Row(
        "pooled",
        {"inventory": hosts(11, {"colocated": range(1, 12)})},
        [
            (
                "warning INSTANCE-SPREAD inference_pools.colocated.instances = 2: node3, node4, node5, node6, node7, node8, node9, "
                "node10 and more of pool colocated stay idle"
            )
        ],
    ),
    Row("pooled", {"inventory": hosts(3, {"colocated": (1, 2, 3), "router": (3,)})}, []),
    # devices: the pool that names them is named
    Row(
        "one-host",
        {f"{P}.devices": [8, 9, 10, 11, 12, 13, 14, 15]},
        [
            "error DEV-OVERLAP inference_pools.prefill.devices = 12: decode-0 and prefill-1 both use device 12 of node1",
            "error DEV-OVERLAP inference_pools.prefill.devices = 13: decode-0 and prefill-1 both use device 13 of node1",
            "error DEV-OVERLAP inference_pools.prefill.devices = 14: decode-0 and prefill-1 both use device 14 of node1",
            "error DEV-OVERLAP inference_pools.prefill.devices = 15: decode-0 and prefill-1 both use device 15 of node1",
            "error DEV-OVERLAP inference_pools.prefill.devices = 10: decode-1 and prefill-0 both use device 10 of node1",
            "error DEV-OVERLAP inference_pools.prefill.devices = 11: decode-1 and prefill-0 both use device 11 of node1",
            "error DEV-OVERLAP inference_pools.prefill.devices = 8: decode-1 and prefill-0 both use device 8 of node1",
            "error DEV-OVERLAP inference_pools.prefill.devices = 9: decode-1 and prefill-0 both use device 9 of node1",
        ],
    ),
    Row(
        "one-host",
        {f"{P}.devices": [0, 1, 2, 3, 4, 5, 6, 7], f"{D}.devices": [7, 8, 9, 10, 11, 12, 13, 14]},
        ["error DEV-OVERLAP inference_pools.prefill.devices = 7: decode-0 and prefill-1 both use device 7 of node1"],
    ),
    Row(
        "one-host",
        {f"{D}.device_offset": 4},
        [
            "error DEV-OVERLAP inference_pools.decode.device_offset = 4: decode-0 and prefill-1 both use device 4 of node1",
            "error DEV-OVERLAP inference_pools.decode.device_offset = 5: decode-0 and prefill-1 both use device 5 of node1",
            "error DEV-OVERLAP inference_pools.decode.device_offset = 6: decode-0 and prefill-1 both use device 6 of node1",
            "error DEV-OVERLAP inference_pools.decode.device_offset = 7: decode-0 and prefill-1 both use device 7 of node1",
        ],
    ),
    Row(
        "one-host",
        {f"{D}.device_offset": 12},
        [
            (
                "error PLACE-CAPACITY inference_pools.decode.instances = 2: instance 1 needs 4 devices on node1, which has 4, shared "
                "with 1 instance of this pool and 8 devices of pool prefill"
            )
        ],
    ),
    Row(
        "one-host",
        {f"{D}.devices": [8, 9, 10, 11, 12, 13, 14, 16]},
        [
            (
                "error DEV-MISSING inference_pools.decode.devices = [16]: node1 has no device 16; it has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "
                "10, 11, 12, 13, 14, 15"
            )
        ],
    ),
    Row(
        "one-host",
        {f"{D}.devices": [8, 8, 9, 9, 10, 11, 12, 13]},
        ["error DEV-MISSING inference_pools.decode.devices = [8, 9]: decode-0 would get device 8, 9 twice"],
    ),
    Row(
        "p2p-0.13",
        {f"{P}.tensor_parallel_size": 1, f"{P}.data_parallel_size": 1, f"{P}.instances_per_host": 1},
        [
            "warning DEV-PAIRS inference_pools.prefill.instances = [0]: prefill-0 uses device 0 without the other die of the same NPU",
            "warning DEV-PAIRS inference_pools.prefill.instances = [0]: prefill-1 uses device 0 without the other die of the same NPU",
        ],
    ),
    Row(
        "p2p-0.13",
        {"inventory": hosts(4, APART, inference_devices=[0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29])},
        [],
    ),
    Row(
        "p2p-0.13",
        {f"{P}.hosts.node3": {"args": {"seed": 1}}, f"{D}.hosts.node1": {}},
        [
            "error POOL-HOST inference_pools.decode.hosts.node1 = : host 'node1' is not in the group 'decode' of pool decode",
            "error POOL-HOST inference_pools.prefill.hosts.node3 = : host 'node3' is not in the group 'prefill' of pool prefill",
        ],
    ),
    Row(
        "kubernetes",
        {f"{P}.instances": 0},
        [
            (
                "error K8S-MANIFEST ModelServing/demo.spec.template.roles[0].entryTemplate = : the required field entryTemplate is "
                "missing (K8S-REQUIRED; the CRD's structural schema)"
            ),
            "error PLACE-GROUP inference_pools.prefill = : the inventory has no hosts in group 'prefill'",
            "error K8S-INSTANCES inference_pools.prefill.instances = 0: pool prefill has no instances",
        ],
    ),
    # keys behind dots are those of the mapping, for each rule
    Row(
        "p2p",
        {f"{P}.args": {**PREFILL["args"], "additional-config.recompute_scheduler_enable": True}},
        [
            (
                "warning RECOMPUTE-ON-PREFILL inference_pools.prefill.args.additional-config = recompute_scheduler_enable: the recompute "
                "scheduler is enabled on prefill"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{C}.args": {"max-num-seqs": 16, "additional-config.recompute_scheduler_enable": True}},
        [
            (
                "error RECOMPUTE-COLOCATED inference_pools.colocated.args.additional-config = recompute_scheduler_enable: the recompute "
                "scheduler is enabled on a colocated pool with a connector"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args": {**PREFILL["args"], "enforce-eager": True, "compilation-config.cudagraph_mode": "FULL"}},
        [
            (
                "warning EAGER-GRAPH inference_pools.prefill.args.compilation-config = FULL: cudagraph_mode FULL is set, but "
                "enforce-eager switches graphs off"
            )
        ],
    ),
    Row(
        "p2p",
        {
            f"{P}.args": {
                **PREFILL["args"],
                "speculative-config.method": "mtp",
                "speculative-config.num_speculative_tokens": 3,
            }
        },
        [
            "warning SPEC-ONE-SIDE inference_pools.prefill.args.speculative-config = 3: prefill uses speculative decoding, decode does not",
            "warning SPEC-TOKENS inference_pools.prefill.args.speculative-config = 3: prefill has 3 speculative tokens",
        ],
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
        [
            "error JSON-KEY inference_pools.prefill.args.attention-config.indexer = int8: vLLM 0.23.0 has no key 'indexer' in attention-config",
            (
                "error JSON-KEY inference_pools.prefill.args.compilation-config.cudagraph_modes = FULL: vLLM 0.23.0 has no key "
                "'cudagraph_modes' in compilation-config"
            ),
        ],
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
        [
            (
                "error FLAG-DUPLICATE inference_pools.prefill.args.compilation-config = : the command line would contain both "
                "--compilation-config and --compilation-config.cudagraph_capture_sizes"
            ),
            (
                "error JSON-VALUE inference_pools.prefill.args.compilation-config.cudagraph_capture_sizes = [0]: 0 in "
                "cudagraph_capture_sizes is not a number of tokens"
            ),
        ],
    ),
    # the router: of another pool or connector, with options of the user, without a router
    Row("p2p", {f"{ROUTER}.flavour": "vllm_router", f"{D}.args.additional-config": {}}, []),
    Row(
        "pooled",
        {f"{ROUTER}.flavour": "load_balance"},
        [
            (
                "error ROUTER-POOLS inference_router.flavour = load_balance: the load_balance proxy serves decode and prefill, and the "
                "pools are colocated"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.flavour": "none"},
        [
            (
                "warning ROUTER-RECOMPUTE inference_pools.decode.args.additional-config = none: recompute_scheduler_enable is true, but "
                "there is no router"
            )
        ],
    ),
    Row("p2p", {f"{ROUTER}.flavour": "none", f"{ROUTER}.args.no-such": 1, f"{D}.args.additional-config": {}}, []),
    Row("p2p", {f"{ROUTER}.args.port": 8000}, []),
    Row(
        "p2p",
        {f"{ROUTER}.args.port": 8001},
        [
            "error ROUTER-PORT inference_router.args.port = 8001: --port differs from inference_router.port, which is 8000"
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.args.no-such": 1},
        [
            "error ROUTER-FLAG inference_router.args.no-such = : the load_balance router of this release has no option --no-such"
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.args.prefiller-hosts": ["10.1.0.1", "10.1.0.2"], f"{ROUTER}.args.prefiller-ports": [7100, 7100]},
        [],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.args.prefiller-hosts": ["10.1.0.1"], f"{ROUTER}.args.prefiller-ports": [7100]},
        [
            "error ROUTER-ENDPOINTS inference_router.args.prefiller-hosts = 10.1.0.1:7100: prefill engine 10.1.0.2:7100 is missing"
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.args.decoder-hosts": ["10.1.0.3", "10.1.0.9"], f"{ROUTER}.args.decoder-ports": [7100, 7100]},
        [
            (
                "error ROUTER-ENDPOINTS inference_router.args.decoder-hosts = 10.1.0.3:7100 10.1.0.9:7100: decode engine 10.1.0.3:7300 "
                "is missing; no decode engine is planned at 10.1.0.3:7100; no decode engine is planned at 10.1.0.9:7100"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.args.decoder-ports": [7100, 7101]},
        [
            "error ROUTER-ENDPOINTS inference_router.args.decoder-ports = 1 hosts, 2 ports: 1 hosts and 2 ports cannot be paired"
        ],
    ),
    Row(
        "pooled",
        {f"{ROUTER}.args.worker-urls": ["http://10.1.0.1:7100"]},
        [
            (
                "error ROUTER-ENDPOINTS inference_router.args.worker-urls = http://10.1.0.1:7100: the colocated engines of this plan are "
                "http://10.1.0.1:7500 http://10.1.0.2:7500"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{ROUTER}.args.worker-urls": ["http://10.1.0.1:7100", "http://10.1.0.2:7100"]},
        [
            (
                "error ROUTER-ENDPOINTS inference_router.args.worker-urls = http://10.1.0.1:7100 http://10.1.0.2:7100: the colocated "
                "engines of this plan are http://10.1.0.1:7500 http://10.1.0.2:7500"
            )
        ],
    ),
    Row("pooled", {f"{ROUTER}.policy": "round_robin"}, []),
    Row(
        "pooled",
        {f"{ROUTER}.policy": "no_such"},
        [
            (
                "error ROUTER-VALUE inference_router.policy = no_such: --policy takes one of random, round_robin, cache_aware, kv_aware, "
                "power_of_two, consistent_hash, sticky_least_loaded, not 'no_such'"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{ROUTER}.policy": "round_robin", f"{ROUTER}.args.policy": "no_such"},
        [
            (
                "error ROUTER-VALUE inference_router.args.policy = no_such: --policy takes one of random, round_robin, cache_aware, "
                "kv_aware, power_of_two, consistent_hash, sticky_least_loaded, not 'no_such'"
            )
        ],
    ),
    # who can reach the router
    Row(
        "layerwise",
        {f"{ROUTER}.bind": "127.0.0.5"},
        [
            (
                "error ROUTER-BIND inference_router.bind = 127.0.0.5: the layerwise proxy binds 127.0.0.5, which decode on another host "
                "cannot reach"
            )
        ],
    ),
    Row(
        "layerwise",
        {f"{ROUTER}.args.host": "localhost"},
        [
            (
                "error ROUTER-BIND inference_router.args.host = localhost: the layerwise proxy binds localhost, which decode on another "
                "host cannot reach"
            )
        ],
    ),
    Row("layerwise", {f"{ROUTER}.bind": "10.1.0.1"}, []),
    Row(
        "layerwise",
        {f"{ROUTER}.bind": "::"},
        [
            "error ROUTER-BIND inference_router.bind = ::: the layerwise proxy binds ::, which decode on another host cannot reach"
        ],
    ),
    Row("p2p", {f"{ROUTER}.bind": "127.0.0.5"}, []),
    Row(
        "p2p",
        {f"{ROUTER}.bind": "0.0.0.0"},
        [
            (
                "warning ROUTER-OPEN inference_router.bind = 0.0.0.0: the load_balance router accepts requests without a key on "
                "0.0.0.0:8000, including /instances/add and /instances/remove and /reset_prefix_cache"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.args.host": "::"},
        [
            (
                "warning ROUTER-OPEN inference_router.args.host = : the load_balance router accepts requests without a key on [::]:8000, "
                "including /instances/add and /instances/remove and /reset_prefix_cache"
            )
        ],
    ),
    Row(
        "pooled",
        {f"{ROUTER}.bind": "0.0.0.0"},
        [
            (
                "warning ROUTER-OPEN inference_router.bind = 0.0.0.0: the vllm_router router accepts requests without a key on "
                "0.0.0.0:8000, including /add_worker and /remove_worker and /flush_cache and /workers and /list_workers and /get_loads"
            )
        ],
    ),
    Row(
        "p2p",
        {
            f"{ROUTER}.bind": "0.0.0.0",
            f"{ROUTER}.frontend": "nginx",
            **CERTIFIED,
            "inference_secrets.client_keys": "one",
        },
        [
            (
                "warning ROUTER-OPEN inference_router.bind = 0.0.0.0: the load_balance router, besides its frontend, accepts requests "
                "without a key on 0.0.0.0:8000, including /instances/add and /instances/remove and /reset_prefix_cache"
            )
        ],
    ),
    Row("kubernetes", {f"{ROUTER}.bind": "0.0.0.0"}, []),
    Row("p2p", {"node1.inference_address": "8.8.8.8", f"{ROUTER}.bind": "10.1.0.200"}, []),
    # the frontend and its certificate
    Row(
        "p2p",
        {f"{ROUTER}.frontend": "nginx", f"{ROUTER}.certificate": "/c.pem", "inference_secrets.client_keys": "one"},
        [
            "error FRONTEND-CERTIFICATE inference_router.certificate_key = : certificate_key is not set, but certificate is"
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.frontend": "nginx", f"{ROUTER}.certificate_key": "/c.key", "inference_secrets.client_keys": "one"},
        ["error FRONTEND-CERTIFICATE inference_router.certificate = : certificate is not set, but certificate_key is"],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.frontend": "nginx", "inference_secrets.client_keys": "one"},
        ["warning FRONTEND-PLAIN inference_router.frontend = nginx: the frontend has no certificate"],
    ),
    Row(
        "docker",
        {f"{ROUTER}.frontend": "nginx", **CERTIFIED, "inference_secrets.client_keys": "one"},
        ["error FRONTEND-RUNTIME inference_router.frontend = nginx: a frontend is not available for runtime docker"],
    ),
    Row(
        "p2p",
        {
            f"{ROUTER}.frontend": "nginx",
            **CERTIFIED,
            "inference_secrets.client_keys": "one",
            f"{ROUTER}.flavour": "none",
            f"{D}.args.additional-config": {},
        },
        [
            "error FRONTEND-RUNTIME inference_router.frontend = nginx: a frontend is not available for a deployment without a router"
        ],
    ),
    Row(
        "p2p",
        {
            f"{ROUTER}.frontend_paths": ["/v1/models", "v1/x", "/instances/add", "/metrics"],
            f"{ROUTER}.frontend": "nginx",
            **CERTIFIED,
            "inference_secrets.client_keys": "one",
        },
        [
            (
                "error FRONTEND-PATHS inference_router.frontend_paths[1] = v1/x: 'v1/x' is not a path of letters, digits and . _ - such "
                "as /v1/audio/transcriptions"
            ),
            (
                "error FRONTEND-PATHS inference_router.frontend_paths[2] = /instances/add: /instances/add changes the router or its "
                "engines, or shows a client data of other clients"
            ),
            (
                "error FRONTEND-PATHS inference_router.frontend_paths[3] = /metrics: /metrics changes the router or its engines, or "
                "shows a client data of other clients"
            ),
        ],
    ),
    # options that differ: which side is named
    Row(
        "p2p",
        {f"{P}.args.seed": 1},
        ["warning SEED-DIFFERS inference_pools.prefill.args.seed = 1: --seed differs: prefill has 1, decode has 1024"],
    ),
    Row(
        "p2p",
        {f"{P}.args.seed": 1, f"{D}.args.seed": 2},
        ["warning SEED-DIFFERS inference_pools.decode.args.seed = 2: --seed differs: prefill has 1, decode has 2"],
    ),
    Row(
        "p2p",
        {f"{P}.args.seed": None},
        [
            "warning SEED-DIFFERS inference_pools.prefill.args.seed = the default: --seed differs: prefill has the default, decode has 1024"
        ],
    ),
    Row(
        "p2p",
        {f"{P}.hosts.node1.args.seed": 1},
        [
            "warning SEED-DIFFERS inference_pools.prefill.hosts.node1.args.seed = 1: --seed differs: prefill has 1 and 1024, decode has 1024"
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args.block-size": 128},
        [
            "warning BLOCK-SIZE inference_pools.prefill.args.block-size = 128: --block-size differs: prefill has 128, decode has the default"
        ],
    ),
    Row(
        "p2p-0.18",
        {f"{P}.args.block-size": 128},
        [
            "warning BLOCK-SIZE inference_pools.prefill.args.block-size = 128: --block-size differs: prefill has 128, decode has the default"
        ],
    ),
    Row(
        "p2p-0.18",
        {f"{D}.args.block-size": 256},
        [
            "error BLOCK-SIZE inference_pools.decode.args.block-size = 256: --block-size differs: prefill has the default, decode has 256"
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args.served-model-name": "a b", f"{D}.args.served-model-name": "b c"},
        [
            "error NAME-DIFFERS inference_pools.prefill.args.served-model-name = a b: prefill serves a b, decode serves b c"
        ],
    ),
    Row(
        "p2p",
        {f"{P}.args.served-model-name": "a"},
        ["error NAME-DIFFERS inference_pools.prefill.args.served-model-name = a: prefill serves a, decode serves qwen"],
    ),
    Row(
        "p2p",
        {
            "inventory": hosts(5, {**APART, "encode": (5,)}),
            "inference_pools.encode": {
                "tensor_parallel_size": 4,
                "args": {"served-model-name": "own", "quantization": None},
            },
        },
        [],
    ),
    Row("cpu", {"inference_args.block-size": 64}, []),
    Row(
        "cpu",
        {"inference_args.block-size": 33},
        ["error CPU-BLOCK-SIZE inference_args.block-size = 33: 33 is not a multiple of 32"],
    ),
    Row(
        "p2p",
        {
            "inference_model.path": "/models/own",
            "inference_model.name": "qwen-W8A8",
            "inference_args.quantization": None,
        },
        [
            "warning QUANTIZATION-MISSING inference_args.quantization = : --quantization is not set although the model's name has W8A8"
        ],
    ),
    Row(
        "p2p",
        {"inference_model.path": "/models/mxfp4", "inference_args.quantization": None},
        [
            "warning QUANTIZATION-MISSING inference_args.quantization = : --quantization is not set although the model's name has mxfp4"
        ],
    ),
    Row("p2p", {"inference_model.path": "/models/w8a8x", "inference_args.quantization": None}, []),
    Row("cpu", {"inference_model.path": "/models/tiny-w8a8"}, []),
    # budgets
    Row(
        "p2p",
        {f"{P}.args.enable-chunked-prefill": False, f"{P}.args.max-num-batched-tokens": 32767},
        [
            (
                "error CHUNKED-BUDGET inference_pools.prefill.args.max-num-batched-tokens = 32767: 32767 tokens per step are fewer than "
                "max-model-len 32768, and chunked prefill is off"
            )
        ],
    ),
    Row("p2p", {f"{P}.args.enable-chunked-prefill": False, f"{P}.args.max-num-batched-tokens": None}, []),
    Row(
        "p2p",
        {
            f"{P}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 2},
            f"{D}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1},
        },
        ["warning SPEC-TOKENS inference_pools.prefill.args.speculative-config = 2: prefill has 2 speculative tokens"],
    ),
    Row(
        "p2p",
        {f"{P}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1}},
        [
            "warning SPEC-ONE-SIDE inference_pools.prefill.args.speculative-config = 1: prefill uses speculative decoding, decode does not"
        ],
    ),
    Row(
        "pooled",
        {f"{C}.args": {"max-num-seqs": 16, "speculative-config": {"method": "mtp", "num_speculative_tokens": 3}}},
        [],
    ),
    Row(
        "pooled",
        {f"{C}.args": {"max-num-seqs": 16, "max-num-batched-tokens": 15}},
        [
            "error SEQS-BUDGET inference_pools.colocated.args.max-num-batched-tokens = 15: 15 tokens per step are fewer than max-num-seqs 16"
        ],
    ),
    Row(
        "p2p",
        {"inference_args.gpu-memory-utilization": "0.9x"},
        [
            "error FLAG-VALUE inference_args.gpu-memory-utilization = 0.9x: --gpu-memory-utilization takes a number, not '0.9x'"
        ],
    ),
    # recomputation
    Row(
        "pooled",
        {
            "inference_kv_transfer": "none",
            "inference_store": {},
            f"{C}.args.additional-config": {"recompute_scheduler_enable": True},
        },
        [],
    ),
    Row(
        "p2p",
        {f"{P}.args.additional-config": {"enable_reduce_sample": True}},
        [
            (
                "warning REDUCE-SAMPLE inference_pools.prefill.args.additional-config = enable_reduce_sample: enable_reduce_sample is "
                "set on a disaggregated prefill pool"
            )
        ],
    ),
    Row("pooled", {f"{C}.args.additional-config": {"enable_reduce_sample": True}}, []),
    Row(
        "p2p",
        {"inference_release": "0.10.2rc1"},
        [
            (
                "error RECOMPUTE-RELEASE inference_pools.decode.args.additional-config = recompute_scheduler_enable: the proxies of "
                "release 0.10.2rc1 do not support the recompute scheduler"
            )
        ],
    ),
    # the environment: which variable, on which hardware, link and release
    Row(
        "p2p",
        {"inference_env": {"1A": "x", "A-B": "x", "A": ["x"], "B": {"c": 1}, "C": "x\ny"}},
        [
            "error ENV-NAME inference_env.1A = : '1A' is not a valid name of an environment variable",
            "error ENV-NAME inference_env.A = ['x']: A is a list, not text",
            "error ENV-NAME inference_env.A-B = : 'A-B' is not a valid name of an environment variable",
            "error ENV-NAME inference_env.B = {'c': 1}: B is a mapping, not text",
            "error ENV-NAME inference_env.C = : the value has 2 lines",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env": {"HCCL_IF_IP": "10.1.0.3", "VLLM_HOST_IP": "10.1.0.3"}},
        [
            "error ENV-DERIVED inference_pools.decode.env.HCCL_IF_IP = 10.1.0.3: HCCL_IF_IP is derived from inference_address of the host",
            "error ENV-DERIVED inference_pools.decode.env.VLLM_HOST_IP = 10.1.0.3: VLLM_HOST_IP is derived from inference_address of the host",
        ],
    ),
    Row("pooled", {f"{C}.env": {"VLLM_DP_SIZE": "1", "VLLM_PORT": "30000"}}, []),
    Row(
        "p2p",
        {f"{D}.env": {"VLLM_DP_SIZE": "1", "VLLM_DP_MASTER_IP": "x"}},
        [
            "warning ENV-RANKS inference_pools.decode.env.VLLM_DP_MASTER_IP = x: VLLM_DP_MASTER_IP is the same for all ranks",
            "warning ENV-RANKS inference_pools.decode.env.VLLM_DP_SIZE = 1: VLLM_DP_SIZE is the same for all ranks",
        ],
    ),
    Row(
        "p2p",
        {"inference_env.PATH": "/own"},
        ["warning ENV-PATH inference_env.PATH = /own: neither /bin nor /usr/bin is in PATH"],
    ),
    Row("p2p", {"inference_env.PATH": "/own:/usr/bin"}, []),
    Row("p2p", {"inference_env.PATH": "/own:$PATH"}, []),
    Row(
        "p2p",
        {f"{ROUTER}.env.PATH": "/own:/bin/x"},
        ["warning ENV-PATH inference_router.env.PATH = /own:/bin/x: neither /bin nor /usr/bin is in PATH"],
    ),
    Row(
        "p2p",
        {f"{D}.env": {"HCCL_SOCKET_IFNAME": "eth1"}},
        [
            (
                "warning ENV-CARDS inference_pools.decode.env.HCCL_SOCKET_IFNAME = eth1: different network interfaces: "
                "GLOO_SOCKET_IFNAME=enp1s0, HCCL_SOCKET_IFNAME=eth1, TP_SOCKET_IFNAME=enp1s0"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env": {"HCCL_SOCKET_IFNAME": "eth1", "GLOO_SOCKET_IFNAME": "eth1", "TP_SOCKET_IFNAME": "eth1"}},
        [],
    ),
    Row("cpu", {f"{D}.env": {"HCCL_SOCKET_IFNAME": "eth1", "GLOO_SOCKET_IFNAME": "eth2"}}, []),
    Row(
        "p2p",
        {f"{D}.env.CPU_AFFINITY_CONF": "1,npu0:0-1"},
        [
            (
                "warning ENV-BINDERS inference_pools.decode.env.CPU_AFFINITY_CONF = 1,npu0:0-1: CPU_AFFINITY_CONF=1,npu0:0-1 binds "
                "threads, and vLLM-Ascend's enable_cpu_binding binds them as well"
            )
        ],
    ),
    Row("p2p", {f"{D}.env.CPU_AFFINITY_CONF": "0,npu0:0-1"}, []),
    Row("p2p", {f"{D}.env.CPU_AFFINITY_CONF": "2", f"{D}.args.additional-config": {"enable_cpu_binding": False}}, []),
    Row(
        "p2p",
        {f"{D}.env": {"HTTPS_PROXY": "http://p:1", "no_proxy": "x", "all_proxy": ""}},
        [
            (
                "error ENV-PROXY inference_pools.decode.env.HTTPS_PROXY = http://p:1: HTTPS_PROXY is set for services that connect to "
                "each other over HTTP"
            )
        ],
    ),
    Row(
        "p2p",
        {f"{ROUTER}.env": {"MY_API_KEY": "k", "HF_TOKEN": "t", "TOKENS": "x", "DB_PASSWORD": ""}},
        [
            "error ENV-SECRET inference_router.env.HF_TOKEN = (hidden): HF_TOKEN looks like a secret in a plain variable",
            "error ENV-SECRET inference_router.env.MY_API_KEY = (hidden): MY_API_KEY looks like a secret in a plain variable",
        ],
    ),
    Row(
        "p2p",
        {f"{D}.env": {"A": "$B", "C": "$C:x", "D": "${D:-y}", "E": "`x`", "F": "$(x)", "G": "$1"}},
        [
            "warning ENV-SHELL inference_pools.decode.env.A = $B: '$B' is shell syntax, and no shell expands it",
            "warning ENV-SHELL inference_pools.decode.env.E = `x`: '`x`' is shell syntax, and no shell expands it",
            "warning ENV-SHELL inference_pools.decode.env.F = $(x): '$(x)' is shell syntax, and no shell expands it",
        ],
    ),
    Row("kubernetes", {f"{D}.env.A": "$(B)"}, []),
    Row(
        "p2p",
        {"inference_env": {"HCCL_CONNECT_TIMEOUT": "0", "HCCL_EXEC_TIMEOUT": "1.5", "ASCEND_CONNECT_TIMEOUT": "0"}},
        [
            "error ENV-TIMEOUT inference_env.ASCEND_CONNECT_TIMEOUT = 0: '0' is not a whole number of milliseconds above zero",
            "error ENV-TIMEOUT inference_env.HCCL_CONNECT_TIMEOUT = 0: '0' is not a whole number of seconds above zero",
            "error ENV-TIMEOUT inference_env.HCCL_EXEC_TIMEOUT = 1.5: '1.5' is not a whole number of seconds above zero",
        ],
    ),
    Row(
        "p2p",
        {"inference_env.HCCL_RDMA_TIMEOUT": "x"},
        ["error RDMA-TIMEOUT inference_env.HCCL_RDMA_TIMEOUT = x: 'x' is not a number from 5 to 24"],
    ),
    Row(
        "p2p",
        {f"{P}.env.VLLM_NIXL_ABORT_REQUEST_TIMEOUT": 600},
        [
            (
                "warning ENV-RELEASE inference_pools.prefill.env.VLLM_NIXL_ABORT_REQUEST_TIMEOUT = 600: release 0.23.0 does not read "
                "VLLM_NIXL_ABORT_REQUEST_TIMEOUT; it reads VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"
            )
        ],
    ),
    Row(
        "p2p-0.11",
        {"inference_env.VLLM_USE_V1": "0"},
        ["error USE-V1 inference_env.VLLM_USE_V1 = 0: VLLM_USE_V1=0 with a connector in release 0.11.0"],
    ),
    Row(
        "p2p",
        {"inference_env.VLLM_USE_V1": "0"},
        ["warning ENV-RELEASE inference_env.VLLM_USE_V1 = 0: release 0.23.0 has only the V1 engine"],
    ),
    Row("p2p", {"inference_env.VLLM_USE_V1": "1"}, []),
    Row("p2p", {"inference_env.ASCEND_BUFFER_POOL": "0:0"}, []),
    Row(
        "p2p-0.13",
        {"inference_env.ASCEND_BASE_PORT": 20000},
        [
            (
                "warning ENV-RELEASE inference_env.ASCEND_BASE_PORT = 20000: Mooncake 0.3.7.post2 of release 0.13.0 does not read "
                "ASCEND_BASE_PORT; 0.3.8 and later do"
            )
        ],
    ),
    Row(
        "both",
        {f"{P}.env.PYTHONHASHSEED": "1"},
        ["error HASH-SEED inference_pools.prefill.env.PYTHONHASHSEED = 1: prefill has 1, others have 0"],
    ),
    Row("both", {f"{P}.env.PYTHONHASHSEED": "1", f"{D}.env.PYTHONHASHSEED": "1"}, []),
    Row(
        "both",
        {"inference_env.PYTHONHASHSEED": "random"},
        ["error HASH-SEED inference_env.PYTHONHASHSEED = random: 'random' is not a number"],
    ),
    Row("p2p", {f"{P}.env.PYTHONHASHSEED": "1"}, []),
    Row(
        "p2p",
        {"inference_env.HCCL_INTRA_ROCE_ENABLE": "1", "inference_link": "hccs"},
        ["error INTRA-ROCE inference_env.HCCL_INTRA_ROCE_ENABLE = 1: RoCE is on although inference_link is hccs"],
    ),
    Row("p2p", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "0", "inference_link": "hccs"}, []),
    Row("p2p", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "1", "inference_link": "roce"}, []),
    Row(
        "pooled",
        {"inference_env.HCCL_INTRA_ROCE_ENABLE": "0"},
        [
            "error INTRA-ROCE inference_env.HCCL_INTRA_ROCE_ENABLE = 0: RoCE inside a host is off, but the store on A2 needs it"
        ],
    ),
    Row("pooled", {"inference_env.HCCL_INTRA_ROCE_ENABLE": "1"}, []),
    Row(
        "both",
        {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1", "inference_link": "roce"},
        [
            "error FABRIC-MEMORY inference_env.ASCEND_ENABLE_USE_FABRIC_MEM = 1: fabric memory is on for a3 with inference_link roce"
        ],
    ),
    Row("both", {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1"}, []),
    Row(
        "pooled",
        {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1"},
        [
            "error FABRIC-MEMORY inference_env.ASCEND_ENABLE_USE_FABRIC_MEM = 1: fabric memory is on for a2 with inference_link auto"
        ],
    ),
    Row(
        "both-0.18",
        {"inference_env.ASCEND_ENABLE_USE_FABRIC_MEM": "1"},
        [
            "error FABRIC-MEMORY inference_env.ASCEND_ENABLE_USE_FABRIC_MEM = 1: release 0.18.0 has CANN 8.5.1, older than 9.0"
        ],
    ),
    Row(
        "both",
        {"inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": 1342177280},
        [
            "error OFFLOAD-BUFFER inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES = 1342177280: '1342177280' is not a multiple of 1 GiB"
        ],
    ),
    Row(
        "both",
        {
            "inference_env": {
                "MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": 1342177280,
                "ASCEND_ENABLE_USE_FABRIC_MEM": "1",
            }
        },
        [
            "error OFFLOAD-BUFFER inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES = 1342177280: '1342177280' is not a multiple of 1 GiB"
        ],
    ),
    Row(
        "both",
        {
            "inference_env": {
                "MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": 2147483648,
                "ASCEND_ENABLE_USE_FABRIC_MEM": "1",
            }
        },
        [],
    ),
    Row(
        "both",
        {"inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES": "1GB"},
        [
            "error OFFLOAD-BUFFER inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES = 1GB: '1GB' is not a whole number of bytes"
        ],
    ),
    Row("p2p-0.18", {f"{D}.env.VLLM_ASCEND_ENABLE_FUSED_MC2": 1}, []),
    Row("p2p-0.18", {f"{P}.env.VLLM_ASCEND_ENABLE_FUSED_MC2": 0}, []),
    Row(
        "p2p",
        {f"{D}.env.VLLM_ENGINE_READY_TIMEOUT_S": "599", "inference_start_timeout": 600},
        [
            (
                "warning READY-TIMEOUT inference_pools.decode.env.VLLM_ENGINE_READY_TIMEOUT_S = 599: 599 s is shorter than "
                "inference_start_timeout, which is 600 s"
            )
        ],
    ),
    Row("p2p", {f"{D}.env.VLLM_ENGINE_READY_TIMEOUT_S": "600", "inference_start_timeout": 600}, []),
    # the store: its master's options and times, sizes of segments, the pools that use it
    Row(
        "both",
        {f"{MASTER}.default_kv_lease_ttl": 5000, "inference_env.ASCEND_TRANSFER_TIMEOUT": 3000},
        [
            (
                "error TTL-TIMEOUT inference_mooncake_master.args.default_kv_lease_ttl = 5000: the lease of 5000 ms is shorter than "
                "ASCEND_CONNECT_TIMEOUT of decode (10000 ms) plus one second"
            )
        ],
    ),
    Row("both", {f"{MASTER}.default_kv_lease_ttl": "11000"}, []),
    Row("both", {f"{MASTER}.client_ttl": 10}, []),
    Row("both", {f"{MASTER}.client_ttl": 10, f"{P}.args.additional-config": {"enable_cpu_binding": False}}, []),
    Row("both", {f"{MASTER}.eviction_ratio": 0, f"{MASTER}.eviction_high_watermark_ratio": 1}, []),
    Row(
        "both",
        {f"{MASTER}.rpc_thread_num": 0},
        [
            "warning MASTER-THREADS inference_mooncake_master.args.rpc_thread_num = 0: 0 threads are too few for 64 ranks, which need 16"
        ],
    ),
    Row("both", {f"{MASTER}.enable_offload": True}, []),
    Row("both", {f"{MASTER}.root_fs_dir": "/data"}, []),
    Row("both", {f"{STORE}.segment_size": "1024MB"}, []),
    Row(
        "both",
        {f"{STORE}.segment_size": "0"},
        ["error SEGMENT-SIZE inference_store.segment_size = 0: '0' is not a valid size greater than zero"],
    ),
    Row(
        "pooled",
        {f"{STORE}.segment_size": "33GB"},
        ["warning SEGMENT-HDK inference_store.segment_size = 33GB: a rank on A2 would register 33GB, more than 32 GB"],
    ),
    Row("pooled", {f"{STORE}.segment_size": "32GB"}, []),
    Row("cpu", {f"{STORE}.segment_size": "1500MB"}, []),
    Row(
        "cpu",
        {f"{STORE}.segment_size": "lots"},
        ["error SEGMENT-SIZE inference_store.segment_size = lots: 'lots' is not a valid size greater than zero"],
    ),
    Row("both", {f"{STORE}.options": {"protocol": "ascend", "global_segment_size": "4GB"}}, []),
    Row("both", {f"{STORE}.options.metadata_server": "P2PHANDSHAKE"}, []),
    Row("cpu", {f"{STORE}.options.protocol": "tcp"}, []),
    Row(
        "cpu",
        {f"{STORE}.options.protocol": "ascend"},
        [
            "error STORE-PROTOCOL inference_store.options.protocol = ascend: protocol is ascend, but the CPU engine can use only tcp"
        ],
    ),
    Row(
        "p2p",
        {f"{STORE}.options": {"x": 1}, "inference_mooncake_master.port": 50090},
        [
            "warning STORE-UNUSED inference_mooncake_master = : port is set, but no pool uses the store",
            "warning STORE-UNUSED inference_store = : options is set, but no pool uses the store",
            "warning STORE-KEY inference_store.options.x = 1: release 0.23.0 does not read the key 'x'",
        ],
    ),
    Row("both", {f"{P}.kv.store.backend": "mooncake"}, []),
    Row(
        "both",
        {f"{STORE}.options.master_server_address": "10.1.0.1:0"},
        [
            "error STORE-ADDRESS inference_store.options.master_server_address = 10.1.0.1:0: '10.1.0.1:0' is not an address with a port"
        ],
    ),
    Row(
        "both",
        {f"{STORE}.options.master_server_address": "10.1.0.1:65536"},
        [
            (
                "error STORE-ADDRESS inference_store.options.master_server_address = 10.1.0.1:65536: '10.1.0.1:65536' is not an address "
                "with a port"
            )
        ],
    ),
    Row("both", {"node1.inference_memory": 107, f"{D}.kv_transfer": "mooncake", "node3.inference_memory": 10}, []),
    Row(
        "both",
        {f"{STORE}.options": {"enable_ssd_offload": True, "ssd_offload_path": "/ssd"}},
        [
            "error SSD-OFFLOAD inference_store.options.enable_ssd_offload = True: enable_offload of mooncake_master is false"
        ],
    ),
    Row("both", {f"{STORE}.options": {"enable_ssd_offload": False, "ssd_offload_path": "cache"}}, []),
    Row("both", {f"{P}.kv.store.use_layerwise": False}, []),
    Row(
        "pooled",
        {f"{C}.kv.store.use_layerwise": True},
        [
            (
                "warning STORE-LAYERWISE inference_pools.colocated.kv.store.use_layerwise = True: use_layerwise has no effect with "
                "backend mooncake"
            )
        ],
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.family}-{'-'.join(row.changes)[:60]}")
def test_exactly_this_is_found(row):
    found = judged(row.family, row.changes)
    texts = [f"{item['severity']} {item['id']} {item['path']} = {item['value']}: {item['problem']}" for item in found]
    assert texts == row.found
