# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One service's log over a time window: its position before, new lines, and last lines. Runs on the service's host."""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import Any, Callable, Iterable, List, Mapping, Tuple

from ..diagnosis import diagnose
from ..runtime.registry import LOGS
from ..tools import foreign_file
from ..tools.client_text import without_clients
from ..tools.finding import Finding
from ..tools.text import one_line
from .plan import Lines, Log, VerifyPlan
from .red_flags import AVERAGE, COLOUR, TOOK, began_before, flagged, flags_of, stamp_of, transfers_of

TAIL_LINES = 20
WINDOW_BYTES = 32 * 1024 * 1024
LINES_KEPT = 2000
LINE_KEPT = 4000  # characters of a line

# Levels of vLLM, vllm-router and the proxies, and of Mooncake's glog
_ALARM = re.compile(r"\b(?:WARN|WARNING|ERROR|CRITICAL|FATAL)\b|^[WEF](?:20\d\d)?\d{4} ")
_END = re.compile(r"\r?\n|\r")
# run(argv) -> (return code, output of both streams)
Run = Callable[[List[str]], Tuple[int, str]]
Service = Tuple[str, Log]


def services_of(plan: VerifyPlan, host: str) -> list[Service]:
    """(name, log) of all services of the plan on this host that have a log."""
    everything = list(plan.engines) + [plan.entry] + list(plan.routers) + ([plan.store] if plan.store else [])
    everything += plan.store.masters[1:] if plan.store else ()
    seen: dict[str, Log] = {}
    for service in everything:
        if service.host == host and service.log.kind != "none":
            seen.setdefault(service.name, service.log)
    return sorted(seen.items())


def mark(services: Iterable[Service]) -> dict[str, dict[str, int]]:
    """{service: {inode, size, time}}: the current end of each log. A missing file ends at 0."""
    marks = {}
    for name, log in services:
        inode, size = 0, 0
        if log.kind == "file":
            with contextlib.suppress(OSError):
                stat = os.stat(log.path)
                inode, size = stat.st_ino, stat.st_size
        marks[name] = {"inode": inode, "size": size, "time": int(time.time())}
    return marks


def read(
    services: Iterable[Service], marks: dict[str, dict[str, int]], lines: Lines, run: Run
) -> dict[str, dict[str, Any]]:
    """{service: {readable, problem, red_flags, expired, alarms, transferred, delayed, transfer_ms, listening, tail, causes}}.

    expired: lines with a red flag about requests that began before the mark; they are no red_flags. red_flags, alarms (warnings and worse), transferred,
    delayed: matching lines since the mark (at most LINES_KEPT each); listening: number of listener lines in the whole log; transfer_ms: milliseconds
    from transferred lines and vLLM's averages; tail: the last TAIL_LINES lines; causes: findings for the known causes of failures in the last lines of
    the log.
    """
    return {name: _evidence(name, log, _since(marks, name), lines, run) for name, log in services}


def _since(marks: Any, name: str) -> dict[str, int]:
    """The mark of a service. It came back from this host by way of the controller, so only numbers count."""
    found = marks.get(name) if isinstance(marks, dict) else None
    return {key: value for key, value in found.items() if _is_number(value)} if isinstance(found, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _evidence(name: str, log: Log, since: dict[str, int], lines: Lines, run: Run) -> dict[str, Any]:
    try:
        whole, window = _file(log, since) if log.kind == "file" else _command(log, since, run)
    except OSError as error:
        return evidence(name, [], [], lines, str(error))
    return evidence(name, whole, window, lines, since=since.get("time"))


def told(read: Mapping[str, Mapping[str, Any]], issues: Iterable[Mapping[str, str]]) -> list[str]:
    """What the logs of services say of a failure: causes and known issues of the release that show themselves, or that there is none."""
    texts = []
    for name, found in sorted(read.items()):
        causes = [Finding.from_dict(cause) for cause in found["causes"]]
        lines = [*map(diagnose.explanation, causes), *diagnose.showing(issues, causes)]
        none = "no error is in its log" if found["readable"] else f"its log cannot be read: {found['problem']}"
        texts += [f"{name}: {line}" for line in lines or [none]]
    return texts


def counts(
    services: Iterable[Service], marks: dict[str, dict[str, int]], lines: Lines, run: Run
) -> dict[str, dict[str, Any]]:
    """{service: {readable, problem, flags, first, expired, transfers, transfer_ms}} of the lines since the mark, for windows with many of them.

    flags: {name of a red flag: lines}; first: the first such line; expired: number of lines about requests that began before, which are
    no flags; transfers and transfer_ms: how many, and the sum of their milliseconds.
    """
    return {name: _counts(log, _since(marks, name), lines, run) for name, log in services}


def _counts(log: Log, since: dict[str, int], lines: Lines, run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {
        "readable": True,
        "problem": "",
        "flags": {},
        "first": "",
        "expired": 0,
        "transfers": 0,
        "transfer_ms": 0.0,
    }
    try:
        window = (_file(log, since) if log.kind == "file" else _command(log, since, run))[1]
        unread = log.kind == "file" and _unread(log.path, since)
    except OSError as error:
        return dict(found, readable=False, problem=str(error))
    flagged_lines, last = [], ""
    for line in window:
        text = without_clients(line)
        last = text if stamp_of(text) else last
        if flags_of(text):
            flagged_lines.append((text, line))
        number, milliseconds = transfers_of(text, lines.transferred)
        found["transfers"] += number
        found["transfer_ms"] = round(found["transfer_ms"] + milliseconds, 3)
    texts = [text for text, _line in flagged_lines]
    old = set(began_before(texts, time.time() - since["time"] if since.get("time") else None, last))
    for text, line in (pair for number, pair in enumerate(flagged_lines) if number not in old):
        for flag in flags_of(text):
            found["flags"][flag] = found["flags"].get(flag, 0) + 1
            found["first"] = found["first"] or line[:300]
    found["expired"] = len(old)
    if unread:
        found.update(
            readable=False, problem=f"more than {WINDOW_BYTES // 2**20} MiB were written, and the rest was not read"
        )
    return found


def _unread(path: str, since: dict[str, int]) -> bool:
    """Whether a log in a file grew by more than is read of it."""
    stat = os.stat(path)
    return stat.st_size - (since.get("size", 0) if stat.st_ino == since.get("inode") else 0) > WINDOW_BYTES


def evidence(
    name: str, whole: list[str], window: list[str], lines: Lines, problem: str = "", since: float | None = None
) -> dict[str, Any]:
    """What `read` returns of one service, from all its lines and those since the mark (in seconds since 1970); `problem`: why they were not read."""
    own = [without_clients(line) for line in window]
    numbers = flagged(own)
    flags = [own[number] for number in numbers]
    last = next((text for text in reversed(own) if stamp_of(text)), "")
    old = {numbers[each] for each in began_before(flags, time.time() - since if since else None, last)}
    transferred = _holding(lines.transferred, own)
    return {
        "readable": not problem,
        "problem": problem,
        "red_flags": [window[number] for number in numbers if number not in old][:LINES_KEPT],
        "expired": [window[number] for number in sorted(old)][:LINES_KEPT],
        "alarms": [line for line in window if _ALARM.search(line)][:LINES_KEPT],
        "transferred": transferred,
        "delayed": _holding(lines.delayed, own),
        "transfer_ms": [float(ms) for line in transferred for ms in TOOK.findall(line)]
        + [float(ms) for line in own for ms in AVERAGE.findall(line)],
        "listening": len(_holding(lines.listening, whole)),
        "tail": whole[-TAIL_LINES:],
        "causes": [cause.as_dict() for cause in diagnose.causes_in(whole[-diagnose.LINES :], name)],
    }


def _holding(text: str, lines: list[str]) -> list[str]:
    return [line for line in lines if text in line][:LINES_KEPT] if text else []


def _file(log: Log, since: dict[str, int]) -> tuple[list[str], list[str]]:
    """(all lines, lines since the mark). The older part of a rotated log is in `<path>.1`."""
    window: list[str] = []
    start = since.get("size", 0)
    if since.get("inode") and os.stat(log.path).st_ino != since["inode"]:
        older = log.path + ".1"
        if os.path.exists(older) and os.stat(older).st_ino == since["inode"]:
            window = _lines(older, start)
        start = 0
    elif os.stat(log.path).st_size < start:  # truncated in place
        start = 0
    return _lines(log.path, max(0, os.stat(log.path).st_size - WINDOW_BYTES)), window + _lines(log.path, start)


def _lines(path: str, start: int) -> list[str]:
    with foreign_file.opened(path) as stream:
        stream.seek(start)
        return split(stream.read(WINDOW_BYTES).decode("utf-8", "replace"))


def _command(log: Log, since: dict[str, int], run: Run) -> tuple[list[str], list[str]]:
    """The same from the runtime's log. Raises OSError if the tool is missing or fails."""
    moment = since.get("time", 0)
    commands = LOGS[log.kind].log_commands({"unit": log.unit}, 20000, moment)
    texts = []
    for argv in commands:
        code, text = run(argv)
        if code:
            raise OSError("{} ended with {}: {}".format(" ".join(argv), code, text.strip()[-300:]))
        texts.append(split(text))
    return texts[0], texts[1]


def split(text: str) -> list[str]:
    """The lines, without colours and control characters: clients and models decide about parts of them, so separators of Unicode end no line."""
    lines = _END.split(COLOUR.sub("", text))
    return [one_line(line[:LINE_KEPT]) for line in (lines if lines[-1] else lines[:-1])]
