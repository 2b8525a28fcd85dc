# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts may have services of a deployment: those of the recorded placements, and those on which a killed run began (begun.json)."""

from __future__ import annotations

import json
import typing as t

from .placement_kept import read_text, record_hosts

MARK, LOCK = "\nbegun: ", "\nlocked: "  # what playbooks/shared/places.yml prints between the files, in this order
MOST_NAME, MOST_HOSTS = 253, 10000
MOST_STEP, MOST_LEFT = 300, 6  # characters of a step, and steps that are named


def placement_text(text: str) -> str:
    """The part of a host's answer that is its placement."""
    return f"\n{text}".partition(LOCK)[0].partition(MARK)[0].strip("\n")


def begun_hosts(text: str) -> list[str]:
    """The hosts that a host knows of killed runs; empty if the file is missing or not one that this collection writes."""
    try:
        found = json.loads(f"\n{text}".partition(LOCK)[0].partition(MARK)[2])["hosts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    names = found if isinstance(found, list) and len(found) <= MOST_HOSTS else []
    return [name for name in names if isinstance(name, str) and 0 < len(name) <= MOST_NAME and name.isprintable()]


def begun_placement(text: str) -> str:
    """The placement of the last killed run that a host knows of, as the text of a placement's file; empty if it says nothing of one."""
    try:
        return json.dumps(json.loads(f"\n{text}".partition(LOCK)[0].partition(MARK)[2])["placement"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def with_begun(record: dict[str, t.Any] | None, begun: t.Mapping[str, t.Any] | None) -> dict[str, t.Any] | None:
    """The deployed placement with that of a killed run, whose instances are kept where they are none of the deployed ones."""
    return {**record, "begun": {"instances": begun["instances"]}} if record and begun else record


def lock_holder(text: str) -> dict[str, t.Any]:
    """The record of the run that holds the deployment's lock on a host, with its ``id``; empty if none does, or the file says nothing."""
    try:
        found = json.loads(f"\n{text}".partition(LOCK)[2])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("id"), str) and found["id"] else {}


def step_of(holder: t.Mapping[str, t.Any]) -> str:
    """``, in step 3 of 9: …; after it: …`` of the run that holds a lock; empty if it has noted none. It is text of a host."""
    step, script = str(holder.get("step") or "")[:MOST_STEP], holder.get("script")
    rows = [each for each in (script if isinstance(script, list) else []) if isinstance(each, dict)]
    left = [str(each.get("step"))[:MOST_STEP] for each in rows if each.get("state") == "open"]
    rest = [f"and {len(left) - MOST_LEFT} more"] if len(left) > MOST_LEFT else []
    return (f", in {step}" + (f"; after it: {'; '.join(left[:MOST_LEFT] + rest)}" if left else "")) if step else ""


def known_hosts(files: t.Iterable[str]) -> set[str]:
    """All hosts of the answers of several hosts, which differ if a run was interrupted."""
    found: set[str] = set()
    for text in set(files):
        record, _problem = read_text(placement_text(text))
        found |= {*begun_hosts(text), *(record_hosts(record) if record else ())}
    return found


def renamed(files: t.Mapping[str, str]) -> list[str]:
    """Hosts that have a placement of the deployment which does not name them: the same machine had another name when it was written.

    ``files``: {host: its answer}. A host that leaves a deployment has its placement removed, and one that is new in it has none.
    """
    found = []
    for host, text in sorted(files.items()):
        record, _problem = read_text(placement_text(text))
        if record and host not in record_hosts(record) and host not in begun_hosts(text):
            found.append(host)
    return found
