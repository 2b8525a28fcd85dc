# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of a model's config.json for engines on NPUs, and completeness of its weights. Runs on Python 3.7."""

from __future__ import annotations

import copy
import os

from ..tools import foreign_json

INDEX = "model.safetensors.index.json"
REPAIRS = ("head_dim", "torch_dtype")
DTYPES = ("dtype", "torch_dtype")


def repaired(config, quantized, repairs=REPAIRS):
    """The repaired configuration, and a message for each change.

    ``config`` is config.json as a dict (not modified), ``quantized`` whether the weights are quantized. ``head_dim`` is
    hidden_size / num_attention_heads, for models without it (AttributeError: 'Qwen2Config' object has no
    attribute 'head_dim'); models with latent attention have other dimensions and are not changed. ``torch_dtype`` is
    bfloat16 for quantized weights, because the kernels need it.
    """
    result, notices = copy.deepcopy(config), []
    nested = result.get("text_config")
    text = nested if isinstance(nested, dict) and "hidden_size" in nested else result
    hidden, heads = text.get("hidden_size"), text.get("num_attention_heads")
    known = isinstance(hidden, int) and isinstance(heads, int) and heads > 0 and hidden % heads == 0
    if "head_dim" in repairs and text.get("head_dim") is None and known and not text.get("kv_lora_rank"):
        text["head_dim"] = hidden // heads
        notices.append(f"head_dim was missing; set to {hidden // heads} (hidden_size / num_attention_heads)")
    if "torch_dtype" in repairs and (quantized or result.get("quantization_config")):
        for owner in [result] if text is result else [result, text]:
            notices += _bfloat16(owner, owner is result)
    return result, notices


def _bfloat16(owner, needed):
    """Replace another type or, if ``needed``, add a missing one."""
    keys = [key for key in DTYPES if owner.get(key)] or ([DTYPES[1]] if needed else [])
    wrong = [key for key in keys if owner.get(key) != "bfloat16"]
    notices = [f"{key} was {owner.get(key)}; set to bfloat16, because the weights are quantized" for key in wrong]
    owner.update((key, "bfloat16") for key in wrong)
    return notices


def is_quantized(path):
    """Whether a model's folder has the description file of Ascend's quantization tool."""
    return any(item.startswith("quant_model_description") for item in os.listdir(path))


def missing_weights(path):
    """Messages for files of the model's index that are missing, or whose total size is wrong."""
    try:
        index = foreign_json.load(os.path.join(path, INDEX))
    except OSError:
        return []  # weights in one file have no index
    except ValueError as error:
        return [f"{INDEX} is not JSON: {error}"]
    try:
        names = sorted({str(name) for name in index.get("weight_map", {}).values()})
        total = index.get("metadata", {}).get("total_size", 0)
    except AttributeError:
        return [f"{INDEX} is not an index of weights"]
    sizes = {name: os.path.getsize(os.path.join(path, name)) for name in names if _is_file(path, name)}
    missing = [f"{name} is missing" for name in names if name not in sizes]
    if not missing and isinstance(total, int) and sum(sizes.values()) < total:
        missing.append(f"the weights have {sum(sizes.values())} bytes, but {INDEX} states {total}")
    return missing


def _is_file(path, name):
    return os.path.isfile(os.path.join(path, name))


def backup_path(path):
    """An unused name next to ``path``. Its leading dot excludes it from the fingerprint that compares models."""
    folder, name = os.path.split(path)
    number = 0
    while True:
        candidate = os.path.join(folder, f".{name}.before-repair{'-' + str(number) if number else ''}")
        if not os.path.lexists(candidate):
            return candidate
        number += 1
