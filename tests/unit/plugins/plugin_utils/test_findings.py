# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as text: what is wrong here, why, the fix; equal findings together, in a stable order."""

from __future__ import annotations

import ast
import pathlib
import random

from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import (
    Finding,
    PlanError,
    SettingsError,
    finding_lines,
    places,
    spans,
)

SEVERAL = [
    Finding("node10.inference_address", "B", "another host has this address.", "Do that.", value="x", why="A reason."),
    Finding("node2.inference_address", "C", "no address", "Do that."),
    Finding("node10.inference_address", "A", "not an address", value="x"),
]
TEXT = """\
Planning failed: 3 errors. No host was changed.

1. node2.inference_address: no address. [C]
   Fix: Do that.

2. node10.inference_address = x: not an address. [A]

3. node10.inference_address = x: another host has this address. [B]
   Why: A reason.
   Fix: Do that."""


def test_a_finding_says_what_is_wrong_why_and_how_to_fix_it_in_a_stable_order():
    for dummy in range(5):
        random.shuffle(SEVERAL)
        assert str(PlanError(SEVERAL)) == TEXT


def test_every_finding_of_the_planner_says_why():
    """Those of rules have the docstring of the rule; all others name their reason."""
    root = pathlib.Path(__file__).resolve().parents[4] / "plugins" / "plugin_utils"
    files = [path for name in ("plan", "description", "recipes", "releases") for path in (root / name).rglob("*.py")]
    silent = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in files
        if "rules" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding"
        if "why" not in {keyword.arg for keyword in node.keywords}
    ]
    assert silent == []


def test_a_finding_survives_the_way_through_plain_data():
    finding = Finding("a", "B", "c", "d", "warning", "e", "f", "g")
    assert Finding.from_dict(finding.as_dict()) == finding
    assert set(finding.as_dict()) == {"id", "severity", "path", "value", "problem", "why", "fix", "source"}
    assert finding.text() == "a = e: c. [B] f Fix: d"


def test_equal_findings_are_one_entry():
    error = PlanError(Finding(f"node{number}.devices", "A", "given twice") for number in range(500))
    assert len(error.findings) == 500
    assert len(str(error).splitlines()) == 3
    assert (
        "1. 500 places (node0.devices, node1.devices, node2.devices, node3.devices, 496 more): given twice. [A]"
        in str(error)
    )


def test_the_title_counts_the_entries_that_a_reader_sees():
    error = PlanError([*(Finding(f"n{host}.a", "A", "bad") for host in range(3)), Finding("b", "B", "worse")])
    assert str(error).startswith("Planning failed: 2 errors at 4 places. No host was changed.\n\n1. b: worse. [B]")


def test_settings_of_a_playbook_are_refused_and_no_plan():
    error = SettingsError([Finding("inference_bench.host", "A", "bad")])
    assert str(error).startswith("Refused: 1 error. No host was changed.\n\n1. inference_bench.host: bad. [A]")
    assert isinstance(error, PlanError)


def test_an_accepted_finding_has_a_reason_and_nothing_to_mend():
    accepted = Finding("a", "A", "bad", "Accepted: a test", "accepted", why="It hurts.")
    assert finding_lines([accepted], severity=True) == ["", "1. ACCEPTED a: bad. [A] Reason: a test"]
    silent = Finding("a", "A", "bad", "Do that.", "accepted", why="It hurts.")
    assert finding_lines([silent])[2:] == []  # who accepted it knows


def test_different_findings_of_one_rule_do_not_flood_the_screen():
    error = PlanError(Finding("all.devices", "A", f"{number} is given twice") for number in range(500))
    assert len(str(error).splitlines()) < 50
    assert "... and 480 more of [A]." in str(error)


def test_places_of_devices_are_counted():
    group = [Finding(f"n{host} device {device}", "A", "link is down") for host in range(1, 5) for device in range(4)]
    assert places(group) == "16 devices on 4 hosts (n1: 0-3; n2: 0-3; n3: 0-3; n4: 0-3)"
    assert places(group[:2]) == "2 devices on 1 host (n1: 0-1)"


def test_places_keep_the_values_that_the_user_wrote():
    alike = [Finding(f"n{host}.a", "A", "bad", value="x") for host in (1, 2)]
    other = [alike[0], Finding("n2.a", "A", "bad", value="y")]
    assert places(alike) == "2 places (n1.a, n2.a) = x"
    assert places(other) == "2 places (n1.a = x, n2.a = y)"


def test_lines_can_carry_the_severity():
    lines = finding_lines([Finding("a", "A", "bad", severity="warning")], severity=True)
    assert lines == ["", "1. WARNING a: bad. [A]"]


def test_spans():
    assert spans([3, 1, 2, 9]) == "1-3 9"
