# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Box-drawn tables (``+---+``, ``| a | b |``) as a list of classified lines. Callers interpret the rows."""

from __future__ import annotations

import re
from collections import namedtuple

from .text import ParseError, is_chatter, is_gap, visible_lines

# kind: rule (=== or +---+---+), soft_rule (one dash line without inner +), row, gap (an author's "..."), blank, chatter, other
Line = namedtuple("Line", "number kind cells text")

# published outputs have borders with | at the crossings, or without their last character
_RULE = re.compile(r"\+[-=+|]*[-=]{3,}[-=+|]*\Z")
_SOFT_RULE = re.compile(r"\+-{3,}\+?\Z")


def box_lines(text):
    """Every line of ``text`` as a :class:`Line`. A row that starts with ``|`` and doesn't end with it is a ParseError."""
    lines = []
    for line_number, raw in visible_lines(text):
        stripped = raw.strip()
        cells = None
        if not stripped:
            kind = "blank"
        elif stripped.startswith("|"):
            kind, cells = "row", _cells(stripped, text, line_number)
        elif _SOFT_RULE.match(stripped):
            kind = "soft_rule"
        elif _RULE.match(stripped):
            kind = "rule"
        elif is_chatter(stripped):
            kind = "chatter"
        else:
            kind = "gap" if is_gap(stripped) else "other"
        lines.append(Line(line_number, kind, cells, stripped))
    return lines


def _cells(stripped, text, line_number):
    if not stripped.endswith("|") or len(stripped) < 3:
        raise ParseError("the row is cut off", text, line_number)
    return [cell.strip() for cell in stripped[1:-1].split("|")]


def misaligned(lines):
    """Numbers of the rows and rules that aren't as wide as the table's first border (characters were edited or lost)."""
    borders = [line for line in lines if line.kind in ("rule", "soft_rule")]
    if not borders:
        return []
    width = len(borders[0].text)
    drawn = [line for line in lines if line.kind in ("rule", "soft_rule", "row") and "\t" not in line.text]
    return [line.number for line in drawn if len(line.text) != width]


def records(text):
    """A plain box table (one header row, then values) as a list of dicts keyed by the header's titles."""
    rows = [line for line in box_lines(text) if line.kind == "row"]
    if len(rows) < 2:
        raise ParseError("expected a table with a header and rows", text)
    titles = rows[0].cells
    for row in rows[1:]:
        if row.cells == titles:
            raise ParseError("a second header: these are several tables", text, row.number)
        if len(row.cells) != len(titles):
            raise ParseError(f"expected {len(titles)} cells, found {len(row.cells)}", text, row.number)
    return [dict(zip(titles, row.cells)) for row in rows[1:]]
