# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each assertion of roles and playbooks ends a rehearsed run, also in short tests: where it always holds, nobody notices that it is gone."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import ROOT, cases

FAILED = re.compile(r"^(?:[\w,.-]+: )?failed: (?:ascend\.inference\.\w+ : )?(.+)$", re.MULTILINE)
VERBS = ("ansible.builtin.assert", "ansible.builtin.fail")
PARTS = ("tasks", "pre_tasks", "block", "rescue", "always")
# Those that hold in each short case: what they demand, or when they fail, word for word. A new assertion gets a case instead of a line here.
ALWAYS_HOLD = {
    "playbooks/shared/controller.yml: Require ansible-core 2.17": "ansible_version.full is version('2.17.0', '>=')",
    "playbooks/shared/present.yml: Compare the present hosts with the planned ones": "__inference_absent | length == 0",
    "playbooks/shared/tags.yml: Refuse tags that choose nothing": "__inference_untagged is not defined",
    "playbooks/acceptance.yml: Fail if the deployment is not accepted": "__inference_acceptance_report.verdict == 'not passed'",
    "playbooks/shared/change_to.yml: Continue only if they run on all hosts": "__inference_lagging | length == 0",
}


def assertions(items):
    """Each assertion in a list of plays or tasks: its name, and what it demands."""
    for item in items:
        for part in PARTS:
            yield from assertions(item.get(part) or [])
        for verb in VERBS:
            if verb in item:
                yield item["name"], item[verb].get("that", item.get("when", ""))


def written():
    for folder, pattern in (("roles", "*/tasks/**/*.yml"), ("playbooks", "**/*.yml")):
        for file in sorted((ROOT / folder).glob(pattern)):
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
            for name, demands in assertions(content if isinstance(content, list) else []):
                yield f"{file.relative_to(ROOT)}: {name}", name, demands


@pytest.fixture(scope="module")
def failed():
    """The names of tasks that fail in the record of a short case."""
    short = [name for name, case in cases().items() if not case.get("long")]
    return [found for name in short for found in FAILED.findall(recorded(name))]


def fails(name, failed):
    """Whether a task fails in a case; what follows an expression in its name is not compared."""
    return any(found.startswith(name.split("{{")[0]) for found in failed)


def test_each_assertion_ends_a_case(failed):
    found = {place: demands for place, name, demands in written() if not fails(name, failed)}
    assert found == ALWAYS_HOLD, "add a case to tests/unit/rehearsal/cases in which this assertion fails"


def test_a_name_is_found_in_a_record(failed):
    assert fails("Require an inventory", failed) and not fails("Require an inventor of hosts", failed)
