# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of a model out of its own config.json: on the controller where it has the model's folder, or as a host's check read it.

The file is the model's author's: whatever has another type or size than a figure can have is unknown. What a config.json does not say is zero
only for architectures that are known to lack it, because others may have a name of their own for it.
"""

from __future__ import annotations

import functools
import os
import typing as t

from ...module_utils.host.model_facts import read_config
from .model_figures import UNKNOWN, Figures

LARGEST = 10**8  # of a figure; the longest context of a published model has 10**7 tokens
EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts")
MTP_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")  # the latter of Qwen3.5 and later
# transformers: types whose configuration has no experts, and those whose model has no layers for speculation
NO_MTP_TYPES = frozenset(["llama", "mistral", "mixtral", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"])
DENSE_TYPES = frozenset(["llama", "mistral", "phi3", "qwen2", "qwen3", "qwen3_5", "qwen3_5_text"])


def of_config(config: t.Mapping[str, t.Any], source: str) -> Figures:
    """The figures of a configuration as ``read_config`` returns it; ``source`` names it in messages. Without attention heads nothing is known."""
    heads = _number(config, "num_attention_heads")
    if not heads:
        return UNKNOWN
    kind = config.get("model_type")
    kind = kind if isinstance(kind, str) else ""
    experts = next((found for found in (_number(config, key) for key in EXPERTS) if found is not None), None)
    hidden, quantization = _number(config, "hidden_size"), config.get("quantization_config")
    method = quantization.get("quant_method") if isinstance(quantization, t.Mapping) else ""
    layers = next((found for found in (_number(config, key) for key in MTP_LAYERS) if found is not None), None)
    return Figures(
        source,
        0 if experts is None and kind in DENSE_TYPES else experts,
        heads,
        _number(config, "num_key_value_heads") or heads,
        0 if layers is None and kind in NO_MTP_TYPES else layers,
        _context(config),
        bool(_number(config, "kv_lora_rank")),
        bool(_number(config, "index_head_dim")),
        method[:40] if isinstance(method, str) else "",
        _number(config, "head_dim") or (hidden // heads if hidden else None),
    )


def _context(config: t.Mapping[str, t.Any]) -> int | None:
    """The longest context that any vLLM allows for the positions and their scaling; None where the file names it otherwise.

    vLLM config/model.py, _get_and_verify_max_len: with YaRN the length is scaled already, or the original one times the factor.
    """
    length = _number(config, "max_position_embeddings")
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if length is None or "model_max_length" in config or not isinstance(rope, t.Mapping):
        return None
    kind, factor = str(rope.get("rope_type") or rope.get("type") or ""), rope.get("factor", 1)
    if any(isinstance(value, t.Mapping) for value in rope.values()) or not isinstance(factor, (int, float)):
        return None  # one for each kind of layer
    if kind in ("su", "longrope", "llama3"):
        return length
    original = _number(rope, "original_max_position_embeddings") or length
    return int(max(length, min((original if "yarn" in kind else length) * factor, LARGEST)))


def _number(config: t.Mapping[str, t.Any], key: str) -> int | None:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST else None


def of_folder(path: str) -> Figures:
    """The figures of a model's folder on this machine; UNKNOWN where there is none, or its config.json cannot be used."""
    file = os.path.join(path, "config.json")
    try:
        status = os.stat(file) if os.path.isabs(path) else None
    except (OSError, ValueError):  # a name with a null byte
        return UNKNOWN
    return _of_file(file, status.st_size, status.st_mtime_ns) if status else UNKNOWN


@functools.lru_cache(maxsize=64)
def _of_file(file: str, size: int, changed: int) -> Figures:
    """Read once for each content: rules ask for each of their conditions."""
    config, error = read_config(file)
    return UNKNOWN if error else of_config(config, file)
