# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback compact with the ansible-core of this environment: what it leaves out of the default output, and what it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible.release import __version__

DEBUG, PYTHON = "ansible.builtin.debug", {"ansible_python_interpreter": sys.executable}
PLAYS = [
    {"name": "Nobody", "hosts": "localhost:!localhost", "tasks": [{"name": "Never", DEBUG: {"msg": "never"}}]},
    {"name": "Needless", "hosts": "localhost", "tasks": [{"name": "Skipped", DEBUG: {"msg": "no"}, "when": False}]},
    {
        "name": "Useful",
        "hosts": "localhost",
        "tasks": [
            {"name": "Included file", "ansible.builtin.include_tasks": "more.yml"},
            {"name": "Changed", "ansible.builtin.command": "true"},
        ],
    },
    {
        "name": "Broken",
        "hosts": "localhost",
        "tasks": [{"name": "Fails", "ansible.builtin.fail": {"msg": "the reason"}}],
    },
    {"name": "After it", "hosts": "localhost", "tasks": [{"name": "Too late", DEBUG: {"msg": "no"}}]},
]

# A filter of a playbook refuses the settings that it gets, before it needs anything else.
REFUSING = "{{ {} | ascend.inference._drill_runs({'faults': 3}, '', []) }}"


@pytest.fixture(name="printed")
def fixture_printed(tmp_path):
    """What a run of these plays prints, with further variables of the environment."""

    def run(plays=PLAYS, inventory="localhost,", **more):
        plays = [{**play, "gather_facts": False, "connection": "local", "vars": PYTHON} for play in plays]
        (tmp_path / "play.yml").write_text(json.dumps(plays))
        (tmp_path / "more.yml").write_text(json.dumps([{"name": "From the file", DEBUG: {"msg": "hello"}}]))
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("ANSIBLE_") or "COLLECTIONS" in name
        }
        given = {"ANSIBLE_HOME": str(tmp_path), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false"}
        environment = {**kept, **given, "ANSIBLE_STDOUT_CALLBACK": "ascend.inference.compact", **more}
        command = ["ansible-playbook", "-i", inventory, "play.yml"]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 2 and "callback" not in done.stderr.lower(), done.stderr
        return done.stdout + done.stderr

    return run


def headings(text):
    return [
        line.split("]")[0].partition(" [")[2] for line in text.splitlines() if line.startswith(("PLAY [", "TASK ["))
    ]


def test_only_what_has_a_result_is_printed_and_a_refusal_is_its_text(printed):
    text = printed()
    assert headings(text) == ["Useful", "From the file", "Changed", "Broken", "Fails"]
    assert "no hosts matched" not in text and "included" not in text
    assert "hello" in text and "failed=1" in text
    assert text.count("the reason") == 1 and "play.yml" not in text and "Origin" not in text


def test_beside_options_of_the_default(printed):
    assert headings(printed(ANSIBLE_DISPLAY_OK_HOSTS="false")) == ["Useful", "Changed", "Broken", "Fails"]


def test_a_refusal_of_a_condition(printed, monkeypatch):
    check = {"name": "Fails", "ansible.builtin.assert": {"that": "1 > 2", "fail_msg": "the reason"}}
    monkeypatch.setitem(PLAYS[3], "tasks", [check])
    text = printed()
    assert text.count("the reason") == 1 and "1 > 2" not in text and "play.yml" not in text and "evaluated" not in text


@pytest.mark.skipif(__version__.startswith(("2.17.", "2.18.")), reason="they print it twice, in a text of their own")
def test_a_refusal_of_settings_is_printed_once_without_the_filter(printed, monkeypatch):
    monkeypatch.setitem(PLAYS[3], "tasks", [{"name": "Fails", "ansible.builtin.set_fact": {"made": REFUSING}}])
    text = printed()
    assert text.count("Refused: 1 error. No host was changed.") == text.count("[VARIABLE-TYPE]") == 1
    assert "_drill_runs" not in text and "play.yml" not in text and "Origin" not in text


def test_another_failure_says_where_it_stands(printed, monkeypatch):
    monkeypatch.setitem(PLAYS[3], "tasks", [{"name": "Fails", "ansible.builtin.command": "false"}])
    assert "non-zero return code" in printed()


def test_a_text_of_several_hosts_is_printed_once(printed):
    task = {
        "name": "Fails",
        "ansible.builtin.fail": {"msg": "{{ 'another reason' if inventory_hostname == 'n3' else 'the reason' }}"},
    }
    plays = [{"name": "Broken", "hosts": "all", "tasks": [{**task, "ignore_errors": True}, task]}]
    text = printed(plays, "n1,n2,n3,n4,")
    assert (text.count("the reason"), text.count("another reason")) == (2, 2)
    short = [line.partition("]: as on ")[0] for line in text.splitlines() if "]: as on " in line]
    # Which of the others is the first one differs from run to run.
    assert len(short) == 4 and "fatal: [n3" not in short


def test_failures_with_the_same_message_and_another_output_are_both_printed(printed):
    task = {"name": "Fails", "ansible.builtin.shell": "echo why on {{ inventory_hostname }} >&2; exit 3"}
    text = printed([{"name": "Broken", "hosts": "all", "tasks": [task]}], "n1,n2,")
    assert "why on n1" in text and "why on n2" in text and "]: as on " not in text
