# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two deployments on one host: the check finds every device and port that both have, whether the other one runs or not."""

from __future__ import annotations

import json

from ansible_collections.ascend.inference.plugins.module_utils.host.neighbours import neighbours
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import plan_files, record_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import hosts

RULES = ("DEPLOYMENT-DEVICES", "DEPLOYMENT-PORTS")


def planned(name, devices=(0, 1, 2, 3, 4, 5, 6, 7), **changes):
    pool = {"tensor_parallel_size": 4, "instances": 2, **changes.pop("pool", {})}
    variables = {
        "inference_deployment": name,
        "inference_hardware": "a3",
        "inference_model": {"path": "/models/qwen", "name": "qwen"},
        "inference_pools": {"colocated": pool},
        **changes,
    }
    return launch_plan(variables, hosts(1, {"colocated": (1,)}, inference_devices=list(devices)))


def found(tmp_path, other, plan):
    """Findings about ``other``, which is stored on the host as a run stores it."""
    for dummy, part in parts(other):
        for file in plan_files(part, record_of(other)):
            path = tmp_path / "deployments" / other["deployment"] / file["path"].rsplit("/", 1)[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file["content"])
    facts = {"node1": {"host": {"neighbours": neighbours(f"{tmp_path}/deployments/{plan['deployment']}")}}}
    return {item["id"]: item for item in check_plan(plan, facts) if item["id"] in RULES}


def test_a_second_deployment_on_the_same_devices_and_ports_is_an_error(tmp_path):
    both = found(tmp_path, planned("first"), planned("second"))
    assert set(both) == set(RULES) and {item["severity"] for item in both.values()} == {"error"}
    assert both["DEPLOYMENT-DEVICES"]["value"] == "0-7"
    assert (
        "deployment first has device 0-7, planned for colocated-0, colocated-1" in both["DEPLOYMENT-DEVICES"]["problem"]
    )
    assert "api of colocated-0 (7500)" in both["DEPLOYMENT-PORTS"]["problem"]
    assert "api of router (8000)" in both["DEPLOYMENT-PORTS"]["problem"]


def test_other_devices_and_first_ports_are_enough(tmp_path):
    own = {"ports": {"api": 7600, "hccl": 61800}}
    router = {"port": 8100, "metrics_port": 8110}
    second = planned("second", range(8, 16), pool=own, inference_router=router)
    assert found(tmp_path, planned("first"), second) == {}
    assert json.dumps(second["placement"]) != json.dumps(planned("first")["placement"])


def test_one_device_in_common_is_found(tmp_path):
    both = found(tmp_path, planned("first"), planned("second", range(7, 15)))
    assert both["DEPLOYMENT-DEVICES"]["value"] == "7"


def test_the_deployment_itself_is_no_other_one(tmp_path):
    assert found(tmp_path, planned("first"), planned("first")) == {}
