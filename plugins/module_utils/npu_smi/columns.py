# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The columns of the ``npu-smi info`` table: a header's titles become one pattern per cell, and rows must match it entirely.

Layouts differ by generation and driver (98, 99, 106 and 116 characters wide; ``Chip``, ``Chip Phy-ID``, ``Chip Device`` or a
950 table without chips; four or five process columns), so nothing depends on a position: only on the titles printed above.
"""

from __future__ import annotations

import re
from collections import namedtuple

from ..tools.text import COUNT, NULL, ParseError

# role: card, chip or process; fields: names in the order of the pattern's groups; pattern: list of compiled, one per cell
Layout = namedtuple("Layout", "role titles fields patterns")

_NUMBER = r"(?:0|[1-9]\d*)(?:\.\d+)?"
_VALUE = rf"({_NUMBER}|{NULL})"
_SIGNED = rf"(-?{_NUMBER}|{NULL})"
# Padded with "%-5d/ %-13d": five digits leave no space before the slash. A single NA may replace both.
_PAIR = rf"(?:({COUNT}|{NULL})\s*/\s*({COUNT}|{NULL})|{NULL})"
# The name may contain one space ("Ascend 910B4"), never a leading number: "32 768 310P3" is a damaged 32768.
_NAME = r"((?:Ascend |Atlas )?[A-Za-z0-9][\w.+-]{2,})"
_BUS = r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]{1,2}|" + NULL + ")"

COLUMNS = {
    "NPU ID": (["npu_id"], rf"({COUNT})"),
    "NPU": (["npu_id"], rf"({COUNT})"),
    "Name": (["name"], _NAME),
    "Health": (["health"], rf"([A-Za-z][A-Za-z_]*|{NULL})"),
    "Power(W)": (["power_watts"], _VALUE),
    "Temp(C)": (["temperature_celsius"], _SIGNED),
    "Hugepages-Usage(page)": (["hugepages_used", "hugepages_total"], _PAIR),
    "Chip": (["chip_id"], rf"({COUNT})"),
    "Phy-ID": (["device_id"], rf"({COUNT}|{NULL})"),
    "Device": (["device_id"], rf"({COUNT}|{NULL})"),
    "Bus-Id": (["bus_id"], _BUS),
    "AICore(%)": (["aicore_percent"], _VALUE),
    "Memory-Usage(MB)": (["memory_used_mib", "memory_total_mib"], _PAIR),
    "HBM-Usage(MB)": (["hbm_used_mib", "hbm_total_mib"], _PAIR),
    "Process id": (["pid"], rf"({COUNT}|{NULL})"),
    "Process name": (["name"], r"(.*)"),
    "Process memory(MB)": (["memory_mib"], rf"({COUNT}|{NULL})"),
    "Process id in container": (["container_pid"], rf"({COUNT}|{NULL})"),
}
# New title: the one that COLUMNS, the rows' roles and the generations know. A renamed column needs no other line.
RENAMED = {"NPU Util(%)": "AICore(%)"}


def title_pattern():
    """A pattern of every title, longer ones first: the parts of a title may be titles too."""
    titles = sorted([*COLUMNS, *RENAMED], key=len, reverse=True)
    return re.compile("|".join(re.escape(title).replace(r"\ ", r"\s+") for title in titles))


_TITLE = title_pattern()
_UNKNOWN = ([], r"\S+")  # a column of a newer tool: its value is skipped, and a warning names it
_ROLES = {"Process id": "process", "Health": "card", "Bus-Id": "chip"}


def header_layout(cells, text, line):
    """The :class:`Layout` of a header row, or None for other rows.

    A header has a cell that is exactly Health, Bus-Id or Process id in the second or third position, and no number in the first
    (a process may be called "Health").
    """
    role = next((_ROLES[_usual(cell)] for cell in cells[1:3] if _usual(cell) in _ROLES), None)
    if role is None or cells[0][:1].isdigit():
        return None
    titles = [_titles(cell) for cell in cells]
    new = unknown_titles(titles)
    # The first cell identifies a chip. There a new title may be a renamed Phy-ID: without it an A3 would look like an older chip.
    if unknown_titles(titles[:1]) or (new and not _complete(role, titles)):
        raise ParseError(f"unknown column {new[0]!r}", text, line)
    return _layout(role, titles)


def _usual(title):
    """The title of a column by which this reader knows it."""
    return RENAMED.get(title, title)


def _titles(cell):
    """The titles of a header cell in order; what is between known titles is an unknown one for each part between wide gaps."""
    found, end = [], 0
    for match in _TITLE.finditer(cell):
        found += _parts(cell[end : match.start()]) + [_usual(" ".join(match.group(0).split()))]
        end = match.end()
    return found + _parts(cell[end:])


def _parts(text):
    return [part for part in re.split(r"\s{2,}", text.strip()) if part]


def unknown_titles(titles):
    """The titles of a layout (lists by cell) that this reader does not know: columns of a newer tool."""
    return [title for cell in titles for title in cell if title not in COLUMNS]


def _complete(role, titles):
    """Whether a known layout of this role has exactly the known titles: then a column was added, and none was renamed."""
    known = [[title for title in cell if title in COLUMNS] for cell in titles]
    known = [cell for cell in known if cell]
    return any(layout.role == role and layout.titles == known for layout in [CARD, *CHIPS, *PROCESSES])


def _layout(role, titles):
    fields = [field for cell in titles for title in cell for field in COLUMNS.get(title, _UNKNOWN)[0]]
    return Layout(role, titles, fields, [_pattern(cell) for cell in titles])


def _pattern(titles):
    if len(titles) == 1 and titles[0] not in COLUMNS:  # a cell of its own may hold any text
        return re.compile(r".*\Z")
    return re.compile(r"\s+".join(COLUMNS.get(title, _UNKNOWN)[1] for title in titles) + r"\Z")


def read_row(layout, cells):
    """A row's fields as a dict of strings (None for a single NA in place of a pair), or None if the row isn't of this layout."""
    if len(cells) != len(layout.patterns):
        return None
    matches = [pattern.match(cell) for pattern, cell in zip(layout.patterns, cells)]
    if not all(matches):
        return None
    return dict(zip(layout.fields, (group for match in matches for group in match.groups())))


def _known(*cells):
    titles = [_titles(cell) for cell in cells]
    return _layout(_ROLES[cells[1]], titles)


# For rows without a header: (card, chip) of each known table, and the process tables. No row matches two of them.
CARD = _known("NPU Name", "Health", "Power(W) Temp(C) Hugepages-Usage(page)")
PROCESSES = (
    _known("NPU Chip", "Process id", "Process name", "Process memory(MB)"),
    _known("NPU Chip", "Process id", "Process name", "Process memory(MB)", "Process id in container"),
)
CHIPS = (
    _known("Chip Phy-ID", "Bus-Id", "AICore(%) Memory-Usage(MB) HBM-Usage(MB)"),
    _known("Chip", "Bus-Id", "AICore(%) Memory-Usage(MB) HBM-Usage(MB)"),
    _known("Chip Device", "Bus-Id", "AICore(%) Memory-Usage(MB)"),
)
