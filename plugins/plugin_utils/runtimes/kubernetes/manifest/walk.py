# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an object has that the fields of its kind, in ``schema.json``, do not allow.

``tests/releases/kubernetes_schema.py`` writes that file from the OpenAPI of Kubernetes 1.25 to 1.37 and the CRDs of LeaderWorkerSet and Kthena:
  name!                       the field is required; name!main: in this version of Kthena and later ones; name!<main: in earlier ones
  name@main                   the field is there in this version and later ones
  any, bool, int, number, string, int or string, quantity; int 1..65535 (a range), string 1..63 (characters); =One|Other (a string)
  Container                   the definition of this name
  {"*": ...}                  a mapping with free keys
  {"list": ..., "key": name}  a list whose items are told apart by fields; least, most: their number
"""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

from .....module_utils.kubernetes.quantity import is_quantity
from ....description.findings import Finding, nearest

SOURCE = "the schema of the API"
REFUSED = "The cluster refuses the object, so nothing of it is deployed."
VERSIONS = ("v0.4.0", "v1.0.0", "main")  # of Kthena, oldest first
KINDS: dict[str, t.Any] = json.loads((pathlib.Path(__file__).parent / "schema.json").read_text(encoding="utf-8"))
CUSTOM = ("ModelServing/", "LeaderWorkerSet/")  # whose CRDs have quantities as x-kubernetes-int-or-string
KEY = re.compile(r"(?P<name>\w+)(?P<required>!(?P<before><?)(?P<limit>[\w.]*))?(@(?P<since>[\w.]+))?")
Look = t.Callable[[str, t.Mapping[str, t.Any], str], t.Iterable[Finding]]


def _is_whole(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


TYPES: dict[str, tuple[str, t.Callable[[t.Any], bool]]] = {
    "any": ("anything", lambda value: True),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: _is_whole(value) or (isinstance(value, float) and value.is_integer())),
    "int or string": ("a whole number or a string", lambda value: _is_whole(value) or isinstance(value, str)),
    "number": ("a number", lambda value: _is_whole(value) or isinstance(value, float)),
    "quantity": (
        "a quantity such as 8, 500m or 350Gi",
        lambda value: is_quantity(value) or isinstance(value, float),
    ),
    "string": ("a string", lambda value: isinstance(value, str)),
}


def violation(path: str, rule: str, problem: str, fix: str = "", value: t.Any = "", source: str = SOURCE) -> Finding:
    """A finding for one field of a manifest."""
    shown = "" if value == "" else repr(value)[:120]
    return Finding(path, rule, problem, fix, value=shown, why=REFUSED, source=source)


def mapping(value: t.Any) -> t.Mapping[str, t.Any]:
    """The value if it is a mapping, else an empty one (``walk`` reports the wrong type)."""
    return value if isinstance(value, t.Mapping) else {}


def mappings(value: t.Any) -> list[t.Mapping[str, t.Any]]:
    """The mappings of a list; items of other types become empty mappings, so that indexes stay correct."""
    return [mapping(item) for item in value] if isinstance(value, (list, tuple)) else []


def listed(value: t.Any) -> list[t.Any]:
    """The items of a list; none of another value, as for ``mapping``."""
    return list(value) if isinstance(value, (list, tuple)) else []


def fields(shape: t.Mapping[str, t.Any], version: str) -> dict[str, tuple[t.Any, bool]]:
    """``{name: (shape, whether it is required)}`` of a mapping's fields in a version of Kthena."""
    found: dict[str, tuple[t.Any, bool]] = {}
    for key in shape:
        parts, place = KEY.fullmatch(key), VERSIONS.index(version)
        if parts and place >= VERSIONS.index(parts["since"] or VERSIONS[0]):
            is_late = place >= VERSIONS.index(parts["limit"] or VERSIONS[0])
            found[parts["name"]] = (shape[key], bool(parts["required"]) and is_late != bool(parts["before"]))
    return found


def walk(
    shape: t.Any, value: t.Any, path: str, version: str = VERSIONS[-1], look: Look | None = None
) -> t.Iterator[Finding]:
    """All violations below ``path`` of a ``shape``, a part of ``schema.json``.

    ``look`` says more of each mapping with known fields: it gets the name of its definition (empty if it has none), the mapping and its path.
    """
    name = shape if isinstance(shape, str) and shape[0].isupper() else ""
    shape = KINDS.get(name, "any") if name else shape
    if isinstance(shape, str):
        yield from _scalar(shape, value, path)
    elif "list" in shape:
        if isinstance(value, (list, tuple)):
            yield from _sequence(shape, value, path, version, look)
        else:
            yield violation(path, "K8S-TYPE", f"expected a list, not {value!r:.40}", value=value)
    elif not isinstance(value, t.Mapping):
        yield violation(path, "K8S-TYPE", f"expected a mapping, not {value!r:.40}", value=value)
    elif "*" in shape:
        for key in value:
            yield from walk(shape["*"], value[key], f"{path}[{key}]", version, look)
    else:
        known = fields(shape, version)
        yield from _unknown(known, value, path)
        for key in known:
            if value.get(key) is not None:
                yield from walk(known[key][0], value[key], f"{path}.{key}", version, look)
        yield from look(name, value, path) if look else ()


def _unknown(known: dict[str, tuple[t.Any, bool]], value: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """Every field that is not known is refused, as the server's strict decoding does, and so is a missing one."""
    for key in value:
        if key not in known:
            hint = f"{nearest(str(key), known)}Known fields: {', '.join(sorted(known))}."
            yield violation(f"{path}.{key}", "K8S-FIELD", f"unknown field '{key}' in this version of the API", hint)
    for key in known:
        if known[key][1] and value.get(key) is None:
            yield violation(f"{path}.{key}", "K8S-REQUIRED", f"the required field {key} is missing", "Set it.")


def _sequence(
    shape: t.Any, value: t.Sequence[t.Any], path: str, version: str, look: Look | None
) -> t.Iterator[Finding]:
    least, most = shape.get("least", 0), shape.get("most", len(value))
    if not least <= len(value) <= most:
        span = f"at least {least}" if len(value) < least else f"at most {most}"
        yield violation(path, "K8S-COUNT", f"the list has {len(value)} items; it must have {span}")
    seen: list[t.Any] = []
    for index, item in enumerate(value):
        yield from walk(shape["list"], item, f"{path}[{index}]", version, look)
        keys = shape.get("key", "").split()
        mark = [mapping(item).get(key, "TCP" if key == "protocol" else None) for key in keys]
        if keys and mark[0] is not None and mark in seen:
            text = f"a previous item has the same {' and '.join(keys)}"
            yield violation(f"{path}[{index}]", "K8S-TWIN", text, value=mark[0])
        seen.append(mark)


def _scalar(shape: str, value: t.Any, path: str) -> t.Iterator[Finding]:
    choices = shape[1:].split("|") if shape.startswith("=") else []
    name, dummy, span = ("string", "", "") if choices else shape.rpartition(" ") if ".." in shape else (shape, "", "")
    expected, fits = TYPES[name]
    least, dummy, most = span.partition("..")
    is_fraction = name == "quantity" and isinstance(value, float) and not value.is_integer()
    if is_fraction and path.startswith(CUSTOM):
        text = f"expected a whole number or a string, not {value!r}: unlike a Deployment this kind takes no fraction"
        yield violation(path, "K8S-TYPE", text, f"Write it in quotes: '{value!r}'.", value)
    elif not fits(value):
        fix = "Write it without quotes." if name == "int" and str(value).lstrip("-").isdigit() else ""
        yield violation(path, "K8S-TYPE", f"expected {expected}, not {value!r:.40}", fix, value)
    elif choices and value not in choices:
        known = f"{nearest(value, choices)}Allowed: {', '.join(choices)}."
        yield violation(path, "K8S-CHOICE", f"{value!r} is not supported", known, value)
    elif name == "string" and most and len(value) > int(most):
        yield violation(path, "K8S-LENGTH", f"must not be longer than {most} characters", "Shorten it.", value)
    elif span:
        number = len(value) if name == "string" else value
        if number < int(least or number) or number > int(most or number):
            yield violation(
                path, "K8S-VALUE", f"must be {f'from {least} to {most}' if most else f'at least {least}'}", value=value
            )
