# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipes on their way into a description: what the user sets wins, and it is kept what came from where."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding, nearest
from .catalogue import RECIPES
from .scopes import PARTS, giving_way, said

WORD = "inference_recipe"
Words = dict[str, t.Any]


def with_recipe(variables: t.Mapping[str, t.Any]) -> tuple[Words, list[Finding]]:
    """The variables on top of those of the recipe that they name, at every scope; an unknown recipe is a finding."""
    name = variables.get(WORD)
    if not name:
        return dict(variables), []
    recipe = RECIPES.get(str(name))
    if recipe is None:
        return dict(variables), [unknown(str(name))]
    return merged(giving_way(recipe["variables"], variables), variables), []


def unknown(name: str) -> Finding:
    """The finding about a name that no recipe has."""
    fix = f"{nearest(name, RECIPES)}The playbook ascend.inference.recipes lists them: {', '.join(RECIPES)}."
    why = "It is not known which arguments and sizes to take."
    return Finding(WORD, "RECIPE-UNKNOWN", f"unknown recipe {name}", fix, value=name, why=why)


def brought_by_recipe(variables: t.Mapping[str, t.Any]) -> Words:
    """The variables of the recipe that these variables name; empty without one."""
    found: Words = RECIPES.get(str(variables.get(WORD) or ""), {}).get("variables", {})
    return found


def merged(base: Words, over: t.Mapping[str, t.Any]) -> Words:
    """``over`` on top of ``base``, mapping by mapping; a null leaves out what the base has."""
    result = dict(base)
    for key, value in over.items():
        mapping = isinstance(value, t.Mapping) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if mapping else value
    return result


def origin(variables: t.Mapping[str, t.Any]) -> Words:
    """What a plan says of its recipe: name, source, release, and the paths that it brought and that the user replaced."""
    name = str(variables.get(WORD) or "")
    if name not in RECIPES:
        return {}
    recipe = RECIPES[name]
    brought, replaced = [], []
    for path, value in leaves(recipe["variables"]):
        found = _said(variables, path)
        (replaced if found is not MISSING and str(found) != str(value) else brought).append(".".join(path))
    facts = {key: recipe[key] for key in ("model", "hardware", "release", "source")}
    return {"name": name, **facts, "brought": brought, "replaced": replaced}


MISSING = object()


def leaves(value: t.Any, path: tuple[str, ...] = ()) -> t.Iterator[tuple[tuple[str, ...], t.Any]]:
    """Every value that is no mapping, with its path."""
    if isinstance(value, t.Mapping) and value:
        for key in value:
            yield from leaves(value[key], (*path, str(key)))
    else:
        yield path, value


def _said(variables: t.Mapping[str, t.Any], path: tuple[str, ...]) -> t.Any:
    """The user's value for a recipe's path: options of pools may be written for all pools, and in other spellings."""
    if len(path) > 3 and path[0] == "inference_pools" and path[2] in PARTS:
        return _at(said(variables, path[1], path[2]), path[3:])
    return _at(variables, path)


def _at(variables: t.Mapping[str, t.Any], path: tuple[str, ...]) -> t.Any:
    """The user's value at a path, or that of something around it that is no mapping; MISSING if the user says nothing."""
    found: t.Any = variables
    for key in path:
        if not isinstance(found, t.Mapping):
            return found
        if key not in found:
            return MISSING
        found = found[key]
    return found
