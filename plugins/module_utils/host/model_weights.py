# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes of a model's weights by how engines divide them between ranks, read from safetensors headers. Runs on Python 3.7."""

from __future__ import annotations

import os
import re
import struct

from ..tools import foreign_file, foreign_json

MOST_HEADER = 256 * 2**20
"""A header announces its own length; no real one is longer than this many bytes."""

LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
VISION = re.compile(r"(?:^|\.)(?:visual|vision_tower|vision_model|vision|audio_tower|audio)\.")
DRAFT = re.compile(r"^mtp\.")
EXPERT = re.compile(r"\.experts\.")
EMBEDDING = re.compile(r"(?:^|\.)(?:embed_tokens|wte|word_embeddings|tok_embeddings)\.")
HEAD = re.compile(r"(?:^|\.)lm_head\.")
KEY_VALUE = re.compile(r"\.(?:k_proj|v_proj|kv_proj)\.")
REPLICATED = re.compile(r"\.(?:q_a_proj|kv_a_proj_with_mqa|kv_a_proj|fused_qkv_a_proj|indexer|gate)\.")


def weight_sizes(path):
    # type: (str) -> t.Dict[str, t.Any]
    """Bytes of the safetensors files of a folder, or ``{}`` where it has none or one of them cannot be read.

    ``{embedding, head, other, layers, draft}``: ``embedding`` and ``head`` are divided by tensor parallelism, ``other`` is on
    each rank (vision towers, final norms). ``layers`` and ``draft`` (multi-token prediction) list for each layer ``{split,
    key_value, experts, copied}``: divided by tensor parallelism; divided by it up to the number of KV heads; routed experts;
    on each rank. Format: https://huggingface.co/docs/safetensors, an 8-byte length and that many bytes of JSON.
    """
    names = sorted(name for name in os.listdir(path) if name.endswith(".safetensors"))
    sizes = {"embedding": 0, "head": 0, "other": 0, "layers": [], "draft": []}
    layers, draft = {}, {}
    try:
        for name in names:
            for tensor, size, dimensions in tensors(os.path.join(path, name)):
                _add(sizes, layers, draft, tensor, size, dimensions)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error):
        return {}
    sizes["layers"] = [layers[index] for index in sorted(layers)]
    sizes["draft"] = [draft[index] for index in sorted(draft)]
    return sizes if names else {}


def damaged_files(path):
    # type: (str) -> t.List[str]
    """What is wrong with safetensors files of a folder, each with its name: cut off, longer than announced, or no safetensors."""
    found = []
    for name in sorted(name for name in os.listdir(path) if name.endswith(".safetensors")):
        whole = os.path.join(path, name)
        try:
            length, header = read_header(whole)
            ends = [tensor["data_offsets"][1] for key, tensor in header.items() if key != "__metadata__"]
            announced, actual = 8 + length + max([0, *ends]), os.path.getsize(whole)
        except OSError as error:
            if os.path.exists(whole):  # a link without target is missing, and reported as that
                found.append(f"{name} cannot be read: {error.strerror or error}")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error):
            found.append(f"{name} is not a safetensors file")
        else:
            if announced != actual:
                found.append(f"{name} has {actual} bytes, and its header announces {announced}")
    return found


def read_header(path):
    # type: (str) -> t.Tuple[int, t.Dict[str, t.Any]]
    """Length and content of a safetensors header. ValueError or struct.error where the file has none."""
    with foreign_file.opened(path, follow=True) as handle:
        length = struct.unpack("<Q", handle.read(8))[0]
        if length > MOST_HEADER:
            raise ValueError(f"{path}: a header of {length} bytes")
        return length, foreign_json.loads(handle.read(length))


def tensors(path):
    # type: (str) -> t.Iterator[t.Tuple[str, int, int]]
    """Name, bytes and number of dimensions of each tensor of one file. ValueError for a file that is no safetensors."""
    for name, tensor in read_header(path)[1].items():
        if name != "__metadata__":
            begin, end = tensor["data_offsets"]
            yield name, int(end) - int(begin), len(tensor["shape"])


def _add(sizes, layers, draft, name, size, dimensions):
    # type: (t.Dict[str, t.Any], t.Dict[int, t.Dict[str, int]], t.Dict[int, t.Dict[str, int]], str, int, int) -> None
    layer = LAYER.search(name)
    if VISION.search(name) or (layer is None and not DRAFT.search(name)):
        kind = "embedding" if EMBEDDING.search(name) else "head" if HEAD.search(name) else "other"
        sizes["other" if VISION.search(name) else kind] += size
        return
    found = draft if DRAFT.search(name) else layers
    record = found.setdefault(
        int(layer.group(1)) if layer else 0, {"split": 0, "key_value": 0, "experts": 0, "copied": 0}
    )
    record[_part(name, dimensions)] += size


def _part(name, dimensions):
    # type: (str, int) -> str
    if EXPERT.search(name):
        return "experts"
    if dimensions < 2 or REPLICATED.search(name):
        return "copied"
    return "key_value" if KEY_VALUE.search(name) else "split"
