# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook upgrade on three hosts: after any failure on one host, all hosts run one release, and the reason is reported.

The playbook and Ansible are real, and Ansible drops hosts that fail. Roles and modules are replaced by stubs that record which of
them ran on which host. A lost host is one whose connection is refused. molecule/install runs the same playbook with the real roles.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import digest_of
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = ["h1", "h2", "h3"]
OLD, NEW = "1.0", "2.0"
THERE_AND_BACK = ["runs 2.0", "runs 1.0"]
LOSE = "{{ lookup('ansible.builtin.pipe', '%s ' ~ folder ~ '/lost-%s') }}"
# To be fast, no module runs on a host, except ping where a lost host must be detected.
SERVICE = [
    {"name": "Back", "debug": {"msg": LOSE % ("rm -f", "*")}, "when": "service_plan.release not in faulty", "run_once": True},
    {"name": "Runs", "debug": {"msg": "{{ inventory_hostname }} runs {{ service_plan.release }}."}},
    {"name": "Lose one", "debug": {"msg": LOSE % ("touch", "h2")}, "when": "fault == 'lost' and service_plan.release in faulty"},
    {"name": "Reach it", "ping": {}, "when": "fault == 'lost' and inventory_hostname == 'h2'"},
    {
        "name": "Start",
        "assert": {"that": "fault != 'service' or service_plan.release not in faulty or inventory_hostname != 'h2'"},
    },
]  # fmt: skip
# The plans have no services, so nothing runs that a plan does not have.
NOTHING_RUNS = {"outdated": [], "other": [], "down": [], "healthy": []}
RUNS = [{"name": "Compare", "keep_runs": {"runs": {"old": NOTHING_RUNS, "new": NOTHING_RUNS}}}]
ROLES = {
    "service/tasks/main": SERVICE,
    "service/tasks/change": SERVICE,
    "service/tasks/record": [],
    "service/tasks/runs": RUNS,
}
VERIFY = [
    {"name": "Lose the first", "debug": {"msg": LOSE % ("touch", "h1")}, "when": "fault == 'verify_unreachable' and verify_plan.release == '2.0'"},
    {"name": "Ping", "ping": {}, "when": "fault == 'verify_unreachable'", "run_once": True},
    {
        "name": "Stand by it",
        "assert": {"that": "fault != 'verify' or verify_plan.release not in faulty", "fail_msg": "Not verified. The text differs."},
        "run_once": True,
    },
]  # fmt: skip
KEEP = """
from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import folder_of, hand_over

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        hand_over(self._task.args["plan"], folder_of(constants.DEFAULT_LOCAL_TMP))
        return {}
"""
KEEP_RUNS = """
from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.plugin_utils.change.store import Store

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        Store(constants.DEFAULT_LOCAL_TMP).keep("runs", task_vars["inventory_hostname"], self._task.args["runs"])
        return {}
"""
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
                    "__inference_hosts": "{{ planned.hosts | map(attribute='name') }}",
                    "__inference_planning": {"selection": {"directory": "{{ planned.directory }}"}},
                },
            },
        ],
    }
]
NOTHING = [{"name": "Nothing", "hosts": "{{ [] }}", "gather_facts": False, "tasks": []}]
PREPARE = [
    {
        "name": "Prepare",
        "hosts": "all:!localhost",
        "gather_facts": False,
        "tasks": [
            {
                "name": "Install",
                "assert": {"that": "fault != 'prepare' or inventory_hostname != 'h2'"},
            }
        ],
    }
]


def plan(folder, release):
    """The parts of a plan that the playbook reads."""
    hosts = [{"name": name} for name in HOSTS]
    software = {"cann": {"path": f"/opt/cann-{release}", "version": release}, "tools": {"venv": f"{folder}/tools"}}
    more = {
        "deployment": "inference",
        "runtime": "systemd",
        "runtime_settings": {},
        "root": str(folder),
        "directory": f"{folder}/deployments/inference",
        "placement": {"instances": []},
        "revision": f"r-{release}",
        "services": [],
        "software": software,
        "runtime_facts": {"contained": False},
    }
    made = {"plan_version": 4, "release": release, "hosts": hosts, **more}
    return {**made, "digest": digest_of(made)}


@pytest.fixture
def upgrade(tmp_path):
    """Run the playbook with a fault -> (exit status, output in one line, host -> actions on it)."""
    book = tmp_path / "ansible_collections/ascend/inference/playbooks"
    book.mkdir(parents=True)
    for name in ("upgrade", "rollback"):
        shutil.copy(ROOT / f"playbooks/{name}.yml", book)
    shutil.copytree(ROOT / "playbooks/shared", book / "shared")
    shutil.copytree(ROOT / "plugins", book.parent / "plugins")
    for kind in ("action_plugins", "library"):
        (book / kind).mkdir()
    for name, text in {"keep_plan": KEEP, "keep_runs": KEEP_RUNS}.items():
        (book / f"action_plugins/{name}.py").write_text(text, encoding="utf-8")
        (book / f"library/{name}.py").write_text("# the action does it all\n", encoding="utf-8")
    stand_ins = {"planned": PLAN, "check_body": NOTHING, "prepare_body": PREPARE, "rehearse_body": NOTHING}
    for name, text in stand_ins.items():
        (book / f"shared/{name}.yml").write_text(yaml.safe_dump(text), encoding="utf-8")
    for name, text in {**ROLES, "verify/tasks/main": VERIFY}.items():
        place = book.parent / "roles" / f"{name}.yml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(yaml.safe_dump(text, sort_keys=False), encoding="utf-8")
    lost = "{{ 'ssh' if lookup('ansible.builtin.fileglob', folder ~ '/lost-' ~ inventory_hostname) else 'local' }}"
    variables = {
        "ansible_connection": lost,
        "ansible_host": "127.0.0.1",
        "ansible_port": 1,
        "ansible_python_interpreter": sys.executable,
        "inference_model": "cannot be planned",
        "inference_root": str(tmp_path),
    }
    inventory = {"all": {"hosts": dict.fromkeys(HOSTS, variables)}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
    (tmp_path / "deployments/inference").mkdir(parents=True)
    (tmp_path / "deployments/inference/plan.json").write_text(json.dumps(plan(tmp_path, OLD)), encoding="utf-8")

    def run(fault, faulty=(NEW,), playbook="upgrade"):
        given = {"fault": fault, "faulty": faulty, "folder": str(tmp_path), "planned": plan(tmp_path, NEW)}
        argv = [str(PROGRAM), "-i", "hosts.yml", "-e", json.dumps(given), f"ascend.inference.{playbook}"]
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path), "ANSIBLE_HOME": str(tmp_path / "home")}
        done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        runs = {name: re.findall(rf"{name} (\w+ \d.\d)", done.stdout) for name in HOSTS}
        return done.returncode, " ".join((done.stdout + done.stderr).split()), runs

    return run


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            "service",
            "Release 2.0 was not verified: the services do not run on h2 | Assertion failed. Release 1.0 was started again and is verified.",
        ),
        ("lost", "the services do not run on h2"),
        (
            "verify_unreachable",
            "was not verified: a host is unreachable. Release 1.0 was started again and is verified.",
        ),
        pytest.param(  # test_after_an_interruption_... goes back after the same fault
            "verify",
            "was not verified: Not verified. The text differs. Release 1.0 was started again",
            marks=pytest.mark.long,
        ),
    ],
)
def test_all_hosts_go_back(upgrade, fault, reason):
    code, output, runs = upgrade(fault)
    assert (code != 0, runs) == (True, dict.fromkeys(HOSTS, THERE_AND_BACK)), output
    assert reason in output


def test_a_failed_rollback_is_reported(upgrade):
    code, output, runs = upgrade("lost", faulty=(OLD, NEW))
    assert (code != 0, runs) == (True, dict.fromkeys(HOSTS, THERE_AND_BACK)), output
    assert "Release 1.0, which ran before, could not be started again: the services do not run on h2." in output
    assert "then run rollback, which returns to release 1.0" in output


def test_running_services_are_not_changed(upgrade, tmp_path):
    code, output, runs = upgrade("prepare")
    assert (code != 0, runs) == (True, dict.fromkeys(HOSTS, [])), output
    assert "h2: release 2.0 is not installed, for the reason above. No service was changed" in output
    assert not list((tmp_path / "deployments").glob(".*.lock")), "the lock is released"


@pytest.fixture
def interrupted(tmp_path):
    """The hosts as a run leaves them whose controller died after it had changed the services and before it verified them."""
    folder = tmp_path / "deployments/inference"
    (folder / "plan.json").write_text(json.dumps(plan(tmp_path, NEW)), encoding="utf-8")
    (folder / "verified.json").write_text(json.dumps(plan(tmp_path, OLD)), encoding="utf-8")
    journal = {
        "phase": "changing",
        "plan": {"digest": plan(tmp_path, NEW)["digest"], "release": NEW},
        "revisions": [f"r-{NEW}"],
    }
    (folder / "journal.json").write_text(json.dumps(journal), encoding="utf-8")
    return folder


def test_after_an_interruption_the_verified_plan_is_gone_back_to(upgrade, interrupted):
    code, output, runs = upgrade("verify")
    assert (code != 0, runs) == (True, dict.fromkeys(HOSTS, THERE_AND_BACK)), output
    assert "Release 1.0 was started again and is verified." in output
    assert not list(interrupted.parent.glob(".*.lock")), "the lock is released"


def test_rollback_starts_the_verified_plan_without_a_plan_of_the_inventory(upgrade, interrupted):
    code, output, runs = upgrade("", playbook="rollback")
    assert (code, runs) == (0, dict.fromkeys(HOSTS, ["runs 1.0"])), output
    assert "no plan can be made" in output
    assert not list(interrupted.parent.glob(".*.lock")), "the lock is released"


def test_rollback_without_a_verified_plan_changes_nothing(upgrade, tmp_path):
    code, output, runs = upgrade("", playbook="rollback")
    assert (code != 0, runs) == (True, dict.fromkeys(HOSTS, [])), output
    assert "so there is none to go back to" in output
    assert not list((tmp_path / "deployments").glob(".*.lock")), "the lock is released"


HOSTILE = """#!{python}
import json, subprocess, sys
done = subprocess.run([{python!r}, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
found = json.loads(done.stdout)
forged = json.load(open({forged!r}))
forged = {{}} if "hidden" in forged else forged
if found.get("previous"):
    found["previous"] = forged
if found.get("content"):
    found["content"] = json.dumps(forged)
print(json.dumps(found))
sys.exit(done.returncode)
"""


@pytest.fixture
def hostile(tmp_path, interrupted):
    """``hostile(**changes)``: root of h2 answers with another plan, which has a digest of its own."""

    def make(**changes):
        forged = {**plan(tmp_path, OLD), **changes}
        forged["digest"] = digest_of(forged)
        (tmp_path / "forged.json").write_text(json.dumps(forged), encoding="utf-8")
        program = tmp_path / "python"
        program.write_text(
            HOSTILE.format(python=sys.executable, forged=str(tmp_path / "forged.json")), encoding="utf-8"
        )
        program.chmod(0o755)
        inventory = yaml.safe_load((tmp_path / "hosts.yml").read_text(encoding="utf-8"))
        inventory["all"]["hosts"] = json.loads(json.dumps(inventory["all"]["hosts"]))  # no anchors
        inventory["all"]["hosts"]["h2"]["ansible_python_interpreter"] = str(program)
        (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")

    return make


STEAL = {"verify": {"engine_api_key": "other_team_key", "prefill": [{"url": "http://192.0.2.9"}]}}
TEMPLATE = {"release": "{{ lookup('pipe', 'touch %s/COMMAND') }}"}
HIDDEN = {"hidden": True}  # no plan at all
OTHER_VERSION = {"plan_version": 3, "runtime": "docker"}  # without the keys of today's
ELSEWHERE = {"directory": "/srv/elsewhere"}
VICTIM = {
    "services": [],
    "hosts": [{"name": "victim"}],
    "runtime_settings": {"target": "x.target", "directory": "/tmp"},
}


@pytest.mark.parametrize(
    "forged",
    [
        STEAL,
        TEMPLATE,
        HIDDEN,
        OTHER_VERSION,
        *(pytest.param(forged, marks=pytest.mark.long) for forged in (ELSEWHERE, VICTIM)),
    ],
    ids=["steal", "template", "hidden", "other_version", "elsewhere", "victim"],
)
def test_one_host_neither_imposes_a_plan_nor_prevents_a_rollback(upgrade, hostile, tmp_path, forged):
    hostile(**json.loads(json.dumps(forged).replace("%s", str(tmp_path))))
    code, output, runs = upgrade("", playbook="rollback")
    assert (code, runs) == (0, dict.fromkeys(HOSTS, ["runs 1.0"])), output
    assert (
        f"h2: {'it recorded no plan' if forged == HIDDEN else 'its recorded plan is '}" in output
        and "lookup(" not in output
    )
    assert not (tmp_path / "COMMAND").exists()


@pytest.mark.long  # the tasks are the same
def test_a_failed_upgrade_goes_back_to_the_plan_of_most_hosts(upgrade, hostile):
    hostile(**STEAL)
    code, output, runs = upgrade("verify")
    assert (code != 0, runs) == (True, dict.fromkeys(HOSTS, THERE_AND_BACK)), output
    assert (
        "h2: its recorded plan is another one" in output and "Release 1.0 was started again and is verified." in output
    )
