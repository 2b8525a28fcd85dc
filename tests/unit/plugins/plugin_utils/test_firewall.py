# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The firewall of a plan: nothing unless it is asked for, and only addresses that nft can load."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

from .test_planner import INVENTORY, inference_variables


def plan_with(inventory=INVENTORY, **firewall):
    return launch_plan(inference_variables(inference_firewall=firewall), inventory)


def test_no_section_without_the_variable():
    assert "firewall" not in launch_plan(inference_variables(), INVENTORY)
    assert "firewall" not in plan_with(clients=["10.1.0.0/16"])


def test_planned_hosts_and_named_addresses_are_the_cluster():
    found = plan_with(state="present", cluster=["192.0.2.7"], clients="10.1.0.0/16")["firewall"]
    addresses = sorted(INVENTORY[name]["variables"]["ansible_host"] for name in ("node1", "node2", "node3", "node4"))
    assert found["sources"] == {"cluster": [*addresses, "192.0.2.7"], "monitoring": [], "client": ["10.1.0.0/16"]}
    assert plan_with(state="absent")["firewall"]["state"] == "absent"


@pytest.mark.parametrize(("text", "rule"), [("10.0.0.300", "FIREWALL-NETWORK"), ("10.0.0.1 }; flush", "VARIABLE-TEXT")])
def test_what_is_no_network_is_refused(text, rule):
    with pytest.raises(PlanError) as refused:
        plan_with(state="present", monitoring=[text])
    assert rule in {finding.id for finding in refused.value.findings}


def test_a_cluster_has_no_firewall_of_the_collection():
    case = inference_variables(inference_runtime="kubernetes", inference_firewall={"state": "present"})
    with pytest.raises(PlanError) as refused:
        launch_plan(case, {})
    assert "FIREWALL-RUNTIME" in {finding.id for finding in refused.value.findings}
