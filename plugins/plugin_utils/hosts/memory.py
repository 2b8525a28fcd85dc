# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model needs of a device's memory: weights of one rank, KV cache of one token, and what is left for sequences.

The arithmetic is vLLM's own (vllm/v1/kv_cache_interface.py, vllm/v1/core/kv_cache_utils.py): blocks of ``block_size`` tokens,
one page a layer, with as many blocks for each layer. Activations, graphs and the buffers of collective operations come on top;
only an engine can measure them. So the result is an upper bound: what does not fit here does not fit at all.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

Record = t.Mapping[str, t.Any]

BYTES = {"auto": 2, "bfloat16": 2, "float16": 2, "half": 2, "float": 4, "float32": 4, "int8": 1, "fp8": 1}
"""Bytes of one number of the KV cache, by ``--kv-cache-dtype`` or ``--dtype``; other names of fp8 begin with it."""


@dataclass(frozen=True)
class Division:
    """How an engine divides a model: sizes of tensor, pipeline, data and decode-context parallelism, and whether experts are spread."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    context: int = 1
    spread_experts: bool = False


def weights_per_rank(weights: Record, config: Record, division: Division) -> int:
    """Bytes of the weights on the rank that has most of them. ``weights`` as ``model_weights.weight_sizes`` returns them."""
    experts = division.tensor * (division.data if division.spread_experts else 1)
    heads = max(1, min(division.tensor, int(config.get("num_key_value_heads") or division.tensor)))
    hidden = int(config.get("num_hidden_layers") or len(weights["layers"]))
    layers = [_of_layer(layer, division.tensor, heads, experts) for layer in weights["layers"]]
    draft = sum(layers[hidden:]) + sum(
        _of_layer(layer, division.tensor, heads, experts) for layer in weights.get("draft") or []
    )
    stages = stage_sizes(len(layers[:hidden]), division.pipeline)
    embedding = weights["embedding"] // division.tensor
    head = (weights["head"] or (weights["embedding"] if division.pipeline > 1 else 0)) // division.tensor
    sums, first = [], 0
    for number, size in enumerate(stages):
        total = sum(layers[first : first + size]) + weights["other"]
        total += embedding if number == 0 else 0
        total += head + draft if number == len(stages) - 1 else 0
        sums.append(total)
        first += size
    return max(sums)


def _of_layer(layer: Record, tensor: int, heads: int, experts: int) -> int:
    return (
        layer["split"] // tensor + layer["key_value"] // heads + layer["experts"] // max(1, experts) + layer["copied"]
    )


def stage_sizes(layers: int, stages: int) -> list[int]:
    """Layers of each pipeline stage, as vLLM divides them: a remainder goes to the stages before the last (get_pp_indices)."""
    sizes = [layers // stages] * stages
    for extra in range(layers % stages):
        sizes[-2 - extra if stages > 1 else -1] += 1
    return sizes


def page_bytes(config: Record, division: Division, number_bytes: int) -> int:
    """Bytes that one token takes in the cache of one layer on one rank; 0 if the configuration does not state it."""
    if config.get("kv_lora_rank"):
        latent = int(config["kv_lora_rank"]) + int(config.get("qk_rope_head_dim") or 0)
        return number_bytes * (latent + int(config.get("index_head_dim") or 0))
    attention_heads = int(config.get("num_attention_heads") or 0)
    heads = int(config.get("num_key_value_heads") or attention_heads)
    hidden = int(config.get("hidden_size") or 0)
    size = int(config.get("head_dim") or (hidden // attention_heads if attention_heads else 0))
    return 2 * max(1, heads // division.tensor) * size * number_bytes if heads and size else 0


def cached_layers(config: Record, division: Division, draft_layers: int) -> int:
    """Layers with a KV cache on the rank that has most; draft layers are on the last stage."""
    layers = int(config.get("num_hidden_layers") or 0)
    interval = int(config.get("full_attention_interval") or 0)
    types = config.get("layer_types")
    if isinstance(types, list) and any("linear" in str(kind) for kind in types):
        layers = sum("linear" not in str(kind) for kind in types)
    elif interval:
        layers //= interval
    sizes = stage_sizes(layers, division.pipeline)
    sizes[-1] += draft_layers
    return max(sizes)


def blocks(available: int, page: int, layers: int, block_size: int) -> int:
    """Blocks of a KV cache of ``available`` bytes, as vLLM counts them."""
    return max(0, available) // (page * block_size) // layers if page and layers else 0


def blocks_of_sequence(tokens: int, block_size: int, context: int = 1) -> int:
    """Blocks that one sequence of ``tokens`` tokens takes on a rank."""
    return -(-tokens // (block_size * context))


def number_bytes(cache_dtype: str, dtype: str) -> int:
    """Bytes of one number of the cache, of ``--kv-cache-dtype`` and, where that is auto, of ``--dtype``."""
    name = dtype if cache_dtype in ("", "auto") else cache_dtype
    return 1 if name.startswith("fp8") else BYTES.get(name, 2)
