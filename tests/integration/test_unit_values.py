# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the role service that are written into units, supervisord.conf and containers cannot add lines or options to them."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import jinja2
import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.install import venv
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE

ROLE = pathlib.Path(venv.__file__).absolute().parents[3] / "roles/service"
OPTIONS = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
NOT_WRITTEN = {
    "service_plan": "validated by the planner, which refuses control characters",
    "service_full_plan": "as service_plan",
    "service_record": "stored as JSON",
    "service_secrets": "quoted in secrets.sh",
    "service_stop_first": "a condition",
    "service_allow_pause": "a condition",
    "service_unlock": "a condition",
    "service_names": "compared with names of the plan",
    "service_leaving": "names of hosts, given to a module",
    "service_lock": "options of a module",
    "service_round": "made from the plan",
    "service_old_plan": "made from the plan",
    "service_tools": "a path for modules",
    "service_executables": "paths for modules, which start them without a shell",
    "service_host": "facts",
    "service_installed": "facts",
}
PLANTED = [
    ("5", "\nExecStartPre=+/bin/touch /planted"),
    ("50m", "\ncommand=/bin/touch /planted"),
    ("missing", "\r\nUser=root"),
    ("x", "\x1b[2J"),
    ("x", " --privileged"),
    ("", "--privileged"),
]
GOOD = [
    ("service_systemd_steady", 7),
    ("service_systemd_restart_delay", "0.5"),
    ("service_systemd_restart_delay_max", 5),
    ("service_docker_log_size", "-1"),
    ("service_docker_log_size", "1gb"),
    ("service_supervisor_log_size", "10MB"),
    ("service_driver_group", ""),
    ("service_driver_group", "HwHiAiUser"),
    ("service_user", "_x.y-z"),
]


DELAY, MOST = "service_systemd_restart_delay", "service_systemd_restart_delay_max"
SHRINKS = [{MOST: 0}, {MOST: "4.5"}, {DELAY: 61}, {DELAY: 9, MOST: 8}]


def written():
    """The options that are not named in NOT_WRITTEN."""
    return sorted(set(OPTIONS) - set(NOT_WRITTEN))


def block(label, values):
    return {
        "name": f"Try {label}",
        "block": [
            {
                "name": "Include the role",
                "ansible.builtin.include_role": {"name": "ascend.inference.service", "tasks_from": "values"},
                "vars": {"service_plan": {"user": "", "root": "/nowhere"}, **values},
            },
            {"name": "Report", "ansible.builtin.debug": {"msg": f"ACCEPTED {label} END"}},
        ],
        "rescue": [
            {
                "name": "Report",
                "ansible.builtin.debug": {"msg": f"REFUSED {label} {{{{ ansible_failed_result.msg }}}} END"},
            }
        ],
    }


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The reports of all attempts in one text."""
    folder = tmp_path_factory.mktemp("values")
    tasks = [
        block(f"{name}.{index}", {name: start + planted})
        for name in written()
        for index, (start, planted) in enumerate(PLANTED)
    ]
    tasks += [block(f"shrinks.{index}", values) for index, values in enumerate(SHRINKS)]
    tasks += [block(f"good.{index}", {name: value}) for index, (name, value) in enumerate(GOOD)]
    tasks += [block("defaults", {}), block("all", {name: "5\nx" for name in written()})]
    book = [{"name": "Test", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]
    (folder / "book.yml").write_text(json.dumps(book))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
    }
    python = f"ansible_python_interpreter={sys.executable}"
    argv = [str(PROGRAM), "-i", "localhost,", "-e", python, str(folder / "book.yml")]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("name", written())
def test_a_value_with_a_line_end_a_control_character_or_an_option_is_refused(reports, name):
    for index in range(len(PLANTED)):
        assert f"REFUSED {name}.{index} localhost: {name} has a value that could add lines" in reports, reports


def test_usual_values_and_the_defaults_are_accepted(reports):
    for label in ["defaults", *(f"good.{index}" for index in range(len(GOOD)))]:
        assert f"ACCEPTED {label} END" in reports, reports


def test_a_restart_delay_that_would_shrink_is_refused(reports):
    for index in range(len(SHRINKS)):
        message = reports.partition(f"REFUSED shrinks.{index} ")[2].partition(" END")[0]
        assert "Fix: set service_systemd_restart_delay_max to" in message, (SHRINKS[index], message)


def test_all_wrong_values_are_reported_at_once_and_without_their_text(reports):
    message = reports.partition("REFUSED all ")[2].partition(" END")[0]
    assert all(name in message for name in written()), message
    assert "have a value" in message and "5 x" not in message


def test_other_options_are_not_written_into_lines():
    safe = (
        "service_secrets[secret] | string | quote",
        "__service_engine_key: ",
        "__service_secret_digests: ",  # hexadecimal digits
        "service_installed.account",
        "(service_installed if __service_account_known",
        "{'half': service_round.half}",  # an option of a module
        'leaving: "{{ service_leaving }}"',  # options of another one
        'allow_pause: "{{ service_allow_pause | bool }}"',
        "'recreate' if service_stop_first else 'deploy'",  # a condition
    )  # quoted; an option of modules, with no_log; a name of a group that the host has, and a number
    places = [*(ROLE / "templates").rglob("*.j2"), ROLE / "vars/main.yml"]
    text = "\n".join(
        line for place in places for line in place.read_text().splitlines() if not any(part in line for part in safe)
    )
    for name in set(NOT_WRITTEN) - {"service_plan", "service_full_plan"}:
        assert not re.search(rf"\b{name}\b", text), (
            f"{name} is used in a template or the settings of a runtime: check its value"
        )


def test_the_values_are_checked_before_anything_is_written():
    for file in ("write", "preflight", "user"):
        tasks = yaml.safe_load((ROLE / f"tasks/{file}.yml").read_text())
        assert tasks[0].get("ansible.builtin.import_tasks") == "values.yml", file


@pytest.mark.parametrize("value", ["a\nexport PLANTED=1", "'; PLANTED=1; '", "$(export PLANTED=1)\r\x1b", '"\\'])
def test_secrets_stay_one_value_of_the_shell(tmp_path, value):
    environment = jinja2.Environment(trim_blocks=True)
    environment.filters["quote"] = shlex.quote
    template = environment.from_string((ROLE / "templates/secrets.sh.j2").read_text())
    (tmp_path / "secrets.sh").write_bytes(
        template.render(
            item={"name": "a", "secret_env": {"KEY": "k"}},
            service_secrets={"k": value},
            __service_secret_digests={"a": "0f"},
        ).encode()
    )
    script = '. "$1"; printf "%s|%s" "$KEY" "${PLANTED:-}"'
    done = subprocess.run(["sh", "-c", script, "sh", str(tmp_path / "secrets.sh")], capture_output=True, check=True)
    assert done.stdout.decode() == value + "|"
