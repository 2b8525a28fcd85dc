# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of the playbook plan: a table, or all errors of a refused description once; both as text."""

from __future__ import annotations

import copy
import json
import os
import pwd
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
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


AFTER = """
- import_playbook: ascend.inference.plan
- hosts: "{{{{ (hostvars['localhost']['__inference_hosts'] | default([]))[:1] }}}}"
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"
  tasks:
    - ansible.builtin.copy:
        content: "{{{{ hostvars['localhost']['__inference_hosts'] | join(' ') }}}}"
        dest: "{file}"
        mode: "0644"
"""


def test_a_relative_file_is_written_where_the_command_was_given(tmp_path):
    """Ansible runs modules of localhost in the folder of the playbook, which is that of the installed collection."""
    assert plan(tmp_path, inference_plan_html="page.html").code == 0
    assert "<html" in (tmp_path / "page.html").read_text()


def plan(folder, playbook="ascend.inference.plan", **variables):
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"vars": {**copy.deepcopy(VARIABLES), **variables}, "children": GROUPS}}))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
    }
    argv = [str(PROGRAM), "-i", str(inventory), playbook]
    done = subprocess.run(
        argv, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
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
    assert "\n   Why: The id has no effect," in run.output and "\\n" not in run.output


def test_a_fact_cache_keeps_nothing_of_a_plan(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_CACHE_PLUGIN", "jsonfile")
    monkeypatch.setenv("ANSIBLE_CACHE_PLUGIN_CONNECTION", str(tmp_path / "facts"))
    monkeypatch.setenv("ANSIBLE_DIFF_ALWAYS", "true")  # the play that compares plans selects its hosts with the lookup
    first = plan(tmp_path, inference_plan_show="table")
    assert first.code == 0 and "\nSERVICE    HOST  DEVICES" in first.output, first.output
    again = plan(tmp_path, inference_plan_show="table")
    assert again.code == 0 and "\nSERVICE    HOST  DEVICES" in again.output, (
        "the plan of the run before was taken for this run's"
    )
    refused = plan(tmp_path, inference_deployment="My Service")
    assert refused.code != 0
    assert refused.output.count("[DEPLOYMENT-NAME]") == 1, refused.output
    assert "has no plan" not in refused.output, "a refused plan is followed by errors of its own"


def test_facts_need_not_be_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_INJECT_FACT_VARS", "false")
    file = tmp_path / "hosts.txt"
    book = tmp_path / "after.yml"
    book.write_text(AFTER.format(file=file))
    run = plan(tmp_path, playbook=str(book))
    assert run.code == 0, run.output
    assert file.read_text() == "n1 n2", run.output


def facts_of_check(path, gib):
    """A file as the playbook check writes it: ``gib`` GiB of weights, 64 GiB for each device."""
    layer = {"split": gib * 2**30 // 8, "key_value": 0, "experts": 0, "copied": 0}
    weights = {"embedding": 0, "head": 0, "other": 0, "layers": [layer] * 8, "draft": []}
    heads = {"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "num_hidden_layers": 8}
    model = {"path": "/models/qwen-moe", "config": {**heads, "max_position_embeddings": 4096}, "weights": weights}
    npus = [{"device_id": device, "hbm_total_mib": 65536} for device in range(16)]
    facts = {name: {"host": {"models": [model]}, "npu": {"npus": npus}} for name in ("n1", "n2")}
    path.write_text(json.dumps({"findings": [], "facts": facts}))
    return str(path)


def test_the_memory_of_each_pool_is_shown_from_the_facts_of_a_check(tmp_path):
    run = plan(
        tmp_path, inference_plan_show="memory", inference_model_facts=facts_of_check(tmp_path / "check.json", 64)
    )
    assert run.code == 0, run.output
    assert "POOL" in run.output and "8.0 GiB" in run.output and "SERVICE" not in run.output


def test_a_plan_that_does_not_fit_and_a_table_without_facts_are_refused(tmp_path):
    run = plan(tmp_path, inference_model_facts=facts_of_check(tmp_path / "check.json", 640))
    assert run.code != 0 and "the weights of one rank take 80.0 GiB" in " ".join(run.output.split())
    run = plan(tmp_path, inference_plan_show="memory")
    assert run.code != 0 and "inference_model_facts is not set" in " ".join(run.output.split())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_planted_plan_is_not_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_DIFF_ALWAYS", "true")
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    place = tmp_path / "root/deployments/inference/plan.json"
    place.parent.mkdir(parents=True)
    planned = launch_plan(
        {**copy.deepcopy(VARIABLES), "inference_root": str(tmp_path / "root"), "inference_args": {"seed": 7}},
        {
            host: {"groups": [group], "variables": dict(host_, inference_address=host_["ansible_host"])}
            for group, value in GROUPS.items()
            for host, host_ in value["hosts"].items()
        },
    )
    place.write_text(json.dumps(planned))
    place.chmod(0o640)
    own = plan(tmp_path, inference_root=str(tmp_path / "root"), **here)
    assert own.code == 0 and "--seed" in own.output, own.output
    os.chown(place, pwd.getpwnam("nobody").pw_uid, -1)
    planted = plan(tmp_path, inference_root=str(tmp_path / "root"), **here)
    assert planted.code == 0 and "--seed" not in planted.output, planted.output
    assert "is not a file that only root or the connected user can write" in planted.text, planted.output
