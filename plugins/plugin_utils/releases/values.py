# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What JSON flags and registries take: lookups over the collected words of ``values_data`` and ``sources_data``."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass, field

from . import options_data, values_data
from .version import numbers


@dataclass(frozen=True)
class Known:
    """Keys with the kind of their value, the values of those that take few, and where other keys are refused.

    A path is ``compilation-config.mode`` for vLLM and ``eplb_config.dynamic_eplb`` for --additional-config. ``strict`` holds
    the paths whose keys are all; the empty path is --additional-config itself.
    """

    keys: dict[str, str] = field(default_factory=dict)
    choices: dict[str, set[str]] = field(default_factory=dict)
    strict: frozenset[str] = frozenset()

    def below(self, path: str) -> list[str]:
        """The keys directly below a path."""
        start = f"{path}." if path else ""
        return [key[len(start) :] for key in self.keys if key.startswith(start) and "." not in key[len(start) :]]


def known(words: t.Iterable[str]) -> Known:
    """Words as one record."""
    keys: dict[str, str] = {}
    choices: dict[str, set[str]] = {}
    strict = set()
    for word in words:
        if word.startswith("!"):
            strict.add(word[1:])
        elif "=" in word:
            path, value = word.split("=", 1)
            choices.setdefault(path, set()).add(value)
        else:
            path, kind = [*word.split(":", 1), ""][:2]
            keys[path] = keys.get(path) or kind
    return Known(keys, choices, frozenset(strict))


@functools.cache
def of_vllm(version: str) -> Known:
    """What a vLLM takes; nothing before the first collected version."""
    return known(_of_version(values_data.VALUES, version))


@functools.cache
def environment(version: str) -> frozenset[str]:
    """Variables that a vLLM reads."""
    return frozenset(_of_version(values_data.ENVIRONMENT, version))


@functools.cache
def environment_of_any() -> frozenset[str]:
    """Variables that any collected vLLM reads."""
    return frozenset(line.split("|")[0] for line in values_data.ENVIRONMENT.split())


def _of_version(lines: str, version: str) -> t.Iterator[str]:
    at = numbers(version)
    if at < numbers(options_data.VLLM_VERSIONS[0]):
        return
    for line in lines.strip().splitlines():
        word, first, last = [*line.split("|"), "", ""][:3]
        if (not first or numbers(first) <= at) and (not last or at <= numbers(last)):
            yield word
