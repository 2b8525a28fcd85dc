# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in which a host is lost, is in no plan, or has an engine that hangs: nothing waits for it, and what was begun there ends."""

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


def verified_plan(host):
    """A plan of the variables of the inventory ``leaving`` with this host alone."""
    variables = yaml.safe_load((HERE / "inventories" / "leaving.yml").read_text(encoding="utf-8"))["all"]["vars"]
    groups = {"groups": ["prefill", "decode"], "variables": {"ansible_host": f"192.0.2.{host[1:]}"}}
    return launch_plan(variables, {host: groups})


def rollback(stays, new):
    """A rollback with an inventory that cannot be planned, after a change that was interrupted on a host that the verified plan does not have."""
    return {
        "playbook": "rollback",
        "inventory": "halves",
        "variables": {"inference_pools": {}, "inference_upgrade_mode": "recreate", "inference_allow_pause": True},
        "answers": [
            *CASES["upgrade/rollback"]["answers"],
            {"task": "ascend.inference.deployment_run", "give": {**DONE, "previous": verified_plan(stays)}},
            {"task": "ascend.inference.deployment_run", "host": new, "give": {**DONE, "previous": {}}},
            {"task": "ascend.inference.deployed_plan_info", "give": {"changed": False, "content": ""}},
        ],
    }


def lost_in_fabric():
    """One host is lost when its settings are applied, and the connection to all of them before the lock is released."""
    base, release = CASES["fabric/one_host_fails"], "Release the deployment's lock"
    lost = [("Apply all settings and read them back", "n2"), *((release, host) for host in ("n1", "n2", "n3"))]
    return {**base, "answers": [*base["answers"], *({"task": task, "host": host, "give": LOST} for task, host in lost)]}


def kept_by_router(state):
    """A rolling upgrade in which the routers, on the first host, do not give up engines of the second: changed ones, or one that leaves."""
    base = CASES["upgrade/upgrade"]
    changed = (
        {"other": [], "outdated": ["decode-0", "decode-1"]}
        if state == "absent"
        else {"other": ["decode-9"], "outdated": []}
    )
    more = {"changed": False, "added": [], "after": {}, "others": [], "left": []}
    kept = {"failed": True, "msg": "the router does not give it up"}
    answers = [
        {"task": "ascend.inference.service_state", "host": "n2", "give": {"changed": True, "down": [], **changed}},
        {"task": "ascend.inference.balancer_servers", "give": {"changed": True, "after": {}}},
        {"task": "ascend.inference.service_drain", "give": {"changed": False, "busy": {}}},
        {"task": "ascend.inference.router_members", "give": more},
        {
            "task": "Take decode-0 out of .*" if state == "absent" else "Take engines out of the routers .*",
            "give": kept,
        },
    ]
    variables = {**base["variables"], "inference_upgrade_mode": "rolling"}
    return {**base, "inventory": "halves", "variables": variables, "answers": [*base["answers"], *answers]}


def hung_engine():
    """The watchdog restarts one of two instances, whose requests do not end."""
    stuck = {
        "changed": True,
        "findings": ["decode-0 is stuck"],
        "engine": "decode-0",
        "services": ["decode-0"],
        "at": 5.0,
    }
    servers = {"changed": True, "after": {"router": {"state": "ready", "weight": 100}}}
    return {
        **CASES["watch/watchdog_restarts"],
        "inventory": "halves",
        "answers": [
            *CASES["watch/watchdog_restarts"]["answers"],
            {"task": "(Find engines without|Choose).*", "give": stuck},
            {"task": "ascend.inference.balancer_servers", "give": servers},
            {
                "task": "ascend.inference.router_members",
                "give": {"changed": False, "added": [], "others": [], "left": []},
            },
            {"task": "ascend.inference.service_drain", "give": {"changed": False, "busy": {}}},
        ],
    }


def drill(finding):
    """A drill where status has a finding of a service."""
    base = CASES["drill/drill_passes"]
    row = {
        "service": "colocated-0",
        "kind": "colocated",
        "state": "running",
        "answers": True,
        "since": None,
        "restarts": 1,
    }
    more = {"version": "", "installed": "", "requests": {}, "kv": {}, "digests": {}, "findings": [finding], "log": []}
    status = {"changed": False, "services": [{**row, **more}], "findings": []}
    return {
        **base,
        "variables": {**base["variables"], "inference_status_fail": True},
        "answers": [*base["answers"], {"task": "ascend.inference.service_status", "give": status}],
    }


FINDINGS = {"restarted 2 times after an unexpected exit": True, "has 4 waiting requests, but no running ones": False}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """The calls of all runs."""
    wanted = {f"lost/{new}": rollback(stays, new) for stays, new in (("n1", "n2"), ("n2", "n1"))}
    drills = {f"lost/{text}": drill(text) for text in FINDINGS}
    more = {"lost/fabric": lost_in_fabric(), "lost/engine": hung_engine()}
    more.update({f"lost/{state}": kept_by_router(state) for state in ("absent", "present")})
    return run({**wanted, **drills, **more}, tmp_path_factory.mktemp("lost"))


def made(calls, host, module):
    """The arguments of each call of a module on a host."""
    every = (row for call in calls if call["host"] == host for row in call.get("calls", ()))
    return [arguments for name, arguments in every if name == f"ascend.inference.{module}"]


@pytest.mark.long
@pytest.mark.parametrize(("stays", "new"), [("n1", "n2"), ("n2", "n1")])
def test_a_rollback_goes_on_without_a_host_that_the_verified_plan_does_not_have(records, stays, new):
    """What was begun there is removed: the runtime finds the services. It is that of the verified plan, as the inventory has none."""
    calls = records[f"lost/{new}"]
    failed = [call["task"] for call in calls if call["status"] == "failed"]
    assert failed == [], "the service is verified with the logs of the other hosts"
    ends = [one for one in made(calls, stays, "deployment_run") if one["state"] == "end"]
    assert [one["verified"] for one in ends] == [verified_plan(stays)["digest"]]
    stopped = [one for one in made(calls, new, "service_state") if one["state"] == "absent"]
    assert [one["runtime"] for one in stopped] == ["supervisor"]
    removed = [
        call["status"] for call in calls if call["host"] == new and "Remove the deployment's files" in call["task"]
    ]
    assert removed == ["changed"]
    assert [call["status"] for call in calls if call["host"] == new and call["task"] == "Release the lock"] == [
        "changed"
    ]


@pytest.mark.long
def test_a_change_of_the_fabric_is_reported_though_hosts_are_lost_before_the_lock_is_released(records):
    calls = records["lost/fabric"]
    (report,) = [call for call in calls if call["task"] == "Fail if a host does not have all settings"]
    assert report["status"] == "failed" and "n2: no route to host" in report["message"]
    assert [call["status"] for call in calls if call["task"] == "Show the old and the new settings"] == ["ok"]


@pytest.mark.long
def test_the_watchdog_does_not_wait_long_for_requests_that_do_not_end(records):
    drained = made(records["lost/engine"], "n1", "service_drain")
    assert [one["timeout"] for one in drained] == [30]


@pytest.mark.long
@pytest.mark.parametrize("text", FINDINGS)
def test_a_drill_begins_where_an_earlier_one_has_left_restarts_and_nothing_else(records, text):
    faults = [name for call in records[f"lost/{text}"] for name, _arguments in call.get("calls", ())]
    assert ("ascend.inference.service_fault" in faults) == FINDINGS[text]


@pytest.mark.long
@pytest.mark.parametrize("state", ["absent", "present"])
def test_no_host_stops_engines_that_a_router_on_another_host_has_not_given_up(records, state):
    """It would send them requests, which fail. The playbook upgrade goes on with hosts that have not failed."""
    calls = records[f"lost/{state}"]
    refused = [call for call in calls if " : Take " in call["task"] and call["status"] == "failed"]
    assert refused and {call["host"] for call in refused} == {"n1"}
    behind = [call for call in calls[calls.index(refused[0]) :] if call["host"] == "n2" and call["status"] == "changed"]
    begun = [call["task"].rpartition(" : ")[2] for call in behind]
    back = begun[: begun.index("Register the planned services")]
    assert not [task for task in back if task.startswith(("Restart", "Stop"))], "until it goes back"


@pytest.mark.parametrize(
    "playbook",
    ["deploy", *(pytest.param(name, marks=pytest.mark.long) for name in ("check", "status", "restart", "verify"))],
)
def test_a_host_that_does_not_answer_is_asked_once(playbook, tmp_path):
    """Ansible prints each failure twice, so that one dead host was many screens."""
    case = {
        "playbook": playbook,
        "inventory": "npu",
        "variables": {},
        "answers": [*CASES["verify/in_check_mode"]["answers"]],
    }
    case["answers"] += [
        {"task": name, "host": "n2", "give": LOST} for name in ("ansible.builtin.raw", "ascend.inference.check_info")
    ]
    calls = run({"lost": case}, tmp_path)["lost"]
    asked = [call["task"] for call in calls if call["host"] == "n2" and call.get("calls") and not call["delegate"]]
    assert asked == ["Read the placement of the deployed plan"]
    if playbook not in ("check", "status"):
        (refused,) = [call for call in calls if call["status"] == "failed" and call["host"] != "n2"]
        assert refused["message"].startswith("n2: the host's address does not respond")
