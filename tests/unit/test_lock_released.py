# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each play that runs under the deployment's lock releases it when it fails. tests/integration/test_lock.py runs one of the playbooks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
# Their steps lock and release the deployment, whatever fails in between: tests/unit/rehearsal/test_change_order.py.
STEPS = ("lock", "restart")
# They cannot fail, or have no host to fail on.
HARMLESS = {
    "ansible.builtin.debug",
    "ansible.builtin.meta",
    "ansible.builtin.set_fact",
    "ascend.inference.deployment_run",
    "ascend.inference.print_text",
}


def plays_of(path):
    """The plays of a playbook and those that it imports, in order. verify follows when nothing is locked any more."""
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        imported = entry.get("ansible.builtin.import_playbook", "")
        if "controller.yml" in imported or imported == "verify_body.yml":  # the first one is a template
            continue
        if imported:
            yield from plays_of(path.parent / imported)
        else:
            yield entry


def tasks_of(tasks):
    """All tasks, also those in blocks."""
    for task in tasks:
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks_of(task.get(part, []))


def text_of(play):
    return yaml.safe_dump(play)


def releases(play):
    return "state: end" in text_of(play) or "service_unlock: true" in text_of(play) or by_steps(play)


def by_steps(play):
    return any(_of_steps(task) for task in tasks_of(play["tasks"]))


def _of_steps(task):
    role = task.get("ansible.builtin.include_role", {})
    return role.get("name") == "ascend.inference.service" and role.get("tasks_from") in STEPS


def locks(play):
    return "state: begin" in text_of(play) or by_steps(play)


def survives(task, local):
    """Whether the lock is released, or the playbook goes on, when the task fails."""
    if (
        task.get("failed_when") is False
        or HARMLESS & set(task)
        or "rescue" in task
        or _unlocks(task)
        or _of_steps(task)
    ):
        return True
    always = list(tasks_of(task.get("always", [])))
    ends = any(item.get("ascend.inference.deployment_run", {}).get("state") == "end" for item in always)
    return not local and (bool(always and _unlocks(always[-1])) or ends)


def _unlocks(task):
    return str(task.get("ansible.builtin.import_tasks", "")).endswith("unlock_failed.yml")


def locked_plays(name):
    plays = list(plays_of(PLAYBOOKS / f"{name}.yml"))
    begin = next(number for number, play in enumerate(plays) if locks(play))
    end = max(number for number, play in enumerate(plays) if releases(play))
    return [play for play in plays[begin : end + 1] if play not in plays[:begin]]  # those run once


ONLY_OTHERS = ("acceptance", "site")  # they run others one after the other, each of which is tested
LOCKING = sorted(
    path.stem
    for path in PLAYBOOKS.glob("*.yml")
    if any(locks(play) for play in plays_of(path)) and path.stem not in ONLY_OTHERS
)


def test_the_playbooks_that_lock_are_found():
    assert set(LOCKING) >= {"deploy", "drill", "fabric", "prepare", "remove", "restart", "rollback", "upgrade"}


@pytest.mark.parametrize("name", LOCKING)
def test_the_lock_is_released_after_any_failure(name):
    found = [
        f"{play['name']}: {task['name']}"
        for play in locked_plays(name)
        for task in play["tasks"]
        if not survives(task, play["hosts"] == "localhost")
    ]
    # Where the host is not locked yet, or has been released.
    expected = {
        "remove": ["Remove: Read the deployed plan", "Remove: Remove shared files"],
        "upgrade": [
            "Abort unless all hosts are ready: Abort unless all hosts have the new release",
            "Start the previous services: Fail because the upgrade was rolled back",
        ],
        # Its own lock has ended before; the verification is only noted under the name of an end.
        "verify": [
            "Verify: Compare the present hosts with the planned ones",
            "Verify: Verify the service",
        ],
    }
    assert [text for text in found if text not in expected.get(name, [])] == []
