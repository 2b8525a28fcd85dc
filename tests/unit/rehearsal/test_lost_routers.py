# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of a router fails or is lost while routers restart for other engines: no engine stops that a router may still have, nor the other router.

The playbook upgrade goes on with the hosts that have not failed. Engines change on n2; n3 has a router and the balancer, n4 the other router.
"""

from __future__ import annotations

import re

import pytest
from ansible.release import __version__ as core
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import cases, run

pytestmark = [
    pytest.mark.skipif(not core.startswith("2.19."), reason="the records are made with ansible-core 2.19"),
    pytest.mark.long,  # five rolling upgrades; the short test of the order of steps is test_change_order.py
]
CASES = cases()
FAILED = {"failed": True, "msg": "does not work"}
LOST = {"unreachable": True, "changed": False, "msg": "no route to host"}
ROUTERS = {"n3": "http://192.0.2.3:8000", "n4": "http://192.0.2.4:8020"}
DRAIN, RESTART = "Send no new requests to .*", "Restart router.*, which reads its engines when it starts"
READ = "Require that these routers .*"
FAULTS = {  # task, host, its result; the routers that have restarted in one attempt
    "the balancer drains nothing": (DRAIN, "n3", FAILED, []),
    "the first router is lost with the balancer": (RESTART, "n3", LOST, []),
    "the second router does not start": (RESTART, "n4", FAILED, ["router"]),
    "the second router is lost before its engines are known": (READ, "n4", LOST, ["router", "router-1"]),
}


def upgrade(task="", host="", give=None):
    """A rolling upgrade of two decode engines."""
    base, prepared = CASES["upgrade/upgrade"], CASES["prepare/all_kinds_of_hosts"]
    members = {"changed": False, "added": [], "after": {}, "others": [], "left": []}
    changed = {"changed": True, "down": [], "other": [], "outdated": ["decode-0", "decode-1"]}
    answers = [
        {"task": "ascend.inference.service_state", "host": "n2", "give": changed},
        {"task": "ascend.inference.balancer_servers", "give": {"changed": True, "after": {}}},
        {"task": "ascend.inference.service_drain", "give": {"changed": False, "busy": {}}},
        {"task": "ascend.inference.router_members", "give": members},
    ]
    for name, url in ROUTERS.items():
        give_up = {**members, "changed": True, "restart": [url]}
        answers.append({"task": "Take decode-. out of the routers", "host": name, "give": give_up})
    answers += [{"task": task, "host": host, "give": give}] if task else []
    known = base["answers"]
    variables = {
        **base["variables"],
        "cann_unverified": True,
        "cann_source": "/srv/cann",
        "inference_upgrade_mode": "rolling",
    }
    more = [item for item in prepared["answers"] if item not in known]
    return {**base, "inventory": "layerwise", "variables": variables, "answers": [*known, *more, *answers]}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """The calls of all runs."""
    faults = {f"routers/{name}": upgrade(*fault[:3]) for name, fault in FAULTS.items()}
    return run({"routers/none": upgrade(), **faults}, tmp_path_factory.mktemp("routers"))


def set_to(calls, *states):
    """Names of the services that were brought into a state, in order."""
    done = [call for call in calls if call["status"] == "changed" and "service : Restart" in call["task"]]
    made = [
        arguments for call in done for module, arguments in call.get("calls", ()) if module.endswith("service_state")
    ]
    return [service["name"] for one in made if one["state"] in states for service in one["services"]]


def test_each_engine_stops_when_both_routers_have_restarted_without_it(records):
    calls = records["routers/none"]
    names = [name for name in set_to(calls, "started", "restarted") if name.startswith(("router", "decode"))]
    assert names[-6:] == ["router", "router-1", "decode-0", "router", "router-1", "decode-1"]


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_else_stops_when_the_host_of_a_router_fails(records, name):
    """Nor when the upgrade goes back."""
    calls, (task, host, _result, expected) = records[f"routers/{name}"], FAULTS[name]
    assert any(
        re.fullmatch(f"(.* : )?{task}", call["task"]) and call["host"] == host and call["status"] != "changed"
        for call in calls
    )
    assert [engine for engine in set_to(calls, "started", "restarted") if engine.startswith("decode")] == []
    restarted = set_to(calls, "restarted")
    assert restarted in (expected, expected * 2), "once, and once more on the way back if the host is there"
    texts = [call["message"] for call in calls if "all steps are done" in call["task"] and call["status"] == "failed"]
    assert texts and all("Nothing after it was done" in text for text in texts)
