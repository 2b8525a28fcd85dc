# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record of a case as what differs from the record of another case, so that what all of them do is read once.

A block is a line without indentation and the indented lines below it: a play, or a task with what its modules were called with.

    = to HEAD    the blocks of the other case, up to the next one that begins with HEAD; "=2 to": up to the second one
    - to HEAD    the same blocks are not here
    ~ HEAD       the first of the blocks that are not here and have this task, with this head and the lines below it instead of those of their names
    HEAD         a block of this case alone
"""

from __future__ import annotations

import difflib
import re
import typing as t

Block = t.Sequence[str]
END = "the end"
STEP = re.compile(r"([=-])(\d*) to (.+)")
HOSTS = re.compile(r"^[\w.,-]+: (?=\w+: )")
WORTH = 2  # lines that a copy has to save


def blocks(lines: t.Iterable[str]) -> list[Block]:
    """The blocks of a text."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(" ") and found:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def differences(other: t.Sequence[Block], own: t.Sequence[Block]) -> list[str]:
    """The lines from which `same` makes ``own`` again, given ``other``."""
    lines, read = list[str](), 0
    matcher = difflib.SequenceMatcher(None, list(map("\n".join, other)), list(map("\n".join, own)), autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if end > start:
            lines.append(_step("=" if kind == "equal" else "-", other, read, end))
            read = end
        if kind != "equal":
            left = list(other[start:end])
            for block in own[first:last]:
                lines += _edited(left, block)
    return lines


def _step(sign: str, other: t.Sequence[Block], read: int, end: int) -> str:
    head = other[end - 1][0]
    count = sum(block[0] == head for block in other[read:end])
    return f"{sign}{count if count > 1 else ''} to {END if end == len(other) else head}"


def _edited(left: t.Sequence[Block], block: Block) -> Block:
    alike = next((each for each in left if _task(each[0]) == _task(block[0])), None)
    if not alike or list(map(_name, alike[1:])) != list(map(_name, block[1:])):
        return block
    names = [_name(line) for line in block[1:]]
    changed = [line for line, before in zip(block[1:], alike[1:], strict=True) if line != before]
    if len(changed) + WORTH > len(names) or any(names.count(_name(line)) > 1 for line in changed):
        return block
    return [f"~ {block[0]}", *changed]


def _task(head: str) -> str:
    """The head of a block without its hosts."""
    return HOSTS.sub("", head)


def _name(line: str) -> str:
    """What a line below a head is about: a module, or the name of an argument or fact."""
    return re.split(r": | = ", line, maxsplit=1)[0]


def same(other: t.Sequence[Block], lines: t.Iterable[str]) -> list[Block]:
    """The blocks of a case; ValueError if the other case has not what a line says of it."""
    found, left, read = list[Block](), list[Block](), 0
    for block in blocks(lines):
        step = STEP.fullmatch(block[0])
        if step:
            end = _end(other, read, step[3], int(step[2] or 1))
            left = list(other[read:end])
            found += left if step[1] == "=" else []
            read = end
        elif block[0].startswith("~ "):
            head = block[0][2:]
            alike = next((each for each in left if _task(each[0]) == _task(head)), None)
            if alike is None:
                raise ValueError(f"the other case has no task for {block[0]!r}")
            instead = {_name(line): line for line in block[1:]}
            found.append([head, *(instead.get(_name(line), line) for line in alike[1:])])
        else:
            found.append(block)
    return found


def _end(other: t.Sequence[Block], read: int, head: str, count: int) -> int:
    if head == END:
        return len(other)
    places = [index for index in range(read, len(other)) if other[index][0] == head]
    if len(places) < count:
        raise ValueError(f"the other case has no {head!r} there")
    return places[count - 1] + 1
