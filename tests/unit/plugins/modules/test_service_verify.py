# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules as Ansible calls them, against the simulated cluster."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.plugins.modules import service_log, service_verify
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster


def call(module, **arguments):
    """Run a module in a process of its own; what it printed as JSON."""
    payload = json.dumps({"ANSIBLE_MODULE_ARGS": arguments})
    argv = [sys.executable, "-m", module.__name__]
    done = subprocess.run(argv, input=payload, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


TIMES = {"connect_timeout": 0, "request_timeout": 20, "settle_timeout": 1}


def test_the_role_s_way_through_modules_and_filter(tmp_path):
    pytest.importorskip("ansible.errors", reason="a target has no filters")
    from ansible_collections.ascend.inference.plugins.filter.verify_verdict import FilterModule

    with Cluster(tmp_path, prefill=1, decode=1, api_key="planted-key") as cluster:
        plan = cluster.plan()
        marks = call(service_log, verify=plan, host="node1")["marks"]
        assert sorted(marks) == ["decode-0", "prefill-0"]
        gate = call(service_verify, verify=plan, engine_api_key="planted-key", fail=False, **TIMES)
        read = call(service_log, verify=plan, host="node1", marks=marks)
    assert gate["changed"] is read["changed"] is False
    report = FilterModule().filters()["verify_verdict"](gate["report"], plan, [read["logs"]])
    assert report["verified"] is True
    assert report["explanation"][0].startswith("VERIFIED")
    assert len(report["transfer_ms"]) == len(report["requests"]) == 17
    assert "planted-key" not in json.dumps([gate["report"], report])
    combine = FilterModule().filters()["verify_verdict"]
    for odd in (
        "text",
        7,
        {"decode-0": 7},
        {"prefill-0": {"flags": None}},
    ):
        named = combine(gate["report"], plan, [odd, {}], ["node1", "node2"])
        assert named["verified"] is False, odd
        assert any(text.startswith("the logs of node1 are not known: ") for text in named["failures"]), odd
    lie = {"decode-0": 7, "prefill-0": None}
    assert combine(gate["report"], plan, [read["logs"], lie], ["node1", "node2"]) == report, "they are not on node2"
    for odd in (None, "text", [], {"requests": 7}):
        with pytest.raises(Exception, match="The host that sent the requests answered no report"):
            combine(odd, plan, [read["logs"]])


def test_a_broken_service_fails_the_module_unless_told_otherwise(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"decode-0": ["recompute"]}) as cluster:
        plan = cluster.plan()
        failed = call(service_verify, verify=plan, **TIMES)
        kept = call(service_verify, verify=plan, fail=False, **TIMES)
    assert failed["failed"] is True
    assert failed["msg"].startswith("Not verified. prefill-0 -> decode-0: decode got 0 of ")
    assert "failed" not in kept
    assert kept["report"]["verified"] is False


def test_check_mode_sends_nothing(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1) as cluster:
        done = call(service_verify, verify=cluster.plan(), _ansible_check_mode=True)
        assert [engine.count["success"] for engine in cluster.engines] == [0, 0]
    assert done["report"]["check_mode"] is True
    assert done["report"]["verified"] is False


@pytest.mark.parametrize("module", [service_verify, service_log])
def test_contradictions_of_the_plan_are_one_clear_error(tmp_path, module):
    with Cluster(tmp_path, prefill=1, decode=1) as cluster:
        plan = cluster.plan(decode=[], mode="disaggregated", match="roughly")
        done = call(module, verify=plan, **({"host": "node1"} if module is service_log else {}))
    assert done["failed"] is True
    assert "verify.decode is empty" in done["msg"]
    assert "verify.match is 'roughly'" in done["msg"]


def test_a_host_without_services_has_no_logs(tmp_path):
    with Cluster(tmp_path, prefill=1, decode=1) as cluster:
        assert call(service_log, verify=cluster.plan(), host="node9")["marks"] == {}
