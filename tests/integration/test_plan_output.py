# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook plan prints: a table, or all errors of a refused description once; both as text."""

from __future__ import annotations

import copy
import json
import os
import subprocess

from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, Run

VARIABLES = {
    "inference_model": {"path": "/models/qwen-moe", "name": "qwen"},
    "inference_interface": "eth0",
    "inference_pools": {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8}},
}
GROUPS = {
    "prefill": {"hosts": {"n1": {"ansible_host": "192.0.2.1"}}},
    "decode": {"hosts": {"n2": {"ansible_host": "192.0.2.2"}}},
}


def plan(folder, **variables):
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"vars": {**copy.deepcopy(VARIABLES), **variables}, "children": GROUPS}}))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
    }
    argv = [str(PROGRAM), "-i", str(inventory), "ascend.inference.plan"]
    done = subprocess.run(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return Run(done.returncode, done.stdout)


def test_the_table_is_text(tmp_path):
    run = plan(tmp_path)
    assert run.code == 0, run.output
    assert "\nSERVICE    HOST  DEVICES" in run.output


def test_a_refused_description_is_printed_once_as_text(tmp_path):
    run = plan(tmp_path, inference_rules_ignore=["NOPE"], inference_deployment="My Service", inference_usr="x")
    assert run.code != 0
    for error in ("unknown rule id NOPE. [IGNORE-UNKNOWN]", "[DEPLOYMENT-NAME]", "[VARIABLE-UNKNOWN]"):
        assert run.output.count(error) == 1, run.output
    assert "\n   Why: It accepts nothing," in run.output and "\\n" not in run.output
