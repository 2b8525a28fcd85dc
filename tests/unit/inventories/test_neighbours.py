# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each variable changes in the plan, in its pages and in the steps of a deployment: a digest for each part, in test_neighbours.txt.

Each variable has other values than the default: its choices, both ends of its range, what is beyond, awkward texts. ``plans`` is the number of
values that are accepted. A changed digest says which variable changes which part otherwise than before; the texts of
the shipped plans show how.
"""

from __future__ import annotations

import functools
import json
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import read_description
from ansible_collections.ascend.inference.tests.unit.digests import expect, read
from ansible_collections.ascend.inference.tests.unit.inventories.neighbours import (
    HOSTS,
    NAMES,
    cases,
    leaves,
    planned_from,
    values,
)
from ansible_collections.ascend.inference.tests.unit.inventories.sections import (
    changes,
    outcome,
    sections,
    stored,
    views,
)

SIMILAR = tuple(
    f"inference_pools.{kind}." for kind in ("encode", "decode", "colocated")
)  # to those of prefill: long tests
LEAVES = {path: values(kind, field) for path, kind, field in leaves()}
LEAVES.update({f"node2.inference_{name}": list(given) for name, given in HOSTS.items()})


@functools.cache
def base(name):
    plan, findings = outcome(*planned_from(name, {}))
    assert plan, findings
    return plan, sections(plan)


def parts_of(path, given):
    """The parts of all plans with these values that differ from the base's, and what follows from the difference."""
    found = {"plans": 0}
    for name, value in cases(path, given):
        words, inventory = planned_from(name, {path: value})
        case = [name, json.dumps(value)]
        unreadable = read_description(words)[1]
        if unreadable:
            found.setdefault("unreadable", []).append([*case, [finding.as_dict() for finding in unreadable]])
            continue
        plan, findings = outcome(words, inventory)
        if plan is None:
            found.setdefault("refused", []).append([*case, findings])
            continue
        found["plans"] += 1
        before, usual = base(name)
        now = sections(plan)
        for part in sorted({*now, *usual}):
            if now.get(part) != usual.get(part):
                found.setdefault(part, []).append([*case, now.get(part)])
        if now != usual and found["plans"] < 3:
            more = views(plan) if found["plans"] == 1 else {}
            for part, value_ in {**changes(plan, before), **more}.items():
                found.setdefault(part, []).append([*case, value_])
    return found


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.long) if path.startswith(SIMILAR) else path for path in sorted(LEAVES)],
)
def test_what_a_variable_changes(path):
    expect(__file__, path, parts_of(path, LEAVES[path]))


@pytest.mark.parametrize("name", NAMES)
def test_a_base(name):
    plan, usual = base(name)
    expect(__file__, f"base-{name}", {**usual, **views(plan), "stored": stored(plan)})


def test_no_line_without_a_variable():
    known = read(pathlib.Path(__file__).with_suffix(".txt"))
    assert set(known) == {*LEAVES, *(f"base-{name}" for name in NAMES)}
