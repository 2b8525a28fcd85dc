# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each variable that a playbook reads with a default is given in a case: where it has its default in all cases, nobody notices that it is dropped."""

from __future__ import annotations

import json
import re

import yaml
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import HERE, ROOT, cases

CASES = cases()
OPTIONAL = re.compile(r"(?<![\w.])(inference_\w+) \| default\(")
GAPS = yaml.safe_load((HERE / "gaps.yml").read_text(encoding="utf-8"))
INVENTORIES = {path.stem: path.read_text(encoding="utf-8") for path in (HERE / "inventories").glob("*.yml")}


def text_of(path):
    return path.read_text(encoding="utf-8")


def parts(path, found):
    """A playbook, and the playbooks and files of tasks that it names by their path."""
    if path in found or not path.is_file():
        return found
    found.add(path)
    for name in re.findall(r"(?:import_playbook|include_tasks|import_tasks): (?:file=)?(\S+\.yml)", text_of(path)):
        parts((path.parent / name).resolve(), found)
    for name in re.findall(r"^ +file: (\S+\.yml)", text_of(path), re.MULTILINE):
        parts((path.parent / name).resolve(), found)
    return found


def read():
    """FILE and variable, and the playbooks whose run reads it."""
    found = {}
    for case in CASES.values():
        if "playbook" in case:
            for path in parts(ROOT / "playbooks" / f"{case['playbook']}.yml", set()):
                for name in OPTIONAL.findall(text_of(path)):
                    found.setdefault((str(path.relative_to(ROOT)), name), set()).add(case["playbook"])
    return found


def given():
    """Playbook and variable that a case of it gives, or its inventory."""
    found = set()
    for case in CASES.values():
        if "playbook" in case:
            text = json.dumps(case["variables"]) + INVENTORIES[case["inventory"]]
            found |= {(case["playbook"], name) for name in re.findall(r"inference_\w+", text)}
    return found


def test_each_optional_variable_is_given_in_a_case():
    known, missing = given(), []
    for (file, name), playbooks in sorted(read().items()):
        if not any((playbook, name) in known for playbook in playbooks):
            missing.append(f"{file}: {name}")
    assert [line for line in missing if line not in GAPS["never_given"]] == [], (
        "add a case to tests/unit/rehearsal/cases that gives another value than the default"
    )
