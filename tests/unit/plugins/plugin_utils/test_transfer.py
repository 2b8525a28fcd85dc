# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both sides of a transfer: what is derived for them, and what may differ."""

from __future__ import annotations

import json
import types

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.transfer_pairs import where
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import (
    family,
    hosts,
)

PIPELINE = {
    "inference_pools.prefill.pipeline_parallel_size": 2,
    "inference_pools.prefill.tensor_parallel_size": 4,
    "inference_pools.prefill.env.VLLM_PP_LAYER_PARTITION": "42,36",
}


def connector(plan, name):
    argv = next(service["argv"] for service in plan["services"] if service["name"] == name)
    return json.loads(argv[argv.index("--kv-transfer-config") + 1])


@pytest.mark.parametrize("name", ["prefill-0", "decode-0-0"])
def test_both_sides_know_the_layers_of_prefill_s_pipeline_ranks(name):
    plan = launch_plan(*family("p2p", PIPELINE))
    prefill = connector(plan, name)["kv_connector_extra_config"]["prefill"]
    assert prefill == {"dp_size": 2, "tp_size": 4, "pp_size": 2, "pp_layer_partition": "42,36"}
    assert plan["findings"] == []


def test_a_decode_that_writes_to_the_store_knows_prefill_s_pipeline():
    plan = launch_plan(*family("both", {**PIPELINE, "inference_pools.decode.kv.store.consumer_is_to_put": True}))
    store = connector(plan, "decode-0-0")["kv_connector_extra_config"]["connectors"][1]["kv_connector_extra_config"]
    assert (store["prefill_pp_size"], store["prefill_pp_layer_partition"]) == (2, "42,36")


@pytest.mark.parametrize(
    ("prefill", "decode"),
    [
        ("mooncake+store", "store"),
        ("store", "store"),
        ("mooncake+recompute_cpu_offload", "mooncake"),
        ("mooncake", "mooncake+offloading"),
    ],
)
def test_sides_may_differ_where_they_share_a_way(prefill, decode):
    changes = {
        "inference_pools.prefill.kv_transfer": prefill,
        "inference_pools.decode.kv_transfer": decode,
        "inference_store": {"segment_size": "4GB"} if "store" in prefill else {},
    }
    plan = launch_plan(*family("p2p", changes))
    assert not [finding for finding in plan["findings"] if finding["id"].startswith("TRANSFER")]


def test_decode_may_keep_the_kv_cache_of_preempted_requests():
    """preempt_offload_connector.md of vllm-ascend 0.30.0rc2: behind the connector from prefill, with the recompute scheduler."""
    plan = launch_plan(
        *family(
            "newest",
            {
                "inference_pools.decode.kv_transfer": "mooncake+preempt_offload",
                "inference_pools.decode.kv.preempt_offload": {"cpu_bytes_to_use_per_rank": 17179869184},
                "inference_pools.decode.args.additional-config": {
                    "scheduler_config": {"recompute_scheduler_enable": True}
                },
            },
        )
    )
    children = connector(plan, "decode-0-0")["kv_connector_extra_config"]["connectors"]
    assert [child["kv_connector"] for child in children] == ["MooncakeConnectorV1", "PreemptOffloadConnector"]
    assert children[1]["kv_role"] == "kv_consumer"
    assert children[1]["kv_connector_extra_config"] == {"cpu_bytes_to_use_per_rank": 17179869184}
    assert connector(plan, "prefill-0")["kv_connector"] == "MooncakeConnectorV1"
    assert [finding["id"] for finding in plan["findings"]] == ["RELEASE-CANDIDATE"]


def test_encoders_and_colocated_engines_behind_the_encoders_proxy_are_served():
    changes = {
        "inventory": hosts(3, {"encode": (3,), "colocated": (1, 2)}),
        "inference_pools.encode": {"tensor_parallel_size": 4},
    }
    plan = launch_plan(*family("pooled", changes))
    assert plan["software"]["router"]["flavour"] == "epd"


def configured(plan):
    return {service["kind"] for service in plan["services"] if "--kv-transfer-config" in service["argv"]}


def test_only_engines_with_a_peer_transfer_unless_the_user_says_so():
    """A connector without a peer binds ports and registers memory that nobody reads; without one prefill's work is lost."""
    alone = {"inference_kv_transfer": "", "inference_store": {}}
    assert configured(launch_plan(*family("pooled", alone))) == set()
    plan = launch_plan(*family("p2p", {"inference_kv_transfer": ""}))
    assert configured(plan) == {"prefill", "decode"}
    assert connector(plan, "prefill-0")["kv_connector"] == "MooncakeConnectorV1"


def test_what_a_pool_says_counts_more_than_what_the_deployment_says():
    changes = {"inference_kv_transfer": "mooncake", "inference_pools.prefill.kv_transfer": "mooncake+offloading"}
    plan = launch_plan(*family("p2p", changes))
    assert connector(plan, "prefill-0")["kv_connector"] == "MultiConnector"
    assert connector(plan, "decode-0-0")["kv_connector"] == "MooncakeConnectorV1"


@pytest.mark.parametrize(
    ("kind", "written", "place"),
    [
        ("prefill", ("prefill", "decode"), "inference_pools.prefill.kv_transfer"),
        ("decode", ("prefill", "decode"), "inference_pools.decode.kv_transfer"),
        ("prefill", ("decode",), "inference_pools.decode.kv_transfer"),
        ("decode", ("prefill",), "inference_pools.prefill.kv_transfer"),
        ("decode", (), "inference_kv_transfer"),
    ],
)
def test_a_finding_names_the_variable_that_sets_the_connector(kind, written, place):
    """That of the engine's own pool, else that of the other side, which differs from the common one."""
    pools = {
        name: types.SimpleNamespace(kv_transfer="mooncake" if name in written else "") for name in ("prefill", "decode")
    }
    description = types.SimpleNamespace(pools=types.SimpleNamespace(**pools))
    case = types.SimpleNamespace(context=types.SimpleNamespace(description=description))
    assert where(case, types.SimpleNamespace(kind=kind, table={})) == place
