# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small notation for the fields of Kubernetes objects: scalars, structs, mappings, sequences."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """One value; ``kind`` is string, integer, boolean, int_or_string, quantity or any."""

    kind: str
    choices: tuple[str, ...] = ()
    longest: int | None = None


@dataclass(frozen=True)
class Struct:
    """A mapping with known fields; every other field is refused, as the server's strict decoding does."""

    fields: dict[str, t.Any]
    required: tuple[str, ...]


@dataclass(frozen=True)
class Mapping:
    """A mapping with free keys."""

    value: t.Any


@dataclass(frozen=True)
class Sequence:
    """A list; ``key`` is the field that identifies its items."""

    item: t.Any
    key: str = ""
    least: int = 0
    most: int | None = None


Shape = Scalar | Struct | Mapping | Sequence
STR = Scalar("string")
BOOL = Scalar("boolean")
INT = Scalar("integer")
INT_OR_STR = Scalar("int_or_string")
QUANTITY = Scalar("quantity")
ANY = Scalar("any")


def struct(required: str = "", left: str = "", **fields: Shape) -> Struct:
    """A struct; ``required`` lists its required fields, ``left`` those whose content is left to the server."""
    return Struct({**dict.fromkeys((*required.split(), *left.split()), ANY), **fields}, tuple(required.split()))


def extended(base: Struct, **fields: Shape) -> Struct:
    """A struct with more fields than ``base``."""
    return Struct({**base.fields, **fields}, base.required)


def text(choices: str = "", longest: int | None = None) -> Scalar:
    """A string; ``choices`` are separated by spaces."""
    return Scalar("string", tuple(choices.split()), longest)
