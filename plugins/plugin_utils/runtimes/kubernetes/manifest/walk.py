# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a value with a shape: unknown fields, wrong types, missing fields, values out of range, duplicates."""

from __future__ import annotations

import re
import typing as t

from .....module_utils.kubernetes.quantity import is_quantity
from ....description.findings import Finding, nearest
from .shapes import MISSING, Mapping, Scalar, Sequence, Struct

SOURCE = "the CRD's structural schema"
SILENT = "validation of pods; a ModelServing with such a template is accepted, and its pods are never created"
REFUSED = "The cluster refuses the object, so nothing of it is deployed."
NO_PODS = "The cluster accepts the object and never creates its pods; only the controller's log reports it."
EXPECTED = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "int_or_string": "a whole number or a string",
    "quantity": "a quantity such as 8, 500m or 350Gi",
}


def violation(path: str, rule: str, problem: str, fix: str = "", value: t.Any = "", source: str = SOURCE) -> Finding:
    """A finding for one field of a manifest."""
    shown = "" if value == "" else repr(value)[:120]
    return Finding(path, rule, problem, fix, value=shown, why=NO_PODS if source == SILENT else REFUSED, source=source)


def walk(shape: t.Any, value: t.Any, path: str) -> t.Iterator[Finding]:
    """All violations below ``path``."""
    if isinstance(shape, Struct):
        yield from _struct(shape, value, path)
    elif isinstance(shape, Mapping):
        yield from _mapping(shape, value, path)
    elif isinstance(shape, Sequence):
        yield from _sequence(shape, value, path)
    else:
        yield from _scalar(shape, value, path)


def _struct(shape: Struct, value: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(value, t.Mapping):
        yield violation(path, "K8S-TYPE", f"expected a mapping, not {value!r:.40}", value=value)
        return
    for key in value:
        if key not in shape.fields:
            hint = f"{nearest(str(key), shape.fields)}Known fields: {', '.join(sorted(shape.fields))}."
            yield violation(f"{path}.{key}", "K8S-FIELD", f"unknown field '{key}' in this version of the API", hint)
        elif value[key] is not None:
            yield from walk(shape.fields[key], value[key], f"{path}.{key}")
        elif key not in shape.required and shape.fields[key].default is MISSING:
            yield violation(f"{path}.{key}", "K8S-TYPE", f"{key} is null", "Set a value or remove the field.")
    for key in shape.required:
        if value.get(key) is None and shape.fields[key].default is MISSING:
            yield violation(f"{path}.{key}", "K8S-REQUIRED", f"the required field {key} is missing", "Set it.")


def _mapping(shape: Mapping, value: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(value, t.Mapping):
        yield violation(path, "K8S-TYPE", f"expected a mapping, not {value!r:.40}", value=value)
        return
    for key in value:
        yield from walk(shape.value, value[key], f"{path}[{key}]")


def _sequence(shape: Sequence, value: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(value, (list, tuple)):
        yield violation(path, "K8S-TYPE", f"expected a list, not {value!r:.40}", value=value)
        return
    if len(value) < shape.least or (shape.most is not None and len(value) > shape.most):
        span = f"at least {shape.least}" if len(value) < shape.least else f"at most {shape.most}"
        yield violation(path, "K8S-COUNT", f"the list has {len(value)} items; it must have {span}")
    seen: list[t.Any] = []
    for index, item in enumerate(value):
        yield from walk(shape.item, item, f"{path}[{index}]")
        mark = _mark(shape, item)
        if mark is not None and mark in seen:
            what = " and ".join(shape.keys) or "value"
            yield violation(f"{path}[{index}]", "K8S-TWIN", f"a previous item has the same {what}", value=mark)
        seen.append(mark)


def _mark(shape: Sequence, item: t.Any) -> t.Any:
    if shape.unique:
        return item
    if not shape.keys or not isinstance(item, t.Mapping):
        return None
    found = []
    for key in shape.keys:
        default = shape.item.fields[key].default
        found.append(item.get(key, None if default is MISSING else default))
    return tuple(found) if None not in found else None


def _scalar(shape: Scalar, value: t.Any, path: str) -> t.Iterator[Finding]:
    if not _is_kind(shape.kind, value):
        fix = "Write it without quotes." if shape.kind == "integer" and str(value).lstrip("-").isdigit() else ""
        expected = EXPECTED.get(shape.kind, "a value")
        yield violation(path, "K8S-TYPE", f"expected {expected}, not {value!r:.40}", fix, value)
        return
    if shape.choices and value not in shape.choices:
        known = f"{nearest(value, shape.choices)}Allowed: {', '.join(shape.choices)}."
        yield violation(path, "K8S-CHOICE", f"{value!r} is not supported", known, value)
    if isinstance(value, str) and shape.longest is not None and len(value) > shape.longest:
        yield violation(path, "K8S-LENGTH", f"must not be longer than {shape.longest} characters", "Shorten it.", value)
    if isinstance(value, str) and len(value) < shape.shortest:
        yield violation(path, "K8S-LENGTH", f"needs at least {shape.shortest} characters", value=value)
    elif isinstance(value, str) and shape.pattern and not re.fullmatch(shape.pattern, value):
        yield violation(path, "K8S-PATTERN", f"does not match {shape.pattern}", value=value)
    if isinstance(value, int) and shape.least is not None and not shape.least <= value <= t.cast(int, shape.most):
        yield violation(path, "K8S-RANGE", f"{value} is not a number from {shape.least} to {shape.most}", value=value)


def _is_kind(kind: str, value: t.Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "any":
        return True
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return whole or (isinstance(value, float) and value.is_integer())
    if kind == "quantity":
        return is_quantity(value)
    return isinstance(value, str) or (kind == "int_or_string" and whole)
