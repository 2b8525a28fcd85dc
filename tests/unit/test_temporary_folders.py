# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a temporary folder removes it, also when a task between fails: both are in one block."""

from __future__ import annotations

import pathlib

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Why a folder is made before the block whose end removes it.
APART = {
    "playbooks/logs.yml": "hosts in a play of their own write into it, and go on without those that fail; the last play always removes it",
}


def makers(tasks, removed):
    """Whether each task that makes a folder is in a block whose ``always`` removes a path."""
    for task in tasks or ():
        if "ansible.builtin.tempfile" in task:
            yield removed
        ends = removed or any(
            (step.get("ansible.builtin.file") or {}).get("state") == "absent" for step in task.get("always") or ()
        )
        yield from makers(task.get("block"), ends)
        for part in ("rescue", "always"):
            yield from makers(task.get(part), removed)


FILES = {
    str(path.relative_to(ROOT)): path
    for folder in ("playbooks", "roles")
    for path in sorted((ROOT / folder).rglob("*.yml"))
    if "ansible.builtin.tempfile:" in path.read_text(encoding="utf-8")
}


@pytest.mark.parametrize("name", FILES)
def test_a_temporary_folder_is_removed_however_the_run_goes_on(name):
    entries = yaml.safe_load(FILES[name].read_text(encoding="utf-8"))
    plays = [entry["tasks"] for entry in entries if "hosts" in entry and entry.get("tasks")] or [entries]
    found = [removed for tasks in plays for removed in makers(tasks, False)]
    assert found and all(found) != (name in APART), "remove it in the always of its block, or say why not in APART"
