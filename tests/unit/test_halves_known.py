# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a blue/green upgrade that was interrupted, no playbook changes a service that does not know of halves.

The lock refuses it (deployment_run, accept_half), so each playbook that changes a service has to take the lock, and those that pass are listed
here with the reason. tests/integration/test_halves.py runs some of them.
"""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.ascend.inference.tests.unit.test_lock_released import PLAYBOOKS, tasks_of

ACCEPT = {
    "upgrade": "looks what runs, and goes on from there",
    "rollback": "looks what runs, and goes back beside the half that serves",
    "deploy": "refuses what would restart engines",
    "site": "runs prepare and deploy",
    "acceptance": "runs site; the lock refuses what follows unless deploy has ended the change",
    "prepare": "restarts nothing",
    "fabric": "refuses while services run",
    "remove": "leaves no engine",
    "tune": "restarts nothing of the deployment",
}
CHANGES = (
    "ascend.inference.service_state",
    "ascend.inference.service_fault",
    "ascend.inference.router_members",
    "ascend.inference.balancer_shift",
)
# Task files of the role service that change no service
READ_ONLY = {"lock", "missing", "observed", "pause", "preflight", "prepare", "running", "user", "variables"}
ROLE = ("ansible.builtin.include_role", "ansible.builtin.import_role")


def entries(path, known=False):
    """(play, known): plays of a playbook and those that it imports; ``known``: the value of __inference_half_known."""
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        imported = entry.get("ansible.builtin.import_playbook", "")
        if not imported:
            yield entry, known
        elif "controller.yml" not in imported and not imported.startswith(
            "kubernetes"
        ):  # a template; a cluster has no halves
            yield from entries(path.parent / imported, entry.get("vars", {}).get("__inference_half_known", known))


def included(task, folder):
    """The tasks of a file that a task includes."""
    name = task.get("ansible.builtin.include_tasks", task.get("ansible.builtin.import_tasks", ""))
    return yaml.safe_load((folder / name).read_text(encoding="utf-8")) if name and "{{" not in name else []


def everything(tasks):
    for task in tasks_of(tasks):
        yield task
        for folder in (PLAYBOOKS, PLAYBOOKS / "shared"):
            name = task.get("ansible.builtin.include_tasks", task.get("ansible.builtin.import_tasks", ""))
            if name and (folder / name).is_file():
                yield from everything(included(task, folder))


def role_of(task):
    """The entry point of the role service that a task calls; empty if it does not."""
    role = next((task[key] for key in ROLE if key in task), {})
    return role.get("tasks_from", "main") if role.get("name") == "ascend.inference.service" else ""


def changes(task):
    """Whether a task changes a service, or starts a playbook."""
    if role_of(task):
        return role_of(task) not in READ_ONLY
    program = task.get("ansible.builtin.command", {})
    return bool(set(CHANGES) & set(task)) or "inference_stage.argv" in str(program)


def locks(name):
    """[(whether a half is accepted)] of the tasks that take the lock, in order, and whether a service is changed before the first one."""
    found, early = [], False
    for play, known in entries(PLAYBOOKS / f"{name}.yml"):
        for task in everything(play.get("tasks", [])):
            given = task.get("ascend.inference.deployment_run", {})
            if given.get("state") == "begin":
                accepts = given.get("accept_half", False)
                found.append(known if "__inference_half_known" in str(accepts) else accepts)
            elif role_of(task) == "lock":
                found.append(play["vars"]["service_lock"].get("accept_half", False))
            elif changes(task) and not found:
                early = True
    return found, early


ALL = sorted(path.stem for path in PLAYBOOKS.glob("*.yml") if not path.stem.startswith("kubernetes"))
CHANGING = [
    name
    for name in ALL
    if any(
        changes(task)
        for play, _known in entries(PLAYBOOKS / f"{name}.yml")
        for task in everything(play.get("tasks", []))
    )
]


def test_the_playbooks_that_change_services_are_found():
    assert {"deploy", "restart", "drill", "watchdog", "rollback", "upgrade", "remove", "compare"} <= set(CHANGING)
    assert not {"status", "check", "plan", "logs", "tune", "bench"} & set(CHANGING)


@pytest.mark.parametrize("name", CHANGING)
def test_a_playbook_that_changes_services_takes_the_lock_first(name):
    found, early = locks(name)
    assert found and not early


@pytest.mark.parametrize("name", ALL)
def test_only_those_that_know_halves_pass(name):
    found, _early = locks(name)
    assert any(found) == (name in ACCEPT)
    assert name not in ACCEPT or found[0], "the first one decides, because a run locks once"
