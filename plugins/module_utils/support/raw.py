# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of vendor tools as files of an archive: one file for each output, exactly as printed, and ``tools.json``, which names them.

``tools.json`` of a host: ``{host, node, commands: [{argv, stdin, begin (UTC), seconds, rc, timed_out, problem, stdout, stderr}], files}``;
``stdout`` and ``stderr`` are names of files beside it, empty without output; ``files`` maps the path of a file on the host to one.
"""

from __future__ import annotations

import json
import time
from typing import Any, Iterable, NamedTuple

from ..tools.record import unpacked
from .mask import Masker

MOST = 64 * 2**20  # bytes of one record when it is unpacked
MOST_TEXTS = 100_000  # outputs and files of a host; the pings of each NPU to all of 768 others are 13 thousand


class Host(NamedTuple):
    """What was recorded on one host: its own name, the calls in the order of their begin, and files (path to text or None)."""

    node: str
    commands: list[dict[str, Any]]
    files: dict[str, str | None]


def read(texts: Iterable[str]) -> Host:
    """The host's records (of :class:`Recorder`) as one. Raises ValueError if one is damaged."""
    found = [unpacked(text, MOST) for text in texts]
    commands = sorted((command for record in found for command in record["commands"]), key=lambda item: item["begin"])
    files: dict[str, str | None] = {}
    for record in found:
        files.update(record["files"])
    return Host(found[0]["node"] if found else "", commands, files)


def learn(masker: Masker, name: str, host: Host) -> None:
    """Take the names that the records of a host contain, into its own masker."""
    masker.also(host.node, name)
    for command in host.commands:
        masker.learn_addresses(command["stdout"])
    masker.learn(command["stdout"] for command in host.commands if "-lldp" in command["argv"])


def files_of(name: str, host: Host) -> list[tuple[str, str]]:
    """[(name of the file, text)] of one host. TypeError and others if its record has a wrong form."""
    index: dict[str, Any] = {"host": name, "node": host.node, "commands": [], "files": {}}
    texts: list[tuple[str, str]] = []
    for number, command in enumerate(host.commands, 1):
        entry = dict(command, begin=_utc(command["begin"]))
        for stream, suffix in (("stdout", "out"), ("stderr", "err")):
            path = f"outputs/{number:05d}.{suffix}" if command[stream] else ""
            if path:
                texts.append((path, command[stream]))
            entry[stream] = path
        index["commands"].append(entry)
    for number, (path, text) in enumerate(sorted(host.files.items()), 1):
        place = f"files/{number:02d}" if text is not None else None
        index["files"][path] = place
        if place:
            texts.append((place, text or ""))
    if len(texts) > MOST_TEXTS:
        raise ValueError(f"it has more than {MOST_TEXTS} outputs")
    if not all(isinstance(text, str) for text in (host.node, *(text for dummy, text in texts))):
        raise TypeError("an output, or its name, is no text")
    return [("tools.json", json.dumps(index, indent=1) + "\n"), *texts]


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"
