# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One archive of the logs of all hosts, with a summary of what it has and what it lacks."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import tarfile
import tempfile
import time
import zlib
from typing import Any, Iterable

from ..diagnosis.diagnose import LINES, causes_in, explanation
from ..tools.how_many import how_many
from ..tools.record import values_of
from ..tools.text import one_line
from .redact import Redactor

REMOVED = (
    "Secrets, texts of clients and models, and what messages of exceptions quote were replaced by [left out]; messages of exceptions have at most "
    "300 characters. left_out counts the places of each host."
)
WRONG_FORM = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError, zlib.error)
MOST = 256 * 2**20  # bytes of one host's logs when they are unpacked
MOST_PARTS = 10_000  # of them; a host has some for each service and NPU
MOST_LINE = 2000  # characters of what is printed of one problem
MOST_SHOWN = 20  # problems of one host's logs that are printed; summary.json has all


def read_hosts(source: str, hosts: Iterable[str], secrets: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """{host: {parts: [(name, text)], rows, left_out, problem}} of the files in a folder; hosts without a file are left out.

    ``secrets`` are left out of the texts here: a host knows its own ones only.
    """
    found, known = {}, tuple(secrets)
    for host in hosts:
        path = os.path.join(source, safe(host) + ".json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as stream:
                found[host] = _read(host, stream, known)
    return found


def _read(host: str, stream: Any, secrets: Iterable[str]) -> dict[str, Any]:
    """The logs of a host; of one whose answer has a wrong form, none, and that as the problem."""
    try:
        given, redactor = values_of(stream.read()), Redactor(secrets)
        parts = [(name, redactor.without_known(text)) for name, text in _unpacked(host, given["parts"])]
        left_out = dict(given["left_out"])
        left_out["secrets"] = left_out.get("secrets", 0) + redactor.counts["secrets"]
        found = dict(given, parts=parts, left_out=left_out)
        text_of("", 0, summary_of("", [], {host: found}, {}))  # fails if it cannot be shown
    except WRONG_FORM as error:
        problem = f"no logs, because its answer has a wrong form ({type(error).__name__}: {str(error)[:120]})"
        return {"parts": [], "rows": [], "left_out": {}, "problem": problem}
    return found


def _unpacked(host: str, text: str) -> list[tuple[str, str]]:
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(base64.b64decode(text), MOST)
    if unpacker.unconsumed_tail:
        raise ValueError(f"the logs of {host} are larger than {MOST} bytes")
    parts = [(str(name), str(content)) for name, content in values_of(data.decode("utf-8"))]
    if len(parts) > MOST_PARTS:
        raise ValueError(f"the logs of {host} have more than {MOST_PARTS} parts")
    return parts


def safe(name: str) -> str:
    """A name as part of a path: no separators, no name that leads upwards."""
    return re.sub(r"[^\w.@+=:-]", "_", name).lstrip(".") or "_"


def summary_of(
    deployment: str, hosts: Iterable[str], found: dict[str, dict[str, Any]], facts: dict[str, Any]
) -> dict[str, Any]:
    """{removed, deployment, missing: [host], hosts: {host: {logs, left_out, problem}}} and the given facts."""
    rows = {
        host: {"logs": item["rows"], "left_out": item["left_out"], "problem": item["problem"]}
        for host, item in sorted(found.items())
    }
    return dict(facts, removed=REMOVED, deployment=deployment, missing=sorted(set(hosts) - set(found)), hosts=rows)


def write(path: str, deployment: str, found: dict[str, dict[str, Any]], summary: dict[str, Any]) -> int:
    """Write the archive of logs; its size in bytes."""
    files = [("summary.json", json.dumps(summary, indent=1, sort_keys=True) + "\n")]
    causes = causes_of(found)
    files += [("causes.txt", causes)] if causes else []
    files += [(f"{safe(host)}/{name}", text) for host, item in sorted(found.items()) for name, text in item["parts"]]
    return write_files(path, f"{deployment}-logs", files)


def causes_of(found: dict[str, dict[str, Any]]) -> str:
    """What the logs say about causes, by host and log; empty for sound ones."""
    texts = []
    for host, item in sorted(found.items()):
        for name, text in item["parts"]:
            causes = causes_in(text.split("\n")[-LINES:], name)
            texts += [f"{safe(host)}/{name}\n{explanation(cause)}\n" for cause in causes]
    return "\n".join(texts)


def write_files(path: str, top: str, files: Iterable[tuple[str, str]]) -> int:
    """Write an archive of (path below its folder `top`, text) in one step with mode 0600; its size in bytes."""
    now = int(time.time())
    handle, fresh = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=".logs")
    try:
        with os.fdopen(handle, "wb") as stream, tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for name, text in files:
                inner = "/".join(safe(part) for part in name.split("/"))
                _add(archive, f"{safe(top)}/{inner}", text, now)
        size = os.path.getsize(fresh)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
    return size


def _add(archive: tarfile.TarFile, name: str, text: str, now: int) -> None:
    data = text.encode("utf-8", "replace")
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = len(data), now, 0o600
    archive.addfile(entry, io.BytesIO(data))


def text_of(path: str, size: int, summary: dict[str, Any]) -> str:
    """The size of the archive, hosts without logs, and logs that are incomplete."""
    logs = [(host, row) for host, item in summary["hosts"].items() for row in item["logs"]]
    has = f"{how_many(len(logs), 'log')} of {how_many(len(summary['hosts']), 'host')}, {size / 1024:.0f} KiB"
    lines = [f"{path} has {has}. Look through it before it leaves the site."]
    lines += [f"{host}: no logs, because it did not answer" for host in summary["missing"]]
    lines += [f"{host}: {item['problem']}" for host, item in summary["hosts"].items() if item["problem"]]
    for host, item in summary["hosts"].items():
        problems = [f"{host} {row['name']}: {row['problem']}" for row in item["logs"] if row["problem"]]
        more = len(problems) - MOST_SHOWN
        lines += problems[:MOST_SHOWN] + (
            [f"{host}: {how_many(more, 'more problem')}, see summary.json"] if more > 0 else []
        )
    return "\n".join(one_line(line)[:MOST_LINE] for line in lines)
