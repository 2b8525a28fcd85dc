# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a host that choose a program, a socket or a folder of the controller are refused before a module of this collection connects."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import ansible
import pytest
from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.vars.clean import clean_facts
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.asked import Asked, restrict

PLUGINS = pathlib.Path(ansible.__file__).parent / "plugins"
COMMAND = pathlib.Path(sys.executable).parent


def told(*argv):
    """What a program of the installed ansible-core prints as JSON."""
    variables = {**os.environ, "ANSIBLE_STDOUT_CALLBACK": "", "ANSIBLE_INJECT_FACT_VARS": "True"}
    run = subprocess.run([COMMAND / argv[0], *argv[1:]], env=variables, capture_output=True, text=True, check=True)
    return json.loads(run.stdout[run.stdout.index("{") :])


def documented_variables():
    """As ``ansible-doc`` has them, with the fragments of each plugin."""
    found = set()
    for kind in ("become", "connection", "shell"):
        plugins = sorted(path.stem for path in (PLUGINS / kind).glob("[a-z]*.py"))
        for plugin in told("ansible-doc", "-t", kind, "--json", *plugins).values():
            for option in plugin["doc"].get("options", {}).values():
                found |= {each["name"] for each in option.get("vars", ())}
    return {name for name in found if name.isidentifier()}  # delegated_vars['ansible_host'] is no name of a variable


def said(facts, monkeypatch, injected=True):
    monkeypatch.setattr(constants, "INJECT_FACTS_AS_VARS", injected)
    with pytest.raises((AnsibleActionFail, AttributeError)) as caught:  # without a task, what goes on ends at once
        Asked.run(object.__new__(Asked), None, {"inventory_hostname": "a", "ansible_facts": facts})
    return str(caught.value) if caught.type is AnsibleActionFail else ""


def test_each_variable_of_a_connection_is_refused_as_a_fact(monkeypatch):
    """As Ansible has facts: without ``ansible_`` in front."""
    names = documented_variables()
    known = ("sftp_executable", "scp_executable", "control_path", "control_path_dir", "host_key_checking", "sudo_exe")
    assert names >= {f"ansible_{name}" for name in known}
    for name in names:
        assert name.removeprefix("ansible_") in said({name.removeprefix("ansible_"): "x"}, monkeypatch), name
    assert not said(dict.fromkeys(known, "x"), monkeypatch, injected=False)


def test_ansible_makes_no_variables_of_them(monkeypatch):
    """Of facts that its own modules bring. It keeps those that begin like a host's own keys, which choose nothing but for this host."""
    monkeypatch.setattr(constants, "INJECT_FACTS_AS_VARS", True)
    monkeypatch.setattr(constants, "RESTRICTED_RESULT_KEYS", constants.RESTRICTED_RESULT_KEYS)
    names = documented_variables() - {"ansible_ssh_host_key_checking"}
    before = set(clean_facts(dict.fromkeys(names, "x")))
    assert {"ansible_sftp_executable", "ansible_control_path", "ansible_host_key_checking"} <= before
    restrict()
    restrict()
    assert set(clean_facts(dict.fromkeys([*names, "ansible_distribution"], "x"))) == {"ansible_distribution"}


def test_facts_of_an_honest_host_are_not(monkeypatch):
    facts = told("ansible", "localhost", "-c", "local", "-m", "ansible.builtin.setup", "-o")["ansible_facts"]
    names = {name.removeprefix("ansible_"): item for name, item in facts.items()}
    assert len(names) > 50 and not said({**names, "discovered_interpreter_python": "/usr/bin/python3"}, monkeypatch)
