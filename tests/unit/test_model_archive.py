# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role model installs what unpacks an archive, and only if the host lacks it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: ascend.inference.model, tasks_from: tools}
"""
RECORD = """
- ansible.builtin.copy: {content: "{{ system_packages_names | to_json }}", dest: "{{ record }}", mode: "0644"}
"""


@pytest.fixture(name="installed")
def fixture_installed(tmp_path):
    """Runs the tasks with a role system_packages that only records the names; the host has the given programs."""
    collection = tmp_path / "ansible_collections" / "ascend" / "inference"
    packages = collection / "roles" / "system_packages" / "tasks"
    packages.mkdir(parents=True)
    (packages / "main.yml").write_text(RECORD, encoding="utf-8")
    for name in ("plugins", "meta", "roles/model"):
        (collection / name).symlink_to(ROOT / name)
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    programs = tmp_path / "programs"
    programs.mkdir()
    for path in {path.name: path for folder in ("/bin", "/usr/bin") for path in Path(folder).iterdir()}.values():
        if path.name not in ("unzip", "xz"):
            (programs / path.name).symlink_to(path)

    def run(origin, has=()):
        for name in has:
            (programs / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (programs / name).chmod(0o755)
        record = tmp_path / "record.json"
        variables = {
            "model_origin": origin,
            "record": str(record),
            "ansible_facts": {"pkg_mgr": "apt"},
            "ansible_python_interpreter": sys.executable,
            "ansible_shell_executable": "/bin/sh",
        }
        command = [
            str(Path(sys.executable).with_name("ansible-playbook")),
            "-i",
            "localhost,",
            "play.yml",
            "-e",
            json.dumps(variables),
        ]
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path), "PATH": str(programs)}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(record.read_text(encoding="utf-8")) if record.exists() else []

    return run


def test_a_missing_program_is_installed(installed):
    assert installed("/srv/model.tar.xz") == ["xz-utils"]


def test_a_present_program_is_not_installed(installed):
    assert installed("/srv/model.zip", has=["unzip"]) == []


def test_the_archive_is_unpacked_after_its_program_is_there():
    tasks = (ROOT / "roles/model/tasks/unpack.yml").read_text(encoding="utf-8")
    assert tasks.index("include_tasks: tools.yml") < tasks.index("ansible.builtin.unarchive:")
