# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook deploy, by two runs at once and by runs that fail or are killed: one changes the deployment, and none stays locked out.

The playbook and the lock are the real ones; plan, check, rehearsal and the role service are stand-ins.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = ["h1", "h2"]
KEEP = """
from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import folder_of, hand_over

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        hand_over(self._task.args["plan"], folder_of(constants.DEFAULT_LOCAL_TMP))
        return {}
"""
LOSE = "{{ lookup('pipe', 'touch ' ~ folder ~ '/lost-h2') }}"
# A lost host is one whose connection is refused.
LOST = "{{ 'ssh' if lookup('ansible.builtin.fileglob', folder ~ '/lost-' ~ inventory_hostname) else 'local' }}"
CHANGE = [
    {
        "name": "Runs",
        "debug": {"msg": "{{ inventory_hostname }} runs.{{ lookup('pipe', 'touch ' ~ folder ~ '/runs') }}"},
    },
    {"name": "Wait", "wait_for": {"path": "{{ folder }}/go", "timeout": 200}, "when": "fault == 'wait'"},
    {"name": "Lose h2", "debug": {"msg": LOSE}, "when": "fault == 'lost' and inventory_hostname == 'h2'"},
    {"name": "Reach it", "ping": {}, "when": "fault == 'lost'"},
    {"name": "Fail", "fail": {"msg": "PLANTED"}, "when": "fault == 'service' and inventory_hostname == 'h2'"},
]
RECORD = [
    {
        "name": "Note",
        "ascend.inference.service_files": {
            "directory": "{{ service_plan.directory }}",
            "name": "plan",
            "folders": [{"path": "{{ service_plan.directory }}"}],
            "unlock": "{{ service_unlock }}",
        },
    },
]
PLAN = [
    {
        "name": "Plan",
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [
            {"name": "Plan", "keep_plan": {"plan": "{{ planned }}"}},
            {
                "name": "Choose hosts",
                "set_fact": {
                    "__inference_hosts": "{{ planned.hosts | map(attribute='name') + (['h3'] if fault == 'absent' else []) }}",
                    "__inference_planning": {"selection": {"directory": "{{ planned.directory }}"}},
                },
            },
        ],
    }
]
NOTHING = [{"name": "Nothing", "hosts": "{{ [] }}", "gather_facts": False, "tasks": []}]
OTHER = {
    "id": "r1",
    "owner": "anna",
    "controller": "elsewhere",
    "since": "2026-11-22T02:00:00Z",
    "space": "x",
    "process": 9,
    "start": "9",
}


@pytest.fixture
def begin(tmp_path):
    """Start the playbook with a fault -> the process."""
    book = tmp_path / "ansible_collections/ascend/inference/playbooks"
    book.mkdir(parents=True)
    shutil.copy(ROOT / "playbooks/deploy.yml", book)
    shutil.copytree(ROOT / "playbooks/shared", book / "shared")
    shutil.copytree(ROOT / "plugins", book.parent / "plugins")
    for kind, text in {"action_plugins": KEEP, "library": "# the action does it all\n"}.items():
        (book / kind).mkdir()
        (book / kind / "keep_plan.py").write_text(text, encoding="utf-8")
    for name, text in {
        "shared/planned": PLAN,
        "shared/pause": NOTHING,
        "shared/check_body": NOTHING,
        "shared/rehearse_body": NOTHING,
        "shared/kubernetes_body": NOTHING,
    }.items():
        (book / f"{name}.yml").write_text(yaml.safe_dump(text), encoding="utf-8")
    role = book.parent / "roles/service/tasks"
    role.mkdir(parents=True)
    for name, tasks in {"change": CHANGE, "record": RECORD}.items():
        (role / f"{name}.yml").write_text(yaml.safe_dump(tasks, sort_keys=False), encoding="utf-8")
    hosts = {}
    for name in HOSTS:  # each with a home of its own, which has the deployment
        python = tmp_path / f"python-{name}"
        python.write_text(f'#!/bin/sh\nHOME={tmp_path / name} exec {sys.executable} "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        hosts[name] = {
            "ansible_connection": LOST,
            "ansible_host": "127.0.0.1",
            "ansible_port": 1,
            "ansible_python_interpreter": str(python),
        }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}), encoding="utf-8")

    def start(fault="", **variables):
        plan = {
            "deployment": "sample",
            "directory": "~/root/deployments/sample",
            "placement": {"instances": []},
            "digest": "d",
            "runtime": "systemd",
            "runtime_settings": {},
            "hosts": [{"name": name} for name in HOSTS],
            "services": [],
            "software": {"tools": {"venv": ""}},
        }
        given = {"fault": fault, "folder": str(tmp_path), "planned": plan, **variables}
        argv = [str(PROGRAM), "-i", "hosts.yml", "-e", json.dumps(given), "ascend.inference.deploy"]
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path), "ANSIBLE_HOME": str(tmp_path / "home")}
        return subprocess.Popen(
            argv,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    return start


@pytest.fixture
def directory(tmp_path):
    """That of the first host."""
    return str(tmp_path / HOSTS[0] / "root/deployments/sample")


def locked(tmp_path):
    """The hosts that are locked."""
    return [name for name in HOSTS if deployment_lock.holder_of(str(tmp_path / name / "root/deployments/sample"))]


def end(process):
    """Exit status and output in one line."""
    output = process.communicate()[0]
    return process.returncode, " ".join(output.split())


def until(condition, timeout=120):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def test_of_two_runs_at_once_one_succeeds_and_one_is_refused(begin, tmp_path, directory):
    first = begin("wait")
    until(lambda: deployment_lock.holder_of(directory))
    code, output = end(begin())
    assert code != 0 and "h1: deployment sample is being changed by" in output, output
    assert "runs." not in output
    (tmp_path / "go").touch()
    code, output = end(first)
    assert code == 0 and "h2 runs." in output, output
    assert not deployment_lock.holder_of(directory)


def test_a_run_that_fails_releases_the_lock_on_all_hosts(begin, tmp_path):
    code, output = end(begin("service"))
    assert code != 0 and "PLANTED" in output, output
    assert (tmp_path / "runs").exists() and locked(tmp_path) == [], output


@pytest.mark.long  # released by the same play as after a service that fails
def test_a_run_that_misses_a_host_releases_the_lock_on_the_others(begin, tmp_path):
    """The task that notices it has run_once: `always` runs on the first host only."""
    code, output = end(begin("absent"))
    assert code != 0 and "h3: failed or unreachable in an earlier play" in output, output
    assert not (tmp_path / "runs").exists() and locked(tmp_path) == [], output
    assert list((tmp_path / "h2/root").iterdir()), "it was locked"


def test_a_host_that_is_locked_by_another_run_leaves_no_other_host_locked(begin, tmp_path):
    deployment_lock.take(str(tmp_path / "h2/root/deployments/sample"), OTHER)
    code, output = end(begin())
    assert code != 0 and "h2: deployment sample is being changed by anna" in output, output
    assert not (tmp_path / "runs").exists() and locked(tmp_path) == ["h2"], output


def test_a_host_that_is_lost_while_services_change_stops_the_run_and_not_the_next_one(begin, tmp_path):
    code, output = end(begin("lost"))
    assert code != 0 and "UNREACHABLE" in output, output
    assert "Record the deployed plan" not in output.replace("PLAY [Record the deployed plan]", "")
    (tmp_path / "lost-h2").unlink()
    code, output = end(begin())
    assert code == 0 and "h2 runs." in output, output
    assert locked(tmp_path) == []


def test_the_lock_of_a_killed_run_is_taken_over(begin, tmp_path, directory):
    process = begin("wait")
    # Not as soon as there is a lock: a task that is locking the next host outlives the run, and can no longer tell its process.
    until((tmp_path / "runs").exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert deployment_lock.holder_of(directory)
    code, output = end(begin())
    assert code == 0, output
    assert not deployment_lock.holder_of(directory)


def test_a_lock_of_another_controller_is_broken_on_demand_only(begin, directory):
    deployment_lock.take(directory, OTHER)
    code, output = end(begin())
    assert code != 0 and "by anna on elsewhere since 2026-11-22T02:00:00Z (run r1)" in output, output
    assert deployment_lock.holder_of(directory) == OTHER
    deployment_lock.note(directory, "r1", "step 2 of 3: Give", [])
    code, output = end(begin(inference_break_lock="r1"))
    assert code == 0 and not deployment_lock.holder_of(directory), output
    assert "did not end its change, in step 2 of 3: Give. This run looks at what runs" in output
