# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""File and line of a variable in the inventory, where Ansible remembers them: for messages only, never for a plan.

ansible-core 2.19 and later tags values and keys that it reads from files with their origin; before, texts and mappings have a position.
Neither is promised, so whatever is missing is an empty answer. Values that a template made have none.
"""

from __future__ import annotations

import os
import typing as t

Variables = t.Mapping[str, t.Any]


def written_at(paths: t.Iterable[str], variables: Variables, hostvars: t.Mapping[str, Variables]) -> dict[str, str]:
    """``FILE:LINE`` of those of the paths (``inference_pools.decode.args.seed``, ``node1.inference_hardware``) of which it is known."""
    found = {}
    for path in paths:
        place = _of_host(path, hostvars) if not path.startswith("inference_") else _first(path, hostvars, variables)
        if place:
            found[path] = place
    return found


def _of_host(path: str, hostvars: t.Mapping[str, Variables]) -> str:
    host = next((name for name in hostvars if path.startswith(f"{name}.")), "")
    return _place(hostvars[host], path[len(host) + 1 :]) if host else ""


def _first(path: str, hostvars: t.Mapping[str, Variables], variables: Variables) -> str:
    """A variable of the deployment is read from the first host that has it, as hosts agree, else from the controller."""
    variable = path.replace("[", ".").partition(".")[0]
    holders = [hostvars[name] for name in hostvars if variable in hostvars[name]][:1]
    return next((place for place in (_place(holder, path) for holder in (*holders, variables)) if place), "")


def _place(holder: t.Any, path: str) -> str:
    """Where the value at a path was written, else what of the path was, else its key: true and null have no place of their own."""
    parts, found, top = path.replace("[", ".[").split("."), "", holder
    while parts:
        if isinstance(holder, t.Mapping):
            # keys may have dots: the longest one that is there counts
            ends = range(len(parts), 0, -1)
            end = next((end for end in ends if ".".join(parts[:end]) in holder), 0)
            key = ".".join(parts[:end])
            if not end:
                return found
            # The key of a variable itself may be that of another file, whose value was replaced.
            own = next((item for item in holder if item == key), key) if holder is not top else key
            holder, parts = holder[key], parts[end:]
            found = origin(holder) or origin(own)
        elif isinstance(holder, (list, tuple)) and parts[0].startswith("["):
            index = parts.pop(0)[1:-1]
            holder = holder[int(index)] if index.isdigit() and int(index) < len(holder) else None
            found = origin(holder) or found
        else:
            return found
    return found


def origin(value: t.Any) -> str:
    """``FILE:LINE`` where Ansible read a value; empty where it does not say."""
    tags = getattr(value, "_ansible_tags_mapping", None)
    known = [(getattr(tag, "path", None), getattr(tag, "line_num", None)) for tag in _values(tags)]
    known.append(tuple(getattr(value, "ansible_pos", None) or ())[:2])  # before 2.19
    return next((f"{_shown(str(pair[0]))}:{pair[1]}" for pair in known if len(pair) == 2 and all(pair)), "")


def _values(tags: t.Any) -> list[t.Any]:
    try:
        return list(tags.values()) if tags else []
    except (AttributeError, TypeError):
        return []


def _shown(path: str) -> str:
    """A path as people know it: below the current folder, else its last two parts."""
    relative = os.path.relpath(path)
    return os.path.join(*path.split("/")[-2:]) if relative.startswith("..") else relative
