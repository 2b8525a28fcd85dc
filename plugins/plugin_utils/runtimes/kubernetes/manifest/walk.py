# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small notation for the fields of Kubernetes objects, and what a value has that its shape does not allow."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from .....module_utils.kubernetes.quantity import is_quantity
from ....description.findings import Finding, nearest

SOURCE = "the CRD's structural schema"
SILENT = "validation of pods; a ModelServing with such a template is accepted, and its pods are never created"
REFUSED = "The cluster refuses the object, so nothing of it is deployed."
NO_PODS = "The cluster accepts the object and never creates its pods; only the controller's log reports it."
WORD = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


@dataclass(frozen=True)
class Scalar:
    """One value; ``expected`` describes what ``fits``."""

    expected: str
    fits: t.Callable[[t.Any], bool]
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


def _is_whole(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


ANY = Scalar("anything", lambda value: True)
BOOL = Scalar("true or false", lambda value: isinstance(value, bool))
STR = Scalar("a string", lambda value: isinstance(value, str))
INT = Scalar("a whole number", lambda value: _is_whole(value) or (isinstance(value, float) and value.is_integer()))
INT_OR_STR = Scalar("a whole number or a string", lambda value: _is_whole(value) or isinstance(value, str))
QUANTITY = Scalar("a quantity such as 8, 500m or 350Gi", is_quantity)


def struct(required: str = "", left: str = "", **fields: Shape) -> Struct:
    """A struct; ``required`` lists its required fields, ``left`` those whose content is left to the server."""
    return Struct({**dict.fromkeys((*required.split(), *left.split()), ANY), **fields}, tuple(required.split()))


def text(choices: str = "", longest: int | None = None) -> Scalar:
    """A string; ``choices`` are separated by spaces."""
    return Scalar(STR.expected, STR.fits, tuple(choices.split()), longest)


def is_subdomain(name: str) -> bool:
    """RFC 1123: lower-case labels of letters, digits and hyphens, separated by dots; at most 253 characters."""
    return len(name) <= 253 and re.fullmatch(rf"{WORD}(\.{WORD})*", name) is not None


def is_dns1035(name: str) -> bool:
    """RFC 1035: lower-case letters, digits and hyphens, beginning with a letter; at most 63 characters."""
    return len(name) <= 63 and name[:1].isalpha() and re.fullmatch(WORD, name) is not None


def violation(path: str, rule: str, problem: str, fix: str = "", value: t.Any = "", source: str = SOURCE) -> Finding:
    """A finding for one field of a manifest."""
    shown = "" if value == "" else repr(value)[:120]
    return Finding(path, rule, problem, fix, value=shown, why=NO_PODS if source == SILENT else REFUSED, source=source)


def mapping(value: t.Any) -> t.Mapping[str, t.Any]:
    """The value if it is a mapping, else an empty one (``walk`` reports the wrong type)."""
    return value if isinstance(value, t.Mapping) else {}


def mappings(value: t.Any) -> list[t.Mapping[str, t.Any]]:
    """The mappings of a list; items of other types become empty mappings, so that indexes stay correct."""
    return [mapping(item) for item in value] if isinstance(value, (list, tuple)) else []


def walk(shape: t.Any, value: t.Any, path: str) -> t.Iterator[Finding]:
    """All violations below ``path``."""
    if isinstance(shape, Scalar):
        yield from _scalar(shape, value, path)
    elif isinstance(shape, Sequence):
        if isinstance(value, (list, tuple)):
            yield from _sequence(shape, value, path)
        else:
            yield violation(path, "K8S-TYPE", f"expected a list, not {value!r:.40}", value=value)
    elif not isinstance(value, t.Mapping):
        yield violation(path, "K8S-TYPE", f"expected a mapping, not {value!r:.40}", value=value)
    elif isinstance(shape, Mapping):
        for key in value:
            yield from walk(shape.value, value[key], f"{path}[{key}]")
    else:
        yield from _struct(shape, value, path)


def _struct(shape: Struct, value: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    for key in value:
        if key not in shape.fields:
            hint = f"{nearest(str(key), shape.fields)}Known fields: {', '.join(sorted(shape.fields))}."
            yield violation(f"{path}.{key}", "K8S-FIELD", f"unknown field '{key}' in this version of the API", hint)
        elif value[key] is not None:
            yield from walk(shape.fields[key], value[key], f"{path}.{key}")
    for key in shape.required:
        if value.get(key) is None:
            yield violation(f"{path}.{key}", "K8S-REQUIRED", f"the required field {key} is missing", "Set it.")


def _sequence(shape: Sequence, value: t.Sequence[t.Any], path: str) -> t.Iterator[Finding]:
    if len(value) < shape.least or (shape.most is not None and len(value) > shape.most):
        span = f"at least {shape.least}" if len(value) < shape.least else f"at most {shape.most}"
        yield violation(path, "K8S-COUNT", f"the list has {len(value)} items; it must have {span}")
    seen: list[t.Any] = []
    for index, item in enumerate(value):
        yield from walk(shape.item, item, f"{path}[{index}]")
        mark = mapping(item).get(shape.key)
        if mark is not None and mark in seen:
            yield violation(f"{path}[{index}]", "K8S-TWIN", f"a previous item has the same {shape.key}", value=mark)
        seen.append(mark)


def _scalar(shape: Scalar, value: t.Any, path: str) -> t.Iterator[Finding]:
    if not shape.fits(value):
        fix = "Write it without quotes." if shape is INT and str(value).lstrip("-").isdigit() else ""
        yield violation(path, "K8S-TYPE", f"expected {shape.expected}, not {value!r:.40}", fix, value)
    elif shape.choices and value not in shape.choices:
        known = f"{nearest(value, shape.choices)}Allowed: {', '.join(shape.choices)}."
        yield violation(path, "K8S-CHOICE", f"{value!r} is not supported", known, value)
    elif shape.longest is not None and len(value) > shape.longest:
        yield violation(path, "K8S-LENGTH", f"must not be longer than {shape.longest} characters", "Shorten it.", value)
