# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures out of a model's own config.json: those of published models, of unusual ones, and of files that lie."""

from __future__ import annotations

import json
import os
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.model_figures import contradictions
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.model_config import of_config, of_folder
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.model_figures import FAMILIES, UNKNOWN, of_model
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

MODELS = json.loads((pathlib.Path(__file__).resolve().parents[2] / "judge" / "models.json").read_text(encoding="utf-8"))
SMALL = {"model_type": "qwen2", "num_attention_heads": 28, "hidden_size": 3584}


def folder(path, config):
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return str(path)


@pytest.mark.parametrize("known", [item for _pattern, item in FAMILIES if item.source], ids=lambda item: item.source)
def test_a_published_file_says_what_its_family_is_known_for(tmp_path, known):
    found = of_folder(folder(tmp_path / "m", MODELS[known.source]))
    assert found._replace(source="", quantization="", head_dim=None) == known._replace(source="")
    assert found.head_dim


@pytest.mark.parametrize(
    ("config", "figures"),
    [
        (SMALL, (0, 28, 28, 0, 128)),
        ({**SMALL, "model_type": "made_up"}, (None, 28, 28, None, 128)),  # it may have another name for its experts
        ({**SMALL, "num_experts": 8, "num_nextn_predict_layers": 2, "head_dim": 64}, (8, 28, 28, 2, 64)),
        ({**SMALL, "num_key_value_heads": True, "num_experts": "8"}, (0, 28, 28, 0, 128)),
        ({**SMALL, "num_experts": 10**30, "num_key_value_heads": -4}, (0, 28, 28, 0, 128)),
        ({"text_config": SMALL, "model_type": "made_up_vl"}, (None, 28, 28, None, 128)),
    ],
)
def test_unusual_files(tmp_path, config, figures):
    found = of_folder(folder(tmp_path / "m", config))
    assert (found.experts, found.heads, found.kv_heads, found.mtp_layers, found.head_dim) == figures


@pytest.mark.parametrize(
    "config",
    [
        "",
        "[" * 5000,
        "[]",
        '"x"',
        "null",
        '{"num_attention_heads": {}}',
        '{"num_attention_heads": 1e400}',
        "{" + '"a":1,' * 9,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_files_that_say_nothing(tmp_path, config):
    assert of_folder(folder(tmp_path / "m", config)) == UNKNOWN


def test_what_is_no_file_is_not_read(tmp_path):
    (tmp_path / "m").mkdir()
    os.mkfifo(tmp_path / "m" / "config.json")
    assert of_folder(str(tmp_path / "m")) == UNKNOWN, "a pipe would hold the planner"
    assert of_folder("relative") == of_folder("/no\0where") == of_folder("/nowhere") == UNKNOWN


def test_a_file_counts_more_than_a_name_and_the_user_more_than_both(tmp_path):
    path = folder(tmp_path / "Qwen3-30B-A3B", SMALL)
    assert of_model(path, "x").heads == 28 and of_model(path, "x").dense
    assert not of_model(path, "x", "true").dense
    folder(tmp_path / "Qwen3-30B-A3B", {**SMALL, "num_attention_heads": 320})
    assert of_model(path, "x").heads == 320, "the file has changed"
    (tmp_path / "Qwen3-30B-A3B" / "config.json").unlink()
    assert of_model(path, "x").heads == 32


def test_the_planner_refuses_what_the_file_contradicts(tmp_path):
    words, inventory = family("p2p", {})
    words["inference_model"] = {"path": folder(tmp_path / "house", {**SMALL, "num_experts": 8}), "name": "house"}
    with pytest.raises(PlanError) as caught:
        launch_plan(words, inventory)
    assert "config.json has 28 attention heads, which 8 ranks cannot share" in str(caught.value)
    (tmp_path / "house" / "config.json").unlink()
    launch_plan(words, inventory)


def test_a_host_contradicts_commands():
    found = of_config({**SMALL, "model_type": "qwen3"}, "/m/config.json")
    speculation = ["--speculative-config", '{"method": "mtp"}']
    argv = ["vllm", "serve", "/m", "--tensor-parallel-size", "8", "--enable-expert-parallel", *speculation]
    assert [value for value, _problem in contradictions(found, argv)] == ["8", "--enable-expert-parallel", "mtp"]
    right = [
        "vllm",
        "serve",
        "/m",
        "--tensor-parallel-size",
        "4",
        "--speculative-config",
        '{"method": "mtp", "model": "/d"}',
    ]
    for words in (
        right,
        ["vllm", "--tensor-parallel-size"],
        ["--speculative-config", "{"],
        ["--speculative-config", "[1]"],
    ):
        assert list(contradictions(found, words)) == []
    assert list(contradictions(of_config({**SMALL, "model_type": "other"}, "x"), argv)) == [
        ("8", "x has 28 attention heads, which 8 ranks cannot share")
    ]
    assert list(contradictions(UNKNOWN, argv)) == []


@pytest.mark.parametrize(
    ("more", "context"),
    [
        ({}, 40960),
        ({"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}}, 40960),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}, 131072),
        ({"rope_scaling": {"type": "yarn", "factor": 1.0, "original_max_position_embeddings": 4096}}, 40960),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2}}, 81920),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 40960),
        ({"rope_scaling": {"factor": "x"}}, None),
        ({"rope_scaling": {"factor": float("inf")}}, 10**8),
        ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, None),
        ({"rope_scaling": 7}, None),
        ({"model_max_length": 99}, None),
        ({"max_position_embeddings": None}, None),
    ],
)
def test_the_context_is_what_positions_and_their_scaling_allow(more, context):
    assert of_config({"num_attention_heads": 8, "max_position_embeddings": 40960, **more}, "x").context == context
