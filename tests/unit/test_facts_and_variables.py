# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fact that a play sets replaces a variable of a later play on the same host with the same name, which then is not what that play says."""

from __future__ import annotations

import pathlib

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2] / "playbooks"
PARTS = ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always")
SAME = [("status_body.yml", "__inference_left_out")]  # has the value of the fact
INCLUDES = ("ansible.builtin.include_tasks", "ansible.builtin.import_tasks")


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8")) or []


def plays(path):
    """The plays of a playbook in their order, each with its file."""
    for play in read(path):
        if "ansible.builtin.import_playbook" in play:
            file = play["ansible.builtin.import_playbook"]
            yield from plays(path.parent / ("controller.yml" if "'controller.yml'" in file else file))
        else:
            yield path, play


def facts(path, items):
    """Names of facts and results of tasks, also of files that are included."""
    for task in items or []:
        yield from task.get("ansible.builtin.set_fact") or {}
        yield from [task["register"]] if "register" in task else []
        for part in PARTS:
            yield from facts(path, task.get(part))
        for file in (task[name] for name in INCLUDES if isinstance(task.get(name), str)):
            if (path.parent / file).is_file():
                yield from facts(path.parent / file, read(path.parent / file))


def replaced(listed):
    """``FILE: PLAY: NAME`` of each variable of a play on the controller that an earlier play there, of another file, has set as a fact."""
    known = {}
    for path, play in listed:
        if "localhost" not in str(play["hosts"]).replace("hostvars['localhost']", ""):
            continue
        for name in play.get("vars") or {}:
            if known.get(name, path) != path and (path.name, name) not in SAME:
                yield f"{path.name}: {play['name']}: {name}"
        known.update(dict.fromkeys([name for part in PARTS for name in facts(path, play.get(part))], path))


@pytest.mark.parametrize("playbook", sorted(path.name for path in ROOT.glob("*.yml")))
def test_no_fact_replaces_the_variable_of_a_later_play(playbook):
    assert list(replaced(plays(ROOT / playbook))) == []


def test_the_search_sees_one():
    first = {"name": "a", "hosts": "localhost", "tasks": [{"block": [{"ansible.builtin.set_fact": {"x": 1}}]}]}
    second = {"name": "b", "hosts": "{{ ['localhost'] if y else [] }}", "vars": {"x": 2}}
    listed = [(pathlib.Path("one"), first), (pathlib.Path("two"), second)]
    assert list(replaced(listed)) == ["two: b: x"]
