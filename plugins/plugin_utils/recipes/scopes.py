# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recipe's options of pools give way to what the user writes for all pools, in whichever spelling.

Recipes keep their options in the pools, and options of a pool precede those of the deployment. So a recipe would hide
what the user writes in ``inference_args`` and ``inference_env``.
"""

from __future__ import annotations

import copy
import typing as t

from ..description.values import canonical, merged

PARTS = ("args", "env")
Words = dict[str, t.Any]
Layer = t.Mapping[str, t.Any]


def meaning(part: str, key: str) -> str:
    """The option that a key sets, whether on or off (``no_enable_eplb`` is ``enable-eplb``); a variable's own name."""
    return canonical(key).removeprefix("no-") if part == "args" else str(key)


def giving_way(recipe: Words, variables: t.Mapping[str, t.Any]) -> Words:
    """The recipe's variables without the options of pools that the user sets for all engines, or spells in another way.

    A mapping of both stays in the pool with the user's values in it, as everywhere in a recipe.
    """
    result = copy.deepcopy(recipe)
    for name, part, options in _parts(result):
        own, wide = layers(variables, name, part)
        kept: Words = {}
        for key, value in _spelt_as(options, [*own, *wide]):
            pool_key, wide_key = _same(part, key, own), _same(part, key, wide)
            both = isinstance(value, dict) and isinstance((own if pool_key else wide).get(pool_key or wide_key), dict)
            if pool_key and both:
                kept[pool_key] = value  # the user's mapping is merged into it
            elif wide_key and both and not pool_key:
                kept[key] = merged(value, wide[wide_key])
            elif not pool_key and not wide_key:
                kept[key] = value
        result["inference_pools"][name][part] = kept
    return result


def said(variables: t.Mapping[str, t.Any], pool: str, part: str) -> Words:
    """What the user writes for a pool, by option: its own values, else those of all pools; keys behind dots as mappings."""
    found: Words = {}
    for layer in reversed(layers(variables, pool, part)):
        told: Words = {}
        for key, value in layer.items():
            first, *more = meaning(part, key).split(".") if part == "args" else [key]
            off = part == "args" and canonical(key).startswith("no-") and isinstance(value, bool)
            value = not value if off else value
            for inner in reversed(more):
                value = {inner: value}
            told[first] = merged(told[first], value) if more and isinstance(told.get(first), dict) else value
        found.update(told)
    return found


def layers(variables: t.Mapping[str, t.Any], pool: str, part: str) -> tuple[Layer, Layer]:
    """The user's options of one pool, and those of all pools; empty where they are no mapping, which the loader reports."""
    own = _mapping(_mapping(variables.get("inference_pools")).get(pool))
    return _mapping(own.get(part)), _mapping(variables.get(f"inference_{part}"))


def _parts(recipe: Words) -> t.Iterator[tuple[str, str, Words]]:
    for name, pool in recipe.get("inference_pools", {}).items():
        yield from ((name, part, pool[part]) for part in PARTS if part in pool)


def _spelt_as(options: Words, keys: t.Collection[str]) -> t.Iterator[tuple[str, t.Any]]:
    """The recipe's options; a mapping as keys behind dots where the user writes so, because vLLM takes only one of both forms."""
    dotted = {canonical(key).partition(".")[0] for key in keys if "." in str(key)}
    for key, value in options.items():
        if key in dotted and isinstance(value, dict):
            yield from leaves_of(value, key)
        else:
            yield key, value


def leaves_of(value: t.Any, path: str) -> t.Iterator[tuple[str, t.Any]]:
    """Every value that is no mapping, with its path behind dots."""
    if isinstance(value, dict) and value:
        for key in value:
            yield from leaves_of(value[key], f"{path}.{key}")
    else:
        yield path, value


def _same(part: str, key: str, layer: Layer) -> str:
    """The user's key for the same option; empty if there is none."""
    return next((given for given in layer if meaning(part, given) == meaning(part, key)), "")


def _mapping(value: t.Any) -> t.Mapping[str, t.Any]:
    return value if isinstance(value, t.Mapping) else {}
