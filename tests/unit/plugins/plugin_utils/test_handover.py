# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each host's part of the plan: complete together, and no larger where the deployment is."""

from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import status_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import hand_over, part_name, parts, take
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan


def plan(hosts, **words):
    """``hosts`` of 16 devices, an engine each; the first half prefills."""
    pools = {
        "prefill": {"instances": hosts // 2, "tensor_parallel_size": 16},
        "decode": {"instances": hosts // 2, "tensor_parallel_size": 16},
    }
    variables = {"inference_model": {"path": "/models/m", "name": "m"}, "inference_pools": pools, **words}
    inventory = {
        f"n{number:03}": {
            "groups": ["prefill" if number < hosts // 2 else "decode"],
            "variables": {"ansible_host": f"10.0.{number // 250}.{number % 250 + 1}", "inference_interface": "eth0"},
        }
        for number in range(hosts)
    }
    return launch_plan(variables, inventory)


def test_parts_together_are_the_plan():
    whole = plan(4)
    found = dict(parts(whole))
    assert list(found) == [host["name"] for host in whole["hosts"]]
    services = [service for part in found.values() for service in part["services"]]
    assert sorted(services, key=lambda service: service["name"]) == sorted(
        whole["services"], key=lambda service: service["name"]
    )
    for name, part in found.items():
        assert [host["name"] for host in part["hosts"]] == [name]
        assert {service["host"] for service in part["services"]} == {name}
        assert part["digest"] == whole["digest"] and part["software"] == whole["software"]


def test_a_part_names_the_stages_of_all_hosts():
    whole = plan(4)
    wanted = sorted({service["start"]["stage"] for service in whole["services"]})
    found = {name: part["stages"] for name, part in parts(whole)}
    assert all(item == wanted for item in found.values())
    last = dict(parts(whole))["n003"]
    assert len({service["start"]["stage"] for service in last["services"]}) < len(wanted)


def test_a_part_asks_what_the_whole_plan_would_ask():
    whole = plan(4)
    for name, part in parts(whole):
        assert part["question"] == status_plan(whole, name)
        assert [service["name"] for service in part["question"]["services"]]


def test_a_part_does_not_grow_with_the_deployment():
    def last(hosts):
        return len(json.dumps(list(parts(plan(hosts)))[-1][1]))

    assert last(100) < 1.05 * last(4)


def test_what_is_handed_over_is_taken(tmp_path):
    whole, folder = plan(4), str(tmp_path / "run")
    hand_over(whole, folder)
    assert take(folder) == json.loads(json.dumps(whole))
    assert take(folder, "n002") == json.loads(json.dumps(dict(parts(whole))["n002"]))
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    with pytest.raises(FileNotFoundError):
        take(folder, "n004")


def test_names_of_hosts_are_no_paths(tmp_path):
    assert os.path.basename(part_name("../../etc/x")) == part_name("../../etc/x") != part_name("../../etc/y")


def test_files_made_on_deployment_need_the_whole_plan_everywhere(tmp_path):
    whole = plan(2)
    whole["services"][0]["files"] = [{"path": "/x", "content": "", "mode": "0640", "from": "rank_table"}]
    hand_over(whole, str(tmp_path))
    assert take(str(tmp_path), "n001")["services"] == json.loads(json.dumps(whole["services"]))
