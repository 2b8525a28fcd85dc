# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any value of a free-form variable results in a plan or in findings, never in a traceback."""

from __future__ import annotations

import dataclasses
import types
import typing as t

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.description import loader
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.inventory import deployment_variables
from ansible_collections.ascend.inference.plugins.plugin_utils.description.kubernetes import Mount
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import (
    Description,
    Model,
    read_description,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

ODD = (
    None,
    True,
    False,
    -1,
    1.5,
    "",
    "x",
    "{",
    "[1]",
    "{}",
    "-",
    "--x",
    "\u00b2",
    [],
    ["a", 1],
    {},
    {"a": {"b": [None]}},
)
PLACES = (
    *(
        f"inference_pools.decode.args.{flag}"
        for flag in (
            "kv-transfer-config",
            "additional-config",
            "speculative-config",
            "compilation-config",
            "max-num-seqs",
            "max-model-len",
            "gpu-memory-utilization",
            "tensor-parallel-size",
            "served-model-name",
            "host",
            "port",
            "seed",
            "block-size",
            "",
        )
    ),
    *(
        f"inference_pools.prefill.kv.{key}"
        for key in (
            "kv_connector_extra_config",
            "kv_port",
            "kv_role",
            "kv_connector",
            "engine_id",
            "store",
            "mooncake",
            "x",
        )
    ),
    "inference_pools.prefill.kv.kv_connector_extra_config.connectors",
    "inference_pools.prefill.kv.mooncake.prefill",
    "inference_pools.prefill.hosts.node1.args",
    "inference_env.ASCEND_CONNECT_TIMEOUT",
    "inference_env.ASCEND_BASE_PORT",
    "inference_env.HCCL_RDMA_TIMEOUT",
    "inference_env.MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES",
    "inference_env.PYTHONHASHSEED",
    "inference_mooncake_master.args.default_kv_lease_ttl",
    "inference_mooncake_master.args.eviction_ratio",
    "inference_mooncake_master.args.rpc_port",
    "inference_mooncake_master.args.enable_ha",
    "inference_store.options.global_segment_size",
    "inference_store.options.master_server_address",
    "inference_store.segment_size",
    "inference_router.args.prefiller-hosts",
    "inference_router.args.port",
    "inference_router.args.host",
    "inference_rules_ignore",
    "inference_image",
    "inference_model.path",
    "node1.inference_memory",
    "node1.inference_address",
)


# Manifests take these values as they are; the others are read by code that the other families show in a fifth of the time.
MANIFESTS = {"inference_image", "inference_model.path", "inference_store.segment_size", "inference_router.args.port"}
ODD_PLACES = [
    pytest.param(name, place, marks=() if name != "kubernetes" or place in MANIFESTS else pytest.mark.long)
    for name in ("both", "one-host", "cpu", "kubernetes")
    for place in PLACES
]


@pytest.mark.parametrize(("name", "place"), ODD_PLACES)
def test_no_value_breaks_the_planner(name, place):
    for value in ODD:
        try:
            launch_plan(*family(name, {place: value}))
        except PlanError as error:
            assert error.findings


@pytest.mark.parametrize("huge", [10**9, 10**30, float("inf"), float("nan"), 2**31 - 1])
@pytest.mark.parametrize(
    "path",
    [
        "inference_pools.decode.data_parallel_size",
        "inference_pools.decode.tensor_parallel_size",
        "inference_pools.decode.instances",
        "inference_devices",
        "node3.inference_devices",
        "node3.inference_memory",
        "inference_start_timeout",
    ],
)
def test_an_absurd_number_ends_at_once(path, huge):
    """The same as the plan without it, or refused; never counted through."""
    try:
        launch_plan(*family("p2p", {path: huge}))
    except PlanError as error:
        assert path.rsplit(".", 1)[-1] in str(error)
    else:
        assert path == "node3.inference_memory" and huge in (10**9, 10**30, 2**31 - 1)


def test_a_cluster_of_a_million_pods_is_refused():
    with pytest.raises(PlanError, match="inference_pools"):
        launch_plan(*family("kubernetes", {"inference_pools.decode.instances": 999_999}))


@pytest.mark.parametrize("word", ["A3", "910B", "a4"])
def test_hardware_of_a_host_is_one_of_the_known(word):
    with pytest.raises(PlanError) as caught:
        launch_plan(*family("p2p", {"node3.inference_hardware": word}))
    assert [(finding.id, finding.path) for finding in caught.value.findings] == [
        ("VARIABLE-CHOICE", "node3.inference_hardware")
    ]


@pytest.mark.parametrize(
    ("name", "changes", "refused"),
    [
        ("p2p", {"inference_encoder_cache.path": "/"}, True),
        ("kubernetes", {"inference_model.path": "/var/lib"}, True),
        # A path in a volume of its own, not of the node.
        ("kubernetes", {"inference_model.path": "/var/lib", "inference_kubernetes.model_claim": "models"}, False),
    ],
)
def test_what_is_of_the_host_is_no_folder_of_the_system(name, changes, refused):
    assert ("FOLDER-SYSTEM" in {finding["id"] for finding in judged(name, changes)}) == refused


def variables(record, before):
    """Paths of all variables of a record, and of the records within it."""
    for field, kind in t.get_type_hints(record).items():
        if t.get_origin(kind) in (t.Union, types.UnionType):
            kind = t.get_args(kind)[0]
        path = f"{before}{field}"
        yield path
        inside = t.get_args(kind)[1] if t.get_origin(kind) is dict else kind
        if dataclasses.is_dataclass(inside):
            yield from variables(inside, f"{path}.{'' if inside is kind else 'node1.'}")


@pytest.mark.parametrize("wrong", [{"a": 1}, pytest.param(True, marks=pytest.mark.long)], ids=str)
def test_a_value_of_another_type_is_a_finding_for_every_variable(wrong):
    """Those of choices had no substitute that exists: KeyError."""
    paths = [path for path in variables(Description, "inference_") if "pools.encode" not in path]
    assert len(paths) > 200 and "inference_runtime" in paths
    for path in paths:
        try:
            launch_plan(*family("cpu", {path: wrong}))
        except PlanError as error:
            assert error.findings and str(error)


# Variables of the environment whose programs end, or drop the setting, with a value that they do not take.
JUDGED = (
    "ASCEND_AGGREGATE_ENABLE",
    "ASCEND_BUFFER_POOL",
    "ASCEND_GLOBAL_LOG_LEVEL",
    "ASCEND_LAUNCH_BLOCKING",
    "ASCEND_SLOG_PRINT_TO_STDOUT",
    "DYNAMIC_EPLB",
    "HCCL_DETERMINISTIC",
    "HCCL_INTRA_PCIE_ENABLE",
    "HCCL_INTRA_ROCE_ENABLE",
    "HCCL_LOGIC_SUPERPOD_ID",
    "HCCL_OP_EXPANSION_MODE",
    "HCCL_RDMA_RETRY_CNT",
    "HCCL_RDMA_SL",
    "HCCL_RDMA_TC",
    "HCCL_WHITELIST_DISABLE",
    "MC_TRANSFER_TIMEOUT",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "PYTORCH_NPU_ALLOC_CONF",
    "TASK_QUEUE_ENABLE",
    "VLLM_ENGINE_ITERATION_TIMEOUT_S",
    "VLLM_ENGINE_READY_TIMEOUT_S",
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS",
    "VLLM_HTTP_TIMEOUT_KEEP_ALIVE",
    "VLLM_LOGGING_LEVEL",
    "VLLM_RPC_TIMEOUT",
    "VLLM_USE_MODELSCOPE",
    "VLLM_USE_V1",
    "VLLM_WORKER_MULTIPROC_METHOD",
)


def test_each_judged_variable_of_the_environment_is_refused_with_an_odd_value():
    found = judged("p2p", {f"inference_env.{name}": "no-such" for name in JUDGED})
    refused = {item["path"].split(".")[-1] for item in found if item["id"] == "ENV-VALUE"}
    assert set(JUDGED) - refused == set()


def test_variables_that_are_not_judged_end_no_judgement_of_others():
    others = {"inference_env.A_PROGRAM_S_OWN": "x", "inference_env.HCCL_OP_EXPANSION_MODE": "$MODE"}
    found = judged("p2p", {**others, "inference_env.VLLM_USE_V1": "no-such"})
    assert [item["path"] for item in found if item["id"] == "ENV-VALUE"] == ["inference_env.VLLM_USE_V1"]


@pytest.mark.parametrize("name", ["both", "kubernetes"])
def test_a_text_that_is_no_json_is_a_finding_with_every_runtime(name):
    text = "{'kv_connector': 'MooncakeConnectorV1'}"
    found = judged(name, {"inference_args.kv-transfer-config": text})
    assert "JSON-SYNTAX" in {item["id"] for item in found}


@pytest.mark.parametrize("value", [*ODD, ["docker"], {"docker": None}])
@pytest.mark.parametrize(
    "name", ["inference_runtime", "inference_release", "inference_recipe", "inference_kv_transfer"]
)
def test_no_value_breaks_what_is_read_before_the_loader(name, value):
    words, inventory = family("p2p", {})
    hostvars = {host: {**words, **item["variables"], name: value} for host, item in inventory.items()}
    variables, conflicts = deployment_variables({name: value}, hostvars, list(inventory))
    try:
        launch_plan(variables, inventory, conflicts)
    except PlanError as error:
        assert error.findings


@pytest.mark.parametrize(("written", "read"), [(False, "false"), (True, "true"), ("auto", "auto")])
def test_a_choice_of_true_and_false_may_be_written_without_quotes(written, read):
    description, found = read_description({"inference_model": {"path": "/m", "moe": written}})
    assert found == [item for item in found if not item.path.startswith("inference_model.")]
    assert description.model.moe == read


def test_a_choice_is_told_what_to_choose_from():
    (found,) = [item for item in read_description({"inference_link": True})[1] if item.path == "inference_link"]
    assert found.fix == "Choose one of auto, hccs, roce."


@pytest.mark.parametrize("devices", [[0, 0, *range(1, 16)], [-1, *range(16)]])
def test_ids_that_no_device_has_or_that_stand_twice_are_the_only_finding(devices):
    (found,) = judged("p2p", {"node2.inference_devices": devices})
    assert (found["id"], found["path"]) == ("VARIABLE-RANGE", "node2.inference_devices")


def test_a_text_in_place_of_a_mapping_is_one_finding_with_an_example():
    (found,) = judged("p2p", {"inference_model": "/models/x"})
    assert (found["id"], found["path"]) == ("VARIABLE-TYPE", "inference_model")
    assert found["fix"].startswith("Write KEY: VALUE, such as path: /models/x. ")


def test_a_missing_variable_is_told_what_it_is():
    (found,) = judged("p2p", {"inference_model": {"name": "x"}})
    assert (found["id"], found["path"]) == ("VARIABLE-MISSING", "inference_model.path")
    assert found["fix"] == (
        "Set it: Directory of the model on every host with an engine. Example: path: /models/Qwen3-30B-A3B"
    )


@pytest.mark.parametrize("record", [Description, Model, Mount])
def test_each_required_variable_has_an_example_that_can_be_copied(record):
    required = {
        field.name: field.metadata["example"] for field in dataclasses.fields(record) if loader._required(field)
    }
    assert required
    for name, example in required.items():
        assert [key.removeprefix("inference_") for key in yaml.safe_load(example)] == [name]
