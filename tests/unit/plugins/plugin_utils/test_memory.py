# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arithmetic of weights and KV cache: published figures of models, and what vLLM itself allocated."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import memory
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.memory import Division

MIB = 2**20
LLAMA_8B = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32}
DEEPSEEK_R1 = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_attention_heads": 128, "num_hidden_layers": 61}


def test_kv_bytes_of_known_models():
    assert memory.page_bytes(LLAMA_8B, Division(), 2) * 32 == 128 * 1024  # 128 KiB a token, as published for Llama 3 8B
    assert memory.page_bytes(LLAMA_8B, Division(tensor=8), 2) * 32 == 16 * 1024
    assert memory.page_bytes(LLAMA_8B, Division(tensor=16), 2) * 32 == 16 * 1024  # a head is never divided
    assert memory.page_bytes(DEEPSEEK_R1, Division(), 2) * 61 == 70272  # DeepSeek-V3: 70 KB a token
    assert memory.page_bytes(DEEPSEEK_R1, Division(tensor=16), 2) * 61 == 70272  # the latent vector is on each rank
    assert memory.page_bytes({**DEEPSEEK_R1, "index_head_dim": 128}, Division(), 2) == 2 * (576 + 128)
    assert memory.page_bytes({}, Division(), 2) == 0


@pytest.mark.parametrize(("layers", "stages", "sizes"), [(61, 1, [61]), (61, 2, [31, 30]), (62, 4, [15, 16, 16, 15])])
def test_layers_of_pipeline_stages(layers, stages, sizes):
    assert memory.stage_sizes(layers, stages) == sizes


def test_layers_with_a_cache():
    assert memory.cached_layers({"num_hidden_layers": 61}, Division(), 1) == 62
    assert memory.cached_layers({"num_hidden_layers": 61}, Division(pipeline=2), 1) == 31
    assert memory.cached_layers({"num_hidden_layers": 48, "full_attention_interval": 4}, Division(), 0) == 12
    types = ["linear_attention", "full_attention"] * 4
    assert memory.cached_layers({"num_hidden_layers": 8, "layer_types": types}, Division(), 0) == 4


def test_weights_of_a_rank():
    layer = {"split": 800, "key_value": 80, "experts": 6400, "copied": 3}
    weights = {"embedding": 1600, "head": 1600, "other": 5, "layers": [layer, layer], "draft": []}
    config = {"num_hidden_layers": 2, "num_key_value_heads": 2}
    assert memory.weights_per_rank(weights, config, Division()) == 3205 + 2 * 7283
    assert memory.weights_per_rank(weights, config, Division(tensor=8)) == 405 + 2 * (100 + 40 + 800 + 3)
    spread = Division(tensor=1, data=32, spread_experts=True)
    assert memory.weights_per_rank(weights, config, spread) == 3205 + 2 * (800 + 80 / 1 // 1 + 200 + 3)
    assert memory.weights_per_rank(weights, config, Division(pipeline=2)) == 1600 + 7283 + 5
    tied = {**weights, "head": 0}
    assert memory.weights_per_rank(tied, config, Division(pipeline=2)) == 1600 + 7283 + 5


def test_blocks():
    assert memory.blocks(64 * MIB, 1024, 3, 128) == 170
    assert memory.blocks(-5, 1024, 3, 128) == 0
    assert memory.blocks_of_sequence(1025, 128) == 9
    assert memory.blocks_of_sequence(1024, 128, 2) == 4


@pytest.mark.parametrize(
    ("cache", "dtype", "size"),
    [("auto", "bfloat16", 2), ("auto", "float32", 4), ("fp8_e4m3", "bfloat16", 1), ("int8", "", 1), ("", "auto", 2)],
)
def test_bytes_of_a_number(cache, dtype, size):
    assert memory.number_bytes(cache, dtype) == size


# What vLLM 0.32.0 allocated on CPU for 64 MiB of --kv-cache-memory-bytes, dtype bfloat16, --load-format dummy: (config, blocks of 128).
ALLOCATED = {
    "multi-head": (
        {"num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 3, "hidden_size": 256},
        170,
    ),
    "latent": ({"kv_lora_rank": 64, "qk_rope_head_dim": 32, "num_attention_heads": 4, "num_hidden_layers": 3}, 910),
    # Gemma 2, every second layer with a window of 128, and --disable-hybrid-kv-cache-manager as vLLM sets it for KV connectors
    "window": ({"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 4}, 256),
    "grouped": ({"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 5}, 204),
}


@pytest.mark.parametrize("family", ALLOCATED)
def test_blocks_are_those_of_the_engine(family):
    config, allocated = ALLOCATED[family]
    layers = memory.cached_layers(config, Division(), 0)
    assert memory.blocks(64 * MIB, memory.page_bytes(config, Division(), 2), layers, 128) == allocated
