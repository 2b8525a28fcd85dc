# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that stops all services before the first one starts."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.recreate import recreate
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import observed
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_halves import npu
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_steps import BALANCED, plan


def script(whole, hosts, **registered):
    found = {host: observed(json.dumps(whole), registered if host == hosts[0] else {}) for host in hosts}
    return recreate(whole, found, 300, 200, early=False)


def test_all_services_stop_before_the_first_one_starts_and_routers_get_requests_last():
    found = script(plan(**BALANCED), ["n1"])
    assert [step.title.split(" and wait")[0] for step in found.steps] == [
        "Remove the list of engines that are out of router",
        "Remove the list of engines that are out of router-1",
        "Stop decode-0, decode-1, prefill-0, prefill-1, router, router-1 and 1 more",
        "Start decode-0, decode-1, prefill-0, prefill-1",
        "Start router, router-1",
        "Start balancer",
        "Send requests to all routers",
    ]
    names = [step.at["n1"].get("names") for step in found.steps[2:6]]
    assert sorted(names[0]) == sorted(name for each in names[1:] for name in each) and len(names[0]) == 7
    assert found.steps[2].at["n1"]["state"] == "stopped" and found.refusals == []
    assert [step.at["n1"]["state"] for step in found.steps[3:]] == ["started", "started", "started", "ready"]
    assert json.loads(found.recorded)["digest"] == plan(**BALANCED)["digest"]


def test_no_host_holds_up_another_one():
    """What serves is stopped anyway. With one host less the others may still be able to serve."""
    whole = npu("0.18.0")
    every = {service["host"] for service in whole["services"]}
    assert len(every) == 2
    steps = script(whole, sorted(every)).steps
    assert {host for step in steps for host in step.at} == every and all(step.alone for step in steps)
    for name in every:
        alone = script(whole, [name]).steps
        assert alone and all(set(step.at) == {name} for step in alone)


@pytest.mark.parametrize("outdated", [[], ["decode-0"]])
def test_services_of_another_revision_have_to_stop_before_one_starts(outdated):
    steps = script(plan(**BALANCED), ["n1"], outdated=outdated).steps
    stop = next(step for step in steps if step.title.startswith("Stop "))
    assert list(stop.needed) == (["n1"] if outdated else []) and not any(
        step.needed for step in steps if step is not stop
    )


@pytest.mark.parametrize("down", [[], ["balancer"]])
def test_check_mode_asks_a_balancer_that_runs(down):
    steps = script(plan(**BALANCED), ["n1"], down=down).steps
    assert [step.check for step in steps] == [True] * 6 + [not down]


def test_services_of_hosts_that_leave_stop_first_and_hold_nothing_up():
    """They would hold NPUs. A host whose own record is of another deployment is left alone, by its module."""
    whole = plan(**BALANCED)
    found = {"n1": observed(json.dumps(whole), {})}
    leaving = {"hosts": ["n8", "n9"], "ours": ["n1", "n8"]}
    steps = recreate(whole, found, 300, 200, leaving=leaving, settings={"user": "me"}).steps
    assert [(step.orphaned, step.may_fail, step.check) for step in steps[:3]] == [
        ("n8", True, True),
        ("n9", True, True),
        ("", False, True),
    ]
    given = steps[0].at["n1"]
    assert (given["state"], given["own"], given["own_hosts"]) == ("absent", whole["directory"], leaving["ours"])
    assert given["settings"] == {**whole["runtime_settings"], "user": "me"} and given["runtime"] == whole["runtime"]
    assert steps[3:] == recreate(whole, found, 300, 200).steps[1:]
    assert recreate(whole, {}, 300, 200, leaving=leaving).steps == []
