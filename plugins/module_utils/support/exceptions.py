# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of Python's exceptions and of Rust's panics without what they quote: a prompt may be quoted without the name of its field.

The frames and the type of an exception stay, and quoted names of programs: paths, options, names with an underscore or with two dots.
"""

from __future__ import annotations

import re

LEFT_OUT = "[left out]"
MOST = 300  # characters of a message
_EXCEPTION = re.compile(r"(?<![\w.])((?:\w+\.)*\w+(?:Error|Exception))(?::(?=\s|$)|\()")
# The line after the frames of a traceback: some exceptions are called otherwise, such as lark.exceptions.UnexpectedCharacters. Levels are no names.
_LAST = re.compile(r"(?![A-Z]+:)((?:\w+\.)*\w+)(?::(?=\s|$)|\()")
# Of the router and of tokenizers. The message is quoted before the place, or since Rust 1.73 it is on the lines after it.
_PANIC = re.compile(r"\bpanicked at (?:[^'\s]+:\d+:\d+:$)?")
# They name hosts, or modules, attributes and files. A client may send what a program takes for the name of a file, so a name with spaces or with
# letters of other scripts is none.
_CONNECTION = frozenset({"ConnectionError", "ConnectionRefusedError", "ConnectionResetError"})
_HARMLESS = frozenset(
    {
        "ImportError",
        "ModuleNotFoundError",
        "AttributeError",
        "NameError",
        "FileNotFoundError",
        "PermissionError",
        "OSError",
    }
)
_NAME = re.compile(r"[\w./@:+=,~%<>()\[\]-]*", re.ASCII)
# Their further lines explain a failure of the NPUs, or of the configuration. Those of others may be the rest of a text.
_EXPLAINED = frozenset({"RuntimeError", "ValidationError"})
# A quote between two letters or digits is an apostrophe.
_QUOTE = re.compile(r"(?<!\w)[\"'`\u201c\u2018\u300c]|[\"'`\u201d\u2019\u300d](?!\w)|(?<=\b[bfru])[\"']")
_TECHNICAL = re.compile(
    r"--?[a-z][\w-]*|(?:/[\w.+@-]+)+/?|[A-Za-z]\w*_\w+|\w+(?:\.\w+){2,}|\w+(?:::\w+)+(?:\(\))?"
    r"|utf-8|ascii|int|str|list|dict|NoneType|Err|None"
)
_FRAME = re.compile(r"\s*File \"[^\"]*\", line \d+")


class Messages:
    """``line(text)`` for each line of a log, in order: (the line, whether a message continues, of which no line may stay)."""

    def __init__(self) -> None:
        self.left_out = 0
        self._frame = False  # the next line is one of source
        self._frames = False  # the next line may end a traceback
        self._panic = False  # the next line is the message of a panic

    def line(self, line: str, begin: int) -> tuple[str, bool]:
        """``begin``: where the text of the line begins, after its process, level and time."""
        text = line[begin:]
        source, self._frame = self._frame and text[:4].isspace(), bool(_FRAME.match(text))
        after, self._frames = self._frames, self._frame or (self._frames and text[:1].isspace())
        panic, self._panic = self._panic, False
        if source or self._frame:
            return line, False
        if panic:
            return self._message(line, begin, True)
        found = _PANIC.search(line)
        if found:
            self._panic = found.end() == len(line)
            return self._message(line, found.end(), False)
        found = (_LAST.match(line, begin) if after else None) or _EXCEPTION.search(line)
        name = found.group(1).rpartition(".")[2] if found else ""
        if found is None or name in _CONNECTION or (name in _HARMLESS and _quotes_names(line[found.end() :])):
            return line, False
        return self._message(line, found.end(), name not in _EXPLAINED and found.group().endswith(":"))

    def _message(self, line: str, begin: int, continues: bool) -> tuple[str, bool]:
        message, whole = _without_quotes(line[begin:])
        if len(message) > MOST:
            message, whole = f"{message[:MOST].rpartition(' ')[0]} {LEFT_OUT}", False
        self.left_out += message != line[begin:]
        return line[:begin] + message, continues or not whole


def _quotes_names(text: str) -> bool:
    places = [match.start() for match in _QUOTE.finditer(text)]
    pairs = zip(places[::2], places[1::2])
    return len(places) % 2 == 0 and all(_NAME.fullmatch(text[begin + 1 : end]) for begin, end in pairs)


def _without_quotes(text: str) -> tuple[str, bool]:
    """(the text without what it quotes, whether its quotes end on this line): a quoted text may have quotes, so it ends at the last one."""
    places = [match.start() for match in _QUOTE.finditer(text)]
    while len(places) > 1 and _TECHNICAL.fullmatch(text[places[0] + 1 : places[1]]):
        places = places[2:]
    if not places:
        return text, True
    whole = len(places) % 2 == 0
    end = places[-1] + 1 if whole else len(text)
    return text[: places[0]] + LEFT_OUT + text[end:], whole
