# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes from safetensors headers, on files that are written here by the format's description."""

from __future__ import annotations

import json
import struct

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host.model_weights import damaged_files, weight_sizes

BF16 = 2


def write(folder, name, tensors):
    """A safetensors file: names to shapes; all numbers are bfloat16, and the data is left out."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for tensor, shape in tensors.items():
        size = BF16
        for length in shape:
            size *= length
        header[tensor] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text)


def test_tensors_are_counted_by_how_they_are_divided(tmp_path):
    write(
        tmp_path,
        "model-00001-of-00002.safetensors",
        {
            "model.embed_tokens.weight": (100, 8),
            "model.layers.0.self_attn.q_proj.weight": (8, 8),
            "model.layers.0.self_attn.k_proj.weight": (4, 8),
            "model.layers.0.self_attn.v_proj.weight": (4, 8),
            "model.layers.0.input_layernorm.weight": (8,),
        },
    )
    write(
        tmp_path,
        "model-00002-of-00002.safetensors",
        {
            "model.layers.1.mlp.gate.weight": (2, 8),
            "model.layers.1.mlp.experts.0.up_proj.weight": (16, 8),
            "model.layers.1.mlp.experts.1.up_proj.weight": (16, 8),
            "model.layers.1.mlp.shared_experts.up_proj.weight": (16, 8),
            "model.layers.1.self_attn.kv_a_proj_with_mqa.weight": (3, 8),
            "model.norm.weight": (8,),
            "lm_head.weight": (100, 8),
            "visual.blocks.0.attn.qkv.weight": (24, 8),
            "mtp.layers.0.mlp.up_proj.weight": (16, 8),
        },
    )
    assert weight_sizes(str(tmp_path)) == {
        "embedding": BF16 * 800,
        "head": BF16 * 800,
        "other": BF16 * (8 + 192),
        "layers": [
            {"split": BF16 * 64, "key_value": BF16 * 64, "experts": 0, "copied": BF16 * 8},
            {"split": BF16 * 128, "key_value": 0, "experts": BF16 * 256, "copied": BF16 * (16 + 24)},
        ],
        "draft": [{"split": BF16 * 128, "key_value": 0, "experts": 0, "copied": 0}],
    }


@pytest.mark.parametrize(
    "content",
    [b"", b"\x05", struct.pack("<Q", 2**60) + b"{}", struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 9) + b'{"a": {}}'],
)
def test_a_file_that_is_no_safetensors_gives_nothing(tmp_path, content):
    write(tmp_path, "a.safetensors", {"lm_head.weight": (2, 2)})
    (tmp_path / "b.safetensors").write_bytes(content)
    assert weight_sizes(str(tmp_path)) == {}


def test_a_folder_without_safetensors_gives_nothing(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert weight_sizes(str(tmp_path)) == {}


def test_damaged_files_are_named_with_both_sizes(tmp_path):
    write(tmp_path, "a.safetensors", {"lm_head.weight": (2, 2)})
    (tmp_path / "b.safetensors").write_text("no such format")
    (tmp_path / "c.safetensors").symlink_to(tmp_path / "gone")
    whole = (tmp_path / "a.safetensors").stat().st_size + 2 * 2 * BF16
    assert damaged_files(str(tmp_path)) == [
        f"a.safetensors has {whole - 8} bytes, and its header announces {whole}",
        "b.safetensors is not a safetensors file",
    ]
    with (tmp_path / "a.safetensors").open("ab") as file:
        file.write(bytes(8))
    assert damaged_files(str(tmp_path)) == ["b.safetensors is not a safetensors file"]


@pytest.mark.parametrize(
    ("tensor", "shape", "place"),
    [
        ("model.layers.0.a_proj.weight", (2, 2), "split"),
        ("transformer.h.0.b_proj.weight", (2, 2), "split"),
        ("blocks.0.attn.v_proj.weight", (2, 2), "key_value"),
        ("model.layers.0.attn.kv_proj.weight", (2, 2), "key_value"),
        ("model.layers.0.attn.q_a_proj.weight", (2, 2), "copied"),
        ("model.layers.0.attn.indexer.weight", (2, 2), "copied"),
        ("model.layers.0.attn.k_proj.bias", (2,), "copied"),
        ("model.layers.0.mlp.experts.3.scale", (2,), "experts"),
        ("vision_tower.layers.0.a_proj.weight", (2, 2), "other"),
        ("visual.embed_tokens.weight", (2, 2), "other"),
        ("audio.lm_head.weight", (2, 2), "other"),
        ("transformer.wte.weight", (2, 2), "embedding"),
        ("lm_head.weight", (2, 2), "head"),
        ("model.norm.weight", (2,), "other"),
        ("mtp.norm.weight", (2,), "draft"),
    ],
)
def test_one_tensor_is_counted_at_one_place(tmp_path, tensor, shape, place):
    write(tmp_path, "a.safetensors", {tensor: shape})
    found = weight_sizes(str(tmp_path))
    flat = {key: found[key] for key in ("embedding", "head", "other")}
    for layer in found["layers"]:
        flat.update(layer)
    flat["draft"] = sum(layer["copied"] for layer in found["draft"])
    size = BF16 * shape[0] * (shape[-1] if len(shape) > 1 else 1)
    assert {key: value for key, value in flat.items() if value} == {place: size}


def test_layers_come_by_number(tmp_path):
    write(tmp_path, "a.safetensors", {f"layers.{number}.a.weight": (number, 1) for number in (10, 9, 2)})
    assert [layer["split"] for layer in weight_sizes(str(tmp_path))["layers"]] == [2 * BF16, 9 * BF16, 10 * BF16]


def test_an_empty_safetensors_file_is_whole(tmp_path):
    write(tmp_path, "a.safetensors", {})
    assert damaged_files(str(tmp_path)) == [] and weight_sizes(str(tmp_path))["other"] == 0
