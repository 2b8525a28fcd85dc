# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A text of a host that becomes a fact of the controller is no template there: ansible-core before 2.19 trusts what a filter returns."""

from __future__ import annotations

import os
import subprocess
import sys

PLAY = """
- name: Go back
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Answer as a host does
      ansible.builtin.command: "cat reason"
      changed_when: false
      register: answer
    - name: Record the reason
      ansible.builtin.set_fact:
        __inference_upgrade: {stage: failed, reason: "{{ answer.stdout }}"}
    - name: Decide on a rollback
      ansible.builtin.set_fact:
        outcome: "{{ hostvars | ascend.inference._upgrade_outcome(['localhost'], '1.0') }}"
    - name: Record what is at the path of a model
      ansible.builtin.set_fact:
        __model_state: {exists: true, record: {digest: x, source: "{{ answer.stdout }}"}, differences: []}
    - name: Choose who copies from whom
      ansible.builtin.set_fact:
        round: "{{ hostvars | ascend.inference._model_round(['localhost'], 'modelscope:a/b', []) }}"
    - name: Show what is there
      ansible.builtin.debug:
        msg: "{{ round.problems.values() | join }}"
    - name: Show the outcome
      ansible.builtin.debug:
        msg: "{{ outcome.message }}"
"""


def test_a_text_that_a_filter_returns_runs_nothing(tmp_path):
    (tmp_path / "reason").write_text("{{ lookup('ansible.builtin.pipe', 'touch planted') }}")
    (tmp_path / "play.yml").write_text(PLAY)
    known = {
        name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_") or "COLLECTIONS" in name
    }
    environment = {**known, "ANSIBLE_HOME": str(tmp_path / "ansible"), "ANSIBLE_NOCOLOR": "1"}
    command = ["ansible-playbook", "-i", "localhost,", "-e", f"ansible_python_interpreter={sys.executable}", "play.yml"]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was not verified: {{ lookup(" in done.stdout
    assert "the model at the path is {{ lookup(" in done.stdout
    assert not (tmp_path / "planted").exists()
