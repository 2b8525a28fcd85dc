# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of a run is what its program draws from the recorded text, and says what it leaves out."""

from __future__ import annotations

import importlib.util
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def program():
    spec = importlib.util.spec_from_file_location("terminal_picture", ROOT / "docs" / "terminal_picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRAW = program()
TEXT, PICTURE = DRAW.TEXT.read_text(encoding="utf-8"), DRAW.PICTURE.read_text(encoding="utf-8")


def lines_of(picture):
    texts = ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()).replace("\u00a0", " ") for text in texts]


def test_the_picture_is_that_of_the_recorded_text():
    assert DRAW.drawing(DRAW.shown(TEXT)) == PICTURE, "python docs/terminal_picture.py --write"
    assert len(PICTURE) < 60_000


def test_each_line_is_in_the_recorded_text_or_says_how_much_is_left_out():
    plain = DRAW.ESCAPE.sub("", TEXT)
    lines = lines_of(PICTURE)
    assert lines[0] == "$ make demo" and any(line.startswith("VERIFIED: tiny") for line in lines)
    assert [line for line in lines[1:] if line not in plain and not line.startswith("  ⋮ ")] == []


def test_the_recorded_text_has_nothing_of_its_machine():
    assert "\x1b[0;32m" in TEXT and "failed=0" in TEXT
    assert [word for word in ("/root", "/home/", "/tmp/", "/work") if word in TEXT] == []


def test_a_record_begins_with_the_first_play_and_knows_no_home():
    printed = f"building\r\nPLAY [A] ***\r\n\x1b[?25lsaved in {os.path.expanduser('~')}/x\r\n\r\n"
    assert DRAW.as_recorded(printed) == "PLAY [A] ***\nsaved in ~/x\n"


def test_a_command_is_recorded_in_a_terminal_of_its_width(monkeypatch):
    monkeypatch.setattr(DRAW, "COMMAND", ["sh", "-c", "stty size; echo PLAY [A]; tty >/dev/null && echo terminal"])
    assert DRAW.record() == "PLAY [A]\nterminal\n"
    monkeypatch.setattr(DRAW, "COMMAND", ["sh", "-c", "test $(stty size | cut -d' ' -f2) = 110 && exit 7"])
    with pytest.raises(SystemExit, match="7"):
        DRAW.record()


def test_tasks_and_plays_without_words_are_counted():
    text = "PLAY [A] ***\n\nTASK [x] ***\nok: [h]\n\nPLAY [B] ***\nTASK [y] **\n\x1b[0;33mchanged: [h]\n\x1b[0mIt <runs>.\nAnd stays.\n"
    picture = DRAW.drawing(DRAW.shown(text))
    assert lines_of(picture)[1:] == ["  ⋮ 1 play, 2 tasks", "PLAY [B]", "It <runs>.", "And stays."]


def test_a_long_line_is_broken_and_keeps_its_colours():
    rows = DRAW.shown(f"\x1b[0;31m{'a' * DRAW.MOST}\x1b[0mb\n")
    red = DRAW.COLORS["0;31"]
    assert rows == [[("a" * DRAW.MOST, red)], [("b", DRAW.PLAIN)]]
