# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates custom resources with the structural schema of a CRD and the CEL rules that are implemented here."""

from __future__ import annotations

import copy
import json
import re

UNKNOWN = "field not declared in schema"


def default(schema, value):
    """Fill in the schema's defaults."""
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if value.get(name) is None and "default" in part:
                value[name] = copy.deepcopy(part["default"])
            if name in value:
                default(part, value[name])
        free = schema.get("additionalProperties")
        if isinstance(free, dict):
            for name in value:
                if name not in schema.get("properties", {}):
                    default(free, value[name])
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            default(schema["items"], item)
    return value


def problems(schema, value, old, path=""):
    """Every violation of the schema, with messages similar to the server's."""
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            yield f"{path}: must be an integer or a string"
        elif "pattern" in schema and not re.match(schema["pattern"], str(value)):
            yield f"{path}: Invalid value: {value!r}"
        return
    kind = schema.get("type")
    if kind and not _is(kind, value):
        yield f"{path}: must be of type {kind}: {json.dumps(value)[:60]}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: Unsupported value: {value!r}: supported values: {schema['enum']}"
    yield from _text(schema, value, path)
    if kind == "object":
        yield from _fields(schema, value, old, path)
    if kind == "array":
        yield from _items(schema, value, old, path)
    for rule in schema.get("x-kubernetes-validations", []):
        if not _holds(rule["rule"], value, old):
            yield f"{path}: Invalid value: {rule.get('message', rule['rule'])}"


def _is(kind, value):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(
        value, {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float)}[kind]
    )


def _text(schema, value, path):
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)):
            yield f"{path}: Too long: may not be more than {schema['maxLength']} bytes"
        if len(value) < schema.get("minLength", 0):
            yield f"{path}: too short"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{path}: Invalid value: {value!r}: should match {schema['pattern']}"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path}: Invalid value: {value!r}: out of range"


def _fields(schema, value, old, path):
    known, free = schema.get("properties", {}), schema.get("additionalProperties")
    old = old if isinstance(old, dict) else {}
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path}.{name}: Required value"
    for name in value:
        place = f"{path}.{name}" if path else name
        if name in known:
            yield from problems(known[name], value[name], old.get(name), place)
        elif isinstance(free, dict):
            yield from problems(free, value[name], old.get(name), place)
        elif not free and not schema.get("x-kubernetes-preserve-unknown-fields") and "properties" in schema:
            yield f"{place}: {UNKNOWN}"


def _items(schema, value, old, path):
    if len(value) > schema.get("maxItems", len(value)):
        yield f"{path}: Too many: {len(value)}: must have at most {schema['maxItems']} items"
    if len(value) < schema.get("minItems", 0):
        yield f"{path}: should have at least {schema['minItems']} items"
    for number, member in enumerate(value):
        yield from problems(schema.get("items", {}), member, None, f"{path}[{number}]")
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys:
        marks = [json.dumps([item.get(key) for key in keys]) for item in value if isinstance(item, dict)]
        for number, mark in enumerate(marks):
            if mark in marks[:number]:
                yield f"{path}[{number}]: Duplicate value: {mark}"


def _holds(rule, value, old):
    """The CEL rules of Kthena's CRDs; an unknown rule counts as fulfilled."""
    if rule == "self == oldSelf":
        return old is None or value == old
    if rule == "!has(oldSelf.gangPolicy) || has(self.gangPolicy)":
        return not (isinstance(old, dict) and "gangPolicy" in old) or "gangPolicy" in value
    if "exists_one(y, y.name == x.name)" in rule:
        names = [item.get("name") for item in value]
        return len(names) == len(set(names))
    if "self.modelName !=" in rule:
        return bool(value.get("modelName")) or bool(value.get("loraAdapters"))
    return True
