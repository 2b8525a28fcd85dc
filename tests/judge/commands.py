# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of engines whose model has published figures, as the configuration code is given them."""

from __future__ import annotations

import json
import pathlib
import typing as t

import environments
from ansible_collections.ascend.inference.plugins.module_utils.rehearsal import commands
from ansible_collections.ascend.inference.plugins.module_utils.tools.engine_kinds import ENGINE_KINDS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import model_figures

HERE = pathlib.Path(__file__).resolve().parent
MODELS = json.loads(
    (HERE / "models.json").read_text(encoding="utf-8")
)  # config.json as the publisher has it on the hub
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
    for word in words:
        name = word.partition("=")[0]
        if word.startswith("--"):
            skip = name in NEEDS_FILES
        if not skip:
            kept.append(word)
    return kept


def of_plan(label: str, plan: dict[str, t.Any]) -> t.Iterator[Command]:
    """The commands of a plan's engines; none for other models."""
    source = model_figures.of_model(plan["model"]["path"], plan["model"]["name"]).source
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
