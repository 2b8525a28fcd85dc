# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server-side apply: who owns which fields of an object, and what an apply makes of it (as structured-merge-diff does)."""

from __future__ import annotations

import copy
import json

IDENTITY = ("apiVersion", "kind", "name", "namespace")  # belongs to nobody
# Lists whose items are told apart by these fields. All others, also Kthena's roles, are one value.
KEYS = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
# Of containers and of Services; those of a NetworkPolicy have no name, and are one value.
PORTS = {
    "containerPort": ("containerPort", "protocol"),
    "targetPort": ("port", "protocol"),
    "name": ("port", "protocol"),
}


# Mappings that are one value.
WHOLE = ("selector", "nodeSelector", "labelSelector", "podSelector", "namespaceSelector", "fieldRef", "secretKeyRef")
WHOLE += ("configMapKeyRef", "resourceFieldRef", "secretRef", "scopeSelector")


class Twins(ValueError):
    """Two items of a list with keys have the same key."""


class Whole(str):
    """A mapping that is one value, as JSON."""


class Items(dict):
    """A list with keys, as ``{'k:{"name":"x"}': item}``."""


def keyed(value, name=""):
    """The value with its lists that have keys as ``Items``."""
    if isinstance(value, dict):
        if name in WHOLE:
            return Whole(json.dumps(value, sort_keys=True))
        return {key: keyed(value[key], key) for key in value}
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return value
    keys = KEYS.get(name, ())
    if name == "ports" and value:
        keys = next((PORTS[mark] for mark in PORTS if all(mark in item for item in value)), ())
    marks = [_mark(item, keys) for item in value] if keys else []
    twins = [mark for place, mark in enumerate(marks) if mark in marks[:place]]
    if twins:
        raise Twins(f".{name}: duplicate entries for key {_step(twins[0])}")
    return Items({mark: keyed(item) for mark, item in zip(marks, value)}) if marks else value


def _mark(item, keys):
    found = {key: item.get(key, "TCP" if key == "protocol" else None) for key in sorted(keys)}
    return "k:" + json.dumps(found, separators=(",", ":"))


def plain(value):
    """The value as it was before ``keyed``."""
    if isinstance(value, Items):
        return [plain(item) for item in value.values()]
    if isinstance(value, Whole):
        return json.loads(value)
    return {key: plain(value[key]) for key in value} if isinstance(value, dict) else value


def fields(value, depth=0):
    """``fieldsV1`` of what a manager has set."""
    if not isinstance(value, dict):
        return {}
    if isinstance(value, Items):
        return {name: {".": {}, **fields(value[name], depth + 1)} for name in value}
    return {"f:" + name: fields(value[name], depth + 1) for name in value if depth > 1 or name not in IDENTITY}


def merged(base, over):
    """``base`` with the fields of ``over``."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return copy.deepcopy(over)
    result = copy.copy(base)
    for name in over:
        result[name] = merged(base[name], over[name]) if name in base else copy.deepcopy(over[name])
    return result


def without(live, before, after, others):
    """``live`` without fields that ``before`` set and ``after`` does not, unless another manager sets them."""
    if not isinstance(live, dict) or not isinstance(before, dict):
        return live
    for name in before:
        theirs = [other[name] for other in others if isinstance(other, dict) and name in other]
        if name not in after:
            if not theirs:
                live.pop(name, None)
        elif name in live and isinstance(after, dict) and isinstance(after[name], dict):
            live[name] = without(live[name], before[name], after[name], theirs)
    return live


def released(theirs, live, wanted):
    """What another manager has set, without the fields that an apply by force, or an update, takes from it."""
    if not isinstance(theirs, dict) or not isinstance(wanted, dict) or not isinstance(live, dict):
        return theirs
    lost = [name for name in theirs if name in wanted and list(conflicts({name: theirs[name]}, live, wanted, ""))]
    kept = type(theirs)({name: released(theirs[name], live.get(name), wanted.get(name)) for name in theirs})
    return type(theirs)({name: kept[name] for name in kept if name not in lost or isinstance(kept[name], dict)})


def conflicts(theirs, live, wanted, path):
    """Paths of the fields that another manager has set and an apply would change."""
    if isinstance(theirs, dict) and isinstance(wanted, dict) and isinstance(live, dict):
        for name in theirs:
            is_identity = path in ("", ".metadata") and name in IDENTITY
            if name in wanted and name in live and not is_identity:
                yield from conflicts(theirs[name], live[name], wanted[name], path + _step(name))
    elif live != wanted:
        yield path


def _step(name):
    if not name.startswith("k:"):
        return "." + name
    found = json.loads(name[2:])
    return "[" + ",".join(f"{key}={json.dumps(found[key])}" for key in found) + "]"


def changed(before, after):
    """The part of ``after`` that ``before`` has not, or has otherwise."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    parts = {name: changed(before.get(name), after[name]) for name in after if after[name] != before.get(name)}
    return type(after)(parts)
