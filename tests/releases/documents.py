# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documents of a release say of it and of the releases before: the compatibility matrix, and the notes' dependencies."""

from __future__ import annotations

import pathlib
import re

Facts = dict[str, str]
MATRIX = "docs/source/community/versioning_policy.md"
NOTES = "docs/source/user_guide/release_notes.md"
NONE = ("", "N/A", "-")
# The words of a line of "Dependencies" before its colon, and the fact of a row that it states
STATED = {"vllm": "vllm", "cann": "cann", "ascend hdk": "hdk", "triton ascend": "triton"}
_HEADING = re.compile(r"^## v(\S+) - (\S+)", re.M)


def _version(text: str) -> str:
    """The version in a cell: without v."""
    return text.strip().lstrip("v")


def matrix(folder: pathlib.Path) -> dict[str, Facts]:
    """{release: {fact of a row: version}} of the compatibility matrix; python_range is its upper bound."""
    found: dict[str, Facts] = {}
    path = folder / MATRIX
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 5 or not re.match(r"v\d", cells[0]):
            continue
        torch, dummy, torch_npu = cells[4].partition("/")
        facts = {
            "vllm": _version(cells[1].rpartition("/")[2]),
            "cann": cells[3],
            "torch": torch.strip(),
            "torch_npu": torch_npu.strip(),
        }
        facts["python_range"] = cells[2].partition("<")[2].strip()
        facts |= {key: _version(cell) for key, cell in zip(("triton", "mooncake"), cells[5:], strict=False)}
        found[cells[0][1:]] = {key: value for key, value in facts.items() if value not in NONE}
    return found


def notes(folder: pathlib.Path) -> dict[str, Facts]:
    """{release: {fact: version}} of the sections Dependencies; ``date`` is the day of the release."""
    path = folder / NOTES
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    parts = _HEADING.split(text)
    found: dict[str, Facts] = {}
    for release, date, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        found[release] = {"date": date.replace(".", "-")}
        section = re.search(r"^### Dependencies\n(.*?)(?=^### |\Z)", body, re.M | re.S)
        for name, value in re.findall(
            r"^- \*{0,2}([A-Za-z -]+?)\*{0,2}: (?:Upgraded to )?v?(\d[\w.+]*)",
            section.group(1) if section else "",
            re.M,
        ):
            if name.lower() in STATED:
                found[release][STATED[name.lower()]] = value.rstrip(".")
    return found
