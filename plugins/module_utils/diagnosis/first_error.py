# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first error of a log whose cause is not known, with the advice that CANN prints beside its codes."""

from __future__ import annotations

import re

from ..tools.finding import Finding
from .log_causes import CAUSES, WRAPPERS
from .messages import Message
from .words import CODE

ID = "LOG-UNKNOWN"
_ERRORS = ("ERROR", "CRITICAL", "FATAL")
_WRAPPERS = re.compile(WRAPPERS)
_CODE = next(cause for cause in CAUSES if cause.kind == CODE)
# An exception in the line after a traceback, a code of CANN, and words of programs that print no level.
_SAYS = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Refused)\b(?::| *$)|(?<![\w.-])E[A-Z0-9]\d{4}[:\[()]|\[Error\]: |^panic: |\bFATAL\b"
    r"|\bpanicked at\b"
    r"|\berror: |\bRuntimeError: "
)
_ADVICE = re.compile(r"^\s*(?P<what>Possible Cause|Solution) ?: ?(?P<text>\S.*)")
LONGEST = 300


def repeats(line: str) -> bool:
    """Whether a line says only that something failed, as the closing sentences of vLLM do."""
    return bool(_WRAPPERS.search(line))


def first_error(life: list[Message], path: str) -> Finding | None:
    """A finding for the first error of a life, of a worker if one has any, else of the engine core; None if there is none."""
    lines = [line for line in (_error_of(message) for message in life) if line]
    for wanted in ("Worker", "EngineCore", "rank", ""):
        for message, text in lines:
            if wanted in message.process:
                cause, solution = _advice(life, message)
                value = f"{message.process}: {text.strip()}" if message.process else text.strip()
                if not cause and not solution and re.search(_CODE.pattern, text.strip()):
                    return Finding(path, _CODE.id, _CODE.problem, _CODE.fix, value=value[:LONGEST], why=_CODE.why)
                return Finding(
                    path,
                    ID,
                    "no cause is known for the first error" + (f" of {message.process}" if message.process else ""),
                    solution
                    or "Read the log around this line, and CANN's plog of the same time; look for its words in the issues of vllm-ascend.",
                    value=value[:LONGEST],
                    why=f"CANN says: {cause}"
                    if cause
                    else "It is the earliest line that is not the consequence of another one.",
                )
    return None


def _error_of(message):
    """(message, text) of the line that says what went wrong; None if the message is no error or only repeats one."""
    if message.level not in (*_ERRORS, ""):
        return None
    texts = [text for dummy, text in message.lines if text.strip() and not _WRAPPERS.search(text)]
    saying = [number for number, text in enumerate(texts) if _SAYS.search(text)]
    if saying:
        # The first exception of a chain is the cause of the others; a line of a traceback that quotes code has blanks before it.
        return message, _with_assertion(texts, saying[0])
    first = message.lines[0][1]
    if message.level and first.strip() and not _WRAPPERS.search(first) and not first.startswith((" ", "Traceback")):
        return message, first
    return None


def _with_assertion(texts, number):
    """The line of an exception; with the condition that its traceback quotes if it has no words of its own."""
    if texts[number].strip().rstrip(":") != "AssertionError":
        return texts[number]
    quoted = [text.strip() for text in texts[:number] if text.startswith(" ") and text.strip().startswith("assert ")]
    return "AssertionError: " + quoted[-1] if quoted else texts[number]


def _advice(life, message):
    """CANN's possible cause and solution in the messages of a process, from the one with the error on."""
    found = {}
    for one in life[life.index(message) :]:
        if one.process in (message.process, ""):
            for dummy, text in one.lines:
                advice = _ADVICE.match(text)
                if advice:
                    found.setdefault(advice.group("what"), advice.group("text")[:LONGEST])
    return found.get("Possible Cause", ""), found.get("Solution", "")
