# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a long case reaches, nobody notices before a release: each task that a long case runs or fails is in a short one too."""

from __future__ import annotations

import re

import yaml
from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import HERE, cases

CASES = cases()
LINE = re.compile(r"(?:[\w,.-]+: )?(ok|changed|failed): ([^(\n]+?)(?: \d+ \w+(?:, \d+ \w+)*)?(?: \(.*)?$")
ONLY_LONG = set(yaml.safe_load((HERE / "gaps.yml").read_text(encoding="utf-8"))["only_long"])


def reached(name):
    """NAME of each task in the record of a case, and what became of it."""
    found = (LINE.fullmatch(line) for line in recorded(name).splitlines())
    return {f"{line[2]}: {line[1].replace('changed', 'ok')}" for line in found if line}


def test_short_cases_reach_what_long_ones_reach():
    found = {long: set() for long in (True, False)}
    for name, case in CASES.items():
        found[bool(case.get("long"))] |= reached(name)
    assert sorted(found[True] - found[False] - ONLY_LONG) == [], "let one of these cases run in each test (long: false)"
    assert sorted(ONLY_LONG - (found[True] - found[False])) == [], "remove what a short case reaches from gaps.yml"
