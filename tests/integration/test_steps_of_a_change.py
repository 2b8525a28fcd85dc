# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a change on two hosts, in a play that goes on without failed hosts: after a failed step no engine restarts that the router uses.

The tasks and Ansible are real; modules are replaced by stubs that record what they are asked for. test_serving_change.py has the real ones.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = "api url model record started members state purge token use_timeout verify engine_api_key joining peers request_timeout engines upstream"
OPTIONS += " timeout runtime settings services remove wait more socket backend servers"
STUB = """#!/usr/bin/python
import json
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({name: {"type": "raw", "no_log": False} for name in OPTIONS.split()}, supports_check_mode=True)
asked = {key: value for key, value in module.params.items() if value is not None}
names = asked.get("servers") or [service["name"] for service in asked.get("services", [])]
with open(RECORD, "a") as record:
    record.write(" ".join([NAME, *map(str, [asked.get("state", "")]), *names]) + "\\n")
if NAME in FAILING:
    module.fail_json(msg="planted")
urls = [member["url"] for member in asked.get("members") or []]
module.exit_json(changed=False, added=urls, after={"decode": urls}, others=[], left=[])
"""


@pytest.mark.long
@pytest.mark.parametrize("failing", [["service_verify"], []])
def test_no_host_goes_on_after_a_failed_step(tmp_path, failing):
    book = tmp_path / "ansible_collections/ascend/inference"
    shutil.copytree(ROOT / "plugins", book / "plugins", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "roles/service", book / "roles/service")
    record = tmp_path / "record"
    for name in ("balancer_servers", "router_members", "service_drain", "service_state", "service_verify"):
        values = {"NAME": name, "RECORD": str(record), "FAILING": failing, "OPTIONS": OPTIONS}
        head, body = STUB.split("\n\n", 1)
        text = "".join(f"{key} = {value!r}\n" for key, value in values.items())
        (book / f"plugins/modules/{name}.py").write_text(f"{head}\n{text}\n{body}", encoding="utf-8")

    groups = {"n1": ["prefill"], "n2": ["decode"]}
    hosts = {
        name: {"groups": found, "variables": {"ansible_host": f"192.0.2.{name[1:]}"}} for name, found in groups.items()
    }
    variables = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "systemd",
        "inference_root": str(tmp_path),
        "inference_model": {"path": "/m", "name": "m"},
        "inference_pools": {"prefill": {"instances": 1}, "decode": {"instances": 2}},
    }
    plan = launch_plan(variables, hosts)
    pathlib.Path(plan["directory"]).mkdir(parents=True)
    (pathlib.Path(plan["directory"]) / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    registered = {
        "down": [],
        "other": [],
        "outdated": "{{ ['decode-0', 'decode-1'] if inventory_hostname == 'n2' else [] }}",
    }
    role = {"name": "ascend.inference.service", "tasks_from": "serving"}
    tasks = [
        {"name": "Register", "set_fact": {"__service_registered": registered}},
        {
            "name": "Change",
            "block": [{"name": "Serve", "include_role": role, "vars": {"service_plan": plan}}],
            "rescue": [{"name": "Stay in the play", "debug": {"msg": "{{ ansible_failed_result.msg | default('') }}"}}],
        },
    ]
    play = [{"name": "Test", "hosts": "all", "gather_facts": False, "tasks": tasks}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play, sort_keys=False), encoding="utf-8")
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(
        yaml.safe_dump({"all": {"hosts": dict.fromkeys(groups, host)}}), encoding="utf-8"
    )
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(tmp_path),
        "ANSIBLE_HOME": str(tmp_path / "home"),
        "ANSIBLE_NOCOLOR": "1",
    }
    argv = [str(PROGRAM), "-i", "hosts.yml", "play.yml"]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    lines = record.read_text(encoding="utf-8").splitlines()
    restarted = [line for line in lines if line.startswith("service_state started decode-")]
    if failing:
        rescued = done.stdout.partition("TASK [Stay in the play]")[2]
        assert all(f"ok: [{name}]" in rescued for name in groups), done.stdout[-4000:]
        assert restarted == [], lines
    else:
        assert done.returncode == 0, done.stdout[-4000:]
        assert restarted == ["service_state started decode-0", "service_state started decode-1"], lines
