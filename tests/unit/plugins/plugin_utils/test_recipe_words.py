# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipes on their way into a description, and what an advice compares: on recipes and practice of the test."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes import advice, apply, shelf

RECIPE = {
    "model": "M",
    "hardware": "a3",
    "release": "0.13.0",
    "source": "https://example.org",
    "hosts": 2,
    "notes": ["decode: it is left out"],
    "variables": {
        "inference_model": {"moe": "true"},
        "inference_args": {"seed": 1, "tags": ["a"], "empty": {}},
        "inference_pools": {
            "decode": {"instances": 1, "data_parallel_size": 32},
            "prefill": {
                "instances": 2,
                "data_parallel_size": 2,
                "tensor_parallel_size": 8,
                "pipeline_parallel_size": 1,
            },
        },
    },
}


@pytest.fixture(autouse=True)
def recipes(monkeypatch):
    one = {**RECIPE, "hosts": 1, "variables": {"inference_pools": {"colocated": {"instances": 1}}}}
    one["variables"]["inference_kv_transfer"] = "store"
    monkeypatch.setattr(apply, "RECIPES", {"pd": RECIPE, "one": one})
    monkeypatch.setattr(shelf, "RECIPES", {"pd": RECIPE, "one": one, "glm-5.2-x": {**RECIPE, "notes": []}})
    monkeypatch.setattr(shelf, "SHELF", "\n0.13.0 2026-02-05\n0.18.0 2026-04-30\n")
    monkeypatch.setattr(
        shelf, "WITHOUT", "\na.md|5 Deploy|a2|0.13.0\n  A-RULE: it is wrong\n  B: so\nb.yaml||a3|0.18.0\n  C: d\n"
    )


def test_a_description_without_a_recipe_is_as_it_was():
    given = {"inference_args": {"a": 1}}
    assert apply.with_recipe(given) == (given, []) and apply.with_recipe(given)[0] is not given
    assert apply.origin(given) == {}


def test_what_the_user_sets_wins_mapping_by_mapping_and_null_leaves_out():
    given = {"inference_recipe": "pd", "inference_args": {"seed": 2, "tags": ["b"], "more": 1}, "inference_model": None}
    words, findings = apply.with_recipe(given)
    assert findings == []
    assert words["inference_args"] == {"seed": 2, "tags": ["b"], "empty": {}, "more": 1}
    assert words["inference_model"] is None and words["inference_recipe"] == "pd"
    words["inference_pools"]["decode"]["instances"] = 9
    assert RECIPE["variables"]["inference_pools"]["decode"]["instances"] == 1, "the catalogue stays as it is"


def test_a_mapping_in_place_of_another_value_replaces_it():
    assert apply.merged({"a": 1, "b": {"c": 1}}, {"a": {"x": 1}, "b": 2}) == {"a": {"x": 1}, "b": 2}


def test_an_unknown_recipe_is_a_finding_with_the_nearest():
    words, (finding,) = apply.with_recipe({"inference_recipe": "pdd"})
    assert words == {"inference_recipe": "pdd"}
    assert (finding.id, finding.path, finding.value) == ("RECIPE-UNKNOWN", "inference_recipe", "pdd")
    assert "pd" in finding.fix and "lists them: pd, one." in finding.fix and finding.problem == "unknown recipe pdd"
    assert apply.origin({"inference_recipe": "pdd"}) == {}


@pytest.mark.parametrize(
    ("given", "replaced"),
    [
        ({}, []),
        ({"inference_args": {"seed": "1"}}, []),  # the same, in other words
        ({"inference_args": {"seed": 2, "other": 3}}, ["inference_args.seed"]),
        ({"inference_args": {"tags": ["a"]}, "inference_model": {"moe": "false"}}, ["inference_model.moe"]),
        ({"inference_model": None}, ["inference_model.moe"]),
        ({"inference_args": {"empty": {"x": 1}}}, ["inference_args.empty"]),
    ],
)
def test_the_plan_says_what_the_recipe_brought_and_what_the_user_replaced(given, replaced):
    found = apply.origin({"inference_recipe": "pd", **given})
    every = [".".join(path) for path, _value in apply.leaves(RECIPE["variables"])]
    assert len(every) == 10 and {"inference_args.empty", "inference_pools.decode.instances"} < set(every)
    assert found == {
        **{key: RECIPE[key] for key in ("model", "hardware", "release", "source")},
        "name": "pd",
        "brought": [path for path in every if path not in replaced],
        "replaced": replaced,
    }


def test_lines_of_the_catalogue():
    sizes = "  2 x prefill (DP 2, TP 8, PP 1), 1 x decode (DP 32) on 2 A3 hosts, none; documented for 0.13.0"
    assert shelf.recipe_lines() == [
        "Compiled from the tutorials and the CI of vLLM-Ascend 0.13.0 (2026-02-05) and 0.18.0 (2026-04-30):",
        "",
        "pd",
        sizes,
        "  https://example.org",
        "  Note: decode: it is left out",
        "one",
        "  1 x colocated on 1 A3 host, store; documented for 0.13.0",
        "  https://example.org",
        "  Note: decode: it is left out",
        "glm-5.2-x",
        sizes,
        "  https://example.org",
        "",
        "Guides without a recipe, because the planner refuses what they say:",
        "a.md, A2, 0.13.0",
        "  5 Deploy",
        "  A-RULE: it is wrong",
        "  B: so",
        "b.yaml, A3, 0.18.0",
        "  C: d",
        "",
        "Recipes by family, with prefill/decode and mixed:",
        "glm-5.2: A2 none and none, A3 1 and none",
    ]


PLAN = {
    "release": "0.23.0",
    "release_facts": {"vllm": "0.23.0"},
    "model": {"path": "/models/Qwen3-moe/", "name": "x"},
    "services": [
        {"kind": "prefill", "env": {"HCCL_A": "1"}, "argv": ["vllm", "--seed=1", "--no-enable-prefix-caching"]},
        {"kind": "decode", "env": {}, "argv": ["vllm", "--seed", "1"]},
        {"kind": "decode", "env": {"HCCL_A": "1"}, "argv": []},
        {"kind": "router", "env": {}, "argv": []},
    ],
}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("DeepSeek-V3.1-w8a8-mtp", "deepseek-v3"),
        ("deepseek_r1", "deepseek-r1"),
        ("DeepSeekV3", "deepseek-v3"),
        ("Qwen3-235B", "qwen3"),
        ("qwen3.5-x", "qwen3.5"),
        ("GLM4.6", "glm-4"),
        ("Kimi-K2", "kimi-k2"),
        ("MiniMax-M2", "minimax-m2"),
        ("llama", ""),
    ],
)
def test_the_family_of_a_model(model, family):
    assert advice.family_of(model) == family


@pytest.fixture
def practice(monkeypatch):
    settings = {
        "HCCL_A": (4, "1", 0),
        "HCCL_B": (3, "2", 1),
        "seed": (4, "1024", 0),
        "enable-prefix-caching": (3, "true", 1),
        "async-scheduling": (3, "true", 1),
        "no-such-flag": (3, "1", 1),
    }
    monkeypatch.setattr(
        advice, "PRACTICE", {"qwen3": {"prefill": (5, settings), "decode": (6, {"HCCL_A": (4, "1", 0)})}}
    )
    monkeypatch.setattr(advice, "SOURCES", ["first", "second"])


def test_the_advice_is_what_no_engine_of_a_pool_sets_and_the_release_reads(practice):
    assert advice.advice_lines(PLAN) == [
        "prefill: most of 5 documented deployments of qwen3 set this, and the plan does not:",
        "  HCCL_B=2 (3 of 5; second)",
        "  --async-scheduling (3 of 5; second)",
    ]
    named = {**PLAN, "model": {"path": "/models/own", "name": "Qwen3-x"}}
    assert advice.advice_lines(named) == advice.advice_lines(PLAN), "the served name tells the family as well"


def test_an_unknown_model_and_a_plan_with_everything_get_no_advice(practice):
    (line,) = advice.advice_lines({**PLAN, "model": {"path": "/models/own", "name": "x"}})
    assert line == "No advice: fewer than three documented deployments of a model like own are known."
    decode = {**PLAN, "services": PLAN["services"][1:]}
    assert advice.advice_lines(decode) == ["The plan sets all that most documented deployments of qwen3 set."]


@pytest.mark.parametrize(
    ("release", "name", "reads"),
    [
        ("0.23.0", "HCCL_ANY", True),
        ("0.23.0", "VLLM_ASCEND_NO_SUCH", False),
        ("0.23.0", "VLLM_ASCEND_ENABLE_FUSED_MC2", True),
        ("own", "VLLM_ASCEND_NO_SUCH", True),  # nothing is known about it
        ("0.23.0", "seed", True),
        ("0.23.0", "no-such", False),
    ],
)
def test_a_release_reads_what_is_advised(release, name, reads):
    assert advice.read({**PLAN, "release": release}, name) == reads


@pytest.mark.parametrize(
    ("index", "name", "has"),
    [
        (0, "HCCL_A", True),
        (0, "HCCL_B", False),
        (0, "seed", True),
        (0, "enable-prefix-caching", True),
        (0, "no-enable-prefix-caching", True),
        (0, "see", False),
        (1, "seed", True),
        (2, "seed", False),
    ],
)
def test_a_service_has_an_argument_in_either_form(index, name, has):
    assert advice.has(PLAN["services"][index], name) == has
