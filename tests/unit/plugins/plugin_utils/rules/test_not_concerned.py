# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a mistake with one connector, engine or release is none where the reason of the rule does not exist."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family, hosts
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

P, D = "inference_pools.prefill", "inference_pools.decode"
PIPELINE = {f"{P}.pipeline_parallel_size": 2, f"{P}.tensor_parallel_size": 4}


@pytest.mark.parametrize(
    ("rule", "concerned", "not_concerned", "changes"),
    [
        # The ranks of one side read those of the other only with Mooncake's connectors on NPUs.
        ("TP-DIVIDES", "p2p", "llmdatadist", {f"{P}.tensor_parallel_size": 1, f"{D}.tensor_parallel_size": 2}),
        ("DECODE-PP", "p2p", "cpu", {f"{D}.pipeline_parallel_size": 2}),
        # What vLLM-Ascend does not support says nothing about vLLM on CPUs.
        ("PP-PCP", "p2p", "cpu", {**PIPELINE, f"{P}.prefill_context_parallel_size": 2}),
        # Later releases of the connector count pipeline ranks.
        ("LAYERWISE-PP", "layerwise-0.11", "layerwise", PIPELINE),
    ],
)
def test_a_rule_judges_only_where_its_reason_exists(rule, concerned, not_concerned, changes):
    assert rule in {item["id"] for item in judged(concerned, changes)}
    assert rule not in {item["id"] for item in judged(not_concerned, changes)}


@pytest.mark.parametrize("kind", ["prefill", "encode"])
def test_an_encoder_mounts_no_part_of_the_store(kind):
    """So the memory of its host is not judged by the store, and the plan says that it is not used."""
    inventory = hosts(5, {"encode": (5,), "prefill": (1, 2), "decode": (3, 4)})
    node = inventory["node5" if kind == "encode" else "node1"]
    node["variables"]["inference_memory"] = 20  # GiB; 4 GB for each of 4 ranks and more are too much
    changes = {"inventory": inventory, "inference_pools.encode": {"tensor_parallel_size": 4}}
    assert ("HOST-MEMORY" in {item["id"] for item in judged("both", changes)}) == (kind == "prefill")
    if kind == "encode":
        planned = {host["name"]: host["store_mib"] for host in launch_plan(*family("both", changes))["hosts"]}
        assert planned["node5"] == 0 < planned["node1"]


def test_sides_that_meet_in_the_store_only_may_split_contexts_differently():
    """Decode then reads whole blocks by their hash, and no rank of prefill. (A warning, which a refused plan would not show.)"""
    changes = {f"{P}.decode_context_parallel_size": 4, "inference_store": {"segment_size": "4GB"}}
    apart = {f"{P}.kv_transfer": "store", f"{D}.kv_transfer": "store"}
    assert "DCP-EQUAL" in {item["id"] for item in judged("both", changes)}
    found = judged("both", {**changes, **apart})
    assert not [item for item in found if item["severity"] == "error"], found
    assert "DCP-EQUAL" not in {item["id"] for item in found}


@pytest.mark.parametrize(("path", "refused"), [("/m/Qwen3.5-27B", False), ("/m/Qwen3-32B", True)])
def test_a_dense_model_may_have_mtp_layers(path, refused):
    speculative = {"inference_pools.colocated.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1}}
    found = judged("pooled", {**speculative, "inference_model.path": path})
    assert ("MTP-LAYERS" in {item["id"] for item in found}) == refused
