# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of scalars, names and ``key : value`` blocks in vendor output; and the error for unknown output."""

from __future__ import annotations

import re

EXCERPT = 160
MOST_LINE = 2**14  # characters of a printed line; the names of a thousand hosts
MOST_PRINTED = 2**20  # characters of a printed text; the states of 5000 services
COUNT = r"(?:0|[1-9]\d*)"  # a count never has leading zeros: "0123" is a damaged text, not 123
NULL = r"(?:--?|N/?A)"
_COUNT = re.compile(COUNT + r"\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?\Z")
_KEY_VALUE = re.compile(r"\s*(.*?)\s*:\s*(.*?)\s*\Z")
_GAP = re.compile(r"(?:\.{3,}|…+)(?:\s*(?:\.{3,}|…+))*\Z")
_LINE_END = re.compile(r"\r*\n|\r")  # recorded terminal output has additional carriage returns
# colours and cursor movements of a terminal, byte order mark, zero bytes of a console log
_UNSEEN = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-Z]|[\x00\ufeff\u200b]")
# Characters that move a terminal's cursor or change later output: C0 but tab and newline, DEL, C1, marks that reverse the direction;
# and surrogates, which Ansible does not accept in the result of a module (bytes of a file's name that are no UTF-8, JSON of an engine).
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Other text in outputs: libascend_hal's constructor and the tools' logging print to stdout
# (hicann/driver@ef377e9 dmc/logdrv/drv_log_user.c, network/hccn log.c, npucli/src); saved outputs contain prompt, command and date.
_PROMPT = r"(?:\(\S+\)\s*)?(?:\[?[\w.-]+@[^#$|]*|(?:ba)?sh-[\d.]+)?[#$]"
_CHATTER = re.compile(
    "|".join(
        (
            r"DrvMng\w+ failed\b",
            r"\[(?:WARN(?:ING)?|INFO)\]",
            r"Failed to (?:get|query) ",
            rf"(?:{_PROMPT}\s+)?(?:sudo\s+)?(?:/\S*/)?(?:npu-smi|hccn_tool)\s+(?:-[a-z]|info\b)",
            rf"{_PROMPT}\s*\Z",
            r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [a-z]{3} +\d+ \d\d:\d\d:\d\d(?: [a-z]{2,5})? \d{4}\Z",
            r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*\Z",
        )
    ),
    re.IGNORECASE,
)
_UNITS = {
    "%": "percent",
    "MB": "mib",
    "W": "watts",
    "C": "celsius",
    "MHZ": "mhz",
    "V": "volts",
    "page": "pages",
    "Gbps": "gbps",
}


class ParseError(ValueError):
    """The text is not output of the command; the message quotes the position.

    ``line`` is the 1-based line number in ``text``, or None for the whole text.
    """

    def __init__(self, what, text, line=None):
        self.what, self.text, self.line = what, text, line
        lines = _LINE_END.split(text)
        quoted = lines[line - 1] if line and line <= len(lines) else text.strip()
        if len(quoted) > EXCERPT:
            quoted = quoted[:EXCERPT] + "…"
        place = f" in line {line}" if line else ""
        super().__init__(f"{what}{place}: {quoted!r}" if quoted else f"{what}: the text is empty")


def numbered(text):
    """Every line of ``text`` as (number, line), without terminal control characters and :func:`chatter`."""
    return [(number, line) for number, line in visible_lines(text) if not is_chatter(line)]


def content(text):
    """The non-empty lines of ``text`` as (number, stripped line), without :func:`chatter`."""
    return [(number, line.strip()) for number, line in numbered(text) if line.strip()]


def chatter(text):
    """Lines that are not output of the command: warnings of the driver's libraries, an echoed command, prompt and date."""
    return [line.strip() for _number, line in visible_lines(text) if is_chatter(line)]


def is_chatter(line):
    """True for a line of :func:`chatter`."""
    return bool(_CHATTER.match(line.strip()))


def is_gap(line):
    """True for the dots that mark omitted lines in published outputs."""
    return bool(_GAP.match(line.strip()))


def visible_lines(text):
    """Every line of ``text`` as (number, line), without colours, cursor movements, byte order mark and zero bytes."""
    return [(number, _UNSEEN.sub("", line)) for number, line in enumerate(_LINE_END.split(text), 1)]


def visible(text):
    """``text`` with each control character but newline and tab as its escape, ``\\x1b``: safe for a terminal, and still readable.

    Texts of other programs (process names, logs, messages of tools) go through this function before they are displayed.
    """
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def one_line(text):
    """:func:`visible` text of another program that is a part of a line here: line ends and tabs are escapes too, so it adds no lines."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def bounded(text):
    """A text for people that other hosts' texts are parts of: long lines end early, and of a long text the middle is left out, with what is missing."""
    lines = [
        line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]} [{len(line) - MOST_LINE} more characters]"
        for line in text.split("\n")
    ]
    while sum(map(len, lines)) + len(lines) > MOST_PRINTED:
        lines = [*lines[: len(lines) // 4], "", *lines[-(len(lines) // 4) :]]
    missing = text.count("\n") + 2 - len(lines)
    if missing > 1:
        lines[len(lines) // 2] = (
            f"[{missing} lines are left out here: one host's texts may be very long. See the report's files]"
        )
    return "\n".join(lines)


def is_null(token):
    """True for the placeholders that both tools print for missing values."""
    return token.strip().upper() in ("", "-", "--", "NA", "N/A", "NOT SUPPORT", "NOT SUPPORTED")


def count(token, text, line=None):
    """A non-negative integer, or None for ``-``/``NA``; anything else is a ParseError."""
    if is_null(token):
        return None
    if not _COUNT.match(token):
        raise ParseError(f"{token!r} is not a count", text, line)
    return int(token)


def number(token, text, line=None):
    """An int or float, or None for ``-``/``NA``; anything else is a ParseError."""
    if is_null(token):
        return None
    if not _NUMBER.match(token):
        raise ParseError(f"{token!r} is not a number", text, line)
    return float(token) if "." in token else int(token)


def value(token):
    """Null, int or float where the token is one, else the string itself (versions, bus ids and hex stay strings)."""
    token = token.strip()
    if is_null(token):
        return None
    if _NUMBER.match(token):
        return float(token) if "." in token else int(token)
    return token


def snake_case(title):
    """``HBM Usage Rate(%)`` -> ``hbm_usage_rate_percent``; ``Aicore curFreq(MHZ)`` -> ``aicore_cur_freq_mhz``."""
    unit = re.search(r"\(([^()]*)\)\s*\Z", title)
    if unit:
        known = {key.upper(): name for key, name in _UNITS.items()}
        title = title[: unit.start()] + " " + known.get(unit.group(1).strip().upper(), unit.group(1))
    title = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", title)
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")


def key_value_blocks(text):
    """``key : value`` text as a list of ordered lists of (key, value, line number).

    A new block starts after an empty line, at a repeated key, and where the MCU's keys follow a chip's. A line with an
    empty key continues the value above it (as in health messages, which contain empty lines, so it also continues
    across an empty line).
    """
    blocks, fresh = [], True
    for line_number, line in numbered(text):
        if not line.strip() or is_gap(line):
            fresh = True
            continue
        match = _KEY_VALUE.match(line)
        if not match or line.lstrip()[0] in "|+[":
            raise ParseError("expected 'key : value'", text, line_number)
        key, token = match.groups()
        if not key and not blocks:
            raise ParseError("expected a key before the colon", text, line_number)
        if not key:
            last = blocks[-1].pop()
            blocks[-1].append((last[0], last[1] + "\n" + token, last[2]))
            continue
        seen = [] if fresh else [entry[0] for entry in blocks[-1]]
        if fresh or key in seen or (key == "Chip Name" and token.lower() == "mcu" and "Chip ID" in seen):
            blocks.append([])
        blocks[-1].append((key, token, line_number))
        fresh = False
    if not blocks:
        raise ParseError("expected 'key : value' lines", text)
    return blocks
