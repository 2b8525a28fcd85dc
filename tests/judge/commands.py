# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of engines whose model has published figures, as the configuration code is given them."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import environments
from ansible_collections.ascend.inference.plugins.module_utils.rehearsal import commands
from ansible_collections.ascend.inference.plugins.module_utils.tools.engine_kinds import ENGINE_KINDS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import model_figures

HERE = pathlib.Path(__file__).resolve().parent
# config.json of models: what the configuration code reads of them, put together from other sources where the file itself was out of reach.
MODELS = json.loads((HERE / "models.json").read_text(encoding="utf-8"))
# Families whose figures no rule uses: a part of a model's name, and whose config.json it has. A model with a seeing or a newer twin
# of the same figures has the twin's.
FAMILIES = (
    (r"deepseek-v4\.1-flash", "deepseek-ai/DeepSeek-V4.1-Flash"),
    (r"deepseek-v4-flash-vision", "deepseek-ai/DeepSeek-V4-Flash-Vision-Exp"),
    (r"deepseek-v4-flash", "deepseek-ai/DeepSeek-V4-Flash"),
    (r"deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Pro"),
    (r"glm-?5\.3-flash", "zai-org/GLM-5.3-Flash"),
    (r"glm-?5\.[23](?!-flash)", "zai-org/GLM-5.2"),
    (r"hy3(?!\d)", "tencent/Hy3-preview"),
    (r"hy4(?!\d)", "tencent/Hy4-preview"),
    (r"kimi-k2\.[567]", "moonshotai/Kimi-K2.5"),
    (r"kimi-k3", "moonshotai/Kimi-K3"),
    (r"minimax-m2\.5", "MiniMaxAI/MiniMax-M2.5"),
    (r"minimax-m2", "MiniMaxAI/MiniMax-M2.7"),  # the guide of "MiniMax-M2" is of both, and its commands serve this one
    (r"minimax-m3", "MiniMaxAI/MiniMax-M3"),
    (r"qwen2\.5-vl-7b", "Qwen/Qwen2.5-VL-7B-Instruct"),
    (r"qwen3-vl-8b", "Qwen/Qwen3-VL-8B-Instruct"),
    (r"qwen3-vl-30b", "Qwen/Qwen3-VL-30B-A3B-Instruct"),
    (r"qwen3-vl-235b", "Qwen/Qwen3-VL-235B-A22B-Instruct"),
    (r"qwen3-coder-30b", "Qwen/Qwen3-Coder-30B-A3B-Instruct"),
    (r"qwen3\.8-2\.4t", "Qwen/Qwen3.8-2.4T-A95B"),
    (r"qwen3\.8-flash-next", "Qwen/Qwen3.8-Flash-Next"),
    (r"qwen3\.5-122b", "Qwen/Qwen3.5-122B-A10B"),
    (r"qwen3\.5-397b", "Qwen/Qwen3.5-397B-A17B"),
    (r"qwen3\.[56]-35b", "Qwen/Qwen3.6-35B-A3B"),
)
# Options whose value is a file, or needs the tokenizer's files, which nobody has here
NEEDS_FILES = ("--reasoning-parser", "--chat-template", "--tokenizer", "--lora-modules", "--tool-parser-plugin")


class Command(t.NamedTuple):
    """What one engine is started with, and where it comes from."""

    label: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]

    def case(self) -> dict[str, t.Any]:
        """The command for configure.py."""
        return {"argv": self.argv, "env": dict(self.env)}

    def shape(self) -> tuple[str, ...]:
        """What it has in common with those that differ in a rank or an address only."""
        return commands.shape(self.argv, dict(self.env))


def source_of(path: str, name: str) -> str:
    """Whose config.json a model has, by its path and name; "" if it is not here."""
    found = model_figures.of_model(path, name).source
    return found or next((source for part, source in FAMILIES if re.search(part, f"{path} {name}".lower())), "")


def folder(source: str, quantized: bool) -> pathlib.Path:
    """A folder with the config.json of a family, as a model's folder has it."""
    path = environments.CACHE / "judged-models" / (source + ("-quantized" if quantized else ""))
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(MODELS[source]), encoding="utf-8")
    if quantized:
        (path / "quant_model_description.json").write_text('{"model_quant_type": "W8A8"}', encoding="utf-8")
    return path


def without_files(words: t.Sequence[str]) -> list[str]:
    """The words without options whose values are files."""
    kept: list[str] = []
    skip = False
    for word, after in zip(words, [*words[1:], ""], strict=True):
        name, dummy, value = word.partition("=")
        if word.startswith("--"):
            draft = name == "--speculative-config" and '"model"' in (value or after)  # files of another model
            skip = name in NEEDS_FILES or draft
        if not skip:
            kept.append(word)
    return kept


def of_plan(label: str, plan: dict[str, t.Any]) -> t.Iterator[Command]:
    """The commands of a plan's engines; none for other models."""
    source = source_of(plan["model"]["path"], plan["model"]["name"])
    if source not in MODELS or plan["engine"] != "vllm_ascend":
        return
    for service in plan["services"]:
        if service["kind"] not in ENGINE_KINDS:
            continue
        argv = without_files(service["argv"][2:])
        home = str(folder(source, "ascend" in argv))
        words = tuple(home if word == service["argv"][2] else word for word in argv)
        env = tuple((name, str(value)) for name, value in sorted(service["env"].items()))
        yield Command(f"{label} {service['name']}", words, env)
