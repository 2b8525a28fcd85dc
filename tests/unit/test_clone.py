# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks of a clone that Ansible does not know as a collection say so; where it is installed they find it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_COLLECTIONS_PATHS", "PYTHONPATH", "ANSIBLE_CONFIG")
PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))


def syntax_check(playbook, folder, **environment):
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "--syntax-check", "-i", "localhost,", playbook]
    inherited = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    return subprocess.run(
        command, cwd=folder, env={**inherited, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(name="clone")
def fixture_clone(tmp_path):
    """What a clone has of itself, without an installed collection anywhere."""
    folder = tmp_path / "clone"
    shutil.copytree(ROOT / "playbooks", folder / "playbooks")
    shutil.copy(ROOT / "ansible.cfg", folder)
    return folder


@pytest.mark.parametrize("name", ["site", "status"])
def test_a_clone_names_what_is_missing(name, clone):
    found = syntax_check(f"playbooks/{name}.yml", clone, ANSIBLE_COLLECTIONS_PATH=str(clone / "none"), HOME=str(clone))
    assert found.returncode != 0
    text = " ".join(found.stderr.split())
    assert "Ansible does not find the collection ascend.inference" in text
    assert 'eval "$(make -s env)"' in text
    assert "resolve module" not in text


def test_a_collection_beside_a_playbook_is_found(clone):
    project = clone.parent / "project"
    folder = project / "collections" / "ansible_collections" / "ascend" / "inference"
    folder.mkdir(parents=True)
    for name in ("playbooks", "plugins", "roles", "meta"):
        (folder / name).symlink_to(ROOT / name)
    (project / "own.yml").write_text(
        "- name: All\n  ansible.builtin.import_playbook: ascend.inference.plan\n", encoding="utf-8"
    )
    found = syntax_check("own.yml", project, ANSIBLE_COLLECTIONS_PATH=str(clone / "none"), HOME=str(clone))
    assert found.returncode == 0, found.stderr


def test_an_installed_collection_is_found_from_a_clone(clone):
    folder = clone / "installed" / "ansible_collections" / "ascend" / "inference"
    folder.mkdir(parents=True)
    for name in ("playbooks", "plugins", "roles", "meta"):
        (folder / name).symlink_to(ROOT / name)
    found = syntax_check(
        "playbooks/plan.yml", clone, ANSIBLE_COLLECTIONS_PATH=str(clone / "installed"), HOME=str(clone)
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_every_playbook_begins_with_this_check(name):
    """The import of shared/planned.yml or shared/deployed.yml, directly or by another playbook, comes before the first module of ours."""
    text = (ROOT / "playbooks" / f"{name}.yml").read_text(encoding="utf-8")
    first = text.split("\n- ")[1].split("import_playbook: ")[-1].split()[0]
    assert (
        name in ("entry", "recipes", "usage")
        or first in ("shared/planned.yml", "shared/deployed.yml")
        or first.removesuffix(".yml") in PLAYBOOKS
    )
