# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vLLM's configuration classes and registries take, read from its source distribution; nothing is imported or run.

``read(folder)`` returns words: ``compilation-config.mode:int`` is a key and the kind of its value,
``compilation-config.cudagraph_mode=FULL`` one of the values that it takes, ``reasoning-parser=qwen3`` one of a flag's.
"""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

from ansible_collections.ascend.inference.tests.releases import model_support

ARCHITECTURE = "architecture"  # no flag: what config.json may name
SCALARS = {"bool", "int", "float", "str"}
# flag -> alias of its Literal in vllm/config
LITERALS = {
    "tokenizer-mode": "TokenizerMode",
    "config-format": "ConfigFormat",
    "distributed-executor-backend": "DistributedExecutorBackend",
    "data-parallel-backend": "DataParallelBackend",
    "all2all-backend": "All2AllBackend",
    "kv-cache-dtype": "CacheDType",
}


class Sources:
    """Classes, enumerations and aliases of vllm/config, whether it is one file or a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        config = folder / "vllm" / "config"
        files = sorted(config.rglob("*.py")) if config.is_dir() else [config.with_suffix(".py")]
        self.classes: dict[str, ast.ClassDef] = {}
        self.aliases: dict[str, ast.expr] = {}
        for path in files:
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name] = node
                elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                    self.aliases[node.targets[0].id] = node.value

    def choices(self, node: ast.expr) -> list[str] | None:
        """The values of a Literal or of an alias of one; None where it is something else."""
        if isinstance(node, ast.Name) and node.id in self.aliases:
            return self.choices(self.aliases[node.id])
        if not (isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal")):
            return None
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found: list[str] = []
        for part in parts:
            if isinstance(part, ast.Constant):
                found += [] if part.value is None else [str(part.value)]
            else:
                inner = self.choices(part.value if isinstance(part, ast.Starred) else part)
                if inner is None:
                    return None
                found += inner
        return found

    def members(self, name: str) -> list[str]:
        """The names of an enumeration; none for other classes, and for numbers, which may be written as such."""
        node = self.classes.get(name)
        if node is None or not any(ast.unparse(base) in ("enum.Enum", "Enum") for base in node.bases):
            return []
        return [
            target.id
            for line in node.body
            if isinstance(line, ast.Assign)
            for target in line.targets
            if isinstance(target, ast.Name)
        ]

    def fields(self, name: str) -> t.Iterator[tuple[str, ast.expr]]:
        """Fields that a user may set, with their annotations; those of the class' bases first."""
        node = self.classes[name]
        for base in node.bases:
            if ast.unparse(base) in self.classes:
                yield from self.fields(ast.unparse(base))
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                text = ast.unparse(line)
                if not line.target.id.startswith("_") and "ClassVar" not in text and "init=False" not in text:
                    yield line.target.id, line.annotation


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The alternatives of ``A | B | None`` and ``Optional[A]`` but for None."""
    if isinstance(node, ast.BinOp):
        return [*parts_of(node.left), *parts_of(node.right)]
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Optional", "Union", "SkipValidation"):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [part for item in inner for part in parts_of(item)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return parts_of(ast.parse(node.value, mode="eval").body)
    return [] if isinstance(node, ast.Constant) and node.value is None else [node]


def of_field(sources: Sources, path: str, annotation: ast.expr, depth: int = 0) -> t.Iterator[str]:
    """Words of one field, and of the class that it holds."""
    parts = parts_of(annotation)
    listed = [sources.choices(part) for part in parts]
    if parts and all(choices is not None for choices in listed):
        yield f"{path}:"
        yield from (f"{path}={choice}" for choices in listed for choice in choices or () if "|" not in choice)
        return
    names = [ast.unparse(part) for part in parts]
    members = sources.members(names[0]) if len(names) == 1 else []
    if members:
        yield f"{path}:"
        yield from (f"{path}={member}" for member in members)
        return
    kind = names[0] if len(names) == 1 else "float" if set(names) == {"int", "float"} else ""
    yield f"{path}:{kind if kind in SCALARS else 'ints' if kind.lower() == 'list[int]' else ''}"
    if kind in sources.classes and kind.endswith("Config") and depth < 2:
        for name, inner in sources.fields(kind):
            yield from of_field(sources, f"{path}.{name}", inner, depth + 1)


def of_class(sources: Sources, flag: str) -> t.Iterator[str]:
    """Words of the class that a JSON flag fills; none where there is no class of that name."""
    wanted = flag.replace("-", "")
    for name in sources.classes:
        if name.lower() == wanted:
            for field, annotation in sources.fields(name):
                yield from of_field(sources, f"{flag}.{field}", annotation)


def registered(paths: t.Iterable[pathlib.Path], manager: str) -> set[str]:
    """Names that parsers are registered under: keys of *_TO_REGISTER and arguments of register_module."""
    found: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("_TO_REGISTER"):
                keys = node.value.keys if isinstance(node.value, ast.Dict) else []
                found |= {str(key.value) for key in keys if isinstance(key, ast.Constant)}
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == f"{manager}.register_module":
                values = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "name")]
                for value in values:
                    items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
                    found |= {str(item.value) for item in items if isinstance(item, ast.Constant)}
    return found


def of_loader(folder: pathlib.Path, sources: Sources) -> set[str]:
    """Formats that vLLM's model loaders are registered under."""
    path = folder / "vllm/model_executor/model_loader/__init__.py"
    for node in ast.walk(ast.parse(path.read_bytes())):
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == "_LOAD_FORMAT_TO_MODEL_LOADER":
            keys = node.value.keys if isinstance(node.value, ast.Dict) else []
            return {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    node_ = sources.classes.get("LoadFormat")
    lines = node_.body if node_ else []
    return {
        str(line.value.value) for line in lines if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
    }


def quantizations(folder: pathlib.Path) -> list[str]:
    """Methods of vLLM's own quantization."""
    path = folder / "vllm/model_executor/layers/quantization/__init__.py"
    text = path.read_text(encoding="utf-8")
    found = re.search(r"QuantizationMethods = Literal\[(.*?)\]", text, re.DOTALL)
    return re.findall(r'"([^"]+)"', found.group(1)) if found else []


def tokenizers(folder: pathlib.Path) -> set[str]:
    """Modes of vLLM's registry of tokenizers; the Literal of ``tokenizer_mode`` is not complete (``TokenizerMode | str``)."""
    path = folder / "vllm/tokenizers/registry.py"
    for node in ast.walk(ast.parse(path.read_bytes())) if path.exists() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_VLLM_TOKENIZERS":
            keys = node.value.keys if isinstance(node.value, ast.Dict) else []
            return {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    return set()


def environment(folder: pathlib.Path) -> list[str]:
    """Variables that vllm/envs.py reads."""
    text = (folder / "vllm/envs.py").read_text(encoding="utf-8")
    return sorted(set(re.findall(r'^    "(\w+)":', text, re.MULTILINE)))


def read(folder: pathlib.Path, flags: t.Iterable[str]) -> list[str]:
    """The words of one vLLM; ``flags`` are those that take JSON."""
    sources = Sources(folder)
    words = {word for flag in flags for word in of_class(sources, flag)}
    for flag, alias in LITERALS.items():
        words |= {f"{flag}={choice}" for choice in sources.choices(ast.Name(id=alias)) or ()}
    tools = [*folder.glob("vllm/tool_parsers/*.py"), *folder.glob("vllm/entrypoints/openai/tool_parsers/*.py")]
    for flag, names in (
        ("reasoning-parser", registered(folder.glob("vllm/reasoning/*.py"), "ReasoningParserManager")),
        ("tool-call-parser", registered(tools, "ToolParserManager")),
        ("load-format", of_loader(folder, sources)),
        ("quantization", quantizations(folder)),
        ("tokenizer-mode", tokenizers(folder)),
        (ARCHITECTURE, model_support.of_vllm(folder)),
    ):
        words |= {f"{flag}={name}" for name in names}
    return sorted(words)
