# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where sudo is not allowed, Ansible becomes root by su: what the collection asks hosts works with it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
import yaml
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM

SHARED = pathlib.Path(__file__).resolve().parents[2] / "playbooks/shared"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whom su asks for no password")
@pytest.mark.parametrize("pipelining", ["True", "False"])
def test_a_module_and_a_command_run_through_su(tmp_path, pipelining):
    """The command is the one that reads where instances run, with all its quotes."""
    read = yaml.safe_load((SHARED / "places.yml").read_text(encoding="utf-8"))[0]["vars"]["__inference_read_placement"]
    (tmp_path / "placement.json").write_text('{"a": "it\'s"}', encoding="utf-8")
    (tmp_path / "placement.json").chmod(0o640)
    play = {
        "hosts": "all",
        "gather_facts": False,
        "become": True,
        "become_method": "su",
        "vars": {"read": read},
        "tasks": [
            {"ascend.inference.deployed_plan_info": {"directory": str(tmp_path)}},
            {
                "ansible.builtin.raw": f"/bin/sh -c {{{{ read | quote }}}} sh {{{{ '{tmp_path}' | quote }}}}",
                "register": "found",
            },
            {"ansible.builtin.assert": {"that": ["found.stdout | trim == text"]}, "vars": {"text": '{"a": "it\'s"}'}},
        ],
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    argv = [
        PROGRAM,
        "-c",
        "local",
        "-i",
        "n1,",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
        tmp_path / "play.yml",
    ]
    given = {"ANSIBLE_HOME": str(tmp_path), "ANSIBLE_PIPELINING": pipelining, "ANSIBLE_BECOME_ALLOW_SAME_USER": "1"}
    run = subprocess.run(argv, env={**os.environ, **given}, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0 and "ok=3" in run.stdout, run.stdout + run.stderr
