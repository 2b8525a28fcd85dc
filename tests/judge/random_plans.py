# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random descriptions that the planner accepts: valid sizes, and options that are valid by name and type."""

from __future__ import annotations

import random
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import options, values
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES

MODELS = (
    "DeepSeek-R1-W8A8",
    "DeepSeek-V3.1",
    "DeepSeek-V3.2-w8a8",
    "GLM-4.7-W8A8",
    "GLM-5-w8a8",
    "Qwen3-235B-A22B-W8A8",
    "Qwen3-30B-A3B",
    "Qwen3-32B",
    "Qwen3-8B",
    "Qwen2.5-7B-Instruct",
    "Qwen2.5-72B-Instruct",
)
# Options whose values are files, addresses, names of other things, or what the planner derives
LEFT_OUT = [
    "hf-overrides",
    "tokenizer",
    "tokenizer-mode",
    "runner",
    "convert",
    "task",
    "model",
    "served-model-name",
    "device",
    "config",
    "load-format",
    "reasoning-parser",
    "structured-outputs-config",
    "guided-decoding-backend",
    "logits-processors",
    "kv-transfer-config",
    "ec-transfer-config",
    "headless",
    "api-server-count",
    "ssl-cert-reqs",
    "otlp-traces-endpoint",
    "allowed-media-domains",
    "model-impl",
    "quantization",
    "nnodes",
    "node-rank",
    "show-hidden-metrics-for-version",
]
METHODS = ("mtp", "deepseek_mtp", "ngram", "suffix", "eagle3", "medusa")
VARIABLES = {
    "ASCEND_LAUNCH_BLOCKING": "1",
    "VLLM_ASCEND_ENABLE_FLASHCOMM1": "1",
    "VLLM_ASCEND_BALANCE_SCHEDULING": "1",
    "VLLM_ASCEND_ENABLE_MLAPO": "1",
    "VLLM_ASCEND_ENABLE_FUSED_MC2": "1",
    "DYNAMIC_EPLB": "true",
    "VLLM_ASCEND_ENABLE_NZ": "2",
}


def _value(dice: random.Random, kind: str, choices: t.Sequence[str]) -> t.Any:
    if choices:
        return dice.choice(sorted(choices))
    return {"bool": dice.choice([True, False]), "flag": True, "int": dice.choice([1, 2, 4, 8, 16])}.get(kind)


def _option(dice: random.Random, release: str) -> dict[str, t.Any]:
    known = options.known("vllm", RELEASES[release].vllm)
    for name in dice.sample(sorted(known), len(known)):
        value = _value(dice, known[name].kind, known[name].choices)
        parallel = "parallel" in name and known[name].kind == "int"
        if value is not None and name not in LEFT_OUT and not parallel:
            return {name: value}
    raise AssertionError("no option")


def _key(dice: random.Random, release: str) -> dict[str, t.Any]:
    row = RELEASES[release]
    found = values.known((*row.additional_config, *row.additional_values))
    keys = [key for key, kind in found.keys.items() if kind in ("bool", "int") or key in found.choices]
    if not keys:
        return {}
    path = dice.choice(sorted(keys))
    value: t.Any = _value(dice, found.keys[path], sorted(found.choices.get(path, ())))
    for part in reversed(path.split(".")):
        value = {part: value}
    return {"additional-config": value}


def _speculation(dice: random.Random, release: str) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {"method": dice.choice(METHODS), "num_speculative_tokens": dice.choice([1, 2, 3])}
    if dice.random() < 0.1:
        found.pop("num_speculative_tokens")
    return {"speculative-config": found}


def description(dice: random.Random, release: str) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """Variables and an inventory."""
    kinds = dice.choice([["prefill", "decode"], ["prefill", "decode"], ["colocated"]])
    pools: dict[str, dict[str, t.Any]] = {
        kind: {
            "tensor_parallel_size": dice.choice([1, 2, 4, 8, 16]),
            "data_parallel_size": dice.choice([1, 1, 2, 4]),
            "expert_parallel": dice.choice([True, False]),
            "load_balancing": dice.choice(["internal", "external"]),
        }
        for kind in kinds
    }
    if dice.random() < 0.1:
        pools[kinds[0]]["prefill_context_parallel_size"] = 2
    if dice.random() < 0.15:
        pools[kinds[-1]]["decode_context_parallel_size"] = dice.choice([2, 4])
    model = dice.choice(MODELS)
    args: dict[str, t.Any] = {"max-model-len": 8192, "trust-remote-code": True}
    if "w8a8" in model.lower():
        args["quantization"] = "ascend"
    env: dict[str, str] = {}
    for _number in range(dice.choice([1, 2, 3])):
        sort = dice.random()
        if sort < 0.45:
            more = _option(dice, release)
        elif sort < 0.7:
            more = _key(dice, release)
        elif sort < 0.85:
            more = _speculation(dice, release)
        else:
            name = dice.choice(sorted(VARIABLES))
            env[name], more = VARIABLES[name], {}
        where = dice.choice([args, *(pools[kind].setdefault("args", {}) for kind in kinds)])
        where.update(more)
    words = {
        "inference_release": release,
        "inference_hardware": "a3",
        "inference_runtime": "systemd",
        "inference_model": {"path": f"/models/{model}", "name": "model"},
        "inference_kv_transfer": "none" if kinds == ["colocated"] else dice.choice(["mooncake", "mooncake_layerwise"]),
        "inference_args": args,
        "inference_env": env,
        "inference_pools": pools,
    }
    if RELEASES[release].image_builds:
        words["inference_engine_install"] = "site"
    inventory = {
        f"node{index}": {
            "groups": [kind],
            "variables": {"ansible_host": f"10.1.0.{index}", "inference_interface": "e0"},
        }
        for index, kind in enumerate([kind for kind in kinds for _copy in range(4)], 1)
    }
    return words, inventory


def plans(release: str, seed: str, count: int) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    """Random plans that the planner accepts, warnings or not; the same ones for the same seed."""
    found = 0
    for number in range(count * 50):
        if found == count:
            return
        words, inventory = description(random.Random(f"{seed} {release} {number}"), release)
        try:
            plan = launch_plan(words, inventory)
        except PlanError:
            continue
        found += 1
        yield f"random {seed} {number}", plan
