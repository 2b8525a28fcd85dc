# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the ``vllm bench serve`` of a vLLM take what the playbook bench gives to it, and lack what bench says that it lacks?

Its own parser reads the command lines. What it lacks is read from the wheel's modules.
"""

from __future__ import annotations

import ast
import typing as t

import environments
import judges
from ansible_collections.ascend.inference.plugins.plugin_utils.bench import client
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.settings import read_bench
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError

LAST_WITHOUT = "0.9.0"
CLIENT = "vllm/benchmarks/serve.py"
PROFILES: dict[str, dict[str, t.Any]] = {
    "smoke": {"slo": {"ttft": 100}, "arrival": "constant"},
    "latency": {"rates": [1], "at_once": 2, "chat": True},
    "throughput": {},
    "long_prefix": {},
    "trace": {"trace": "/srv/trace.jsonl"},
}
ADDED_BY_THE_DRIVER = ("--save-result", "--save-detailed", "--result-dir", "/tmp/r", "--result-filename", "r.json")


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
    file = environments.CACHE / f"vllm-{environments.BUILDS.get(version, version)}" / CLIENT
    read = {
        node.attr
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "args"
    }
    return read - {option[2:].replace("-", "_") for option in has(version)[0]}


def before_the_first() -> list[str]:
    """What bench says that the last client before the first usable one lacks, and it has. No wheel of it is for every processor."""
    text = (environments.unpacked("vllm", LAST_WITHOUT, "/vllm/benchmarks/") / CLIENT).read_text(encoding="utf-8")
    said = client.number_of(LAST_WITHOUT) < client.FIRST and '"--save-result"' in text and "--save-detailed" not in text
    return [] if said else [f"bench says that vLLM {LAST_WITHOUT} has no --save-detailed; its client has it"]


def problems(version: str, plan: t.Mapping[str, t.Any]) -> list[str]:
    """What bench would give to this client that it does not take, and what it refuses although the client has it."""
    datasets, commands = has(version)[1], [["serve", "--no-such-option"]]
    found = before_the_first() if client.number_of(version) == client.FIRST else []
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
        commands += [[*run["argv"], *ADDED_BY_THE_DRIVER] for run in runs]
        if "--temperature" in commands[-1] and "backend" in unset(version):
            found.append(
                f"{profile}: the client ends with --temperature, because it then reads an option that it has not"
            )
        found += [] if wanted in datasets else [f"{profile}: the client has no data set {wanted}"]
    verdicts = judges.vllm(version, commands, "client")
    found += [] if verdicts[0] else ["its parser takes any option: it judges nothing"]
    answers = zip(verdicts[1:], commands[1:], strict=True)
    found += [f"{verdict}: {' '.join(command)}" for verdict, command in answers if verdict]
    return [f"vllm bench serve of {version}: {text}" for text in found]
