# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a comparison needs of a documented deployment, as plain data: no command lines, addresses or local paths.

``processes`` holds the first process complete, and of each following one only what differs from the one before it.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ansible_collections.ascend.inference.tests.conformance.documented import Documented, Process, Proxy

ADDRESS = re.compile(r"\b(?!0\.0\.0\.0\b)\d{1,3}(\.\d{1,3}){3}\b")
INTERFACE = "eth0"
SOME_ADDRESS = "192.0.2.1"  # addresses are derived, so that one stands for all
ABSENT = "absent"  # stands for a key that the process before has and this one has not


def difference(before: t.Any, after: t.Any) -> t.Any:
    """What turns ``before`` into ``after``: mapping by mapping, other values complete."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    changed = {
        key: difference(before.get(key), after[key]) for key in after if key not in before or before[key] != after[key]
    }
    return {**changed, **{key: ABSENT for key in before if key not in after}}


def patched(before: t.Any, change: t.Any) -> t.Any:
    """The opposite of ``difference``."""
    if not isinstance(before, dict) or not isinstance(change, dict):
        return change
    merged = {key: patched(before.get(key), change[key]) if key in change else before[key] for key in before}
    merged.update({key: value for key, value in change.items() if key not in before})
    return {key: value for key, value in merged.items() if value != ABSENT}


def to_facts(documented: Documented) -> dict[str, t.Any]:
    """Plain data of a deployment; the model is a name, and hosts are a number."""
    record = json.loads(ADDRESS.sub(SOME_ADDRESS, json.dumps(dataclasses.asdict(documented))))
    own = re.compile(r"\S*\$\{?\w+\}?")  # a variable of the source's script inside a value
    processes, before = [], {}
    for process in record["processes"]:
        process["model"] = "/models/" + own.sub("", process["model"]).rstrip("/").rsplit("/", 1)[-1]
        processes.append(difference(before, process))
        before = process
    record["interfaces"] = {name: text for name, text in record["interfaces"].items() if text != INTERFACE}
    del record["id"]
    facts = {name: value for name, value in record.items() if value}
    return {**facts, "hosts": len(record["hosts"]), "processes": processes}


def from_facts(facts: t.Mapping[str, t.Any], name: str = "") -> Documented:
    """The deployment of plain data; ``name`` is its id."""
    processes, before = [], {}
    for change in facts["processes"]:
        before = patched(before, change)
        devices = before["devices"]
        processes.append(Process(**{**before, "devices": tuple(devices) if devices is not None else None}))
    proxy = Proxy(**facts["proxy"]) if facts.get("proxy") else None
    if proxy:
        proxy.lists = {kind: list(map(tuple, pairs)) for kind, pairs in proxy.lists.items()}
    hosts = {f"node{number:02d}": f"10.20.0.{number + 1}" for number in range(facts["hosts"])}
    return Documented(
        id=name,
        release=facts["release"],
        hardware=facts["hardware"],
        devices_per_host=facts["devices_per_host"],
        hosts=hosts,
        interfaces={**dict.fromkeys(hosts, INTERFACE), **facts.get("interfaces", {})},
        processes=processes,
        proxy=proxy,
        errors=facts.get("errors", {}),
        notes=facts.get("notes", []),
    )
