# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the recipes from a corpus of documented deployments, and the facts of these deployments that a test compares them with.

    python tests/conformance/make_recipes.py CORPUS

A recipe holds what ``translate`` makes of an entry, but for the hosts and the model: sizes of pools, arguments, environment,
connector. Settings of single hosts are left out, since a recipe knows no hosts.
"""

from __future__ import annotations

import json
import pathlib
import pprint
import sys
import typing as t

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.engines.registry import DEFAULT
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ADDITIONAL_SPANS, ORDER
from ansible_collections.ascend.inference.tests.conformance.facts import to_facts
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry
from ansible_collections.ascend.inference.tests.conformance.translate import translate

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "plugins" / "plugin_utils" / "recipes" / "catalogue.py"
CASES = ROOT / "tests" / "conformance" / "recipes.json"
# name -> id of the entry
CHOSEN = {
    "deepseek-r1-w8a8-a3": "tests/nightly/internal_dp/DeepSeek-R1-W8A8-EPLB",
    "deepseek-v3-w8a8-a3": "tests/weekly/internal_dp/DeepSeek-V3",
    "deepseek-v3.1-w8a8-a3": "docs/models/DeepSeek-V3.1-w8a8-mtp-QuaRot-2P1D-A3",
    "deepseek-v3.1-w8a8-a3-128k": "tests/weekly/external_dp/DeepSeek_V3.1T_MTP1_128K_1K_PD",
    "deepseek-v3.2-w8a8-a2": "pymotor/models-deepseek-v3_2",
    "deepseek-v3.2-w8a8-a3": "docs/models/DeepSeek-V3.2-1P1D-A3",
    "deepseek-v4-flash-w8a8-a2": "docs/models/DeepSeek-V4-Flash-4P1D-A2",
    "deepseek-v4-flash-w8a8-a3": "docs/models/DeepSeek-V4-Flash-1P1D-A3-mtp",
    "deepseek-v4-flash-w8a8-a3-pool": "tests/weekly/external_dp/DeepSeek-V4-Flash-Memcache-PD-acc",
    "deepseek-v4-pro-w4a8-a3": "docs/models/DeepSeek-V4-Pro-1P1D-A3",
    "glm-4.7-w8a8c8-a3-layerwise": "tests/weekly/internal_dp/GLM-4.7-W8A8C8-Mooncake-Layerwise",
    "glm-5-w4a8-a2": "pymotor/models-GLM-5",
    "glm-5-w8a8-a3": "docs/models/GLM5-w8a8-1P1D-A3",
    "glm-5.1-w8a8-a3": "tests/nightly/internal_dp/GLM5_1-W8A8-EP",
    "kimi-k2.5-w4a8-a3": "tests/weekly/external_dp/Kimi-K2.5-W4A8-16k-1k-TPOT50",
    "kimi-k2.6-w4a8-a3": "docs/models/Kimi-K2.6-w4a8-2P1D-A3",
    "minimax-m2.7-w8a8-a3": "tests/weekly/external_dp/Minimax_m2.7_in3_5_tpot50",
    "qwen2.5-vl-7b-a2": "docs/pd_single_node/Qwen2.5-VL-7B-1P1D",
    "qwen2.5-vl-7b-a3-encode": "tests/weekly/single_node/Qwen2.5-VL-7B-Instruct-epd",
    "qwen3-30b-a3b-a2-llmdatadist": "hist/v0.11.0-dev/Qwen3-30B-A3B-1P2D-llmdatadist-A2",
    "qwen3-8b-a3-layerwise": "pymotor/user_config.json",
    "qwen3-235b-w8a8-a3": "tests/nightly/internal_dp/Qwen3-235B-W8A8",
    "qwen3-235b-w8a8-a3-large-ep": "tests/weekly/external_dp/QWEN3_235B_PD",
    "qwen3.5-122b-w4a8-a3": "tests/weekly/external_dp/Qwen3.5-122B-A10B-w4a8-16k-1k-TPOT50-0-PD",
    "qwen3.5-397b-w8a8-a3": "tests/weekly/external_dp/Qwen-3.5-397B-A17B-W8A8-PD",
    "qwen3.5-397b-w8a8-a3-pool": "tests/weekly/single_node/Qwen3.5-397B-Memcache-perf",
}
LEFT_OUT = (
    "inference_engine",
    "inference_engine_install",
    "inference_model",
    "inference_hardware",
    "inference_release",
)
# What belongs to the source's own scripts, machines and measurements
OWN_ENV = {
    "DISAGGREGATED_PREFILL_PROXY_SCRIPT",
    "ENCODE_PORT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PD_PORT",
    "PROXY_PORT",
    "SERVER_PORT",
    "VLLM_TORCH_PROFILER_WITH_STACK",
    "VLLM_USE_MODELSCOPE",
}
OWN_ARGS = {"allowed-local-media-path", "profiler-config"}
HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipes: settings of documented deployments, by name; written by tests/conformance/make_recipes.py.

Each has its model, hardware, the release that its source is about, the source, and ``variables``: what it brings.
"""

from __future__ import annotations

import typing as t

'''


def strip(args: dict[str, t.Any], env: dict[str, t.Any]) -> None:
    """Take away what belongs to the source, and keys of --additional-config that no release from the default one on reads."""
    for name in OWN_ENV & set(env):
        del env[name]
    for name in OWN_ARGS & set(args):
        del args[name]
    config = args.get("additional-config")
    if isinstance(config, dict):
        args["additional-config"] = {key: value for key, value in config.items() if read_by_current(key)}
        if not args["additional-config"]:
            del args["additional-config"]


def read_by_current(key: str) -> bool:
    """Whether the default release or a later one reads a key of --additional-config."""
    start = ORDER[DEFAULT.release]
    return any(not last or ORDER[last] >= start for dummy, last in ADDITIONAL_SPANS.get(key, ()))


def source_of(entry: t.Mapping[str, t.Any]) -> str:
    """Where a deployment is documented: owner/name@commit:path."""
    source = entry["source"]
    at = source.get("commit") or source.get("ref") or source.get("tag") or ""
    return f"{source['repo']}{f'@{at[:12]}' if at else ''}:{source['path']}"


def recipe(entry: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """One recipe."""
    documented = read_entry(entry)
    words = translate(documented, False)[0]
    variables = {key: value for key, value in words.items() if key not in LEFT_OUT and value}
    for pool in variables["inference_pools"].values():
        pool.pop("hosts", None)
        pool.pop("devices", None)
        strip(pool.get("args", {}), pool.get("env", {}))
        for empty in [word for word in ("args", "env") if not pool.get(word)]:
            pool.pop(empty, None)
    variables["inference_hardware"] = documented.hardware
    if documented.release != "main":
        variables["inference_release"] = documented.release
    if variables.get("inference_router") == {"flavour": "none"}:
        del variables["inference_router"]  # the source shows no proxy; a deployment has one
    return {
        "model": words["inference_model"]["path"].rstrip("/").rsplit("/", 1)[-1],
        "hardware": documented.hardware,
        "hosts": len(documented.hosts),
        "release": documented.release
        if documented.release != "main"
        else f"main at {entry['source'].get('commit', '')[:12]}",
        "source": source_of(entry),
        "variables": variables,
    }


def main() -> None:
    """Write both files."""
    corpus = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    entries = {entry["id"]: entry for entry in corpus["entries"]}
    found = {name: recipe(entries[id_]) for name, id_ in CHOSEN.items()}
    text = pprint.pformat(found, width=110, sort_dicts=True)
    TARGET.write_text(f"{HEAD}RECIPES: dict[str, dict[str, t.Any]] = {text}\n", encoding="utf-8")
    lines = []
    for name, id_ in CHOSEN.items():
        documented = read_entry(entries[id_])
        for process in documented.processes:
            strip(process.args, process.env)
        facts = {"recipe": name, "source": source_of(entries[id_]), **to_facts(documented)}
        lines.append(json.dumps(facts, sort_keys=True, separators=(",", ":")))
    CASES.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
