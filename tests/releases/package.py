# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the whole package vllm_ascend of a release imports from elsewhere, and reads from the environment. It is parsed, never imported."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
import sys

_READERS = ("getenv", "get", "pop", "setdefault")
_NAME = re.compile(r"[A-Z][A-Z0-9_]{2,}")


@functools.lru_cache(maxsize=1)
def trees(folder: pathlib.Path) -> list[ast.Module]:
    """Every parsed file of the package: some 900, which take seconds."""
    return [ast.parse(path.read_bytes()) for path in sorted(folder.glob("vllm_ascend/**/*.py"))]


def imports(folder: pathlib.Path) -> list[str]:
    """Distributions' modules that are imported when a file is: not below try, if or def, where a missing one may be meant."""
    found: set[str] = set()
    for tree in trees(folder):
        for node in tree.body:
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    return sorted(found - sys.stdlib_module_names - {"vllm", "vllm_ascend"})


def environment(folder: pathlib.Path) -> list[str]:
    """Variables that a file reads with os.getenv or os.environ, or that are keys of the dictionary of vllm_ascend/envs.py."""
    found: set[str] = set()
    for tree in trees(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READERS:
                owner = ast.unparse(node.func.value)
                if owner in ("os", "os.environ", "environ") and node.args:
                    found |= _named(node.args[0])
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("os.environ", "environ"):
                found |= _named(node.slice) if isinstance(node.ctx, ast.Load) else set()
    for node in ast.walk(ast.parse((folder / "vllm_ascend" / "envs.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            found |= {name for key in node.keys if key for name in _named(key)}
    return sorted(found)


def _named(node: ast.expr) -> set[str]:
    """The name of a variable that is written there."""
    value = node.value if isinstance(node, ast.Constant) else None
    return {value} if isinstance(value, str) and _NAME.fullmatch(value) else set()


def store_keys(folder: pathlib.Path) -> list[str]:
    """Keys of mooncake.json that the store's back end reads: config.get("...") of from_file."""
    found: set[str] = set()
    for path in folder.glob("vllm_ascend/distributed/**/*.py"):
        if "class MooncakeStoreConfig" not in (text := path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == "from_file":
                for call in ast.walk(node):
                    if isinstance(call, ast.Call) and ast.unparse(call.func) == "config.get":
                        found |= {str(word.value) for word in call.args[:1] if isinstance(word, ast.Constant)}
    return sorted(found)
