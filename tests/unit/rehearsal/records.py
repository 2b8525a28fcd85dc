# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorded texts of rehearsed cases: files of sections, of which most say only what differs from an earlier one."""

from __future__ import annotations

import collections
import functools
import pathlib
import re
import typing as t

from .likeness import Block, blocks, differences, same

FOLDER = pathlib.Path(__file__).resolve().parent / "records"
HEAD = "# SPDX-License-Identifier: GPL-3.0-or-later\n# Written by test_rehearsal.py, which names the command. likeness.py says how to read it.\n"
TITLE = re.compile(r"=== (\S+?)(?:, as (\S+) but)?")
TRIED = 8
NEARER = 0.8  # times the lines, from which another case takes the place of the one that was chosen before


def recorded(name: str) -> str:
    """The whole recorded text of a case; "" if there is none, or none can be made of what is written."""
    return _read().get(name, "")


def names_of(file: str) -> list[str]:
    """The cases that a file of records has, in its order."""
    return [name for name, _base, _lines in _sections(FOLDER / f"{file}.txt")]


@functools.lru_cache(maxsize=1)
def _read() -> dict[str, str]:
    """The whole text of each recorded case. A case is made after the one that it is compared with."""
    written = {name: (base, lines) for path in _files() for name, base, lines in _sections(path)}
    found: dict[str, list[Block]] = {}

    def made(name: str, above: tuple[str, ...] = ()) -> list[Block]:
        if name in above:
            raise ValueError(f"{name} is made of itself")
        if name not in found:
            base, lines = written[name]
            found[name] = same(made(base, (*above, name)), lines) if base else blocks(lines)
        return found[name]

    texts = {}
    for name in written:
        try:
            texts[name] = "".join(f"{line}\n" for line in [f"=== {name}", *sum(map(list, made(name)), [])])
        except (KeyError, ValueError):  # of a merge: the test says that there is no record
            continue
    return texts


def write(texts: t.Mapping[str, str]) -> None:
    """Write the texts of all cases, in their order: each as what differs from the nearest one before it, or from the one chosen earlier."""
    before = {name: base for path in _files() for name, base, _lines in _sections(path)}
    lines = {name: collections.Counter(text.splitlines()) for name, text in texts.items()}
    parts: dict[str, list[Block]] = {}
    files: dict[str, list[str]] = collections.defaultdict(list)
    for name, text in texts.items():
        own = parts[name] = blocks(text.splitlines()[1:])
        kept = before.get(name, "")
        shared = {other: (lines[other] & lines[name]).total() for other in parts if other != name}
        alike = sorted(shared, key=lambda other: -shared[other])[:TRIED]  # to compare it with all takes minutes
        tried = dict.fromkeys([*alike, *([kept] if kept in parts else [])])
        ways = {base: differences(parts[base], own) for base in tried}
        nearest = min(ways, key=lambda base: len(ways[base]), default="")
        if kept in ways and len(ways[kept]) * NEARER <= len(ways[nearest]):
            nearest = kept
        whole = [line for block in own for line in block]
        section = [f"=== {name}", *whole]
        if nearest and len(ways[nearest]) < len(whole):
            section = [f"=== {name}, as {nearest} but", *ways[nearest]]
        files[name.split("/")[0]] += section
    for file, written in files.items():
        (FOLDER / f"{file}.txt").write_text(HEAD + "".join(f"{line}\n" for line in written), encoding="utf-8")
    _read.cache_clear()


def _files() -> list[pathlib.Path]:
    return sorted(FOLDER.glob("*.txt"))


def _sections(path: pathlib.Path) -> t.Iterator[tuple[str, str, list[str]]]:
    """The name, the case that it is compared with or "", and the lines of each section of a file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    titles = [index for index, line in enumerate(lines) if line.startswith("=== ")]
    for index, end in zip(titles, [*titles[1:], len(lines)], strict=True):
        title = TITLE.fullmatch(lines[index])
        if title:
            yield title[1], title[2] or "", lines[index + 1 : end]
