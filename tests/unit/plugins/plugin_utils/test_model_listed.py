# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model's small files say against a plan before its weights are fetched: each wrong model is refused once, with another one to take."""

from __future__ import annotations

import bisect

import pytest
from ansible_collections.ascend.inference.plugins.filter.model_refusal import model_refusal
from ansible_collections.ascend.inference.plugins.module_utils.tools.engine_kinds import ENGINE_KINDS
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import model_listed
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of

CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "head_dim": 128,
    "hidden_size": 4096,
    "max_position_embeddings": 262144,
    "model_type": "qwen3_moe",
    "num_attention_heads": 64,
    "num_experts": 128,
    "num_hidden_layers": 94,
    "num_key_value_heads": 64,
    "num_nextn_predict_layers": 1,
    "torch_dtype": "bfloat16",
}
GOOD = {
    "config": CONFIG,
    "config_error": "",
    "quantized": True,
    "tokenizer": True,
    "chat_template": True,
    "tool_parsers": ["hermes", "qwen3_json"],
    "missing": [],
    "size_mib": 9,
    "weight_bytes": 9 * 2**20,
}


@pytest.fixture(scope="module")
def plan():
    """The 2P1D inventory; its engines get --quantization ascend."""
    found = plan_of("a3_2p1d")
    for service in found["services"]:
        if "--kv-transfer-config" in service["argv"]:
            service["argv"] = [
                word
                for place, word in enumerate(service["argv"])
                if not {"--quantization", "--max-model-len"} & set(service["argv"][max(0, place - 1) : place + 1])
            ]
            service["argv"] += ["--quantization", "ascend", "--max-model-len", "32768", "--tool-call-parser", "hermes"]
    return found


def npus(plan, mib=65536):
    rows = [{"npu_id": number // 2, "device_id": number, "hbm_total_mib": mib} for number in range(16)]
    return {host["name"]: {"npus": rows} for host in plan["hosts"]}


def ids(plan, npus=None, repair=False, ignored=(), **changed):
    listed = {**GOOD, **changed, "config": {**CONFIG, **changed.get("config", {})}}
    found = model_listed.listed_findings(plan, listed, npus or {}, repair, ignored)
    assert len({each.problem for each in found}) == len(found)
    return sorted({each.id for each in found})


def test_a_model_that_fits_is_fetched(plan):
    assert ids(plan) == [] == ids(plan, npus(plan))
    assert model_refusal(GOOD, plan, "modelscope:o/m@v1", npus(plan)) == {"refusal": "", "warnings": []}


@pytest.mark.parametrize(
    ("wrong", "rules"),
    [
        ({"config": {"quantization_config": {"quant_method": "awq"}}}, ["MODEL-FORMAT"]),
        ({"quantized": False}, ["MODEL-UNQUANTIZED"]),
        ({"config": {"torch_dtype": "float16"}}, ["MODEL-DTYPE"]),
        ({"tokenizer": False}, ["MODEL-TOKENIZER"]),
        ({"missing": ["model-00007-of-00009.safetensors"]}, ["MODEL-INCOMPLETE"]),
        ({"config": {"max_position_embeddings": 16384}}, ["MODEL-FIGURES"]),
        ({"config": {"max_position_embeddings": 16384, "rope_scaling": {"factor": 4.0}}}, []),
        ({"config": {"num_attention_heads": 7, "num_key_value_heads": 7}}, ["MODEL-FIGURES"]),
        ({"config": {"architectures": ["Glm5DSparkForCausalLM"]}}, ["MODEL-ARCHITECTURE"]),
        ({"schemes": ["FLOAT", "W8A8_DYNAMIC"]}, []),
        ({"schemes": ["FLOAT", "W2A2_NEW"]}, ["MODEL-SCHEME"]),
        ({"tool_parsers": ["qwen3_coder", "qwen3_xml"]}, ["MODEL-PARSER"]),
        ({"tool_parsers": []}, []),
        ({"chat_template": False}, []),  # a remark: there are models without chat
    ],
)
def test_what_is_wrong_is_named_once_for_all_hosts(plan, wrong, rules):
    assert ids(plan, **wrong) == rules


def test_schemes_of_310p_have_a_registry_of_their_own(plan):
    """vllm_ascend/_310p/quantization, which is not collected."""
    hosts = [{**host, "hardware": "310p"} for host in plan["hosts"]]
    assert "MODEL-SCHEME" not in ids({**plan, "hosts": hosts}, schemes=["W8A8SC"])


def test_weights_that_no_division_brings_into_the_memory(plan):
    assert ids(plan, npus(plan), weight_bytes=900 * 2**40) == ["MODEL-MEMORY"]
    assert ids(plan, weight_bytes=900 * 2**40) == []  # the memory is unknown
    assert ids(plan, npus(plan, 0), weight_bytes=900 * 2**40) == []
    assert ids(plan, npus(plan), ignored=["MODEL-MEMORY"], weight_bytes=900 * 2**40) == []


def test_the_share_of_a_device_begins_to_be_too_large_at_its_budget(plan):
    engine = next(service for service in plan["services"] if "--tensor-parallel-size" in service["argv"])
    argv = engine["argv"]
    ranks = int(argv[argv.index("--tensor-parallel-size") + 1])
    alone = {**plan, "services": [{**engine, "argv": [word for word in argv if word != "--enable-expert-parallel"]}]}
    used = float(argv[argv.index("--gpu-memory-utilization") + 1]) if "--gpu-memory-utilization" in argv else 0.9
    budget = int(65536 * 2**20 * used)
    dense = {"config": {"num_experts": None}}
    assert ids(alone, npus(plan), weight_bytes=budget * ranks, **dense) == ["MODEL-MEMORY"]
    assert ids(alone, npus(plan), weight_bytes=(budget - 1) * ranks, **dense) == []


def test_ranks_of_prefill_context_parallelism_share_the_experts(plan):
    more = [{**each, "argv": [*each["argv"], "--prefill-context-parallel-size", "2"]} for each in plan["services"]]
    limits = []
    for services in (plan["services"], more):
        sizes = range(2**30, 2**50, 2**30)
        limits.append(
            bisect.bisect_left(
                sizes, 1, key=lambda size: len(ids({**plan, "services": services}, npus(plan), weight_bytes=size))
            )
        )
    assert limits[1] == pytest.approx(2 * limits[0], rel=0.01)


def test_an_odd_answer_of_a_host_about_its_npus_says_nothing_of_the_model(plan):
    first = plan["hosts"][0]["name"]
    for odd in (["x"], {"npus": [7]}, {"npus": {"a": None}}):
        assert ids(plan, {**npus(plan), first: odd}) == []


@pytest.mark.parametrize(
    ("more", "env"),
    [
        (["--rope-scaling", '{"rope_type": "yarn", "factor": 4.0}'], {}),
        ([], {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "true"}),
    ],
)
def test_positions_may_be_more_than_config_json_says(plan, more, env):
    short = {"config": {"max_position_embeddings": 16384}}
    services = [
        {**each, "argv": [*each["argv"], *more], "env": {**each["env"], **env}}
        if each["kind"] in ENGINE_KINDS
        else each
        for each in plan["services"]
    ]
    assert (ids(plan, **short), ids({**plan, "services": services}, **short)) == (["MODEL-FIGURES"], [])


def test_a_repaired_configuration_is_not_refused(plan):
    wrong = {"config": {"torch_dtype": "float16"}}
    assert ids(plan, repair=True, **wrong) == []


def test_a_refusal_names_the_documented_model_to_take_instead(plan):
    listed = {**GOOD, "config": {**CONFIG, "quantization_config": {"quant_method": "awq"}}}
    found = model_refusal(listed, plan, "modelscope:o/DeepSeek-V3-AWQ@v1")["refusal"]
    assert "no weights were fetched" in found and "MODEL-FORMAT" in found
    assert "DeepSeek-V3-W8A8 (recipe deepseek-v3-w8a8-a3)" in found
    other = model_refusal({**GOOD, "schemes": ["W2A2_NEW"]}, plan, "modelscope:o/DeepSeek-V3-W2A2@v1")["refusal"]
    assert "has W2A2_NEW; release" in other and "W8A8_DYNAMIC" in other and "DeepSeek-V3-W8A8 (recipe" in other
    assert "recipe" not in model_refusal(listed, plan, "modelscope:o/Unknown-7B-AWQ")["refusal"]
    short = {**GOOD, "config": {**CONFIG, "max_position_embeddings": 16384}}  # a setting mends it
    assert "recipe" not in model_refusal(short, plan, "modelscope:o/DeepSeek-V3-AWQ")["refusal"]


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("QuantTrio/GLM-4.7-AWQ", "GLM-4.7-W8A8C8"),
        ("deepseek-ai/DeepSeek-V3.1-Terminus", "DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot"),
        ("moonshotai/Kimi-K2.5", "Kimi-K2.5-W4A8"),
        ("Qwen/Qwen3-235B-A22B-GPTQ-Int4", "Qwen3-235B-A22B-W8A8"),
    ],
)
def test_the_same_model_has_one_stem_however_it_is_stored(name, others):
    assert model_listed.stem(name) == model_listed.stem(others)


@pytest.mark.parametrize(
    ("one", "other"), [("Qwen3-30B", "Qwen3-32B"), ("DeepSeek-V3", "DeepSeek-V3.1"), ("GLM-5", "GLM-5.1")]
)
def test_other_models_have_other_stems(one, other):
    assert model_listed.stem(one) != model_listed.stem(other)
