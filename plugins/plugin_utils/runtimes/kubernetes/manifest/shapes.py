# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small notation for the structural schemas of Kubernetes objects: scalars, structs, mappings, sequences."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

MISSING = object()


@dataclass(frozen=True)
class Scalar:
    """One value; ``kind`` is string, integer, boolean, int_or_string, quantity or any."""

    kind: str
    choices: tuple[str, ...] = ()
    pattern: str = ""
    shortest: int = 0
    longest: int | None = None
    least: int | None = None
    most: int | None = None
    default: t.Any = MISSING


@dataclass(frozen=True)
class Struct:
    """A mapping with known fields; every other field is refused, as the server's strict decoding does."""

    fields: dict[str, t.Any]
    required: tuple[str, ...] = ()
    default: t.Any = MISSING


@dataclass(frozen=True)
class Mapping:
    """A mapping with free keys."""

    value: t.Any
    default: t.Any = MISSING


@dataclass(frozen=True)
class Sequence:
    """A list; ``keys`` are the fields that identify its items."""

    item: t.Any
    keys: tuple[str, ...] = ()
    unique: bool = False
    least: int = 0
    most: int | None = None
    default: t.Any = MISSING


Shape = Scalar | Struct | Mapping | Sequence


def struct(required: str = "", **fields: Shape) -> Struct:
    """A struct of these fields; ``required`` lists the required ones, separated by spaces."""
    return Struct(fields, tuple(required.split()))


def extended(base: Struct, required: str = "", **fields: Shape) -> Struct:
    """A struct with more fields than ``base``."""
    return Struct({**base.fields, **fields}, (*base.required, *required.split()))


def mapping(value: Shape) -> Mapping:
    """A mapping from free keys to ``value``."""
    return Mapping(value)


def sequence(item: Shape, keys: str = "", unique: bool = False, least: int = 0, most: int | None = None) -> Sequence:
    """A list of ``item``; ``keys`` are separated by spaces."""
    return Sequence(item, tuple(keys.split()), unique, least, most)


def text(choices: str = "", pattern: str = "", shortest: int = 0, longest: int | None = None) -> Scalar:
    """A string; ``choices`` are separated by spaces."""
    return Scalar("string", tuple(choices.split()), pattern, shortest, longest)


def integer(least: int = -(2**31), most: int = 2**31 - 1) -> Scalar:
    """A whole number."""
    return Scalar("integer", least=least, most=most)


def defaulted(shape: t.Any, default: t.Any) -> t.Any:
    """The same shape with the server's default value."""
    return replace(shape, default=default)


STR = Scalar("string")
BOOL = Scalar("boolean")
INT32 = integer()
INT64 = integer(-(2**63), 2**63 - 1)
INT_OR_STR = Scalar("int_or_string")
QUANTITY = Scalar("quantity")
ANY = Scalar("any")
ANY_OBJECT = Mapping(ANY)
