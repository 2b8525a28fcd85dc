# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks that need what an earlier one installs or deploys say so at once."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.filter.lost import lost
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connection import cause
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import ready

ROOT = pathlib.Path(__file__).resolve().parents[4]


def plan(contained=False):
    services = [
        {
            "name": name,
            "host": host,
            "argv": [program, "serve"],
            "scripts": {"run": f"/d/{name}/run.sh", "environment": "/d/e.sh"},
        }
        for name, host, program in (
            ("decode-0", "n1", "/venv/bin/vllm"),
            ("decode-1", "n2", "/venv/bin/vllm"),
            ("prefill-0", "n1", "/venv/bin/vllm"),
            ("probe", "n1", "python3"),
        )
    ]
    return {"services": services, "runtime_facts": {"contained": contained}}


@pytest.mark.parametrize(
    ("kinds", "names", "contained", "expected"),
    [
        (["installed"], [], False, ["/venv/bin/vllm"]),
        (["installed"], [], True, []),  # the container engine fetches images, or names them
        (["deployed"], [], True, ["/d/decode-0/run.sh", "/d/prefill-0/run.sh", "/d/probe/run.sh"]),
        (["deployed", "installed"], ["prefill-0"], False, ["/d/prefill-0/run.sh", "/venv/bin/vllm"]),
        ([], [], False, []),
    ],
)
def test_what_is_looked_for_on_a_host(kinds, names, contained, expected):
    assert ready.needed(plan(contained), "n1", kinds, names) == expected


def test_a_missing_program_is_named_with_the_services_and_the_playbook():
    (text,) = ready.refusals(plan(), {"n1": "lacks /venv/bin/vllm\r\n", "n2": "", "n3": "lacks /other"})
    assert text.startswith("/venv/bin/vllm on n1: not there, and decode-0, prefill-0 would end at each start")
    assert "Fix: run ascend.inference.prepare" in text and "decode-1" not in text


def test_a_service_that_is_not_deployed_is_named_before_its_program():
    (text,) = ready.refusals(
        plan(), {"n1": "lacks /venv/bin/vllm\nlacks /d/decode-0/run.sh", "n2": "lacks /d/decode-1/run.sh"}
    )
    assert text.startswith("decode-0 on n1, decode-1 on n2: not deployed") and "Fix: run ascend.inference.site" in text


@pytest.mark.parametrize("printed", [{}, {"n1": "", "n2": "sudo: lacks /venv/bin/vllm"}, {"n1": "sh: 1: not found"}])
def test_what_a_host_does_not_say_is_not_missing(printed):
    assert ready.refusals(plan(), printed) == []


def test_hosts_print_what_is_not_there(tmp_path):
    (play, _refuse) = yaml.safe_load((ROOT / "playbooks/shared/ready.yml").read_text(encoding="utf-8"))
    (tmp_path / "there").touch()
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    closed = tmp_path / "closed"
    closed.mkdir()
    paths = [str(tmp_path / name) for name in ("there", "broken", "a b/c", "closed/run.sh")] + ["/none"]
    argv = ["/bin/sh", "-c", play["vars"]["__inference_look_for"], "sh", *paths]
    who = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    for folder in (tmp_path, *tmp_path.parents):
        if (
            who and folder.stat().st_uid == os.geteuid() and len(folder.parts) > 2
        ):  # pytest's folders are closed for others
            folder.chmod(folder.stat().st_mode | 0o055)
    closed.chmod(0)
    found = subprocess.run(argv, capture_output=True, text=True, check=True, **who).stdout
    closed.chmod(0o755)
    lacking = [f"lacks {path}" for path in (tmp_path / "broken", tmp_path / "a b/c", "/none")]
    assert found.splitlines() == lacking


def test_hosts_that_do_not_answer_come_first():
    lost = {"n2": "Failed to connect to the host via ssh: ssh: connect to host 10.0.0.2 port 22: Connection refused"}
    (text,) = ready.refusals(plan(), {"n1": "lacks /venv/bin/vllm"}, lost)
    assert text.startswith("n2: nothing listens on the SSH port.") and "Fix: Start the SSH server" in text


@pytest.mark.parametrize(
    ("message", "frozen"),
    [
        ("Task failed: Timed out after 60 second(s).", True),
        ("The ansible.builtin.raw action failed to execute in the expected time frame (60) and was terminated", True),
        ("Failed to connect to the host via ssh: Timeout, server 10.0.0.2 not responding.", True),
        ("Failed to connect to the host via ssh: Connection timed out during banner exchange", True),
        ("ssh: connect to host 10.0.0.2 port 22: Connection timed out", False),
        ("Task failed: Missing sudo password", False),
    ],
)
def test_a_host_that_freezes_is_told_from_others(message, frozen):
    assert lost({"msg": message, "failed": True}) == {"unreachable": frozen, "msg": message}
    assert ("may be frozen" in cause(message)[0]) == frozen
