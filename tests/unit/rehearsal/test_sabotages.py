# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mistake in a role, a playbook or a template changes the record of its case: each row of ``sabotages.yml``, done to a copy."""

from __future__ import annotations

import pathlib
import shutil

import pytest
import yaml
from ansible.release import __version__ as core
from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import HERE, ROOT, cases, run
from ansible_collections.ascend.inference.tests.unit.rehearsal.test_rehearsal import text_of

pytestmark = pytest.mark.skipif(not core.startswith("2.19."), reason="the records are made with ansible-core 2.19")
ROWS = yaml.safe_load((HERE / "sabotages.yml").read_text(encoding="utf-8"))
CASES = cases()
UNTOUCHED = (
    "roles_engine/cpu",
    "role_system_packages/install",
)  # cases of which no quick row changes a file, or what it does here
COPIED = ("meta", "playbooks", "plugins", "roles")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the collection, in a folder that can stand in a search path."""
    found = tmp_path_factory.mktemp("copy") / "ansible_collections" / "ascend" / "inference"
    found.mkdir(parents=True)
    shutil.copy(ROOT / "galaxy.yml", found)
    for name in COPIED:
        shutil.copytree(ROOT / name, found / name, ignore=shutil.ignore_patterns("__pycache__"))
    return found


def test_each_row_says_something_about_the_files():
    for row in ROWS:
        text = (ROOT / row["file"]).read_text(encoding="utf-8")
        assert text.count(row["old"]) == 1, f"{row['file']}: {row['old']!r} occurs {text.count(row['old'])} times"
        assert row["old"] != row["new"] and row["case"] in CASES, row


def done(rows, copy, folder, more=()):
    """The cases of rows, all done at once to the copy, and their texts; ``more``: further cases to run."""
    before = {row["file"]: (copy / row["file"]).read_text(encoding="utf-8") for row in rows}
    for row in rows:
        text = (copy / row["file"]).read_text(encoding="utf-8")
        (copy / row["file"]).write_text(text.replace(row["old"], row["new"]), encoding="utf-8")
    try:
        records = run({name: CASES[name] for name in (*(row["case"] for row in rows), *more)}, folder, copy.parents[2])
    finally:
        for file, text in before.items():
            (copy / file).write_text(text, encoding="utf-8")
    return {name: text_of(name, calls, folder, copy) for name, calls in records.items()}


def test_sabotages_are_noticed_and_only_these(copy, tmp_path):
    """Some rows at once, each with a case of its own, and cases without a row: these are what was recorded."""
    rows = [row for row in ROWS if row.get("quick")]
    found = done(rows, copy, tmp_path, UNTOUCHED)
    assert len(found) == len(rows) + len(UNTOUCHED)
    assert {name for name in found if found[name] == recorded(name)} == set(UNTOUCHED)


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{pathlib.Path(row['file']).stem}-{row['old'].strip()[:30]}")
def test_a_sabotage_is_noticed(row, copy, tmp_path):
    found = done([row], copy, tmp_path)
    assert found[row["case"]] != recorded(row["case"]), "no line of this record tells that something is wrong"
