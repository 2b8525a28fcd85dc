# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of a version of a program: lookups in the lines of options_data."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass

from . import options_data as data
from .version import numbers

TABLES = {
    "vllm": (data.VLLM_VERSIONS, data.VLLM),
    "mooncake_master": (data.MOONCAKE_MASTER_VERSIONS, data.MOONCAKE_MASTER),
    "vllm_router": (data.VLLM_ROUTER_VERSIONS, data.VLLM_ROUTER),
}
OLDEST_MASTER = data.MOONCAKE_MASTER_VERSIONS[0]  # assumed version of a Mooncake that is in no image


@dataclass(frozen=True)
class Option:
    """One option in one span of versions; an empty bound is open."""

    name: str
    since: str = ""
    last: str = ""
    kind: str = "str"
    spellings: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


@functools.cache
def options(program: str) -> tuple[Option, ...]:
    """Every line of a program's table."""
    found = []
    for line in TABLES[program][1].strip().splitlines():
        name, since, last, kind, spellings, choices = (line.split("|") + [""] * 5)[:6]
        found.append(Option(name, since, last, kind, _list(spellings), _list(choices)))
    return tuple(found)


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


@functools.cache
def known(program: str, version: str) -> dict[str, Option]:
    """The options of one version by name; those of the nearest collected version before it, or none before the first."""
    versions = TABLES[program][0]
    before = [item for item in versions if numbers(item) <= numbers(version)]
    if not before:
        return {}
    at = numbers(before[-1])
    return {
        option.name: option
        for option in options(program)
        if (not option.since or numbers(option.since) <= at) and (not option.last or at <= numbers(option.last))
    }


def spans(program: str, name: str) -> tuple[Option, ...]:
    """All spans of versions in which a program has an option."""
    return tuple(option for option in options(program) if option.name == name)


def spelled(program: str, version: str) -> t.Mapping[str, str]:
    """Aliases ('tp', 'cc') of a version's options, with their long names."""
    return {short.lstrip("-"): item.name for item in known(program, version).values() for short in item.spellings}
