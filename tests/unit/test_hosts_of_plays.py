# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of each play are known although an earlier play set none of the facts that they are made of.

A play was left out, was skipped by a tag, or another runtime is planned: if it cannot evaluate them, Ansible ends the run.
"""

from __future__ import annotations

import pathlib
import re

import jinja2
import jinja2.nativetypes
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Missing(jinja2.StrictUndefined):
    """As in Ansible: a part of what is undefined is undefined as well."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key):
        return self


def plays():
    """Each play whose hosts are an expression, by FILE: NAME."""
    found = {}
    for path in sorted((ROOT / "playbooks").rglob("*.yml")):
        for play in yaml.safe_load(path.read_text(encoding="utf-8")) or ():
            if "{{" in str(play.get("hosts", "")):
                found[f"{path.relative_to(ROOT)}: {play['name']}"] = play
    return found


PLAYS = plays()


def evaluated(text, variables):
    environment = jinja2.nativetypes.NativeEnvironment(undefined=Missing)
    environment.filters.update(
        bool=lambda value: value in (True, "true", "yes", 1),
        extract=lambda key, mapping, more=None: mapping[key] if more is None else mapping[key].get(more, Missing()),
    )
    environment.filters["ascend.inference._visible"] = str
    environment.filters["length"] = lambda items: len(list(items))
    environment.filters["flatten"] = lambda rows: [item for row in rows for item in row]
    environment.filters["zip"] = zip
    environment.globals["query"] = lambda *dummy: []
    names = set(re.findall(r"\| (ascend\.inference\.\w+)", text)) - set(environment.filters)
    environment.filters.update({name: lambda value, *dummy: value for name in names})
    return environment.from_string(text).render(variables)


@pytest.mark.parametrize("name", sorted(PLAYS))
@pytest.mark.parametrize("limited", [False, True])
def test_hosts_can_be_evaluated_though_nothing_is_known(name, limited):
    play = PLAYS[name]
    variables = {"hostvars": {"localhost": {}}, "groups": {}, "ansible_check_mode": False, "ansible_play_hosts_all": []}
    if limited:
        variables["ansible_limit"] = "n1"
    for key, value in (play.get("vars") or {}).items():
        if re.search(rf"\b{key}\b", play["hosts"]):
            variables[key] = evaluated(str(value), variables)
    assert isinstance(evaluated(play["hosts"], variables), list | str)


@pytest.mark.parametrize("name", sorted(PLAYS))
def test_hosts_depend_on_no_variable_that_only_extra_variables_could_set(name):
    """Ansible chooses hosts before it reads the variables of the inventory, so one of group_vars would be left out in silence."""
    bare = re.findall(r"(?<![\w.'\"])inference_\w+", PLAYS[name]["hosts"].replace("hostvars['localhost']['", "read['"))
    assert bare == [], "write hostvars['localhost']['NAME']"
