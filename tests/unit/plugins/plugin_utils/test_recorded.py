# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that has another name in the inventory: its services stay, as long as they run there."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.filter.plan_diff import plan_diff_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.change.deploy import decide
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import rollback, upgrade
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.recorded import as_renamed, renamed
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import observed

ADDRESSES = {"p1": "192.0.2.1", "p2": "192.0.2.2", "d1": "192.0.2.3", "d2": "192.0.2.4"}
STAYS = "~ host d1 is called a1 now (same address, 192.0.2.3): its services stay"


def plan(names=("p1", "p2", "d1", "d2"), deployed=None, spread=False, **addresses):
    """``spread``: one decode engine on both hosts, instead of one on each."""
    decode = {"instances": 1, "data_parallel_size": 2} if spread else {"instances": len(names) - 2}
    variables = {
        "inference_release": "0.23.0",
        "inference_hardware": "a2",
        "inference_interface": "eth0",
        "inference_model": {"path": "/models/m", "name": "m", "moe": "true"},
        "inference_pools": {
            "prefill": {"instances": 2, "tensor_parallel_size": 8},
            "decode": {"tensor_parallel_size": 8, **decode},
        },
    }
    every = {**ADDRESSES, **addresses}
    hosts = {
        name: {"groups": ["prefill" if name in ("p1", "p2") else "decode"], "variables": {"ansible_host": every[name]}}
        for name in names
    }
    return launch_plan(variables, hosts, (), deployed and deployed["placement"])


def compared(found, **by_host):
    """What service_state found on each host of a plan: nothing to do but what is named."""
    return [{"down": [], "outdated": [], **by_host.get(host["name"], {})} for host in found["hosts"]]


def called_a1(old, spread=False):
    return plan(("p1", "p2", "a1", "d2"), old, spread, a1=ADDRESSES["d1"])


@pytest.mark.parametrize("spread", [False, True])
def test_a_new_name_of_a_machine_is_no_change_of_its_services(spread):
    old = plan(spread=spread)
    new = called_a1(old, spread)
    files = [{"written": []} for _host in new["hosts"]]
    assert plan_diff_filter(new, old, compared(new), files) == [STAYS]


def test_what_else_changes_is_said():
    old = plan(("p1", "p2", "d1"))
    found = plan_diff_filter(called_a1(old), old)
    assert found[:2] == [STAYS, "+ decode-1 on d2"]
    assert not any("decode-0" in line for line in found[1:])


def test_another_machine_may_have_the_address_now():
    old = plan()
    new = called_a1(old)
    lines = plan_diff_filter(new, old, compared(new, a1={"down": ["decode-0"]}))
    assert STAYS not in lines and "~ decode-0 on a1 restarts: host d1 -> a1" in lines
    assert renamed(new, old, {"a1": {"down": []}}) == {"d1": "a1"}


def test_an_address_of_two_hosts_names_none():
    old = plan(("p1", "p2", "d1", "d2"))
    twice = {**old, "hosts": [{**host, "address": "192.0.2.9"} for host in old["hosts"]]}
    assert renamed(called_a1(old), twice, {}) == {}
    assert renamed(plan(("p1", "p2", "a1", "d2"), old, a1="192.0.2.77"), old, {}) == {}
    assert as_renamed({}, {}) == {}


def test_deploy_changes_an_instance_as_under_the_old_name():
    """An edited file of one process makes deploy restart the instance, whose other process did not move."""
    old = plan(spread=True)
    assert decided(called_a1(old, True), old) == decided(old, old).replace("d1", "a1")


def decided(new, old):
    edited = next(each["name"] for each in new["services"] if each["kind"] == "decode" and each["host"] == "d2")
    found = {host["name"]: observed(json.dumps(old), {"healthy": []}) for host in new["hosts"]}
    found["d2"] = observed(json.dumps(old), {"outdated": [edited]})
    steps = decide(new, found, allow_pause=True, early=False, check=False).steps
    return json.dumps(
        {key: steps[key] for key in ("vacate", "orphaned", "roll", "notes", "deregistered")}, default=sorted
    )


def test_an_upgrade_and_a_rollback_name_the_machine_and_what_leads_on():
    """Nobody could go back to a plan with the former name: it is in no inventory."""
    old = plan()
    new = called_a1(old)
    (text,) = upgrade.refusals({host["name"]: old for host in new["hosts"]}, new, cann_installed=False)
    assert text.startswith("d1 is called a1 now") and "run site" in text
    assert upgrade.refusals({host["name"]: new for host in new["hosts"]}, new, cann_installed=False) == []
    previous = {host["name"]: old for host in new["hosts"]}
    (text,) = rollback.refusals(previous, old["directory"], None, new)
    assert text.startswith("d1 is called a1 now") and "former names" in text
    (text, _more) = rollback.refusals(previous, old["directory"], None, {})
    assert text.startswith("d1: part of the verified plan"), "the inventory cannot be planned"
    (text,) = rollback.refusals({**previous, "a1": {}}, old["directory"], None, plan(("p1", "p2", "d2")))
    assert text.startswith("d1: part of the verified plan"), "it is no host any more"
