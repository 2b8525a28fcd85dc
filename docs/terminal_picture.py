# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws docs/pictures/demo_site.svg, a terminal with what a real `make demo` printed, from docs/pictures/demo_site.txt.

python docs/terminal_picture.py           # prints it
python docs/terminal_picture.py --write   # writes it
python docs/terminal_picture.py --record  # runs `make demo` in a terminal, writes what that printed to the text, and the picture

The text is what came out, with its colours; only the home folder is written as ~, and it begins where the playbook does. The picture leaves
out tasks, and says how many; it changes no word of the others.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import pty
import re
import struct
import sys
import typing as t
from fcntl import ioctl
from html import escape
from termios import TIOCSWINSZ

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = ROOT / "docs" / "pictures" / "demo_site.txt"
PICTURE = TEXT.with_suffix(".svg")
COMMAND = ["make", "demo"]
COLUMNS, MOST = 110, 118  # of the terminal, and of the picture
ESCAPE = re.compile(r"\x1b\[([\d;]*)m")
OTHER_ESCAPE = re.compile(r"\x1b(\[[\d;?]*[A-Za-ln-z]|\].*?\x07|[()].)")
BEGIN = re.compile(r"^PLAY \[", re.M)
PLAY = re.compile(r"PLAY \[")
TASK = re.compile(r"(TASK|RUNNING HANDLER) \[")
RESULT = re.compile(r"(ok|changed|skipping|included|\.\.\.ignoring): ?")
STARS = re.compile(r" ?\*{3,}$")
COLORS = {
    "0;32": "#7ee787",
    "0;33": "#e3b341",
    "0;31": "#ff7b72",
    "0;36": "#76e3ea",
    "0;34": "#79c0ff",
    "1;35": "#d2a8ff",
}
PLAIN, FAINT = "#e6edf3", "#9da7b1"
SIZE, LINE, WIDE, EDGE = 13, 19, 7.85, 18  # pixels: of letters, of lines, of a column, around the text
Piece = tuple[str, str]  # a text, and its colour


def record() -> str:
    """What the command prints in a terminal of ``COLUMNS`` columns. Exits with the command's status if it fails."""
    process, terminal = pty.fork()
    if not process:
        ioctl(0, TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        os.execvp(COMMAND[0], COMMAND)
    printed = b"".join(iter(lambda: read(terminal), b""))
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status:
        sys.exit(status)
    return as_recorded(printed.decode())


def read(terminal: int) -> bytes:
    """The next output, which is shown, too; nothing at its end, where Linux reports an error."""
    try:
        part = os.read(terminal, 4096)
    except OSError:
        return b""
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    return part


def as_recorded(printed: str) -> str:
    """The text to keep: from the first play on, lines end as in files, and the home folder is ~."""
    text = OTHER_ESCAPE.sub("", printed.replace("\r\n", "\n")).replace(os.path.expanduser("~"), "~")
    begin = BEGIN.search(text)
    return text[begin.start() :].rstrip() + "\n" if begin else text


def pieces(line: str, color: str = PLAIN) -> tuple[list[Piece], str]:
    """The parts of a line with their colours, and the colour in which the next line begins."""
    found = []
    for number, part in enumerate(ESCAPE.split(line)):
        if number % 2:
            color = COLORS.get(part, PLAIN)
        elif part:
            found.append((part, color))
    return found, color


def shown(text: str) -> list[list[Piece]]:
    """The lines of the picture: what is no task, below the heading of its play, and how many plays and tasks are left out before it."""
    lines: list[list[Piece]] = []
    color, left, heading = PLAIN, [0, 0], []
    for line in text.splitlines():
        parts, color = pieces(line.rstrip(), color)
        plain = "".join(part for part, _color in parts)
        if PLAY.match(plain):
            left[0] += bool(heading)
            heading = [(STARS.sub("", part), FAINT) for part, _color in parts]
        elif TASK.match(plain):
            left[1] += 1
        elif plain.strip() and not RESULT.match(plain):
            lines += [[("  ⋮ " + counted(*left), FAINT)]] if any(left) else []
            lines += [heading] if heading else []
            lines += wrapped([(STARS.sub("", part), own) for part, own in parts])
            left, heading = [0, 0], []
    return lines


def counted(plays: int, tasks: int) -> str:
    """Both numbers in words, without those that are 0."""
    numbers = [(plays, "play"), (tasks, "task")]
    return ", ".join(f"{number} {name}{'' if number == 1 else 's'}" for number, name in numbers if number)


def wrapped(parts: t.Sequence[Piece]) -> list[list[Piece]]:
    """A line as lines of at most ``MOST`` characters, as a terminal breaks it."""
    letters = [(letter, color) for text, color in parts for letter in text]
    rows = [letters[start : start + MOST] for start in range(0, len(letters), MOST)]
    groups = [itertools.groupby(row, key=lambda item: item[1]) for row in rows]
    return [[("".join(letter for letter, _color in items), color) for color, items in row] for row in groups]


def solid(text: str) -> str:
    """A text whose spaces stay: programs that show SVG differ about several of them in a row."""
    return escape(text, quote=False).replace(" ", "\u00a0")


def drawing(lines: t.Sequence[t.Sequence[Piece]]) -> str:
    """An SVG document: a dark terminal with the command and the lines."""
    rows = [[("$ ", FAINT), (" ".join(COMMAND), PLAIN)], *lines]
    longest = max(sum(len(text) for text, _color in row) for row in rows)
    width, height = round(2 * EDGE + WIDE * longest), 2 * EDGE + LINE * len(rows)
    texts = []
    for number, row in enumerate(rows):
        spans = "".join(f'<tspan fill="{color}">{solid(text)}</tspan>' for text, color in row)
        texts.append(f'<text x="{EDGE}" y="{EDGE + SIZE + LINE * number}">{spans}</text>')
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        "<!-- SPDX-License-Identifier: GPL-3.0-or-later -->",
        "<!-- Written by docs/terminal_picture.py -->",
        "<title>Output of make demo: the plan, the plays, and the result of the verification</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
        f'<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">',
    ]
    return "\n".join([*head, *texts, "</g></svg>", ""])


def main() -> None:
    """Draw the picture; with --record of a new run."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the picture instead of printing it")
    parser.add_argument("--record", action="store_true", help="run make demo (about 3 minutes), and write both files")
    wanted = parser.parse_args()
    if wanted.record:
        TEXT.write_text(record(), encoding="utf-8")
    picture = drawing(shown(TEXT.read_text(encoding="utf-8")))
    if wanted.write or wanted.record:
        PICTURE.write_text(picture, encoding="utf-8")
    else:
        sys.stdout.write(picture)


if __name__ == "__main__":
    main()
