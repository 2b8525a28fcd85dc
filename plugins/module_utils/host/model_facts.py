# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a model's folder: configuration, size, fingerprint. Runs on Python 3.7."""

from __future__ import annotations

import hashlib
import json
import os

from ..tools import foreign_file, foreign_json
from ..tools.text import one_line
from . import chat_template
from .model_weights import damaged_files, weight_sizes

SMALL = 64 * 2**20
"""Files up to this many bytes are hashed completely; of larger ones (weights) name, size, head and tail."""

EDGE = 2**20
WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tekken.json", "tiktoken.model")
"""One of these files, or one that ends with ``.tiktoken``, is what a tokenizer is loaded from."""

DESCRIPTION, MOST_SCHEMES = "quant_model_description.json", 20
KEYS = (
    "architectures",
    "full_attention_interval",
    "head_dim",
    "hidden_size",
    "index_head_dim",
    "kv_lora_rank",
    "layer_types",
    "max_position_embeddings",
    "model_max_length",
    "model_type",
    "mtp_num_hidden_layers",
    "n_routed_experts",
    "num_attention_heads",
    "num_experts",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_local_experts",
    "num_nextn_predict_layers",
    "qk_rope_head_dim",
    "quantization_config",
    "rope_parameters",
    "rope_scaling",
    "torch_dtype",
    "dtype",
)


def model_facts(path, every_byte=False):
    # type: (str, bool) -> t.Dict[str, t.Any]
    """Facts of one model folder.

    ``{path, exists, config, config_error, quantized, size_mib, files, fingerprint, missing, damaged, tokenizer, chat_template,
    tool_parsers, weights, schemes}``.
    ``config`` has the keys of config.json (and of its text_config) that matter to engines. ``fingerprint`` is equal for equal
    folders. ``missing`` names weights that the index lists and that are not there, links without target, and "weights" if there
    are none. ``damaged`` names weights whose size is not what their header announces. ``tokenizer`` is false where none of its
    files is there. ``weights`` is what ``model_weights.weight_sizes`` returns.
    """
    found = {"path": path, "exists": os.path.isdir(path), "config": {}, "config_error": "", "quantized": False}
    found.update(size_mib=0, files=0, fingerprint="", missing=[], damaged=[], tokenizer=False)
    found.update(chat_template=False, tool_parsers=[], weights={}, schemes=[])
    if not found["exists"]:
        return found
    found["config"], found["config_error"] = read_config(os.path.join(path, "config.json"))
    try:
        names = sorted(name for name in os.listdir(path) if os.path.isfile(os.path.join(path, name)))
    except OSError as error:
        return dict(found, config_error=f"is in a folder that cannot be read: {error.strerror or error}")
    found["quantized"] = any(name.startswith("quant_model_description") for name in names)
    found["files"] = len(names)
    found["size_mib"] = sum(os.path.getsize(os.path.join(path, name)) for name in names) // 2**20
    found["fingerprint"] = fingerprint(path, names, every_byte)
    found["missing"] = missing_files(path)
    found["damaged"] = [one_line(text) for text in damaged_files(path)]
    found["tokenizer"] = any(name in TOKENIZERS or name.endswith(".tiktoken") for name in names)
    found["chat_template"] = chat_template.exists(path, names)
    found["tool_parsers"] = chat_template.tool_parsers(path)
    found["weights"] = weight_sizes(path)
    found["schemes"] = schemes(path)
    return found


def schemes(path):
    # type: (str) -> t.List[str]
    """Words for the methods of layers in quant_model_description.json, sorted; none of a model that msModelSlim did not quantize."""
    try:
        given = foreign_json.load(os.path.join(path, DESCRIPTION))
        words = {word for name, word in given.items() if name.endswith(".weight") and isinstance(word, str)}
    except (OSError, ValueError, AttributeError):
        return []
    return sorted({one_line(word[:40]) for word in words})[:MOST_SCHEMES]


def shards_of(path):
    # type: (str) -> t.Set[str]
    """Names of the safetensors files that the indexes of a folder list."""
    found = set()  # type: t.Set[str]
    for name in os.listdir(path):
        if name.endswith(".safetensors.index.json"):
            found.update(_shards(os.path.join(path, name)))
    return found


def missing_files(path, names=None):
    # type: (str, t.Optional[t.Collection[str]]) -> t.List[str]
    """Names of files that an index lists but that are missing; ``weights`` if there are none at all. ``names`` are there besides what is on the disk."""
    present = set(os.listdir(path)).union(names or ())
    wanted = {name for name in present if os.path.islink(os.path.join(path, name)) and not name.startswith(".")}
    for name in present:
        if name.endswith(".index.json"):
            wanted.update(_shards(os.path.join(path, name)))
    wanted -= set(names or ())
    missing = sorted(one_line(name) for name in wanted if not _exists(os.path.join(path, name)))
    if not missing and not any(name.endswith(WEIGHTS) for name in present):
        return ["weights (" + ", ".join("*" + ending for ending in WEIGHTS) + ")"]
    return missing


def _exists(path):
    # type: (str) -> bool
    try:
        return os.path.exists(path)
    except ValueError:  # of Python 3.7, for a name that no file can have
        return False


def _shards(path):
    # type: (str) -> t.Set[str]
    try:
        return {str(shard) for shard in foreign_json.load(path)["weight_map"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def read_config(path):
    # type: (str) -> t.Tuple[t.Dict[str, t.Any], str]
    """The known keys of a config.json, and the error if the file is invalid."""
    try:
        raw = foreign_json.load(path)
    except OSError as error:
        return {}, f"cannot be read: {error.strerror or error}"
    except ValueError as error:
        return {}, f"is not JSON: {error}"
    if not isinstance(raw, dict):
        return {}, "is not a JSON object"
    text = raw.get("text_config") if isinstance(raw.get("text_config"), dict) else {}
    found = {key: raw.get(key, text.get(key)) for key in KEYS if key in raw or key in text}
    try:
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except ValueError:  # Ansible takes no result with it
        return {}, "has half of a pair of surrogates, which is no character"
    return found, ""


def fingerprint(path, names, every_byte):
    # type: (str, t.List[str], bool) -> str
    """SHA-256 over names, sizes and contents; of large files only both ends, unless ``every_byte``."""
    total = hashlib.sha256()
    for name in names:
        if name.startswith("."):
            continue
        whole = os.path.join(path, name)
        size = os.path.getsize(whole)
        total.update(os.fsencode(name) + f"\0{size}\0".encode())
        try:
            _add_content(total, whole, size <= SMALL or every_byte)
        except OSError:
            total.update(b"unreadable")  # reported as a problem of access
    return total.hexdigest()


def _add_content(total, path, whole):
    with foreign_file.opened(path, follow=True) as handle:
        if whole:
            for block in iter(lambda: handle.read(EDGE), b""):
                total.update(block)
            return
        total.update(handle.read(EDGE))
        handle.seek(-EDGE, os.SEEK_END)
        total.update(handle.read(EDGE))
