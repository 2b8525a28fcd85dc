# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an object has that the fields of its kind, in ``fields.yml``, do not allow."""

from __future__ import annotations

import pathlib
import re
import typing as t

import yaml

from .....module_utils.kubernetes.quantity import is_quantity
from ....description.findings import Finding, nearest

SOURCE = "the CRD's structural schema"
SILENT = "validation of pods; a ModelServing with such a template is accepted, and its pods are never created"
REFUSED = "The cluster refuses the object, so nothing of it is deployed."
NO_PODS = "The cluster accepts the object and never creates its pods; only the controller's log reports it."
WORD = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
VERSIONS = ("v0.4.0", "v1.0.0", "main")  # of Kthena, oldest first
FIELDS = yaml.safe_load((pathlib.Path(__file__).parent / "fields.yml").read_text(encoding="utf-8"))
KEY = re.compile(r"(?P<name>\w+)(?P<required>!(?P<before><?)(?P<limit>[\w.]*))?(@(?P<since>[\w.]+))?")


def _is_whole(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


TYPES: dict[str, tuple[str, t.Callable[[t.Any], bool]]] = {
    "any": ("anything", lambda value: True),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: _is_whole(value) or (isinstance(value, float) and value.is_integer())),
    "int or string": ("a whole number or a string", lambda value: _is_whole(value) or isinstance(value, str)),
    "quantity": ("a quantity such as 8, 500m or 350Gi", is_quantity),
    "string": ("a string", lambda value: isinstance(value, str)),
}


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


def fields(shape: t.Mapping[str, t.Any], version: str) -> dict[str, tuple[t.Any, bool]]:
    """``{name: (shape, whether it is required)}`` of a mapping's fields in a version of Kthena."""
    found: dict[str, tuple[t.Any, bool]] = {name: ("any", False) for name in shape.get("_", "").split()}
    for key in shape:
        parts, place = KEY.fullmatch(key), VERSIONS.index(version)
        if parts and key != "_" and place >= VERSIONS.index(parts["since"] or VERSIONS[0]):
            is_late = place >= VERSIONS.index(parts["limit"] or VERSIONS[0])
            found[parts["name"]] = (shape[key], bool(parts["required"]) and is_late != bool(parts["before"]))
    return found


def walk(shape: t.Any, value: t.Any, path: str, version: str = VERSIONS[-1]) -> t.Iterator[Finding]:
    """All violations below ``path``; ``shape`` is a part of ``fields.yml``, which describes the notation."""
    if isinstance(shape, str):
        yield from _scalar(shape, value, path)
    elif "list" in shape:
        if isinstance(value, (list, tuple)):
            yield from _sequence(shape, value, path, version)
        else:
            yield violation(path, "K8S-TYPE", f"expected a list, not {value!r:.40}", value=value)
    elif not isinstance(value, t.Mapping):
        yield violation(path, "K8S-TYPE", f"expected a mapping, not {value!r:.40}", value=value)
    elif "*" in shape:
        for key in value:
            yield from walk(shape["*"], value[key], f"{path}[{key}]", version)
    else:
        yield from _struct(fields(shape, version), value, path, version)


def _struct(known: dict[str, tuple[t.Any, bool]], value: t.Any, path: str, version: str) -> t.Iterator[Finding]:
    """A mapping with known fields; every other field is refused, as the server's strict decoding does."""
    for key in value:
        if key not in known:
            hint = f"{nearest(str(key), known)}Known fields: {', '.join(sorted(known))}."
            yield violation(f"{path}.{key}", "K8S-FIELD", f"unknown field '{key}' in this version of the API", hint)
        elif value[key] is not None:
            yield from walk(known[key][0], value[key], f"{path}.{key}", version)
    for key in known:
        if known[key][1] and value.get(key) is None:
            yield violation(f"{path}.{key}", "K8S-REQUIRED", f"the required field {key} is missing", "Set it.")


def _sequence(shape: t.Any, value: t.Sequence[t.Any], path: str, version: str) -> t.Iterator[Finding]:
    least, most = shape.get("least", 0), shape.get("most", len(value))
    if not least <= len(value) <= most:
        span = f"at least {least}" if len(value) < least else f"at most {most}"
        yield violation(path, "K8S-COUNT", f"the list has {len(value)} items; it must have {span}")
    seen: list[t.Any] = []
    for index, item in enumerate(value):
        yield from walk(shape["list"], item, f"{path}[{index}]", version)
        mark = mapping(item).get(shape.get("key"))
        if mark is not None and mark in seen:
            yield violation(f"{path}[{index}]", "K8S-TWIN", f"a previous item has the same {shape['key']}", value=mark)
        seen.append(mark)


def _scalar(shape: str, value: t.Any, path: str) -> t.Iterator[Finding]:
    name, dummy, longest = shape.partition(" <= ")
    choices = [] if name in TYPES else name.split(" | ")
    expected, fits = TYPES["string" if choices else name]
    if not fits(value):
        fix = "Write it without quotes." if name == "int" and str(value).lstrip("-").isdigit() else ""
        yield violation(path, "K8S-TYPE", f"expected {expected}, not {value!r:.40}", fix, value)
    elif choices and value not in choices:
        known = f"{nearest(value, choices)}Allowed: {', '.join(choices)}."
        yield violation(path, "K8S-CHOICE", f"{value!r} is not supported", known, value)
    elif longest and len(value) > int(longest):
        yield violation(path, "K8S-LENGTH", f"must not be longer than {longest} characters", "Shorten it.", value)
