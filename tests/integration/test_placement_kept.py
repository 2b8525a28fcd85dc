# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks read where instances run from the hosts, and plan around them. All hosts of the inventory are this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE

GONE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 9}


@pytest.fixture
def site(tmp_path):
    """A function that plans for hosts of prefill and decode, and returns (output, plan)."""
    root = tmp_path / "root"

    def run(prefill, decode, *options, **variables):
        hosts = {**dict.fromkeys(prefill, "prefill"), **dict.fromkeys(decode, "decode")}
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        groups = {
            kind: {
                "hosts": {
                    name: {
                        **local,
                        "inference_address": f"192.0.2.{sum(map(ord, name))}",
                        **(GONE if name == "x9" else {}),
                    }
                    for name in hosts
                    if hosts[name] == kind
                }
            }
            for kind in ("prefill", "decode")
        }
        shared = {
            "inference_model": {"path": "/models/m", "name": "m"},
            "inference_interface": "eth0",
            "inference_root": str(root),
            "inference_pools": {
                "prefill": {"tensor_parallel_size": 8},
                "decode": {"instances": variables.pop("instances", 2), "tensor_parallel_size": 8},
            },
            "inference_plan_file": str(tmp_path / "plan.json"),
            **variables,
        }
        (tmp_path / "inventory.json").write_text(json.dumps({"all": {"vars": shared, "children": groups}}))
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOME": str(tmp_path / "ansible"),
        }
        argv = [str(PROGRAM), "-i", str(tmp_path / "inventory.json"), "ascend.inference.plan", *options]
        done = subprocess.run(
            argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        return done.stdout, json.loads((tmp_path / "plan.json").read_text())

    yield run, root / "deployments" / "inference"


def places(plan):
    return {service["name"]: service["host"] for service in plan["services"]}


def test_instances_keep_the_hosts_that_the_hosts_name(site):
    run, folder = site
    _output, before = run(["p1"], ["d1", "d2"])
    folder.mkdir(parents=True)
    (folder / "placement.json").write_text(json.dumps(before["placement"]))
    (folder / "plan.json").write_text(json.dumps(before))

    output, after = run(["p1"], ["a1", "d1", "d2"], "--diff")
    assert places(after) == places(before), output
    assert "No changes" in output

    output, after = run(["p1"], ["a1", "d1", "d2"], "--diff", instances=3)
    assert places(after) == {**places(before), "decode-2": "a1"}, output
    assert "+ decode-2 on a1" in output and "decode-0 on" not in output

    output, after = run(["p1"], ["a1", "d1", "d2"], "--diff", inference_keep_placement=False)
    assert places(after)["decode-0"] == "a1", output

    output, after = run(["p1"], ["a1", "d1", "d2"])
    assert places(after)["decode-0"] == "a1" and "Read the placement" not in output, "plan alone asks no host"


def test_a_host_that_does_not_answer_changes_nothing(site):
    run, folder = site
    _output, before = run(["p1"], ["d1", "x9"])
    folder.mkdir(parents=True)
    (folder / "placement.json").write_text(json.dumps(before["placement"]))
    (folder / "plan.json").write_text(json.dumps(before))
    output, after = run(["p1"], ["a1", "d1", "x9"], "--diff")
    assert places(after) == places(before), output


MORE = ["another user", "writable by all", "a folder of another user", "10 MB", "a pipe"]


@pytest.mark.parametrize("attack", ["a link", *(pytest.param(attack, marks=pytest.mark.long) for attack in MORE)])
def test_a_placement_that_others_can_write_is_ignored_with_a_warning(site, attack):
    run, folder = site
    _output, before = run(["p1"], ["d1", "d2"])
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(before))
    file = folder / "placement.json"
    file.write_text(json.dumps(before["placement"]))
    if attack in ("another user", "a folder of another user") and os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    if attack == "another user":
        os.chown(file, 65534, -1)
    elif attack == "a folder of another user":
        os.chown(folder, 65534, -1)
    elif attack == "writable by all":
        file.chmod(0o666)
    elif attack == "10 MB":
        file.write_text(file.read_text() + " " * 10_000_000)
    else:
        file.rename(folder / "other.json")
        if attack == "a pipe":
            os.mkfifo(file)
        else:
            file.symlink_to("other.json")

    output, after = run(["p1"], ["a1", "d1", "d2"], "--diff")
    text = " ".join(output.replace("\n", " ").split())
    assert "placement.json of a1, d1, d2, p1 is ignored: other users than root can write it" in text, output
    assert places(after)["decode-0"] == "a1", "planned as without the file"


def test_a_damaged_placement_is_shown_without_its_control_characters(site):
    run, folder = site
    folder.mkdir(parents=True)
    (folder / "placement.json").write_text('{"instances": [], "router": "\x1b]0;owned\x07"}')
    output, _plan = run(["p1"], ["d1", "d2"], "--diff")
    assert "is ignored: it is not JSON" in " ".join(output.split()) and "\x1b]0" not in output
