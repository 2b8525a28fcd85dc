# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does AISBench have what the playbook bench gives to it, and lack what bench and the documentation say that it lacks?

Its modules are read and not imported, because they need 150 packages. The function that reads the prompts runs, with stand-ins for its imports.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import tempfile
import typing as t
from pathlib import Path

import environments
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs

VERSION = "3.1.20260630"
DRIVER = {"driver": "aisbench", "program": "/opt/aisbench/bin/ais_bench"}
ADDED_BY_BUILD = {
    "attr",
    "type",
    "abbr",
    "request_rate",
    "batch_size",
    "traffic_cfg",
}  # which build.py takes out before it calls the class


def source() -> Path:
    """The folder of its modules, of the wheel alone."""
    folder = environments.CACHE / f"ais-bench-{VERSION}"
    environments.once(folder, lambda: environments.install(f"ais_bench_benchmark=={VERSION}", target=folder))
    return folder / "ais_bench" / "benchmark"


def class_of(root: Path, path: str) -> ast.ClassDef | None:
    """The class that a configuration names as text; packages are searched for it."""
    *modules, name = path.split(".")[2:]
    place = root.joinpath(*modules)
    files = [place.with_suffix(".py")] if place.with_suffix(".py").is_file() else sorted(place.rglob("*.py"))
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return node
    return None


def method(found: ast.ClassDef, name: str) -> ast.FunctionDef:
    return next(node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == name)


def loaded(found: ast.ClassDef, content: str) -> t.Any:
    """What the class reads from a file with this content."""
    load = copy.deepcopy(method(found, "load"))
    load.decorator_list = []
    stand_ins: dict[str, t.Any] = {
        "json": json,
        "os": os,
        "get_data_path": lambda path, local_mode: path,
        "get_meta_json": lambda path, meta: {},
        "Dataset": type("Dataset", (), {"from_list": staticmethod(list)}),
    }
    exec(compile(ast.Module([load], []), "load", "exec"), stand_ins)  # noqa: S102 - the program's own function
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="ascii") as stream:
        stream.write(content)
        stream.flush()
        return stand_ins["load"](stream.name)


def types(value: t.Any) -> t.Iterator[str]:
    """The classes that a configuration names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner] if key == "type" else types(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from types(inner)


def problems(plan: t.Mapping[str, t.Any]) -> list[str]:
    """What bench would give to this program that it does not take, and what it is said to lack although it has it."""
    root, found = source(), []
    text = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in root.rglob("*.py")}
    settings = {**DRIVER, "profile": "latency", "rates": [1], "arrival": "constant"}
    for more in ({}, {"data": "/srv/gsm8k"}, {"chat": True}):
        config = bench_runs(plan, {**settings, **more})["runs"][-1]["config"]
        found += [f"no class {name}" for name in types(config) if class_of(root, name) is None]
        model = config["models"][0]
        api = class_of(root, model["type"])
        known = {argument.arg for argument in method(api, "__init__").args.args} if api is not None else set(model)
        found += [f"no setting {name} of {model['type']}" for name in sorted(set(model) - known - ADDED_BY_BUILD)]
    reader = class_of(root, "ais_bench.benchmark.datasets.custom.CustomDataset")
    lines = [{"question": "why", "answer": ""}, {"question": "how", "answer": ""}]
    if reader is None or loaded(reader, "".join(json.dumps(line) + "\n" for line in lines)) != lines:
        found.append("CustomDataset does not read the file of prompts")
    said = {  # what code and documentation say -> whether it is so
        "a slice of test_range": "eval(f'index_list{size}')" in text["openicl/icl_dataset_reader.py"],
        "burstiness 0 is even": re.search(r"burstiness == 0:\s+#.*\s+interval = 1\.0 /", text["tasks/utils.py"]),
        "its random prompts have no seed": "seed" not in text["datasets/synthetic.py"],
        "it reads Mooncake's traces": "random_seed" in text["datasets/mooncake_trace.py"],
        "it has no goodput": not any(re.search(r"goodput|\bslo\b", content, re.I) for content in text.values()),
        "two tries by default": "retry: int = 2" in text["models/api_models/vllm_custom_api.py"],
        "gsm8k is test.jsonl and train.jsonl": "split + '.jsonl'" in text["datasets/gsm8k.py"],
        "completions": '"v1/completions"' in text["models/api_models/vllm_custom_api.py"],
        "chats": '"v1/chat/completions"' in text["models/api_models/vllm_custom_api_chat.py"],
    }
    options = text["cli/argument_parser.py"]
    said.update({name: f"'{name}'" in options for name in ("--mode", "--work-dir", "--num-warmups", "--debug")})
    found += [f"it is not so: {name}" for name, true in said.items() if not true]
    return [f"ais_bench {VERSION}: {problem}" for problem in found]
