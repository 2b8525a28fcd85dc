# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that is found for each mistake and for its neighbours, word for word: a digest for each rule, in test_whole_findings.txt.

A neighbour has one value that is a little different: a number by one, a truth the other way round, a longer text, a list without its last item;
or one of several changes is left out. ``own`` are the findings of the mistakes, ``near`` those of the neighbours, ``other`` those of the same
mistakes on top of another valid deployment. ``accepted`` counts neighbours without findings.
"""

from __future__ import annotations

import zlib

import pytest
from ansible_collections.ascend.inference.tests.unit.digests import expect
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import FAMILIES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import MISTAKES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

OTHERS = sorted(set(FAMILIES) - {"cpu", "kubernetes"})
RULES = sorted({mistake.rule for mistake in MISTAKES})


def near(value):
    """The neighbours of a value."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1, value - 1]
    if isinstance(value, str):
        return [value + "x"]
    if isinstance(value, list):
        return [value[:-1]] if value else []
    return []


def neighbours(mistake):
    """The changes of a mistake with one value a little different."""
    for path, value in mistake.changes.items():
        if path == "inventory":
            continue
        for other in near(value):
            yield {**mistake.changes, path: other}
        if len(mistake.changes) > 1:
            yield {key: item for key, item in mistake.changes.items() if key != path}


def other_family(mistake):
    names = [name for name in OTHERS if name != mistake.family]
    return names[zlib.crc32(repr((mistake.rule, sorted(mistake.changes))).encode()) % len(names)]


@pytest.mark.parametrize("rule", RULES)
def test_what_is_found(rule):
    found = {"own": [], "near": [], "other": [], "accepted": 0}
    for mistake in MISTAKES:
        if mistake.rule != rule:
            continue
        found["own"].append(judged(mistake.family, mistake.changes))
        for changes in neighbours(mistake):
            findings = judged(mistake.family, changes)
            found["near"].append(findings)
            found["accepted"] += not findings
        if "inventory" not in mistake.changes and not any(path.startswith("node") for path in mistake.changes):
            found["other"].append(judged(other_family(mistake), mistake.changes))
    expect(__file__, rule, found)
