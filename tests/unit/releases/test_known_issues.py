# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Issues that upstream knows: who is told of them, and who is not."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.diagnose import causes_in, showing
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.log_causes import CAUSES
from ansible_collections.ascend.inference.plugins.modules import service_state
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import hand_over, parts, take
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import whole_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.known_issues import CONDITIONS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.known_issues import ISSUES, met
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.known_issues_data import NOTES, SIGNS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import service_states
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_table import status_report, status_table
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

P, D = "inference_pools.prefill", "inference_pools.decode"
MODEL = "inference_model.path"
GLM = {MODEL: "/models/GLM-5.2-W4A8C8"}
SPARSE = {f"{pool}.args.additional-config": {"enable_sparse_sfa_c8": True} for pool in (P, D)}


def told(name, changes):
    """{number of an issue: fix} of the findings of a plan."""
    found = launch_plan(*family(name, {"inference_release": "0.23.0.post1", **changes}))["findings"]
    return {
        re.search(r"issues/(\d+)", item["problem"]).group(1): item["fix"]
        for item in found
        if item["id"] == "KNOWN-ISSUE"
    }


@pytest.mark.parametrize(
    ("name", "changes", "numbers"),
    [
        ("p2p", {}, set()),
        ("p2p", {MODEL: "/models/DeepSeek-V4-Pro-w4a8-mtp"}, {"12345"}),
        ("p2p", {MODEL: "/models/DeepSeek-V4-Pro-w4a8-mtp", "inference_release": "0.22.1rc1"}, set()),
        ("both", {MODEL: "/models/Qwen3.5-397B-A17B"}, {"12390"}),
        ("p2p", {MODEL: "/models/Qwen3.5-397B-A17B"}, set()),  # without a store
        ("p2p", {**GLM, **SPARSE}, {"14378"}),
        ("p2p", GLM, set()),
        ("p2p-0.18", {"inference_release": "0.18.0", MODEL: "/models/GLM-5-w8a8"}, {"8853"}),
        ("p2p-0.18", {"inference_release": "0.18.0", MODEL: "/models/GLM-5.2-w8a8"}, set()),
    ],
)  # fmt: skip
def test_an_issue_is_told_to_whom_it_concerns(name, changes, numbers):
    assert set(told(name, changes)) == numbers


@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: issue.number)
def test_the_data_name_what_exists(issue):
    assert issue.when in CONDITIONS and ORDER[issue.first] <= ORDER[issue.last] and re.compile(issue.models)
    assert issue.way_out.endswith(".") and not issue.effect.endswith(".")


def test_each_condition_has_an_issue():
    assert set(CONDITIONS) == {issue.when for issue in ISSUES}


def test_the_release_that_lists_an_issue_no_more_is_named():
    assert list(NOTES) == sorted(NOTES, key=ORDER.get)
    named = {issue.number: issue.fix.rpartition("The notes of ")[2] for issue in ISSUES}
    assert named["12345"] == "0.26.0rc1 list it no more." and named["10962"] == "0.23.0rc1 list it no more."
    assert "notes" not in named["17541"]  # the newest ones list it
    assert told("p2p", MEMORY)["12345"].startswith("Watch their memory") and "0.26.0rc1" in told("p2p", MEMORY)["12345"]


def test_signs_are_of_issues_and_causes():
    ids = {cause.id for cause in CAUSES}
    assert set(SIGNS) <= {issue.number for issue in ISSUES}
    words = {word for sign in SIGNS.values() if "LOG-" in sign for word in re.findall(r"[A-Z]+(?:-[A-Z]+)*", sign)}
    assert {f"LOG-{word.replace('LOG-', '')}" for word in words - {"LOG"}} <= ids


MEMORY = {MODEL: "/models/DeepSeek-V4-Pro-w4a8-mtp"}


def the_plan(changes=MEMORY):
    return launch_plan(*family("p2p", {"inference_release": "0.23.0.post1", **changes}))


def test_a_diagnosis_that_shows_a_known_issue_says_it():
    causes = causes_in(["RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB"], "decode-0")
    (text,) = showing(met(the_plan()), causes)
    assert text.startswith(
        "It looks like a known issue of 0.23.0.post1: engines need more and more memory until they end (https://"
    )
    assert "issues/12345). Fix: Watch their memory" in text and text.endswith("The notes of 0.26.0rc1 list it no more.")
    assert showing(met(the_plan()), causes_in(["zmq.error.ZMQError: Address already in use"], "x")) == []
    assert showing(met(the_plan(GLM)), causes) == []


def test_the_hosts_of_engines_know_the_issues_that_logs_show(tmp_path):
    plan = the_plan()
    hand_over(plan, str(tmp_path))
    for host, part in parts(plan):
        engines = [service for service in part["services"] if service["kind"] in ("prefill", "decode")]
        assert bool(part.get("known_issues")) == bool(engines) and take(str(tmp_path), host) == part
        for state, service in zip(service_states(part, part["services"]), part["services"], strict=True):
            assert bool(state.get("known_issues")) == (service in engines)
    assert service_states(plan, plan["services"])[0].get("known_issues") or plan["services"][0]["kind"] == "router"
    assert not any("known_issues" in part for _host, part in parts(the_plan({**GLM, **SPARSE})))  # no log shows it


def test_on_kubernetes_the_whole_plan_that_is_applied_knows_them(tmp_path):
    plan = launch_plan(
        *family("kubernetes", {"inference_release": "0.23.0.post1", **MEMORY, "inference_model.name": "m"})
    )
    hand_over(plan, str(tmp_path))
    assert [issue["number"] for issue in take(str(tmp_path))["known_issues"]] == ["12345"]
    assert whole_plan(take(str(tmp_path), record=True)) == plan  # the record is the plan alone
    hand_over(the_plan(), str(tmp_path))
    assert "known_issues" not in take(str(tmp_path))


def test_a_failed_start_says_the_known_issue_beside_its_cause():
    cause = causes_in(["RuntimeError: NPU out of memory. Tried"], "decode-0")[0].as_dict()
    found = {"failed_services": {"decode-0": "ended"}, "logs": {"decode-0": "last"}, "causes": {"decode-0": [cause]}}
    lines = service_state.message(found, {"decode-0": met(the_plan())}).splitlines()
    assert lines[-2].startswith("It looks like a known issue of 0.23.0.post1: ") and lines[-1] == "last"
    assert "known issue" not in service_state.message(found, {"decode-0": []})


def test_check_and_status_say_it():
    plan = the_plan()
    assert [item["id"] for item in check_plan(plan, {}) if item["path"] == "inference_release"] == ["KNOWN-ISSUE"]
    row = {
        "service": "decode-0",
        "kind": "decode",
        "state": "failed",
        "answers": False,
        "since": None,
        "restarts": 3,
        "version": "",
        "requests": {},
    }
    row.update(kv={}, digests={}, log=[], findings=["is in a crash loop: NPU out of memory. [LOG-NPU-MEMORY]"])
    report = status_report("demo", {"d1": {"services": [row], "findings": []}}, plan)
    assert report["services"][0]["findings"][1].startswith("It looks like a known issue of 0.23.0.post1: ")
    assert [text for text in report["notices"] if "issues/12345" in text]
    assert "The notes of 0.26.0rc1" in "\n".join(status_table(report))
    quiet = status_report("demo", {"d1": {"services": [{**row, "findings": ["is not running"]}], "findings": []}}, plan)
    assert quiet["services"][0]["findings"] == ["is not running"]
    accepted = the_plan({**MEMORY, "inference_rules_ignore": ["KNOWN-ISSUE"]})
    assert not [text for text in status_report("demo", {}, accepted)["notices"] if "known issue" in text]
