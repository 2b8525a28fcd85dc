# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the ``vllm bench serve`` of a vLLM have the options and data sets that the playbook bench gives to it, and lack what bench says that it lacks?

They are read from the wheel's modules, which are not imported: that would take torch and data sets of Hugging Face.
"""

from __future__ import annotations

import ast
import typing as t

import environments
from ansible_collections.ascend.inference.plugins.plugin_utils.bench import client
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.settings import read_bench
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError

PROFILES: dict[str, dict[str, t.Any]] = {
    "smoke": {"slo": {"ttft": 100}},
    "long_prefix": {},
    "trace": {"trace": "/srv/trace.jsonl"},
}
ADDED_BY_THE_DRIVER = ("--save-result", "--save-detailed", "--result-dir", "--result-filename")


def has(version: str) -> tuple[set[str], set[str]]:
    """(options, names of data sets) of the client of a vLLM."""
    environments.vllm(version)
    folder = environments.CACHE / f"vllm-{environments.BUILDS.get(version, version)}" / "vllm"
    files = [
        folder / "benchmarks" / "serve.py",
        *(folder / "benchmarks").glob("datasets*.py"),
        *(folder / "benchmarks").glob("datasets/*.py"),
    ]
    texts = {
        node.value
        for file in files
        if file.is_file()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if text.startswith("--")}, texts & {"random", *client.DATASETS}


def unset(version: str) -> set[str]:
    """Attributes of its arguments that the client reads, and no option of it sets: it ends with an AttributeError there."""
    file = environments.CACHE / f"vllm-{environments.BUILDS.get(version, version)}" / "vllm" / "benchmarks" / "serve.py"
    read = {
        node.attr
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "args"
    }
    return read - {option[2:].replace("-", "_") for option in has(version)[0]}


def problems(version: str, plan: t.Mapping[str, t.Any]) -> list[str]:
    """What bench would give to this client that it does not take, and what it refuses although the client has it."""
    options, datasets = has(version)
    found = [] if "--no-such-option" not in options and "--base-url" in options else ["no options were found"]
    for profile, more in PROFILES.items():
        setting = {"profile": profile, **more}
        wanted = client.dataset(read_bench(setting))
        refused = [item.problem for item in client.client_findings(version, read_bench(setting))]
        if refused:
            found += [f"bench says: {refused[0]}; the client has it"] if wanted in datasets else []
            continue
        try:
            runs = bench_runs(plan, setting)["runs"]
        except PlanError as error:
            found.append(f"{profile} is refused: {error}")
            continue
        given = {word for run in runs for word in run["argv"] if word.startswith("--")} | set(ADDED_BY_THE_DRIVER)
        given -= {"--cpu-list"}
        found += [f"{profile}: the client has no {name}" for name in sorted(given - options)]
        if "--temperature" in given and "backend" in unset(version):
            found.append(
                f"{profile}: the client ends with --temperature, because it then reads an option that it has not"
            )
        found += [] if wanted in datasets else [f"{profile}: the client has no data set {wanted}"]
    return [f"vllm bench serve of {version}: {text}" for text in found]
