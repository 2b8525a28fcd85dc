# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shelf of recipes as lines for people: each recipe, the guides that have none, and the families of models."""

from __future__ import annotations

import re

import yaml

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.how_many import how_many
from ..description.values import built_in
from .catalogue import RECIPES, Recipe
from .catalogue_data import SHELF, WITHOUT

FAMILY = re.compile(r"(deepseek-[vr]|glm-|kimi-k|minimax-m|qwen|hy)\d+(\.\d)?")


def shelf() -> str:
    """The releases that the recipes are compiled from, with their dates."""
    return " and ".join(f"{name} ({date})" for name, date in (line.split() for line in SHELF.split("\n") if line))


def recipe_lines() -> list[str]:
    """Every recipe as lines for people, then the guides without one and the families."""
    lines = [f"Compiled from the tutorials and the CI of vLLM-Ascend {shelf()}:", ""]
    for name, recipe in RECIPES.items():
        lines += lines_of(name, recipe)
    lines += ["", "Guides without a recipe, because the planner refuses what they say:", *guide_lines()]
    return [*lines, "", "Recipes by family, with prefill/decode and mixed:", *family_lines()]


def guide_lines() -> list[str]:
    """The guides without a recipe, each with what the planner says against it."""
    lines: list[str] = []
    for page, reasons in without().items():
        name, section, hardware, release = page.split("|")
        lines += [f"{name}, {hardware.upper()}, {release}", *([f"  {section}"] if section else [])]
        lines += [f"  {reason}" for reason in reasons]
    return lines


def lines_of(name: str, recipe: Recipe) -> list[str]:
    """The lines of one recipe; what it leaves out of its source stands beside it."""
    return [
        name,
        f"  {sizes(recipe)} on {how_many(recipe['hosts'], recipe['hardware'].upper() + ' host')}, "
        f"{recipe['variables'].get('inference_kv_transfer', 'none')}; documented for {recipe['release']}",
        f"  {recipe['source']}",
        *(f"  Note: {note}" for note in recipe["notes"]),
    ]


def yaml_lines(name: str, recipe: Recipe) -> list[str]:
    """The variables of one recipe as YAML that an inventory can have in place of ``inference_recipe``; what it is stands above them."""
    text = yaml.safe_dump(built_in(recipe["variables"]), allow_unicode=True, width=120)
    return [*(f"# {line}" for line in lines_of(name, recipe)), *text.splitlines()]


def without() -> dict[str, list[str]]:
    """{page|section|hardware|release: what the planner says against it} of the guides that have no recipe."""
    found: dict[str, list[str]] = {}
    page = ""
    for line in WITHOUT.strip().splitlines():
        if line.startswith("  "):
            found[page].append(line.strip())
        else:
            page = line
            found[page] = []
    return found


def families() -> dict[str, dict[str, dict[str, int]]]:
    """{family: {hardware: {pd or mixed: number of recipes}}}; 0 where upstream has no guide that the planner accepts."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for name, recipe in RECIPES.items():
        family = FAMILY.match(name)
        if family:
            kinds = found.setdefault(family[0], {hardware: {"pd": 0, "mixed": 0} for hardware in ("a2", "a3")})
            kinds[recipe["hardware"]]["pd" if len(recipe["variables"]["inference_pools"]) > 1 else "mixed"] += 1
    return dict(sorted(found.items()))


def family_lines() -> list[str]:
    """A line for each family, such as 'glm-5: A2 1 and 1, A3 2 and 1'."""
    return [
        f"{family}: "
        + ", ".join(
            f"{name.upper()} {kinds['pd'] or 'none'} and {kinds['mixed'] or 'none'}" for name, kinds in found.items()
        )
        for family, found in families().items()
    ]


def sizes(recipe: Recipe) -> str:
    """The pools of a recipe: '2 x prefill (DP 2, TP 8), 1 x decode (DP 32)'."""
    parts = []
    for kind, pool in sorted(
        recipe["variables"]["inference_pools"].items(), key=lambda item: ENGINE_KINDS.index(item[0])
    ):
        shown = [
            f"{short} {pool[word]}"
            for short, word in (
                ("DP", "data_parallel_size"),
                ("TP", "tensor_parallel_size"),
                ("PP", "pipeline_parallel_size"),
            )
            if word in pool
        ]
        parts.append(f"{pool['instances']} x {kind}{f' ({chr(44).join(shown)})' if shown else ''}".replace(",", ", "))
    return ", ".join(parts)
