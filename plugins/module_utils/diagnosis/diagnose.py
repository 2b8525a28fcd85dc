# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The causes in a service's log, as findings. Runs on targets and on the controller.

The last life of the service is judged, in the order of time over all its processes: the first cause counts. What only waited for another process,
what lost KV while the engine went on, and what merely repeats that something failed never comes before a cause.
"""

from __future__ import annotations

import functools
import re
from typing import Iterable, Mapping, NamedTuple

from ..tools.finding import Finding
from .first_error import ID, first_error
from .log_causes import BENIGN, CAUSES, Cause
from .messages import MOST_LINES, Message, messages
from .named import named
from .needles import needles
from .words import CAUSE, HINT, LITTLE, START, TRAFFIC, WAITS

LINES = 20000  # of the end of a log, in which causes are looked for: sixteen workers write a traceback each
MOST = 2  # causes that are shown; the others usually follow from them
LONGEST = 300  # characters of a line that are shown
BEFORE = 3600.0  # seconds before the end of a life that belong to it: a collective waits for up to half an hour
HALF_A_YEAR = 183 * 86400.0
FORMS = 20000  # different lines of one log that are searched
HANGS = ("LOG-KERNEL-TIMEOUT", "LOG-COLLECTIVE", "LOG-WORKER-SILENT", "LOG-RANK-STUCK")
# What a process that starts again meets while the one before it is not gone.
LEFT_OVER = ("LOG-PORT", "LOG-NPU-PORT", "LOG-HCCL-PORT", "LOG-KV-PORT", "LOG-NPU-BUSY", "LOG-DEVICE-HELD")
_QUIET = ("INFO", "DEBUG")
_INFORMED = tuple(cause for cause in CAUSES if cause.info)
_BENIGN = re.compile(BENIGN)
_NUMBERS = re.compile(r"(?<![A-Za-z\d])\d{1,4}(?![\d])|0x[0-9a-fA-F]+|\d{7,}")
_STARTS = re.compile(r"\bvLLM API server version\b|\bLaunching \d+ data parallel engine\(s\) in headless mode")


@functools.lru_cache(maxsize=None)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of a cause, when a line may match it: all of them take longer to compile than most programs that import this run."""
    return re.compile(pattern)


@functools.lru_cache(maxsize=None)
def _sought() -> dict[str, list[int]]:
    """Numbers of the causes whose pattern has this text; "" for those without one."""
    found: dict[str, list[int]] = {}
    for number, cause in enumerate(CAUSES):
        for needle in needles(cause.pattern) or ("",):
            found.setdefault(needle, []).append(number)
    return found


class Event(NamedTuple):
    """One line of a message, and its cause."""

    age: float  # seconds before the end of the life; 0 if unknown
    number: int
    message: Message
    cause: Cause


def causes_in(lines: Iterable[str], path: str) -> list[Finding]:
    """Findings for the causes in ``lines`` of a log, at most ``MOST``, the first one of its last life first.

    ``path`` is the service. ``value`` of a finding is the line with the cause. A log without a known cause has the finding LOG-UNKNOWN for its first
    error, with CANN's own advice; one without an error has none.
    """
    kept = list(lines)
    lives = [_end_of(life) for life in lives_of(messages(kept))[-2:]]
    found = [_chosen(life) for life in lives]
    while len(found) > 1 and not found[-1]:
        found.pop(), lives.pop()
    if not any(found):
        return [finding for finding in (first_error(life, path) for life in reversed(lives or [])) if finding][:1]
    events = found[-1]
    if len(found) > 1 and events[0].cause.id in LEFT_OVER and found[0] and found[0][0].cause.kind != TRAFFIC:
        events = [found[0][0], *events]
    names = {id(event): named(lives[-1], event.message, event.number, event.cause.kind) for event in events}
    return [
        Finding(
            path,
            event.cause.id,
            event.cause.problem + names[id(event)],
            event.cause.fix,
            value=kept[-MOST_LINES:][event.number].strip()[:LONGEST],
            why=event.cause.why,
        )
        for event in events[:MOST]
    ]


def lives_of(found: list[Message]) -> list[list[Message]]:
    """The messages of each life of a service: it begins when its API server has another process, or says its version."""
    lives: list[list[Message]] = [[]]
    server: str | None = None
    for message in found:
        if message.process == "APIServer" and message.pid:
            if server not in (None, message.pid):
                lives.append([])
            server = message.pid
        elif not message.process and message.level == "INFO" and _STARTS.search(message.lines[0][1]) and lives[-1]:
            lives.append([])
        lives[-1].append(message)
    return [life for life in lives if life]


def _chosen(life: list[Message]) -> list[Event]:
    """The events that are shown: of the kind that counts most, the first ones, one for each cause."""
    events = _events(life)
    hang = min(((-event.age, event.number) for event in events if event.cause.id in HANGS), default=(1.0, 0))
    causes = [
        event
        for event in events
        if event.cause.kind == CAUSE or (event.cause.kind == START and (-event.age, event.number) < hang)
    ]
    for group in (
        causes,
        *([event for event in events if event.cause.kind == kind] for kind in (WAITS, TRAFFIC, LITTLE, HINT)),
    ):
        first: dict = {}
        for event in sorted(group, key=lambda item: (-item.age, item.number)):
            first.setdefault(event.cause.id, event)
        if first:
            return list(first.values())[: MOST if group is causes else 1]
    return []


def _end_of(life: list[Message]) -> list[Message]:
    """The messages of the time before its end."""
    return [message for message in life if _age(message, life) <= BEFORE]


def _age(message: Message, life: list[Message]) -> float:
    """Seconds before the end of the life; 0 if a time is unknown. Logs tell no year."""
    end = life[-1].when
    age = end - message.when if message.when >= 0 and end >= 0 else 0.0
    return age + 2 * HALF_A_YEAR if age < -HALF_A_YEAR else age


def _events(life: list[Message]) -> list[Event]:
    """The lines of a life that have a cause; a text that comes again with other numbers counts one time."""
    found, seen = [], set()
    for message in life:
        age = _age(message, life)
        for number, text in message.lines:
            form = (message.level, _NUMBERS.sub("0", text))
            if form in seen or len(seen) > FORMS:
                continue
            seen.add(form)
            cause = cause_of(text, message.level)
            if cause and message.level == "WARNING" and cause.kind == CAUSE:
                cause = cause._replace(kind=LITTLE)
            if cause:
                found.append(Event(age, number, message, cause))
    return found


def cause_of(text: str, level: str = "") -> Cause | None:
    """The cause in one line of a message of this level."""
    if level in _QUIET:
        return next((cause for cause in _INFORMED if _compiled(cause.pattern).search(text)), None)
    text = _BENIGN.sub("", text)
    for number in sorted({number for needle, numbers in _sought().items() if needle in text for number in numbers}):
        cause = CAUSES[number]
        if level == "WARNING" and cause.kind == START:
            continue
        if _compiled(cause.pattern).search(text):
            return cause
    return None


def showing(issues: Iterable[Mapping[str, str]], causes: Iterable[Finding]) -> list[str]:
    """The texts of those issues of a release whose signs are in the id or the line of a cause.

    ``issues``: ``{number, signs, text}``, as the controller's plan names them.
    """
    shown = [f"{cause.id} {cause.value}" for cause in causes]
    return [
        f"It looks like a {issue['text']}"
        for issue in issues
        if issue["signs"] and any(re.search(issue["signs"], text) for text in shown)
    ]


def explanation(found: Finding) -> str:
    """A finding of ``causes_in`` as lines of text, to be shown above the log."""
    head = "No known cause, the first error is shown" if found.id == ID else f"Likely cause: {found.problem}"
    return f"{head}. [{found.id}]\n  Log: {found.value}\n  Why: {found.why}\n  Fix: {found.fix}"
