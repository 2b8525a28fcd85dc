# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles accept: the variables of each rehearsed case, all values that the code knows, and no others.

Rehearsals do not validate the options of roles, and the tables of their READMEs have no choices.
"""

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import connections, pairs
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import cases

ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
SPECS = {
    path.parents[1].name: yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
    for path in sorted(ROLES.glob("*/meta/argument_specs.yml"))
}
OF_ROLES = {name: case for name, case in cases().items() if "role" in case}


def options(role, entry="main"):
    return (SPECS[role].get(entry) or SPECS[role]["main"]).get("options") or {}


def problems(role, entry, given):
    """What is wrong with the variables of a role, as ansible-core says it; expressions are not rendered here."""
    known = options(role, entry)
    values = {name: value for name, value in given.items() if name in known and "{{" not in str(value)}
    spec = {name: {**option, "required": False} for name, option in known.items()}
    return ArgumentSpecValidator(spec).validate(values).error_messages


@pytest.mark.parametrize("name", OF_ROLES)
def test_what_a_rehearsed_case_gives_is_accepted(name):
    case = OF_ROLES[name]
    assert problems(case["role"], case.get("tasks_from", "main"), case["variables"]) == []


def tasks_named(role):
    return {path.stem for path in (ROLES / role / "tasks").glob("*.yml")}


CHOICES = {
    "cann_method": ["run", "package_manager", "none"],
    "cann_hardware": ["a2", "a3", "910a", "310p", "950"],
    "host_check_ping": ["plan", "ring", "full", "none"],
    "host_check_tcp": ["listen", "connect", "none"],
    "kthena_state": ["present", "checked", "resolved", "verified", "rolled_back", "restarted", "absent"],
    "monitoring_collector": ["collector", "proxies", "logs"],
    "mooncake_method": ["auto", "wheel", "source"],
    "mooncake_dependencies_method": ["auto", "script", "packages"],
    "router_script_origin": ["sdist", "tree", "image"],
    "router_frontend": ["none", "haproxy"],
    "router_balancer": ["none", "haproxy"],
    "service_docker_pull": ["never", "missing", "always"],
    "system_packages_repository_type": ["deb", "rpm"],
    "vllm_ascend_method": ["wheels", "source"],
}


def limited():
    """Each option of a role that takes some values only, and these; of lists those of a member."""
    for specs in SPECS.values():
        for entry in specs.values():
            for name, option in (entry.get("options") or {}).items():
                if "choices" in option:
                    yield name, option["choices"]


def test_a_role_takes_the_values_that_it_documents():
    """A value that is gone here is refused, although the tasks know it."""
    assert dict(limited()) == CHOICES


def test_modes_of_the_check_are_those_of_the_code():
    assert set(CHOICES["host_check_ping"]) == set(pairs.MODES)
    assert set(CHOICES["host_check_tcp"]) == set(connections.MODES)


def test_each_way_of_getting_cann_has_its_tasks():
    assert set(CHOICES["cann_method"]) <= tasks_named("cann")


def lists(items):
    for name, option in items.items():
        if option.get("type") == "list":
            yield name, option
        yield from lists(option.get("options") or {})


@pytest.mark.parametrize("role", SPECS)
def test_lists_say_what_their_members_are(role):
    """Without it, ansible-core accepts any member, and the first task that uses it fails."""
    for entry in SPECS[role].values():
        assert [name for name, option in lists(entry.get("options") or {}) if "elements" not in option] == []


MOMENTS = {
    "roles/host_check/tasks/main.yml": 'reference: "{{ now().timestamp() }}"',  # clocks of hosts are compared with it
    "roles/host_check/tasks/report.yml": "date: \"{{ now(utc=true, fmt='%Y-%m-%d %H:%M UTC') }}\"",
    "playbooks/shared/acceptance.yml": "date: \"{{ now(utc=true, fmt='%Y-%m-%d %H:%M UTC') }}\"",
}


@pytest.mark.parametrize("file", MOMENTS)
def test_what_records_leave_out_is_given(file):
    """The records of rehearsals have no argument that differs for each run."""
    assert (ROLES.parent / file).read_text(encoding="utf-8").count(MOMENTS[file]) == 1


def included(items):
    """The variables with which tasks include the role system_packages."""
    for item in items:
        for verb in ("ansible.builtin.include_role", "ansible.builtin.import_role"):
            role = item.get(verb, {})
            if role.get("name") == "ascend.inference.system_packages" and "tasks_from" not in role:
                yield item.get("vars", {})
        for part in ("tasks", "block", "rescue", "always"):
            yield from included(item.get(part) or [])


def test_who_installs_packages_says_what_they_are_for():
    """Where they cannot be installed, the message says what needs them."""
    found, silent = 0, []
    for path in sorted([*ROLES.glob("*/tasks/**/*.yml"), *(ROLES.parent / "playbooks").rglob("*.yml")]):
        for given in included(yaml.safe_load(path.read_text(encoding="utf-8")) or []):
            found += 1
            silent += [] if given.get("system_packages_purpose") else [str(path.relative_to(ROLES.parent))]
    assert silent == [] and found > 5
