# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value that is nearest to a mistake and right is planned without a finding: no rule refuses too much."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import APART, family, hosts
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

P, D = "inference_pools.prefill", "inference_pools.decode"
DIGEST = "sha256:" + 64 * "a"

ENVIRONMENT = [
    ("HCCL_OP_EXPANSION_MODE", "AIV"),
    ("OMP_NUM_THREADS", "1"),
    ("OMP_PROC_BIND", "false"),
    ("OMP_PROC_BIND", "FALSE"),
    ("TASK_QUEUE_ENABLE", "2"),
    ("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True"),
    ("PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb:256,garbage_collection_threshold:0.8"),
    ("VLLM_RPC_TIMEOUT", "3600000"),
    ("VLLM_ASCEND_ENABLE_MLAPO", "1"),
    ("VLLM_ASCEND_ENABLE_NZ", "2"),
    ("HCCL_RDMA_TC", "132"),
    ("HCCL_RDMA_TC", "252"),
    ("HCCL_RDMA_SL", "7"),
    ("ASCEND_GLOBAL_LOG_LEVEL", "4"),
    ("VLLM_LOGGING_LEVEL", "debug"),
    ("DYNAMIC_EPLB", "true"),
    ("HCCL_BUFFSIZE", "1100"),
]


def findings(name, changes):
    return launch_plan(*family(name, changes))["findings"]


@pytest.mark.parametrize(("name", "text"), ENVIRONMENT)
def test_of_the_environment(name, text):
    assert findings("p2p", {f"{D}.env.{name}": text}) == []


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("p2p", {f"{D}.args.max-logprobs": -1}),
        ("p2p", {f"{D}.args.api-server-count": 16}),
        ("p2p", {f"{D}.args.enable-auto-tool-choice": True, f"{D}.args.tool-call-parser": "hermes"}),
        ("p2p", {f"{D}.args.lora-modules": "adapter=/models/adapter", f"{D}.args.enable-lora": True}),
        ("p2p", {f"{P}.args.additional-config": {"enable_flashcomm1": True}}),
        ("p2p", {f"{D}.args.additional-config": {"enable_kv_nz": True}}),
        ("p2p", {f"{P}.args.additional-config": {"layer_sharding": ["o_proj"]}}),
        ("p2p", {f"{P}.args.additional-config": {"eplb_config": {"dynamic_eplb": False}}}),
        (
            "p2p",
            {f"{D}.args.additional-config": {"eplb_config": {"dynamic_eplb": True}}, f"{D}.env.DYNAMIC_EPLB": "true"},
        ),
        ("p2p", {f"{D}.args.compilation-config": {"cudagraph_mode": "FULL_DECODE_ONLY"}}),
        ("p2p", {f"{D}.args.compilation-config": {"cudagraph_mode": "full", "cudagraph_capture_sizes": [1, 8]}}),
        ("p2p", {"inference_args.speculative-config": {"method": "deepseek_mtp", "num_speculative_tokens": 1}}),
        ("p2p", {"inference_args.attention-config.backend": "FLASH_ATTN"}),
        ("p2p", {f"{D}.args.reasoning-parser": "deepseek_r1"}),
        ("p2p", {f"{D}.args.reasoning-parser": "own", f"{D}.args.reasoning-parser-plugin": "/opt/own.py"}),
        ("p2p", {f"{D}.args.load-format": "netloader"}),
        ("p2p", {f"{D}.args.distributed-executor-backend": "package.module.Executor"}),
        ("p2p", {"node1.inference_interface": "bond0.100"}),
        ("p2p", {"node1.inference_interface": "a12345678901234"}),
        ("p2p", {"inference_user": "vllm-user"}),
        ("p2p", {"inference_cann_path": "/opt/ascend"}),
        ("p2p", {"inference_router.bind": "192.168.7.1"}),
        ("p2p", {"inference_args.seed": 2**32 - 1}),
        ("p2p", {"inference_args.max-model-len": -1}),
        ("p2p", {"inference_args.max-lora-rank": 32, "inference_args.enable-lora": True}),
        ("p2p", {"inference_args.limit-mm-per-prompt": {"image": 0, "video": {"count": 1, "num_frames": 32}}}),
        ("p2p", {"inference_args.hf-overrides": {"rope_scaling": {"factor": 4.0}}}),
        ("p2p", {f"{D}.args.data-parallel-backend": "mp", f"{D}.args.distributed-executor-backend": "mp"}),
        ("p2p", {f"{D}.args.runner": "generate"}),
        ("p2p", {f"{P}.args.model-loader-extra-config": {"enable_multithread_load": True, "num_threads": 8}}),
        ("p2p", {f"{P}.args.load-format": "rfork", f"{P}.args.model-loader-extra-config": {"model_url": "x"}}),
        (
            "p2p",
            {
                f"{D}.args.data-parallel-rank": 0,
                f"{D}.load_balancing": "external",
                f"{D}.data_parallel_size": 1,
                f"{D}.tensor_parallel_size": 8,
                f"{D}.instances": 2,
            },
        ),
        ("p2p", {"inference_start_timeout": 60, "inference_kv_hold_timeout": 30}),
        ("p2p", {f"{P}.model": "/mnt/fast/qwen-moe-w8a8/"}),
        ("p2p", {f"{P}.kv.kv_buffer_size": 1e9, f"{P}.kv.mooncake.use_ascend_direct": True}),
        ("p2p", {f"{P}.kv.mooncake.of_my_own_connector": True}),
        ("p2p", {"inference_env.ASCEND_GLOBAL_RESOURCE_CONFIG": '{"comm": ["uboe:device"]}'}),
        ("p2p", {"inference_env.PATH": "/opt/own/bin:/usr/bin:/bin"}),
        ("cpu", {"node1.inference_interface": "lo"}),
        ("p2p", {"node1.inference_devices": 16}),
        ("both", {"inference_store.backend": "memcache", "inference_store.options": {"ock.mmc.log_level": "error"}}),
        ("both", {"inference_store.backend": "memcache", "inference_store.segment_size": "0GB"}),
        ("both", {"inference_store.backend": "memcache", "node1.inference_memory": 1024}),
        ("both", {"inference_store.options": {"master_server_address": "etcd://10.1.0.1:2379;10.1.0.2:2379"}}),
        *(
            ("both", {"inference_store.options": {"master_server_address": address}})
            for address in ("[2001:db8::1]:50051", "store-1.rack_2.example:1", "10.1.0.1:65535")
        ),
        ("ha", {"inventory": hosts(4, {**APART, "mooncake_master": (1, 2, 3)}), "inference_store.ha.masters": 2}),
        ("ha", {"inference_store.ha.etcd_members": 3, "inference_store.ha.masters": 3}),
        ("ha", {"inference_store.ha.etcd_endpoints": ["e1:2379", "e2:2379", "e3:2379"]}),
        ("ha", {"inference_store.ha.cluster_id": "rack_7.a-B"}),
        ("ha", {"inference_env.MC_STORE_CLUSTER_ID": "inference"}),
        ("ha", {"inventory": hosts(4, {**APART, "mooncake_master": (1, 2, 3)}), "inference_store.ha.masters": 3}),
        ("pooled", {"inference_store": {"backend": "yuanrong"}, "inference_env.YR_CONFIG_PATH": "/etc/yuanrong.json"}),
        ("p2p", {"inference_router.args.max-retries": 0, "inference_router.args.retry-delay": 0.5}),
        ("pooled", {"inference_router.args.policy": "cache_aware", "inference_router.args.request-timeout-secs": 600}),
        ("pooled", {"inference_router.metrics_port": 8011}),
        ("p2p", {"inference_secrets.api_key": "sk-1_2.3~4+5/6=="}),
        *(
            ("p2p", {"inference_firewall": {"state": "present", "clients": [network]}})
            for network in ("10.0.0.7", "10.0.0.7/8", "2001:db8::7", "2001:db8::7/32", "0.0.0.0/0")
        ),
        ("docker", {"inference_container.shm_size": "64m"}),
        ("docker", {"inference_container.mounts": ["/a:/models", "/c:/etc/pki:ro"]}),
        ("docker", {"inference_container.mounts": ["/a:/b", "/c:/d:ro", "/e:/f:ro,z"]}),
        ("docker", {"inference_container.mounts": ["/a:/models/qwen-moe-w8a8/adapters", "/a:/models/of-others"]}),
        ("docker", {"inference_container.mounts": ["/etc/localtime:/etc/localtime:ro", "/home:/home", "/data:/data"]}),
        ("docker", {"inference_container.mounts": ["/opt/ascend-inference/cache:/root/.cache", "/run/dcmi:/run/dcmi"]}),
        ("docker", {"inference_container.mounts": ["/usr/local/Ascend/nnal:/usr/local/Ascend/nnal:ro"]}),
        *(
            (name, {"inference_model.path": f"{folder}/qwen-moe-w8a8"})
            for name in ("p2p", "docker")
            for folder in (
                "",
                "/root",
                "/home/user",
                "/dev/shm",
                "/usr/share",
                "/usr/local",
                "/mnt",
                "/opt/ascend-inference/models",
            )
        ),
        ("p2p", {"inference_model.path": "/models/a:b/qwen-moe-w8a8"}),
        ("p2p", {"inference_root": "/var/lib/inference", "inference_cann_path": "/usr/local/Ascend/"}),
        ("p2p", {"inference_root": "/usr/local/inference", "inference_cann_path": "/usr/local/Ascend/cann-8.5"}),
        ("docker", {"inference_container.shm_size": "64g"}),
        ("docker", {"inference_image": f"registry.example:5000/ascend/vllm-ascend@{DIGEST}"}),
        ("docker", {"inference_image": f"quay.io/ascend/vllm-ascend:v0.23.0-a3@{DIGEST}"}),
    ],
    ids=str,
)
def test_of_other_values(name, changes):
    assert findings(name, changes) == []


def test_modes_of_the_registry_of_tokenizers_are_known():
    found = findings("newest", {"inference_args.tokenizer-mode": "deepseek_v41"})
    assert [item["id"] for item in found if item["severity"] != "accepted"] == []


def unequal(**changes):
    found = {"inventory": hosts(5, {**APART, "decode": (3, 4, 5)})}
    return {**found, "node4.inference_devices": 8, "node5.inference_devices": 8, **changes}


def test_hosts_of_unequal_size_share_an_instance():
    plan = launch_plan(*family("p2p", unequal()))
    argv = [service["argv"] for service in plan["services"] if service["kind"] == "decode"]
    after = {
        flag: [args[args.index(flag) + 1] for args in argv if flag in args]
        for flag in ("--data-parallel-size-local", "--data-parallel-start-rank")
    }
    assert after == {
        "--data-parallel-size-local": ["16", "8", "8"],
        "--data-parallel-start-rank": ["16", "24"],
    }
    assert plan["findings"] == []


def test_the_last_of_unequal_hosts_need_not_be_filled():
    plan = launch_plan(*family("p2p", unequal(**{"node5.inference_devices": 16})))
    argv = [service["argv"] for service in plan["services"] if service["kind"] == "decode"]
    sizes = [args[args.index("--data-parallel-size-local") + 1] for args in argv]
    assert sorted(map(int, sizes)) == [8, 8, 16]


def test_a_wanted_number_of_hosts_is_not_changed_by_unequal_ones():
    """Four hosts with eight ranks each do not fit: three are there, and the user wants four."""
    found = judged("p2p", unequal(**{f"{D}.hosts_per_instance": 4}))
    assert [item["id"] for item in found] == ["PLACE-SPAN"]


def test_hosts_of_unequal_size_carry_external_ranks():
    plan = launch_plan(*family("p2p", unequal(**{f"{D}.load_balancing": "external"})))
    decode = [service for service in plan["services"] if service["kind"] == "decode"]
    assert [service["host"] for service in decode].count("node3") == 16
    assert [service["argv"][service["argv"].index("--data-parallel-rank") + 1] for service in decode] == [
        str(rank) for rank in range(32)
    ]
    assert {service["devices"][0] for service in decode if service["host"] == "node5"} == set(range(8))


@pytest.mark.parametrize(("pool", "found"), [(D, set()), (P, {("PORT-UNUSED", f"{P}.ports.kv")})])
def test_the_first_port_of_a_connector_that_counts_its_own_is_for_decode(pool, found):
    changes = {"inference_kv_transfer": "sfa_remote_d2h", f"{pool}.ports.kv": 40000}
    assert {(item["id"], item["path"]) for item in judged("newest", changes)} == found


@pytest.mark.parametrize(("address", "found"), [("127.0.0.2", {"HOST-ADDRESS"}), ("10.1.0.2", {"INTERFACE-LOOPBACK"})])
def test_an_address_of_one_machine_is_on_its_loopback_interface(address, found):
    changes = {"node2.inference_interface": "lo", "node2.inference_address": address}
    assert {item["id"] for item in judged("p2p", changes)} == found


@pytest.mark.parametrize("text", ["10.0.0.7", "10.0.0.7/24", "fd00::1/64", "0.0.0.0/0"])
def test_an_address_of_a_network_stands_for_it(text):
    """As nft(8) takes them: hosts often have their own address with the length of the prefix."""
    lists = dict.fromkeys(("cluster", "monitoring", "clients"), [text])
    found = findings("newest", {"inference_firewall": {"state": "present", **lists}})
    assert not [one for one in found if one["id"] == "FIREWALL-NETWORK"]
