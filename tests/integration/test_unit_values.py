# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the role service that are written into units cannot add lines to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE

LIMITS = ("restart_delay", "restart_delay_max", "start_interval", "start_limit")
TASKS = [
    {
        "name": f"With {key} {value!r}",
        "block": [
            {
                "name": "Include the role",
                "ansible.builtin.include_role": {"name": "ascend.inference.service", "tasks_from": "user"},
                "vars": {"service_plan": {"user": "root", "root": "/nowhere"}, key: value},
            },
            {"name": "Report", "ansible.builtin.debug": {"msg": f"ACCEPTED {key}"}},
        ],
        "rescue": [
            {"name": "Report", "ansible.builtin.debug": {"msg": f"REFUSED {key} {{{{ ansible_failed_result.msg }}}}"}}
        ],
    }
    for key, value in [
        *((f"service_systemd_{name}", "5\nExecStartPre=+/bin/touch /planted") for name in LIMITS),
        ("service_driver_group", "x\nExecStartPre=+/bin/touch /planted"),
        ("service_systemd_start_limit", 7),
    ]
]


def test_lines_in_values_are_refused_before_a_unit_is_written(tmp_path):
    book = [{"name": "Test", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": TASKS}]
    (tmp_path / "book.yml").write_text(json.dumps(book))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_HOME": str(tmp_path / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
    }
    argv = [
        str(PROGRAM),
        "-i",
        "localhost,",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
        str(tmp_path / "book.yml"),
    ]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    text = " ".join(done.stdout.split())
    for name in LIMITS:
        assert f"REFUSED service_systemd_{name} localhost: service_systemd_{name} must be a number" in text, done.stdout
    assert "REFUSED service_driver_group" in text
    assert "ACCEPTED service_systemd_start_limit" in text, done.stdout
