# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that are written without a value: YAML reads ``inference_hardware:`` as a null, for which the default is taken."""

from __future__ import annotations

import dataclasses
import typing as t

from .loader import hints_of
from .variables import PREFIX, Description

Words = t.Mapping[str, t.Any]


def empty_places(variables: Words, inventory: t.Mapping[str, Words], recipe: Words) -> list[str]:
    """The places of all such variables. One that the recipe sets is none: a null there takes the recipe's value away."""
    words = {key[len(PREFIX) :]: variables[key] for key in variables if key.startswith(PREFIX)}
    brought = {key[len(PREFIX) :]: recipe[key] for key in recipe}
    found = [PREFIX + path for path in _below(Description, words, brought)]
    for host in inventory:
        own = inventory[host].get("variables", {})
        found += [f"{host}.{key}" for key in own if own[key] is None and key.startswith(PREFIX)]
    return found


def _below(kind: type, words: t.Any, brought: t.Any) -> t.Iterator[str]:
    """Paths of nulls among the fields of a record and of those inside it; in free mappings a null leaves an option out."""
    hints = hints_of(kind)
    for field in dataclasses.fields(kind):
        if not isinstance(words, t.Mapping) or field.name not in words:
            continue
        word, theirs = words[field.name], brought.get(field.name) if isinstance(brought, t.Mapping) else None
        inside = [
            item for item in (hints[field.name], *t.get_args(hints[field.name])) if dataclasses.is_dataclass(item)
        ]
        if word is None and theirs is None:
            yield field.name
        elif inside:
            yield from (f"{field.name}.{path}" for path in _below(t.cast(type, inside[0]), word, theirs))
