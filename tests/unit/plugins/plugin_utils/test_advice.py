# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice names what most documented deployments set, and nothing that the plan sets or the release does not read."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes import advice
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.practice_data import PRACTICE, SOURCES
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

SOURCE = "owner/project@0123456789ab:docs/page.md"
MADE_UP = {
    "deepseek-v3": {
        "decode": (
            5,
            {
                "HCCL_OP_EXPANSION_MODE": (4, "AIV", 0),
                "VLLM_ASCEND_NEVER_READ": (5, "1", 0),
                "async-scheduling": (3, "true", 0),
                "never-known": (5, "", 0),
                "compilation-config": (3, "", 0),
            },
        )
    }
}


@pytest.fixture
def plan(monkeypatch):
    monkeypatch.setattr(advice, "PRACTICE", MADE_UP)
    monkeypatch.setattr(advice, "SOURCES", (SOURCE,))

    def made(**more):
        return launch_plan(*family("p2p", {"inference_model": {"path": "/models/DeepSeek-V3.1-w8a8"}, **more}))

    return made


def test_what_is_usual_and_missing_is_listed_with_its_source(plan):
    env = {"HCCL_OP_EXPANSION_MODE": "AI_CPU"}
    assert plan_table(plan(), "advice") == [
        "decode: most of 5 documented deployments of deepseek-v3 set this, and the plan does not:",
        f"  HCCL_OP_EXPANSION_MODE=AIV (4 of 5; {SOURCE})",
        f"  --async-scheduling (3 of 5; {SOURCE})",
        f"  --compilation-config (3 of 5; {SOURCE})",
    ]
    set_ = plan(inference_env=env, inference_args={"no-async-scheduling": True, "compilation-config": {"mode": 3}})
    assert advice.advice_lines(set_) == ["The plan sets all that most documented deployments of deepseek-v3 set."]


def test_an_unknown_model_has_no_advice(plan):
    made = copy.deepcopy(plan())
    made["model"].update(path="/models/other", name="other")
    assert advice.advice_lines(made) == [
        "No advice: fewer than three documented deployments of a model like other are known."
    ]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("DeepSeek-R1-0528-W8A8", "deepseek-r1"),
        ("DeepSeek_V3.1T", "deepseek-v3"),
        ("Qwen3-235B-A22B", "qwen3"),
        ("Qwen3.5-397B", "qwen3.5"),
        ("GLM5-w8a8", "glm-5"),
        ("Llama-3", ""),
    ],
)
def test_families(model, expected):
    assert advice.family_of(model) == expected


def test_the_data_is_what_most_of_at_least_three_deployments_set():
    assert {"deepseek-v3", "deepseek-v4", "qwen3", "glm-5", "kimi-k2"} <= set(PRACTICE)
    for pools in PRACTICE.values():
        for deployments, settings in pools.values():
            assert deployments >= 3
            for count, value, source in settings.values():
                assert deployments < 2 * count <= 2 * deployments and "/" not in value and SOURCES[source]
