# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which models a release loads, read from sources: architectures that are registered, and schemes of quantized layers. Nothing is imported or run."""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

LISTS = re.compile(r"_[A-Z_]+_MODELS")
NOT_LOADED = ("_VLLM_MODELS", "_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS", "_SPECULATIVE_DECODING_MODELS")
# Tables of vLLM-Ascend before its decorator register_scheme
SCHEMES = ("ASCEND_QUANTIZATION_METHOD_MAP", "SUPPORT_ASCEND_QUANTIZER_TYPE")


def of_vllm(folder: pathlib.Path) -> set[str]:
    """Architectures in vLLM's registry, those that it loads with Transformers among them; draft models are none that is served."""
    tree = ast.parse((folder / "vllm/model_executor/models/registry.py").read_bytes())
    found: set[str] = set()
    for node in tree.body:
        name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
        if LISTS.fullmatch(name) and name not in NOT_LOADED and isinstance(node, ast.Assign):
            found |= _keys(node.value)
    return found


def of_ascend(folder: pathlib.Path) -> list[str]:
    """Architectures that vLLM-Ascend registers besides, or in place of vLLM's."""
    found = set()
    for node in _nodes(folder / "vllm_ascend/models", "register_model("):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ModelRegistry.register_model":
            found |= {str(word.value) for word in node.args[:1] if isinstance(word, ast.Constant)}
    return sorted(found)


def schemes(folder: pathlib.Path) -> list[str]:
    """Words that quant_model_description.json may have for a layer; those of chips without disaggregation (310P) are left out."""
    found: set[str] = set()
    for node in _nodes(folder / "vllm_ascend/quantization", ""):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "register_scheme":
            found |= {str(word.value) for word in node.args[:1] if isinstance(word, ast.Constant)}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found |= _keys(node.value) if ast.unparse(target) in SCHEMES else set()
    return sorted(found)


def _nodes(folder: pathlib.Path, word: str) -> t.Iterator[ast.AST]:
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        if word.encode() in content:
            yield from ast.walk(ast.parse(content))


def _keys(node: ast.expr) -> set[str]:
    keys = node.keys if isinstance(node, ast.Dict) else []
    return {str(key.value) for key in keys if isinstance(key, ast.Constant)}
