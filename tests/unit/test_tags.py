# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tags that choose nothing are refused by the first task that is left, in each playbook: Ansible would end with exit status 0."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAYBOOKS = ROOT / "playbooks"
PUBLIC = sorted(path.name for path in PLAYBOOKS.glob("*.yml"))
REFUSAL = "Refuse tags that choose nothing"


def plays_of(path):
    """The plays of a playbook and of those that it imports, with the folder of each. The path of the controller's is a template."""
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        imported = str(entry.get("ansible.builtin.import_playbook", ""))
        if "controller.yml" in imported:
            yield from plays_of(PLAYBOOKS / "shared/controller.yml")
        elif imported:
            yield from plays_of(path.parent / imported)
        else:
            yield path.parent, entry


def tasks_of(folder, tasks):
    """The tasks, also imported ones; those in blocks not, which no guard may be in."""
    for task in tasks:
        imported = task.get("ansible.builtin.import_tasks")
        if imported and imported.endswith("tags.yml"):
            yield from yaml.safe_load((folder / imported).read_text(encoding="utf-8"))
        else:
            yield task


@pytest.mark.parametrize("name", PUBLIC)
def test_each_playbook_refuses_them_before_it_asks_a_host(name):
    for folder, play in plays_of(PLAYBOOKS / name):
        found = list(tasks_of(folder, play["tasks"]))
        if any(task["name"] == REFUSAL for task in found):
            break
        assert all("always" in task.get("tags", ()) for task in found), f"{play['name']} comes before the refusal"
    else:
        pytest.fail(f"{name}: no play has the task {REFUSAL!r}; import shared/planned.yml, or shared/tags.yml")
    names = [task["name"] for task in found]
    before = found[: names.index(REFUSAL)]
    assert any(task.get("register") == "__inference_untagged" and not task.get("tags") for task in before)


def run(playbook, *options):
    command = ["ansible-playbook", "-i", str(ROOT / "inventories/local"), str(PLAYBOOKS / playbook), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 # ours
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tags", "verify"], "--tags verify leaves out everything"),
        (["--skip-tags", "untagged"], "--skip-tags untagged leaves out everything"),
        (["--tags", "verify", "--limit", "this_machine"], "excludes localhost"),
    ],
)
def test_tags_that_choose_nothing_are_refused(options, words):
    status, text = run("site.yml", *options)
    assert (status, words in text) == (2, True), text
    assert "skip-tags always" not in text


@pytest.mark.parametrize(
    ("options", "plans"),
    [
        (["--skip-tags", "molecule-notest,notest"], True),
        (["--tags", "untagged"], True),
        (["--tags", "mine", "--skip-tags", "ascend_inference_tags"], False),
    ],
)
def test_others_are_not(options, plans):
    status, text = run("plan.yml", *options)
    assert (status, "SERVICE    HOST" in text) == (0, plans), text


@pytest.mark.parametrize("tag", ["mine", "other"])
def test_a_tag_of_an_own_playbook_that_imports_one(tag, tmp_path):
    own = [
        {
            "name": "Plan",
            "ansible.builtin.import_playbook": str(PLAYBOOKS / "plan.yml"),
            "tags": ["mine"],
        }
    ]
    path = tmp_path / "own.yml"
    path.write_text(yaml.safe_dump(own), encoding="utf-8")
    status, text = run(path, "--tags", tag)
    assert (status, "leaves out everything" in text) == ((0, False) if tag == "mine" else (2, True)), text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("all:\n  hosts:\n   a: {}\n\tb: 1\n", "the first warning names the line"),
        ("all: {hosts: {}}\n", "add the hosts"),
    ],
)
def test_an_inventory_without_hosts_names_where_the_cause_stands(text, words, tmp_path):
    path = tmp_path / "hosts.yml"
    path.write_text(text, encoding="utf-8")
    command = ["ansible-playbook", "-i", str(path), str(PLAYBOOKS / "plan.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 # ours
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2
    assert words in said
    assert "-i INVENTORY" not in said
