# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run changed, and how it is shown: by object, as JSON, without what the server counts and without any secret."""

from __future__ import annotations

import copy
import json

from .names import address

SERVERS_OWN = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")


def content(thing):
    """An object without its status and what the server alone writes."""
    if thing is None:
        return None
    result = {key: copy.deepcopy(thing[key]) for key in thing if key != "status"}
    result["metadata"] = {key: value for key, value in result["metadata"].items() if key not in SERVERS_OWN}
    return result


def earlier(before, manifest, manager, force):
    """The part of an object that ``manager`` has applied: applied once more it takes a change back and leaves the fields of others.

    With ``force`` also what ``manifest`` has taken from others.
    """
    fields = [
        item.get("fieldsV1") or {}
        for item in before["metadata"].get("managedFields") or []
        if item.get("manager") == manager and item.get("operation") == "Apply" and not item.get("subresource")
    ]
    head = {key: before["metadata"][key] for key in ("name", "namespace") if key in before["metadata"]}
    found = {"apiVersion": before["apiVersion"], "kind": before["kind"], "metadata": head}
    for part in [_common(content(before), manifest)] * bool(force) + [_owned(before, each) for each in fields]:
        found = _united(found, part)
    return found


def _owned(value, fields):
    """The part of a value that ``fieldsV1`` names: ``{"f:spec": {"f:replicas": {}}}``; items of a list by key or value."""
    names = [name for name in fields if name != "."]  # which is the value itself, whatever is in it
    if not fields or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return [_item(item, name, fields[name]) for item in value for name in names if _is_item(item, name)]
    return {name: _owned(value[name], fields["f:" + name]) for name in value if "f:" + name in fields}


def _is_item(item, name):
    kind, dummy, text = name.partition(":")
    wanted = json.loads(text)
    return all(item.get(key) == wanted[key] for key in wanted) if kind == "k" else item == wanted


def _item(item, name, fields):
    return dict(json.loads(name[2:]), **_owned(item, fields)) if name.startswith("k:") else item


def _common(value, other, name=""):
    """The part of a value that is also in ``other``; lists and selectors are one value."""
    if not isinstance(value, dict) or not isinstance(other, dict) or name in ("selector", "podSelector"):
        return value
    return {name: _common(value[name], other[name], name) for name in other if name in value}


def _united(first, second):
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second
    added = {name: _united(first[name], second[name]) if name in first else second[name] for name in second}
    return dict(first, **added)


def _text(thing):
    return json.dumps(thing, indent=2, sort_keys=True).replace("\\n", "\n") + "\n" if thing else ""


class Changes:
    """Objects that were created, changed and removed."""

    def __init__(self):
        self.created, self.updated, self.removed, self.differences, self.shown = [], [], [], [], set()

    def add(self, before, after, instead=None):
        """Take note of an object before and after; None where there is none. Returns whether they differ.

        A new object is shown as the change of ``instead``, which it replaces under another name; its removal then is not shown again.
        """
        place, old, new = address(after or before), content(before), content(after)
        if old == new:
            return False
        kept = self.created if before is None else self.removed if after is None else self.updated
        kept.append(place)
        head = place
        if old is None and instead:
            head, old = address(instead), content(instead)
            self.shown.add(head)
        if not place.startswith("Secret/") and not (after is None and place in self.shown):
            self.differences.append(
                {"before_header": head, "after_header": place, "before": _text(old), "after": _text(new)}
            )
        return True

    def result(self):
        """As a module returns it."""
        return {
            "changed": bool(self.created or self.updated or self.removed),
            "created": self.created,
            "updated": self.updated,
            "removed": self.removed,
            "diff": self.differences,
        }
