# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role's README says what the role is for, shows an example that its specification accepts, and lists its variables."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
import yaml
from ansible_collections.ascend.inference.docs import role_pages


@pytest.mark.parametrize("role", role_pages.roles(), ids=lambda role: role.name)
def test_table_is_in_step(role):
    written = (role / "README.md").read_text(encoding="utf-8")
    assert written == role_pages.readme(role), "run: python docs/role_pages.py --write"


def example(role):
    """The example of a role: what is imported before the play, the play, and the call of the role."""
    text = (role / "README.md").read_text(encoding="utf-8")
    *before, play = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)[0])
    (used,) = play["roles"]
    return before, play, used


def options_of(role):
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]
    return specs.get("options") or {}


@pytest.mark.parametrize("role", role_pages.roles(), ids=lambda role: role.name)
def test_example_uses_the_variables_of_the_role(role):
    before, _play, used = example(role)
    options = options_of(role)
    assert used["role"] == f"ascend.inference.{role.name}"
    assert sorted(set(used.get("vars", {})) - set(options)) == []
    assert sorted({name for name, option in options.items() if option.get("required")} - set(used["vars"])) == []
    plans = "ascend.inference.plan" in str(used["vars"])
    assert before == ([{"import_playbook": "ascend.inference.plan"}] if plans else []), (
        "a plan has to be made before it is used"
    )


def test_each_example_runs_until_the_role_has_accepted_its_variables(tmp_path):
    """With a plan, and the first task of each role, which compares its variables with its specification; the hosts are not contacted."""
    hosts = {
        name: {"ansible_host": f"192.0.2.{number}", "inference_interface": "eth0"}
        for number, name in enumerate("ab", 1)
    }
    groups = {"prefill": {"hosts": {"a": None}}, "decode": {"hosts": {"b": None}}}
    book, found = [{"import_playbook": "ascend.inference.plan"}], []
    for role in role_pages.roles():
        _before, play, used = example(role)
        if play["hosts"] not in ("all", "localhost", "prefill", "decode"):
            groups[play["hosts"]] = {"hosts": dict.fromkeys(hosts)}
        spec = {
            name: {key: option[key] for key in ("type", "elements", "choices", "required") if key in option}
            for name, option in options_of(role).items()
        }
        arguments = {"argument_spec": spec, "provided_arguments": used["vars"]}
        task = {"name": f"Variables of {role.name}", "ansible.builtin.validate_argument_spec": arguments}
        head = {key: play[key] for key in play if key != "roles"}
        book.append({**head, "gather_facts": False, "tasks": [task]})
        found.append(tmp_path / f"{role.name}.yml")
        found[-1].write_text(yaml.safe_dump([*_before, play]), encoding="utf-8")
    variables = {
        "inference_model": {"path": "/m/x"},
        "inference_pools": {"prefill": {}, "decode": {}},
        "inference_hardware": "a3",
    }
    inventory = {"all": {"vars": variables, "hosts": hosts, "children": groups}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
    (tmp_path / "all.yml").write_text(yaml.safe_dump(book, sort_keys=False), encoding="utf-8")
    ran = ansible_playbook(tmp_path, "all.yml")
    assert (
        ran.count("TASK [Variables of ") == len(found) == 21
        and "failed=0" in ran
        and not re.search("failed=[1-9]", ran)
    )
    ansible_playbook(tmp_path, "--syntax-check", *map(str, found))


def ansible_playbook(folder, *arguments):
    """The output of a run that ended well."""
    environment = {
        **os.environ,
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
    }
    argv = ["ansible-playbook", "-i", "hosts.yml", *arguments]
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_markup_becomes_plain_text():
    assert role_pages.plain("From C(.run) packages, or O(main:cann_method=none).\n  More|") == (
        "From `.run` packages, or `cann_method=none`. More\\|"
    )
