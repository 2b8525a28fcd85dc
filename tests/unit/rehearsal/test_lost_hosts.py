# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs at whose end a host is lost, or is in no plan: what was begun there is removed or reported all the same."""

from __future__ import annotations

import pytest
import yaml
from ansible.release import __version__ as core
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import HERE, cases, run

pytestmark = pytest.mark.skipif(not core.startswith("2.19."), reason="the records are made with ansible-core 2.19")
CASES = cases()
LOST = {"unreachable": True, "changed": False, "msg": "no route to host"}
DONE = {"changed": True, "holder": {}, "phase": "changing"}


def verified_plan():
    """The plan of the inventory ``cpu`` with the host n1 alone."""
    inventory = yaml.safe_load((HERE / "inventories" / "leaving.yml").read_text(encoding="utf-8"))["all"]
    hosts = {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}}
    return launch_plan(inventory["vars"], hosts)


def rollback(plan):
    """A rollback with an inventory that cannot be planned, after a change that was interrupted on n2, which the verified plan does not have."""
    return {
        "playbook": "rollback",
        "inventory": "halves",
        "variables": {"inference_release": "0.0.0", "inference_upgrade_mode": "all", "inference_allow_pause": True},
        "answers": [
            *CASES["upgrade/rollback"]["answers"],
            {"task": "ascend.inference.deployment_run", "give": {**DONE, "previous": plan}},
            {"task": "ascend.inference.deployment_run", "host": "n2", "give": {**DONE, "previous": {}}},
            {"task": "ascend.inference.deployed_plan_info", "give": {"changed": False, "content": ""}},
        ],
    }


def lost_in_fabric():
    """The second host is lost when its settings are applied."""
    base = CASES["fabric/one_host_fails"]
    names = ("Apply all settings and read them back", "Release the deployment's lock")
    return {**base, "answers": [*base["answers"], *({"task": name, "host": "n2", "give": LOST} for name in names)]}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """The calls of both runs."""
    wanted = {"lost/rollback": rollback(verified_plan()), "lost/fabric": lost_in_fabric()}
    return run(wanted, tmp_path_factory.mktemp("lost"))


def made(calls, host, module):
    """The arguments of each call of a module for a host."""
    return [
        arguments
        for call in calls
        if host in (call["delegate"] if "delegate" in call else "", call["host"])
        for name, arguments in call.get("calls", ())
        if name == f"ascend.inference.{module}"
    ]


def test_a_rollback_removes_what_it_finds_on_a_host_that_no_plan_has(records):
    """The runtime finds the services there; it is that of the verified plan, as the inventory has none."""
    calls = records["lost/rollback"]
    assert [call["message"] for call in calls if call["status"] == "failed" and call["host"] == "n2"] == []
    stopped = [one for one in made(calls, "n2", "service_state") if one["state"] == "absent"]
    assert [one["runtime"] for one in stopped] == ["supervisor"] * len(stopped) and stopped
    removed = [call for call in calls if call["host"] == "n2" and call["task"].endswith("Remove the deployment's files")]
    assert [call["status"] for call in removed] == ["changed"]


def test_a_change_of_the_fabric_is_reported_though_a_host_is_lost_before_the_lock_is_released(records):
    calls = records["lost/fabric"]
    (report,) = [call for call in calls if call["task"] == "Fail if a host does not have all settings"]
    assert report["status"] == "failed" and "n2: no route to host" in report["message"]
    assert [call["status"] for call in calls if call["task"] == "Show the old and the new settings"] == ["ok"]
