# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the check of hosts says about each fault, word for word: severity, place, value, problem, reason and way out.

The findings are in exact_host_findings.txt: who changes a rule or a text reads there what else changes.
``RENEW_FINDINGS=1 pytest -n 0 test_exact_host_findings.py`` writes them.
"""

from __future__ import annotations

import os
import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import (
    FAULTS,
    ROCE_FAULTS,
    facts,
    plan,
)

FILE = pathlib.Path(__file__).with_name("exact_host_findings.txt")
COMMAND = "RENEW_FINDINGS=1 pytest -n 0 test_exact_host_findings.py"
HEAD = f"# SPDX-License-Identifier: GPL-3.0-or-later\n# Written by the test: {COMMAND}\n"
LINKS = (("hccs", {}, FAULTS), ("roce", {"inference_link": "roce"}, ROCE_FAULTS))


def named():
    """Each fault by a name such as ``hccs FACTS-MISSING n2 (3)``."""
    found = {}
    for on, changes, faults in LINKS:
        for rule, path, plant in faults:
            number = sum(name.startswith(f"{on} {rule} {path} (") for name in found) + 1
            found[f"{on} {rule} {path} ({number})"] = (changes, plant)
    return found


ROWS = named()


def lines(finding):
    """A finding in three lines."""
    head = "{severity} {id} {path} = {value}: {problem}".format(**finding)
    return f"{head}\n  why: {finding['why']}\n  fix: {finding['fix']}\n"


def read():
    """The findings of each fault as they are kept."""
    text = FILE.read_text(encoding="utf-8") if FILE.is_file() else ""
    return dict(block.split("\n", 1) for block in text.split("=== ")[1:])


@pytest.mark.parametrize("name", ROWS)
def test_exactly_this_is_said_about_a_fault(name):
    changes, plant = ROWS[name]
    wanted = plan(**changes)
    data = facts(wanted)
    plant(data)
    text = "".join(map(lines, check_plan(wanted, data)))
    known = read()
    if os.environ.get("RENEW_FINDINGS"):
        known[name] = text
        FILE.write_text(HEAD + "".join(f"=== {row}\n{known[row]}" for row in ROWS if row in known), encoding="utf-8")
    assert text == known.get(name), f"if that is meant: {COMMAND}, and read the changes"


def test_each_fault_has_findings_that_are_kept():
    assert set(read()) == set(ROWS) and all(read().values())
