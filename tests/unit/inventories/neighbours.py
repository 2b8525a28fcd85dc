# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Valid deployments, and values that each variable of a deployment can have: its choices, the ends of its range and what is beyond."""

from __future__ import annotations

import dataclasses
import types
import typing as t
import zlib

from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import Description
from ansible_collections.ascend.inference.tests.unit.conformance.test_recipes import described
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import (
    ENTRY,
    FAMILIES,
    IMAGE,
    family,
)

GUARDED = {
    "inference_router": ENTRY,
    "inference_secrets": {"client_keys": "y", "api_key": "z"},
    "inference_probe": {"enabled": True},
    "inference_firewall": {"state": "present"},
}
MEMCACHE = {"inference_store.backend": "memcache"}
# Further bases: a family and what differs from it, or a recipe.
BASES: dict[str, tuple[str, dict[str, t.Any]]] = {
    **{name: (name, {}) for name in FAMILIES},
    "entry": ("both", GUARDED),
    "memcache": ("both", MEMCACHE),
}
RECIPES = {"encode": "qwen2.5-vl-7b-a3-encode", "large-ep": "qwen3-235b-w8a8-a3-large-ep"}
NAMES = sorted([*BASES, *RECIPES])
# The base on which a variable has most to say, by the beginning of its name.
OWN = {
    "inference_kubernetes": "kubernetes",
    "inference_router": "entry",
    "inference_probe": "entry",
    "inference_firewall": "entry",
    "inference_secrets": "entry",
    "inference_store.ha": "ha",
    "inference_container": "docker",
    "inference_image": "docker",
    "inference_pools.encode": "encode",
    "inference_encoder_cache": "encode",
    "inference_pools.colocated": "pooled",
    "inference_engine_version": "cpu",
}
# Words of the kinds of texts, each of them valid for some variable.
TEXTS = (
    "x7",
    "/srv/x7",
    "7GB",
    "10.9.9.9",
    "0.18.0",
    IMAGE.replace("0", "7"),
    "mooncake+store",
    "a b'\"$%\\",
    "two\nlines",
    "",
)
HOSTS = {
    "address": ("10.9.9.9", "fd00::7", "127.0.0.1", 7),
    "devices": (3, [0, 1, 2, 3, 4, 5, 6, 7], [1, 3, 5, 7, 9, 11, 13, 15], [0, 0], 99, 0),
    "hardware": ("a2", "a3", "950", "310p", "910a", "cpu", "x7"),
    "interface": ("eth7", "", "a b"),
    "memory": (0, 1, 64, 2048, -1, "x7"),
    "tune_profile": ("safe", "latency", "none", "x7"),
}


def planned_from(name: str, changes: t.Mapping[str, t.Any]) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """The variables and the inventory of a base with some values changed; a change is a dotted path and the new value."""
    if name not in RECIPES:
        start, more = BASES[name]
        return family(start, {**more, **changes})
    variables, inventory, dummy = described(RECIPES[name])
    for path, value in changes.items():
        *steps, last = path.split(".")
        if steps and steps[0] in inventory:
            continue
        variables = _with(variables, [*steps, last], value)
    return variables, inventory


def _with(data: dict[str, t.Any], path: list[str], value: t.Any) -> dict[str, t.Any]:
    """A copy in which one place has another value."""
    inner = value if len(path) == 1 else _with(data.get(path[0]) or {}, path[1:], value)
    return {**data, path[0]: inner}


def leaves(cls: t.Any = Description, path: str = "inference_") -> t.Iterator[tuple[str, t.Any, t.Any]]:
    """The path, the type and the field of each value that a deployment can set."""
    hints = t.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        kind, place = hints[field.name], f"{path}{field.name}"
        if t.get_origin(kind) in (t.Union, types.UnionType):
            (kind,) = (item for item in t.get_args(kind) if item is not types.NoneType)
        inner = t.get_args(kind)[1] if t.get_origin(kind) is dict else None
        if dataclasses.is_dataclass(kind):
            yield from leaves(kind, f"{place}.")
        elif dataclasses.is_dataclass(inner):
            yield from leaves(inner, f"{place}.node1.")
        else:
            yield place, kind, field


def values(kind: t.Any, field: t.Any) -> list[t.Any]:
    """Values of a field, right and wrong ones."""
    more = field.metadata
    if more.get("choices"):
        return [*more["choices"], "x7"]
    if kind is bool:
        return [True, False, "x7"]
    if kind is int:
        least, most = more.get("least"), more.get("most") or 10**6
        usual = field.default if isinstance(field.default, int) else 0
        ends = [] if least is None else [least - 1, least]
        return list(dict.fromkeys([*ends, usual + 1, 7, most, most + 1, "x7"]))
    if kind is str:
        return list(TEXTS if more.get("kind") else TEXTS[:3] + TEXTS[-4:])
    if t.get_origin(kind) is tuple:
        if t.get_args(kind)[0] is int:
            return [[], [7], [7100, 7300], [65535, 65536], ["x7"]]
        return [[], *([text] for text in TEXTS[:4])]
    return [{"x-seven": 7, "Y_SEVEN": "a b'\"$%"}, {"x": {"y": [7]}}, "x7"]


def base_of(path: str) -> str:
    """The base on which this variable has most to say."""
    return next((OWN[start] for start in sorted(OWN, key=len, reverse=True) if path.startswith(start)), "both")


def cases(path: str, given: t.Sequence[t.Any]) -> list[tuple[str, t.Any]]:
    """Bases with values: all values on the variable's own base, and one of them on another base; both are chosen by the variable's name."""
    names = [name for name in NAMES if name not in RECIPES]
    chosen = zlib.crc32(path.encode())
    rare = path.startswith(("inference_pools.encode", "inference_pools.colocated"))
    own = given[1:3] if rare else given
    return [*((base_of(path), value) for value in own), (names[chosen % len(names)], given[chosen // 7 % len(given)])]
