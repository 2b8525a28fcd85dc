# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Issues that upstream knows: who is told of them, and who is not."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.known_issues import CONDITIONS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.known_issues import ISSUES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER
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
