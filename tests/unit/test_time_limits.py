# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that freezes behind an open connection holds nobody up for ever: the first questions to it, and the lock, have a limit of time."""

from __future__ import annotations

import configparser
import pathlib

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.status.services import LEAST, MORE
from ansible_collections.ascend.inference.plugins.modules import service_status

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITED = {  # the tasks that ask hosts in these files, before anything else does, or after a failure
    "playbooks/shared/places.yml": 1,
    "playbooks/shared/ready.yml": 1,
    "playbooks/shared/status_body.yml": 1,
    "playbooks/shared/lock.yml": 2,
    "playbooks/shared/unlock.yml": 1,
    "playbooks/shared/unlock_failed.yml": 1,
    "roles/host_check/tasks/main.yml": 1,
    "roles/service/tasks/brief.yml": 1,
}
ASKING = (
    "ansible.builtin.raw",
    "ascend.inference.service_status",
    "ascend.inference.deployment_run",
    "ascend.inference.check_info",
    "ascend.inference.change",
)


def tasks(items):
    for item in items:
        yield item
        for key in ("tasks", "block", "rescue", "always"):
            yield from tasks(item.get(key) or ())


@pytest.mark.parametrize("name", LIMITED)
def test_what_asks_a_host_first_ends(name):
    found = [
        task for task in tasks(yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))) if set(task) & set(ASKING)
    ]
    assert len(found) == LIMITED[name] and all(task.get("timeout") for task in found)


def test_status_waits_for_no_host():
    """A host that hangs is left out after the first question; the module of the others ends before its own limit."""
    plays = yaml.safe_load((ROOT / "playbooks/status.yml").read_text(encoding="utf-8"))
    limits = {
        name: value for play in plays for name, value in play.get("vars", {}).items() if name.endswith("_timeout")
    }
    connects = limits.pop("ansible_ssh_timeout")
    assert sum(limits.values()) <= 12, (
        "one host may freeze before the first question, another one after it; the controller's own work is 3 s"
    )
    assert connects < limits["__inference_places_timeout"], (
        "else a host that is off is called one that takes connections"
    )
    for name in limits:
        used = [path for path in ROOT.glob("playbooks/shared/*.yml") if f'timeout: "{{{{ {name} |' in path.read_text()]
        assert len(used) == 1, name
    longest = max(service_status.RUNTIME, service_status.ARGUMENTS["timeout"]["default"] + MORE + 2 * LEAST)
    assert longest <= 6 < limits["__inference_status_timeout"]


def test_what_a_host_answers_becomes_no_variable():
    """Neither with the settings that we ship, nor in the tests with nodes."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg", encoding="utf-8")
    assert settings.getboolean("defaults", "inject_facts_as_vars") is False
    molecule = yaml.safe_load((ROOT / "molecule/config.yml").read_text(encoding="utf-8"))
    assert molecule["provisioner"]["config_options"]["defaults"]["inject_facts_as_vars"] is False


def test_the_guide_has_the_settings_of_the_repository():
    """With ServerAliveInterval ssh ends, and a module that has no limit with it."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg", encoding="utf-8")
    guide = [
        line.strip()
        for line in (ROOT / "docs/docsite/rst/guide_operations.rst").read_text(encoding="utf-8").splitlines()
    ]
    lines = [f"{key} = {value}" for section in settings.sections() for key, value in settings[section].items()]
    assert [line for line in lines if line not in guide] == []
    assert "ServerAliveInterval=15" in settings["ssh_connection"]["ssh_args"]
