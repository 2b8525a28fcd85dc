# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding names the value that was meant: the nearest one that is known, the long name of an option, or what there is to choose from."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import hosts
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import C, D, P
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

TYPED = {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}
HINTS = (
    ("p2p", {"inference_kv_transfer": "moncake"}, "TRANSFER-UNKNOWN", "Did you mean 'mooncake'? Use one of"),
    ("p2p", {"inference_kv_transfer": "MooncakeConnectorV1"}, "TRANSFER-UNKNOWN", "Did you mean 'mooncake'? "),
    (
        "p2p",
        {"inference_kv_transfer": "mooncakelayerwiseconnector"},
        "TRANSFER-UNKNOWN",
        "Did you mean 'mooncake_layerwise'? ",
    ),
    ("p2p", {"inference_kv_transfer": "MooncakeConnectorV2"}, "TRANSFER-UNKNOWN", "Did you mean 'mooncake_v2'? "),
    ("p2p", {"inference_kv_transfer": "LLMDataDistCMgrConnector"}, "TRANSFER-UNKNOWN", "Did you mean 'llmdatadist'? "),
    ("p2p", {"inference_kv_transfer": "AscendStoreConnector"}, "TRANSFER-UNKNOWN", "Did you mean 'store'? "),
    ("p2p", {"inference_kv_transfer": "mooncake+MooncakeConnectorStoreV1"}, "TRANSFER-UNKNOWN", "Did you mean 'store'"),
    ("p2p", {"inference_kv_transfer": "MultiConnector"}, "TRANSFER-UNKNOWN", "Use one of mooncake, "),
    (
        "p2p",
        {"inference_kv_transfer": "mooncake_v2"},
        "CONNECTOR-RELEASE",
        "MooncakeConnectorV2 is in releases from 0.28.0rc1 on. This one has mooncake, ",
    ),
    (
        "p2p",
        {"inference_kv_transfer": "llmdatadist"},
        "CONNECTOR-RELEASE",
        "LLMDataDistCMgrConnector is in releases from 0.9.1rc2 to 0.9.1 and from 0.10.0rc1 to 0.11.0. This one has mooncake, ",
    ),
    (
        "p2p",
        {f"{D}.kv.kv_connector": "LLMDataDistCMgrConnector"},
        "CONNECTOR-RELEASE",
        "LLMDataDistCMgrConnector is in releases from",
    ),
    ("p2p", {f"{P}.kv_transfer": "none+mooncake"}, "TRANSFER-TWO", "Write the connector alone, or none. Keep one"),
    ("p2p", {"inference_kv_transfer": "mooncake+mooncake_hybrid"}, "TRANSFER-TWO", "Keep one of them."),
    (
        "p2p",
        {f"{D}.kv.kv_connector": "MooncakeConectorV1"},
        "CONNECTOR-RELEASE",
        "Did you mean 'MooncakeConnectorV1'? I",
    ),
    ("p2p", {f"{D}.kv.kv_connector": "Own"}, "CONNECTOR-RELEASE", "Its connectors: "),
    ("p2p", {f"{D}.kv.kv_connector": "MooncakeConnector"}, "CONNECTOR-RELEASE", "Choose another"),
    ("p2p", {f"{D}.kv.kv_rolle": "x"}, "KV-KEY", "Did you mean 'kv_role'?"),
    ("p2p", {f"{D}.kv.mooncake.lookup_rpc_prt": 5}, "KV-EXTRA", "Did you mean 'lookup_rpc_port'?"),
    (
        "newest",
        {"inference_kv_transfer": "mooncake_hybrid", f"{D}.kv.kv_load_failure_policy": "recompute"},
        "KV-POLICY",
        "Set it to fail. ",
    ),
    ("p2p", {f"{D}.args.tp": 1}, "FLAG-UNKNOWN", "Write tensor-parallel-size. "),
    ("p2p", {f"{D}.args.max-num-s": 1}, "FLAG-UNKNOWN", "Write it in full: max-num-seqs."),
    (
        "p2p",
        {f"{D}.args.max": 1},
        "FLAG-UNKNOWN",
        "Write it in full: max-cpu-loras, max-cudagraph-capture-size, max-log-len, max-logprobs. ",
    ),
    ("p2p", {f"{D}.args.max-num-sequ": 1}, "FLAG-UNKNOWN", "Did you mean 'max-num-seqs'?"),
    ("p2p", {f"{D}.args.uvicorn-log-level": "inf"}, "FLAG-CHOICE", "Did you mean 'info'?"),
    ("p2p", {f"{D}.args.compilation-config.cudagraph_mod": "FULL"}, "JSON-KEY", "Did you mean 'cudagraph_mode'?"),
    ("p2p", {f"{D}.args.compilation-config.cudagraph_mode": "FUL"}, "JSON-VALUE", "Did you mean 'FULL'?"),
    ("p2p", {f"{D}.args.load-format": "safetensor"}, "FLAG-REGISTERED", "Did you mean 'safetensors'?"),
    ("p2p", {f"{D}.args.distributed-executor-backend": "mpi"}, "FLAG-REGISTERED", "Did you mean 'mp'?"),
    ("pooled", {f"{C}.args.all2all-backend": "zzz"}, "FLAG-REGISTERED", "It has "),
    (
        "p2p",
        {f"{D}.args.tool-call-parser": "deepseek"},
        "FLAG-REGISTERED",
        "It has deepseek_v3, deepseek_v31, deepseek_v32, deepseek_v4 and more. ",
    ),
    ("p2p", {"inference_args.quantization": "awq"}, "FLAG-REGISTERED", "It has ascend, compressed-tensors, "),
    (
        "p2p",
        {"node1.ansible_host": "10.0.0.1:22"},
        "VARIABLE-TEXT",
        "Write 10.0.0.1, and the port of SSH into ansible_port.",
    ),
    *(
        ("p2p", {f"{D}.{key}": 1}, "VARIABLE-UNKNOWN", f"Did you mean '{meant}'?")
        for key, meant in (
            ("tp", "tensor_parallel_size"),
            ("dp_size", "data_parallel_size"),
            ("PP", "pipeline_parallel_size"),
            ("pcp", "prefill_context_parallel_size"),
            ("dcp-size", "decode_context_parallel_size"),
            ("ep", "expert_parallel"),
            ("replicas", "instances"),
        )
    ),
    ("p2p", {"inference_kv_transfer": "mooncake,store"}, "TRANSFER-UNKNOWN", "Write mooncake+store. "),
    ("p2p", {"inference_kv_transfer": "mooncake, store"}, "TRANSFER-UNKNOWN", "Write mooncake+store. "),
    ("p2p", {"inference_engine": "vllm"}, "VARIABLE-CHOICE", "Did you mean 'vllm_ascend'? "),
    ("p2p", {"inference_runtime": "k8s"}, "VARIABLE-CHOICE", "Did you mean 'kubernetes'? "),
    ("p2p", {"inference_cann_path": "/usr/local/Ascend/nnal"}, "CANN-PATH", "Write /usr/local/Ascend. "),
    ("p2p", {"inference_env.vllm_use_v1": 1}, "ENV-TYPO", "Did you mean 'VLLM_USE_V1'?"),
    ("p2p", {"inference_env.VLLM_USE_V1": 0}, "ENV-RELEASE", "Remove it."),
    (
        "p2p",
        {f"{P}.env.VLLM_NIXL_ABORT_REQUEST_TIMEOUT": 900},
        "ENV-RELEASE",
        "Set inference_kv_hold_timeout for the time that prefill holds KV cache. Remove it.",
    ),
    *(
        (
            "p2p",
            {f"{D}.args.additional-config": {key: {}}},
            "CONFIG-KEY",
            "Choose such a release if the key is needed. Otherwise remove the key.",
        )
        for key in ("torchair_graph_config", "ascend_scheduler_config")
    ),
    (
        "p2p",
        {f"{D}.args.additional-config": {"enable_kv_nzz": True}},
        "CONFIG-KEY",
        "Did you mean 'enable_kv_nz'? Otherwise remove the key.",
    ),
    ("p2p", {"inference_router.flavour": "round_robin"}, "VARIABLE-CHOICE", "Write it as inference_router.policy, "),
    ("p2p", {"inference_router.policy": "cache_aware"}, "ROUTER-FLAG", "Only the router vllm_router has policies. "),
    ("p2p", {"inference_kv_transfer": ["mooncake", "store"]}, "VARIABLE-TYPE", "Write mooncake+store."),
    ("p2p", {f"{P}.kv_transfer": ["mooncake", "store"]}, "VARIABLE-TYPE", "Write mooncake+store."),
    (
        "p2p",
        {f"{P}.max-num-seqs": 8},
        "VARIABLE-UNKNOWN",
        "It is an option of vLLM. Write it as inference_pools.prefill.args",
    ),
    ("p2p", {"inference_router.max-retries": 8}, "VARIABLE-UNKNOWN", "Write it into args if it is an option of the "),
    ("p2p", {"inference_api_key": "x"}, "VARIABLE-UNKNOWN", "Write it as inference_secrets.api_key, "),
    ("p2p", {f"{D}.args.enforce-eager": "off"}, "FLAG-VALUE", "Write false without quotes. "),
    ("p2p", {f"{D}.args.enforce-eager": 1}, "FLAG-VALUE", "Write true without quotes. "),
    ("p2p", {f"{D}.args.enforce-eager": "maybe"}, "FLAG-VALUE", "Write true or false. "),
    ("p2p", {f"{D}.args.max-num-seqs": True}, "FLAG-VALUE", "true is no value of it. "),
    ("p2p", {f"{D}.args.max-num-seqs": "16 "}, "FLAG-VALUE", "Write 16. "),
    ("p2p", {f"{D}.args.seed": "abc"}, "FLAG-VALUE", "Set a value of the right type, or remove the option."),
    ("p2p", {f"{D}.args.dtype": "bf16"}, "FLAG-CHOICE", "Did you mean 'bfloat16'? "),
    ("p2p", {f"{D}.args.quantization": "w8a8"}, "FLAG-REGISTERED", "Did you mean 'ascend'? "),
    ("p2p", {f"{D}.args.quantization": ""}, "FLAG-REGISTERED", "It has ascend, "),
    ("p2p", {f"{D}.args.quantization": {"method": "ascend"}}, "FLAG-REGISTERED", "It has ascend, "),
    ("p2p", {f"{D}.args.reasoning-parser": "deepseek"}, "FLAG-REGISTERED", "It has deepseek_r1, "),
    ("p2p", {f"{D}.args.reasoning-parser": "deepseek-r1"}, "FLAG-REGISTERED", "Did you mean 'deepseek_r1'? "),
    (
        "p2p",
        {f"{P}.kv.store": {"load_async": True}},
        "KV-KEY",
        "It is about the store, which KV transfer mooncake does not ",
    ),
    ("p2p", {f"{P}.kv.use_layerwise": True}, "KV-KEY", "It is about the store, which KV transfer mooncake does not "),
    (
        "pooled",
        {f"{C}.kv.use_layerwise": True},
        "KV-KEY",
        "It is a setting of a connector: write inference_pools.colocated.kv: {st",
    ),
    (
        "p2p",
        {f"{P}.kv.mooncake_v2": {}},
        "KV-KEY",
        "This pool's KV transfer is mooncake: write its settings below mooncake. ",
    ),
    (
        "p2p",
        {f"{P}.kv.use_ascend_direct": True},
        "KV-KEY",
        "It is a setting of a connector: write inference_pools.prefill.kv: {mo",
    ),
    ("p2p", {f"{P}.kv.kv_rol": "x"}, "KV-KEY", "Did you mean 'kv_role'? Correct"),
    ("p2p", {f"{P}.kv.mooncake.kv_port": 30000}, "KV-NESTED", "Set inference_pools.prefill.ports.kv. "),
    (
        "p2p",
        {f"{P}.kv.kv_connector_extra_config.store": {}},
        "KV-EXTRA",
        "It is a KV transfer: write its settings below kv",
    ),
    ("p2p", {"inference_args.kv-transfer-config": TYPED}, "KV-ROLE", "Remove inference_args.kv-transfer-config. "),
    ("p2p", {"inference_start_timeout": "30m"}, "VARIABLE-TYPE", "Write 1800. Timeout in seconds until "),
    ("p2p", {"inference_verify.agreement": 0.95}, "VARIABLE-TYPE", "Write 95. Least percentage "),
    ("p2p", {f"{D}.tp:8": None}, "VARIABLE-UNKNOWN", "Write tensor_parallel_size: 8."),
    ("p2p", {D: "tp:8"}, "VARIABLE-TYPE", "Write KEY: VALUE, such as tensor_parallel_size: 8. "),
    ("p2p", {"inference_model": "path:/models/x"}, "VARIABLE-TYPE", "Write KEY: VALUE, such as path: /models/x. "),
    ("p2p", {"inference_release": "latest"}, "RELEASE-UNKNOWN", "The newest stable release is '0.23.0.post1'. Known"),
    ("p2p", {"inference_release": "0.22.0"}, "RELEASE-UNKNOWN", "The nearest known release is '0.21.0rc1'. Known"),
    ("p2p", {D: None}, "TOPO-POOLS", "Write decode: {} if all defaults of the pool are meant. "),
    ("p2p", {"node1.inference_address": "[fd00::1]:22"}, "VARIABLE-TEXT", "Write fd00::1."),
)


ONE_HOST = {"tensor_parallel_size": 16}


@pytest.mark.parametrize(
    ("groups", "pools", "fix"),
    [
        (
            ({"prefill", "decode"}, {"prefill", "decode"}),
            {},
            "node2 is free: the pool fits if the group 'decode' has node2 and no",
        ),
        (
            ({"prefill", "decode"}, {"ungrouped"}),
            {},
            "node2 is free: the pool fits if the group 'decode' has node2 and no other",
        ),
        (({"prefill", "decode"}, {"decode"}), {}, "Plan fewer or smaller instances, or add hosts."),
        (
            ({"npu"}, {"npu"}),
            {"group": "npu"},
            "node2 is free: the pool fits if inference_pools.decode.group names a group that has node2",
        ),
        (({"prefill", "decode"}, {"router"}), {}, "Plan fewer or smaller instances, or add hosts."),
        (({"prefill", "decode"},), {}, "Plan fewer or smaller instances, or add hosts."),
    ],
)
def test_a_free_host_is_named_where_two_pools_share_one(groups, pools, fix):
    inventory = {
        f"node{number}": {
            "groups": sorted(names),
            "variables": {"ansible_host": f"10.1.0.{number}", "inference_interface": "bond0"},
        }
        for number, names in enumerate(groups, 1)
    }
    sizes = {name: {**ONE_HOST, **pools} for name in ("prefill", "decode")}
    (found,) = judged("one-host", {"inventory": inventory, "inference_pools": sizes})
    assert (found["id"], found["path"]) == ("PLACE-CAPACITY", "inference_pools.decode.instances")
    assert found["fix"].startswith(fix)


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        (
            {"node2.inference_devices": 12},
            "inference_devices gives node2 12 of the 16 devices of a3, and with all the pool fits: ",
        ),
        (
            {"inference_devices": 8},
            "inference_devices gives node2 8 of the 16 devices of a3, and with all the pool fits: ",
        ),
        (
            {f"{D}.devices": [0, 1]},
            "Remove inference_pools.decode.devices: with all devices of its hosts the pool fits. ",
        ),
        (
            {f"{D}.device_offset": 4},
            "Remove inference_pools.decode.device_offset: with all devices of its hosts the pool fits. ",
        ),
        ({"node2.inference_hardware": "a2"}, "node2 is a2 with 8 devices: correct inference_hardware if it is a3, or "),
        ({f"{D}.tensor_parallel_size": 32}, "Add hosts to the group, or choose sizes that the hosts divide."),
        ({"inference_hardware": "a2"}, "Add hosts to the group, or choose sizes that the hosts divide."),
    ],
    ids=str,
)
def test_what_leaves_out_the_devices_that_a_pool_needs_is_named(changes, fix):
    inventory = hosts(2, {"prefill": (1,), "decode": (2,)})
    sizes = {name: dict(ONE_HOST) for name in ("prefill", "decode")}
    found = judged("one-host", {"inventory": inventory, "inference_pools": sizes, **changes})
    (own,) = [item for item in found if item["path"] == "inference_pools.decode"]
    assert own["id"] == "PLACE-SPAN" and own["fix"].startswith(fix)


def test_devices_that_are_listed_twice_are_not_also_too_few():
    twice = [0, 0, *range(2, 16)]
    inventory = hosts(2, {"prefill": (1,), "decode": (2,)})
    sizes = {name: dict(ONE_HOST) for name in ("prefill", "decode")}
    found = judged("one-host", {"inventory": inventory, "inference_pools": sizes, "node2.inference_devices": twice})
    assert [item["id"] for item in found] == ["VARIABLE-RANGE"]


@pytest.mark.parametrize(
    ("sizes", "fix"),
    [
        ({"instances": 4, "instances_per_host": 4}, "needs 16 devices on each host: set it to 2 or remove it."),
        ({"instances": 5, "instances_per_host": 4}, "Plan fewer or smaller instances, or add hosts."),
        ({"instances": 5, "instances_per_host": 2}, "Add hosts, or raise instances_per_host."),
    ],
    ids=str,
)
def test_too_many_instances_on_a_host_are_told(sizes, fix):
    pools = {"colocated": {"tensor_parallel_size": 4, **sizes}}
    (found,) = judged("pooled", {"inventory": hosts(2, {"colocated": (1, 2)}), "inference_pools": pools})
    assert (found["id"], found["path"]) == ("PLACE-CAPACITY", "inference_pools.colocated.instances")
    assert found["fix"].endswith(fix)


def test_a_base_that_a_finding_names_was_tried():
    (found,) = judged("p2p", {"inference_release": "0.40.0"})
    assert 'set inference_release_base: "0.30.0rc2"' in found["fix"]
    assert "It refuses this description, first inference_runtime = systemd: release 0.40.0 was tested" in found["fix"]
    (good,) = judged("docker", {"inference_release": "0.40.0"})
    assert "refuses" not in good["fix"]


def test_a_key_of_another_name_is_one_finding():
    (found,) = judged("p2p", {"inference_model": {"model": "/models/x", "name": "q"}})
    assert (found["id"], found["path"]) == ("VARIABLE-UNKNOWN", "inference_model.model")
    assert found["fix"].startswith("Did you mean 'path'? ")


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({"inference_recipe": "qwen3-235b", "inference_pools": None}, ["RECIPE-UNKNOWN"]),
        ({"inference_release": "latest", "inference_kv_transfer": "mooncake_hybrid"}, ["RELEASE-UNKNOWN"]),
        ({"inference_release": "latest", "inference_args.foo": 1}, ["FLAG-UNKNOWN", "RELEASE-UNKNOWN"]),
    ],
    ids=str,
)
def test_what_only_follows_from_another_finding_is_not_told(changes, ids):
    assert sorted(item["id"] for item in judged("p2p", changes)) == ids


@pytest.mark.parametrize(("family", "changes", "rule", "begin"), HINTS, ids=lambda item: str(item)[:60])
def test_the_fix_begins_with_what_was_meant(family, changes, rule, begin):
    fixes = [item["fix"] for item in judged(family, changes) if item["id"] == rule]
    assert fixes and all(fix.startswith(begin) for fix in fixes), fixes


def test_of_many_names_twelve_are_listed():
    (found,) = [
        item for item in judged("p2p", {f"{D}.args.tool-call-parser": "zzz"}) if item["id"] == "FLAG-REGISTERED"
    ]
    names = found["fix"].partition(" and more. ")[0].removeprefix("It has ").split(", ")
    assert len(names) == 12 and names == sorted(names)


def test_of_few_names_all_are_listed():
    (found,) = [
        item for item in judged("p2p", {f"{D}.args.data-parallel-backend": "zzz"}) if item["id"] == "FLAG-REGISTERED"
    ]
    assert found["fix"].startswith("It has ") and " and more" not in found["fix"]


# What some release of vLLM-Ascend reads from kv_connector_extra_config, without those whose wrong name is nearer to another one.
EXTRA = (
    *("connectors", "consumer_is_to_load", "consumer_is_to_put", "discard_partial_chunks", "transfer_backend"),
    *("d2rh_host_cache_hash_source", "d2rh_log_full_block_map", "d2rh_scheduler_ready_port", "d2rh_transfer_workers"),
    *("d2rh_zmq_port", "enable_offload_prefix_caching", "h2d_stagger_us", "layerwise_max_transfer_blocks"),
    *(
        "layerwise_max_transfer_bytes",
        "layerwise_prefetch_layers",
        "load_async",
        "lookup_rpc_port",
        "mooncake_rpc_port",
    ),
    *("memcache_dp_init_barrier", "offload_host_memory_ratio", "prefill_pp_layer_partition", "prefill_pp_size"),
    *("qos_priority", "recv_buffer_tokens", "register_buffer", "tls_config", "use_ascend_direct", "use_layerwise"),
    *("num_cpu_blocks", "block_size", "spec_name", "cpu_bytes_to_use", "swap_in_threshold", "backend", "prefill"),
)


def test_each_setting_of_a_connector_is_meant_by_a_name_that_is_almost_its_own():
    changes = {f"{P}.kv.kv_connector_extra_config": {f"{name}s": 1 for name in EXTRA}}
    found = [item for item in judged("p2p", changes) if item["id"] == "KV-EXTRA"]
    hints = {item["path"].rpartition(".")[2]: item["fix"] for item in found}
    assert hints == {f"{name}s": f"Did you mean '{name}'? Correct the name." for name in EXTRA}


def test_no_setting_that_a_connector_reads_is_taken_for_another_one():
    changes = {f"{P}.kv.kv_connector_extra_config": dict.fromkeys(EXTRA, 1)}
    assert [item for item in judged("p2p", changes) if item["id"] == "KV-EXTRA"] == []


@pytest.mark.parametrize("word", ["moncake", "MooncakeConnectorV1", "MooncakeConnectorV2"])
def test_an_unknown_transfer_is_one_finding(word):
    found = judged("p2p", {"inference_kv_transfer": word})
    assert [(item["id"], item["value"]) for item in found if item["id"].startswith(("TRANSFER-U", "CONN"))] == [
        ("TRANSFER-UNKNOWN", word)
    ]


def test_a_connector_that_the_release_lacks_is_shown_in_the_user_s_words():
    (found,) = [
        item for item in judged("p2p", {f"{D}.kv_transfer": "mooncake_v2+store"}) if item["id"] == "CONNECTOR-RELEASE"
    ]
    assert (found["path"], found["value"]) == (f"{D}.kv_transfer", "mooncake_v2+store")
    assert found["problem"].endswith("has no connector MooncakeConnectorV2, which mooncake_v2 stands for")


def test_a_role_that_the_user_s_own_configuration_lacks_is_named():
    own = {"kv_connector": "MooncakeConnectorV1", "kv_port": "36000"}
    (found, *_more) = [item for item in judged("p2p", {f"{D}.args.kv-transfer-config": own}) if item["id"] == "KV-ROLE"]
    assert found["fix"].startswith("Set kv_role to kv_consumer. ") and "Remove" not in found["fix"]


@pytest.mark.parametrize("name", ["lmcache", "LMCacheConnectorV1"])
def test_lmcache_is_not_deployed(name):
    (found,) = judged("p2p", {"inference_kv_transfer": name})
    assert found["id"] == "TRANSFER-UNKNOWN" and found["problem"].startswith("LMCache is not deployed")


def test_ranks_on_several_hosts_in_a_release_without_them_are_one_finding():
    changes = {f"{P}.tensor_parallel_size": 32, f"{P}.data_parallel_size": 1, f"{P}.instances": 1}
    (found,) = judged("p2p-0.11", changes)
    assert found["path"] == f"{P}.tensor_parallel_size" and "one rank of prefill needs 2 hosts" in found["problem"]
    written = judged("p2p-0.11", {f"{P}.args.nnodes": 2})
    assert f"{P}.args.nnodes" in {item["path"] for item in written if item["id"] == "FLAG-RELEASE"}
