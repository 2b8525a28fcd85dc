# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of models are those of their published config.json, and a name has the figures of its own family."""

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.model_figures import (
    FAMILIES,
    UNKNOWN,
    Figures,
    of_model,
)

MODELS = json.loads((pathlib.Path(__file__).resolve().parents[2] / "judge" / "models.json").read_text(encoding="utf-8"))


def published(source):
    """The figures of a config.json."""
    config = MODELS[source].get("text_config") or MODELS[source]
    return Figures(
        source,
        config.get("n_routed_experts") or config.get("num_experts") or 0,
        config["num_attention_heads"],
        config["num_key_value_heads"],
        config.get("num_nextn_predict_layers", config.get("mtp_num_hidden_layers", 0)),
        config["max_position_embeddings"],
        "kv_lora_rank" in config,
        "index_topk" in config,
    )


@pytest.mark.parametrize(
    "figures", [found for _pattern, found in FAMILIES if found.source], ids=lambda item: item.source
)
def test_figures_are_the_published_ones(figures):
    assert figures == published(figures.source)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("/models/DeepSeek-R1-0528-W8A8", "deepseek-ai/DeepSeek-V3"),
        ("/home/weight/DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot", "deepseek-ai/DeepSeek-V3"),
        ("deepseek_v3_2", "deepseek-ai/DeepSeek-V3.2"),
        ("/models/DeepSeek-V3-0324", "deepseek-ai/DeepSeek-V3"),
        ("/models/DeepSeek-V3.2-w8a8", "deepseek-ai/DeepSeek-V3.2"),
        ("/models/DeepSeek-V4-Flash-w8a8-mtp", ""),
        ("/models/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"),
        ("/models/DeepSeek-R1-Distill-Llama-70B", ""),
        ("/models/DeepSeek-R1-0528-Qwen3-8B", "Qwen/Qwen3-8B"),
        ("qwen3_8B", "Qwen/Qwen3-8B"),
        ("/models/Qwen3.6-27B-w8a8", "Qwen/Qwen3.5-27B"),
        ("/models/Qwen3-VL-8B", ""),
        ("/models/GLM5-w8a8", "zai-org/GLM-5"),
        ("/models/GLM-5.1-w8a8", "zai-org/GLM-5"),
        ("/models/GLM-5.3-Flash", ""),
        ("/models/GLM-4.7-W8A8C8", "zai-org/GLM-4.6"),
        ("/models/GLM-4.7-Flash", ""),
    ],
)
def test_a_name_has_the_figures_of_its_family(name, source):
    assert of_model(name, "served").source == source


def test_what_the_user_says_about_experts_wins():
    assert of_model("/models/Qwen3-8B", "x", "true") == Figures("inference_model.moe", experts=1)
    assert of_model("/models/Qwen3-30B-A3B", "x", "false").dense
    assert of_model("/models/Qwen3-30B-A3B", "x", "true").heads == 32
    assert of_model("/models/other", "x", "false").dense
    assert of_model("/models/other", "x") == UNKNOWN
