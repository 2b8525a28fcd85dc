# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the records say of a drill that a fault ends: no other fault is made, what was taken is returned, and the service is verified."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded

FAULT = re.compile(r"^    ascend\.inference\.service_fault\b", re.MULTILINE)
BEGIN = re.compile(r"^\w+: \w+: Create a directory for the answers", re.MULTILINE)
AFTERWARDS = (
    "Remove the directory of the answers",
    "End the pause of the probe",
    "Start stopped services",
    "Release the lock",
    "Show the report",
    "Send verification requests",
    "failed: Fail if the report has errors",
)


@pytest.mark.parametrize(
    ("case", "made"),
    [
        ("drill_ends_with_a_service_that_does_not_come_back", 2),
        ("drill_fault_fails", 1),
    ],
)
def test_a_drill_ends_with_the_fault_that_ended_the_service(case, made):
    text = recorded(f"drill/{case}")
    begins = [found.start() for found in BEGIN.finditer(text)]
    assert (len(FAULT.findall(text)), len(begins)) == (made, made)
    last = begins[-1]
    places = [text.find(part, last) for part in AFTERWARDS]
    assert -1 not in places and places == sorted(places), dict(zip(AFTERWARDS, places, strict=True))
