# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers with their nouns, and recorded texts, of which none says "1 errors"."""

from __future__ import annotations

import pathlib
import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.how_many import how_many

UNIT = pathlib.Path(__file__).resolve().parents[2]
NOUNS = "days|devices|errors|files|findings|hosts|instances|lines|logs|nodes|pairs|places|ports|ranks|requests|routers|services|steps|times|warnings"
WRONG = re.compile(rf"(?<![\w.,:=+/-])(?<!of )1 ({NOUNS})\b")
RECORDED = [
    *UNIT.glob("rehearsal/records/*.txt"),
    *UNIT.glob("inventories/plans/*.txt"),
    *UNIT.glob("plugins/plugin_utils/**/exact_*.txt"),
]


@pytest.mark.parametrize(("number", "text"), [(0, "0 hosts"), (1, "1 host"), (2, "2 hosts")])
def test_a_number_with_its_noun(number, text):
    assert how_many(number, "host") == text
    assert how_many(number, "match", "es") == text.replace("host", "match").replace("matchs", "matches")


def test_no_recorded_text_has_one_thing_in_the_plural():
    assert len(RECORDED) > 30
    found = {path.name: WRONG.findall(path.read_text(encoding="utf-8")) for path in RECORDED}
    assert {name: words for name, words in found.items() if words} == {}
    assert WRONG.findall("found 1 errors, of 1 hosts") == ["errors"]
