# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks of code of a page in Markdown, and what a shell script in one says. Nothing is run."""

from __future__ import annotations

import dataclasses
import re
import shlex
import typing as t

NODE = re.compile(r"\bnodes?\b(?!.*\bdeploy)|prefill|decode|script|note|tip", re.IGNORECASE)
OPEN = re.compile(r"^(x+|<.*>|your.*|/path.*)$|[<>$]", re.IGNORECASE)  # a text that stands for a value


@dataclasses.dataclass
class Block:
    """A block of code: the headings and tabs around it, the text between the block before and it."""

    headings: list[str]
    tabs: list[str]
    before: str
    text: str

    @property
    def section(self) -> tuple[str, ...]:
        """Headings and tabs that do not name a node: what one deployment has in common."""
        return (*self.headings[1:3], *(word for word in (*self.headings[3:], *self.tabs) if not NODE.search(word)))


def blocks(text: str) -> t.Iterator[Block]:
    """The blocks of code of a page in Markdown; tabs are marked by indentation, or by colons in older releases."""
    heads: list[tuple[int, str]] = []
    tabs: list[tuple[int, str]] = []
    boxes: list[tuple[int, str]] = []  # directives behind colons, as older pages have them
    before: list[str] = []
    fence, inside = "", []
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,})(.*)$", line)
        if fence:
            if mark and mark[1] == fence and not mark[2].strip():
                around = [name for dummy, name in (*boxes, *tabs) if name]
                yield Block([name for dummy, name in heads], around, "\n".join(before), "\n".join(inside))
                fence, before = "", []
            else:
                inside.append(line)
            continue
        heading = re.match(r"(#+)\s+(.*?)\s*(\{:.*)?$", line)
        tab = re.match(r'(\s*)===\s+"(.*)"', line)
        colons = re.match(r"\s*(:{3,})(?:\{(.*?)\}\s*(.*))?$", line)
        if mark:
            fence, inside = mark[1], []
        elif heading:
            heads = [*(item for item in heads if item[0] < len(heading[1])), (len(heading[1]), heading[2])]
            tabs, before, boxes = [], [], []
        elif colons and colons[2]:
            boxes.append((len(colons[1]), colons[3] if colons[2] == "tab-item" else ""))
        elif colons:
            while boxes and boxes.pop()[0] != len(colons[1]):
                pass
        elif tab:
            tabs = [*(item for item in tabs if item[0] < len(tab[1])), (len(tab[1]), tab[2])]
        elif line.strip():
            tabs = [item for item in tabs if len(line) - len(line.lstrip()) > item[0]]
            before.append(line.strip())


def statements(text: str) -> t.Iterator[list[str]]:
    """The words of each command of a shell script; what no shell would read is left out."""
    text, start, quote = re.sub(r"\\[ ]*\n", " ", re.sub(r"\$\(\(.*?\)\)", "0", text)) + "\n", 0, ""
    for index, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and text[index - 1] != "\\" else quote
        elif sign in "'\"" and not re.search(r"(^|\s)#[^\n]*$", text[start:index]):
            quote = sign
        elif sign == "\n":
            try:
                words = shlex.split(text[start:index], comments=True)
            except ValueError:
                words = []
            if words:
                yield [word.strip() if word.strip().startswith("{") else word for word in words]
            start = index + 1


def script(text: str) -> tuple[dict[str, str], dict[str, str], list[list[str]]]:
    """Exports, other variables, and commands of a script; a value that only stands for one is what the comment beside it names."""
    env: dict[str, str] = {}
    variables: dict[str, str] = {}
    commands = []
    said = dict(re.findall(r"(\w+)=[^\n#]*#\s*([A-Z]\w*(?:[-.]\w+)+)", text))
    for words in statements(text):
        exported = words[0] == "export"
        pairs = [word.split("=", 1) for word in words[exported:] if re.match(r"\w+=", word)]
        if pairs and len(pairs) == len(words) - exported:
            for name, value in pairs:
                value = f"/models/{said[name]}" if name in said and OPEN.search(value) else value
                (env if exported else variables)[name] = value
        elif any(word.startswith("vllm") for word in words[:2]) and "serve" in words:
            end = next((index for index, word in enumerate(words) if re.match(r"\d?>|[&|;]$", word)), len(words))
            commands.append(words[words.index("serve") - 1 : end])
        elif "launch_online_dp.py" in words:
            commands.append(words[words.index("launch_online_dp.py") :])
    return env, variables, commands
