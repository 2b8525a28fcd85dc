# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What --additional-config takes, read from the sources of one vLLM-Ascend release.

``read(folder)`` returns words: ``enable_kv_nz:bool`` is a key and the kind of its value (empty: not known),
``eplb_config.dynamic_eplb:bool`` a key inside another, ``mc2_comm_alg=fullmesh`` a value that it takes, ``!`` says that the
release refuses other keys, ``!eplb_config`` that it refuses others inside that key.
"""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

from ansible_collections.ascend.inference.tests.releases.vllm_values import Sources, parts_of

SCALARS = ("bool", "int", "float", "str")
CONFIG = re.compile(r"(^|\.|_)additional_config(\s+or\s+\{\}\)?)?\)?$")
REFUSES = 'extra="forbid"'


def calls(tree: ast.AST) -> t.Iterator[ast.Call]:
    """Every call."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def text(node: ast.AST) -> str:
    """A constant's text; empty for anything else."""
    return str(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def kind_of(node: ast.expr | None) -> str:
    """The kind of a default."""
    kind = type(node.value).__name__ if isinstance(node, ast.Constant) else ""
    return kind if kind in SCALARS else ""


def top_keys(tree: ast.AST) -> dict[str, str]:
    """Keys that are read from additional_config, in whatever way, with the kind of their default."""
    found: dict[str, str] = {}
    for node in calls(tree):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "setdefault", "pop") and node.args:
            if CONFIG.search(ast.unparse(node.func.value)) and text(node.args[0]):
                kind = kind_of(node.args[1]) if len(node.args) > 1 else ""
                found[text(node.args[0])] = found.get(text(node.args[0])) or kind
        elif len(node.args) > 1 and text(node.args[1]) and CONFIG.search(ast.unparse(node.args[0])):
            found.setdefault(text(node.args[1]), "")
        elif ast.unparse(node.func) == "_resolve" and node.args and text(node.args[0]):
            found.setdefault(text(node.args[0]), "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and CONFIG.search(ast.unparse(node.value)) and text(node.slice):
            found.setdefault(text(node.slice), "")
        elif isinstance(node, ast.Compare) and text(node.left) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            if CONFIG.search(ast.unparse(node.comparators[0])):
                found.setdefault(text(node.left), "")
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NON_USER_INPUT_KEYS":
            found.update((text(item), "") for item in getattr(node.value, "elts", ()) if text(item) not in found)
    return {key: found[key] for key in found if key and not key.startswith("_")}


def inner_keys(node: ast.ClassDef) -> dict[str, str]:
    """Keys that a class takes from the mapping that it is made of."""
    found: dict[str, str] = {}
    for line in node.body:
        if isinstance(line, (ast.Assign, ast.AnnAssign)) and isinstance(line.value, ast.Dict):
            target = ast.unparse(line.targets[0] if isinstance(line, ast.Assign) else line.target)
            if "default" in target:
                found.update(
                    (text(key), kind_of(value))
                    for key, value in zip(line.value.keys, line.value.values, strict=True)
                    if key is not None and text(key)
                )
        if isinstance(line, ast.FunctionDef) and line.name == "__init__":
            arguments = line.args.args[1:]
            defaults = [None] * (len(arguments) - len(line.args.defaults)) + list(line.args.defaults)
            if line.args.kwarg is not None:
                found.update((item.arg, kind_of(default)) for item, default in zip(arguments, defaults, strict=True))
    for call in calls(node):
        asks = isinstance(call.func, ast.Attribute) and call.func.attr == "get"
        if asks and call.args and text(call.args[0]) and isinstance(call.func.value, ast.Name):
            found.setdefault(text(call.args[0]), kind_of(call.args[1]) if len(call.args) > 1 else "")
    return found


def of_data_class(sources: Sources, prefix: str, name: str, strict: bool) -> t.Iterator[str]:
    """Words of a data class and of those inside it; ``strict`` says that they refuse other keys."""
    if prefix and strict:
        yield f"!{prefix.rstrip('.')}"
    for field, annotation in sources.fields(name):
        parts = parts_of(annotation)
        choices = sources.choices(parts[0]) if len(parts) == 1 else None
        kind = ast.unparse(parts[0]) if len(parts) == 1 else ""
        yield f"{prefix}{field}:{kind if kind in SCALARS else ''}"
        yield from (f"{prefix}{field}={choice}" for choice in choices or () if choice)
        if kind in sources.classes:
            yield from of_data_class(sources, f"{prefix}{field}.", kind, strict)


class AscendSources(Sources):
    """Classes of vllm_ascend/ascend_config.py."""

    def __init__(self, tree: ast.Module) -> None:
        self.classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self.aliases = {}


def read(folder: pathlib.Path) -> list[str]:
    """The words of one release."""
    keys: dict[str, str] = {}
    for path in sorted(folder.glob("vllm_ascend/**/*.py")):
        content = path.read_bytes()
        if b"additional_config" in content:
            for key, kind in top_keys(ast.parse(content)).items():
                keys[key] = keys.get(key) or kind
    source = (folder / "vllm_ascend/ascend_config.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    sources = AscendSources(tree)
    declared = dict(sources.fields("AscendConfig"))
    words = {f"{key}:{kind}" for key, kind in keys.items() if key not in declared}
    if declared:
        strict = REFUSES in source
        return sorted({*words, *of_data_class(sources, "", "AscendConfig", strict), *(["!"] if strict else [])})
    for call in calls(tree):
        name = ast.unparse(call.func)
        if name not in sources.classes or name == "AscendConfig":
            continue
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg is None)]
        for argument in given:
            key = ast.unparse(argument)
            if key in keys:
                words |= {f"{key}.{inner}:{kind}" for inner, kind in inner_keys(sources.classes[name]).items()}
                if "has no attribute" in ast.unparse(sources.classes[name]):
                    words.add(f"!{key}")
    return sorted(words)
