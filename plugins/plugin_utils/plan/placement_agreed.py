# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the placements that hosts recorded is used. Root of one host can write any placement into its record."""

from __future__ import annotations

import collections
import json
import typing as t

from .placement_kept import SEVERAL, SINGLE, Record, read_text

SHOWN = 5
TIED = (
    "placement.json differs between hosts, and none of them is that of more hosts than the others: {}. So each host is believed about the instances "
    "on itself, and what contradicts itself is placed anew. A run that ended while it recorded leaves such files, and so does a host whose files "
    "somebody changed. Fix: compare these files if no run was interrupted; site writes them again."
)


def common_record(files: t.Mapping[str, str]) -> dict[str, t.Any] | None:
    """The placement that more hosts have than any other, of the texts of their files by host; None if no host has one.

    Hosts differ if a run was interrupted, or if somebody wrote a file. Without such a placement, as where two hosts differ, no host decides
    for another one: see ``of_themselves``. After an interruption placing beside that gives what the run had placed, as placing is repeatable.
    """
    records = _records(files)
    ahead = _most(records)
    return json.loads(ahead) if ahead else of_themselves(records) if records else None


def _records(files: t.Mapping[str, str]) -> dict[str, dict[str, t.Any]]:
    found = {host: read_text(text)[0] for host, text in files.items()}
    return {host: record for host, record in found.items() if record is not None}


def _most(records: t.Mapping[str, Record]) -> str:
    """The text of the record that more hosts have than any other; empty if there is none."""
    counted = collections.Counter(_text(record) for record in records.values()).most_common(2)
    tied = len(counted) == 2 and counted[0][1] == counted[1][1]
    return counted[0][0] if counted and not tied else ""


def of_themselves(records: t.Mapping[str, Record]) -> dict[str, t.Any]:
    """A placement of what all hosts concerned say of themselves: an instance counts if each host that it is on has it, and no other one of its name.

    A host without a record has what all others say of it. A router and a master count where only one host says that it is its own. What else
    differs is left out.
    """
    unlike = {_text(record): record for record in records.values()}
    each = {text: {_text(item): item for item in record["instances"]} for text, record in unlike.items()}
    own = {host: each[_text(record)] for host, record in records.items()}
    everywhere = set.intersection(*map(set, each.values()))  # also of hosts that have no record, such as dead ones
    said = {
        text: item
        for items in each.values()
        for text, item in items.items()
        if all(text in own.get(host, everywhere) for host, _devices in item["hosts"])
    }
    names = collections.Counter((item["kind"], item["number"]) for item in said.values())
    single = {kind: [host for host, record in records.items() if record[kind] == host] for kind in SINGLE}
    first = next(iter(records.values()))
    same = {
        key: first[key]
        for key in ("routers", "posted", *SEVERAL)
        if key in first and all(record.get(key) == first[key] for record in records.values())
    }
    return {
        "instances": [item for item in said.values() if names[item["kind"], item["number"]] == 1],
        **{kind: hosts[0] if len(hosts) == 1 else "" for kind, hosts in single.items()},
        **same,
    }


def _text(item: Record) -> str:
    return json.dumps(item, sort_keys=True)


def strange_files(files: t.Mapping[str, str]) -> list[str]:
    """A message for each problem of the hosts' files, whose texts are given by host: those that are not used, and that none decides."""
    records = _records(files)
    tied = [TIED.format(_listed(records))] if records and not _most(records) else []
    return [*_ignored(files), *tied]


def _listed(hosts: t.Collection[str]) -> str:
    more = len(hosts) - SHOWN
    return f"{', '.join(list(hosts)[:SHOWN])}{f' and {more} more' if more > 0 else ''}"


def _ignored(files: t.Mapping[str, str]) -> list[str]:
    found: dict[str, list[str]] = {}
    for host, text in files.items():
        _record, problem = read_text(text)
        if problem:
            found.setdefault(problem, []).append(host)
    return [
        f"placement.json of {_listed(hosts)} is ignored: "
        f"{problem}. If no other host has a placement, running instances may move. Fix: find out who wrote the file, then run site, "
        "which writes it again."
        for problem, hosts in found.items()
    ]
