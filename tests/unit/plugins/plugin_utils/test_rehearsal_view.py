# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host is asked in a rehearsal, what its answers mean, and which variables they are about."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.mentioned import mentioned
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.rehearsal import outcome, question
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

GIVEN = {
    "inference_args": {"max-num-seqs": 4, "dtype": "float32", "seed": 1},
    "inference_env": {"VLLM_ASCEND_ENABLE_FLASHCOMM1": "1"},
    "inference_model": {"path": "/m", "name": "mtp"},
    "inference_pools": {
        "prefill": {"tensor_parallel_size": 3, "args": {"speculative-config": {"method": "mtp", "num": 1}}},
        "decode": {"tensor_parallel_size": 3, "args": {"enable-expert-parallel": True}},
    },
    "inference_plan_file": "/x",
    "inference_secrets": {"args": {"dtype": "float32"}},
    "other_args": {"dtype": "x"},
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "attention heads (4) must be divisible by tensor parallel size (3)",
            ["inference_pools.prefill.tensor_parallel_size"],
        ),
        ("tp_size > 1 is required", ["inference_pools.prefill.tensor_parallel_size"]),
        ("Unsupported speculative method: 'mtp'", ["inference_pools.prefill.args.speculative-config.method"]),
        ("--max-num-seqs is too small", ["inference_args.max-num-seqs"]),
        ("dtype is wrong", ["inference_args.dtype"]),
        ("FLASHCOMM1 needs VLLM_ASCEND_ENABLE_FLASHCOMM1=0", ["inference_env.VLLM_ASCEND_ENABLE_FLASHCOMM1"]),
        ("the number of experts must be greater than 0 with expert parallel", []),  # of decode
        ("something else about the path of the model", []),
    ],
)
def test_variables_that_a_text_is_about(text, found):
    assert mentioned(text, ["prefill"], GIVEN) == found


def test_a_host_is_asked_about_its_own_engines_with_its_own_facts():
    plan = launch_plan(*family("p2p", {}))
    asked = question(
        plan, "node1", {"npus": [{"device_id": 0, "hbm_total_mib": 32768}, {"device_id": 1, "hbm_total_mib": None}]}
    )
    assert [engine["name"] for engine in asked["engines"]] == ["prefill-0"]
    assert (
        asked["engines"][0]["argv"][:2] == ["/models/qwen-moe-w8a8", "--host"]
        and "container" not in asked["engines"][0]
    )
    assert asked["stand_ins"] == {"hardware": "A3", "devices": 2, "device_mib": 32768}
    assert asked["own_user"] and asked["python"].endswith("bin/python") and asked["newer"]
    assert question(plan, "node1", {})["stand_ins"] == {"hardware": "A3", "devices": 16, "device_mib": 65536}
    boxed = question(launch_plan(*family("docker", {})), "node1", {})
    assert boxed["engines"][0]["container"]["image"] and boxed["newer"] == []
    assert question(launch_plan(*family("cpu", {})), "node1", {})["stand_ins"] == {}


def result(**words):
    return {"refused": [], "unknown": [], "tried": 1, "known": 0, "seconds": 9, "reason": "", **words}


def test_answers_of_all_hosts_become_one_text():
    plan = launch_plan(*family("p2p", {}))
    words = {"kind": "ValidationError", "text": "bad tensor_parallel_size."}
    both = {
        "node1": result(refused=[{"engines": ["prefill-0"], **words}]),
        "node2": result(
            refused=[{"engines": ["prefill-1"], **words}],
            unknown=[{"engines": ["x"], "kind": "TypeError", "text": "t"}],
        ),
        "node3": result(reason="no software", tried=0),
        "node4": {"msg": "it crashed", "failed": True},
    }
    found = outcome(plan, both, {"node1": GIVEN})
    assert (
        found["refusals"].count("\n") == 0
        and "prefill-0 on node1, prefill-1 on node2: release 0.23.0 refuses" in found["refusals"]
    )
    assert "bad tensor_parallel_size. The engine" in found["refusals"]
    assert "inference_pools.prefill.tensor_parallel_size" in found["refusals"]
    assert "2 different commands of engines, on 4 hosts, in 9 s" in found["remarks"]
    for text in (
        "x on node2: could not be rehearsed",
        "TypeError: t",
        "node3: no engine was rehearsed: no software",
        "it crashed",
    ):
        assert text in found["remarks"]
    assert outcome(plan, {"node1": result(tried=0, known=1)}, {}) == {"refusals": "", "remarks": ""}


def test_a_text_that_names_nothing_points_to_the_options_of_the_pool():
    plan = launch_plan(*family("p2p", {}))
    refused = [{"engines": ["prefill-0"], "kind": "AssertionError", "text": "no"}]
    found = outcome(plan, {"node1": result(refused=refused)}, {"node1": GIVEN})
    assert "see inference_pools.prefill.args, inference_args" in found["refusals"]


@pytest.mark.parametrize(
    "odd",
    [
        {"refused": [{}]},
        {"refused": ["x"]},
        {"unknown": [{"kind": [], "text": {}, "engines": 1}]},
        {"tried": None, "seconds": None},
    ]
    + [{"refused": [{"kind": "a", "text": "b", "engines": found}]} for found in ([], [None], "x")],
)
def test_an_odd_answer_says_nothing_of_other_hosts(odd):
    """Root of a host wrote it; it ended check for all hosts."""
    good = {"refused": [{"kind": "a", "text": "seed is wrong", "engines": ["p"]}], "tried": 1, "seconds": 2}
    found = outcome({"release": "1", "services": []}, {"n1": {"refused": [], **odd}, "n2": good}, {})
    assert found["refusals"].startswith("p on n2: release 1 refuses") and "n1" not in found["refusals"]
    assert "judged 1 different command" in found["remarks"]
    assert (
        odd == {"tried": None, "seconds": None}
        or "n1: no engine was rehearsed: its answer is not that" in found["remarks"]
    )
