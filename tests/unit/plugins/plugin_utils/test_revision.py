# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The revision of a plan changes with what decides about the exchange of KV cache, and with nothing else."""

from __future__ import annotations

import dataclasses
import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.planned_steps import change
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.revision import exchange, incompatible
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.systemd import Systemd
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_diff import plan_diff

ADDRESSES = {name: f"192.0.2.{number}" for number, name in enumerate(("p1", "p2", "d1", "d2", "d3", "d4"), 1)}
ALL = ("p1", "p2", "d1", "d2")


def plan(hosts=ALL, decode=2, deployed=None, ports=None, pool=None, **more):
    variables = {
        "inference_release": "0.23.0",
        "inference_hardware": "a2",
        "inference_interface": "eth0",
        "inference_model": {"path": "/models/m", "name": "m"},
        "inference_pools": {
            "prefill": {"instances": 2, "tensor_parallel_size": 8},
            "decode": {"instances": decode, "tensor_parallel_size": 8, "ports": ports or {}, **(pool or {})},
        },
        **more,
    }
    inventory = {
        name: {
            "groups": ["prefill" if name.startswith("p") else "decode"],
            "variables": {"ansible_host": ADDRESSES[name]},
        }
        for name in hosts
    }
    return launch_plan(variables, inventory, (), deployed and deployed["placement"])


BEFORE = plan()


@pytest.mark.parametrize(
    "found",
    [
        plan(hosts=(*ALL, "d3"), decode=3, deployed=BEFORE),
        plan(hosts=("p1", "p2", "d1", "d3"), deployed=BEFORE),
        plan(hosts=("p1", "p2", "d3", "d4"), deployed=BEFORE),
        plan(ports={"kv": [40000], "api": [7700], "hccl": [61500]}),
        plan(pool={"args": {"max-num-seqs": 8}}),
        plan(inference_env={"VLLM_LOGGING_LEVEL": "DEBUG"}),
    ],
    ids=["more instances", "another host", "other hosts", "other ports", "scheduling", "logs"],
)
def test_places_ports_and_neutral_settings_leave_the_revision(found):
    assert found["revision"] == BEFORE["revision"]
    assert incompatible(found, BEFORE) == set()
    assert not any(line.startswith("revision") for line in plan_diff(found, BEFORE))


@pytest.mark.parametrize(
    "found",
    [
        plan(inference_args={"block-size": 64}),
        plan(pool={"args": {"hf-overrides": {"a": 1}}}),
        plan(inference_release="0.23.0.post1"),
        plan(inference_model={"path": "/models/n", "name": "m"}),
        plan(inference_kv_transfer="mooncake_layerwise"),
        plan(inference_env={"VLLM_USE_OTHER": "1"}),
        plan(pool={"kv": {"mooncake": {"other": 1}}}),
    ],
    ids=["block size", "one pool", "release", "model", "connector", "variable", "of the connector"],
)
def test_what_kv_cache_depends_on_is_another_revision(found):
    assert found["revision"] != BEFORE["revision"]
    assert incompatible(found, BEFORE) == {"prefill-0", "prefill-1", "decode-0", "decode-1"}
    assert (
        f"revision {BEFORE['revision'][:12]} -> {found['revision'][:12]}: engines before and after cannot exchange KV cache"
        in plan_diff(found, BEFORE)
    )


def test_where_units_keep_caches_and_logs_leaves_the_revision(monkeypatch):
    """Plans of versions that named no place for them run in deployments, and their engines understand those of this version."""
    now = plan(inference_runtime="systemd")
    named = Systemd.named
    places = {"HOME", "ASCEND_PROCESS_LOG_PATH"}

    def without(self, context, service):
        found = named(self, context, service)
        env = {key: value for key, value in found.env.items() if key not in places}
        return dataclasses.replace(found, env=env)

    monkeypatch.setattr(Systemd, "named", without)
    before = plan(inference_runtime="systemd")
    assert not any(places & set(service["env"]) for service in before["services"])
    assert now["digest"] != before["digest"] and now["revision"] == before["revision"]
    assert incompatible(now, before) == set()


def test_one_engine_of_its_own_is_not_the_revision_and_is_not_paired():
    own = plan(pool={"hosts": {"d2": {"args": {"hf-overrides": {"a": 1}}}}})
    assert own["revision"] == BEFORE["revision"]
    assert incompatible(own, BEFORE) == {"decode-1"}


def test_a_plan_without_a_revision_is_compared_by_its_engines():
    older = {key: value for key, value in BEFORE.items() if key != "revision"}
    assert incompatible(plan(ports={"kv": [40000]}), older) == set()
    assert incompatible(plan(pool={"args": {"hf-overrides": {"a": 1}}}), older) == {"decode-0", "decode-1"}
    assert not any(line.startswith("revision") for line in plan_diff(plan(inference_args={"block-size": 64}), older))


def test_a_replaced_host_and_other_limits_need_no_pause():
    found = plan(hosts=("p1", "p2", "d1", "d3"), deployed=BEFORE, inference_args={"max-num-seqs": 8})
    steps = change(found, BEFORE)
    assert [step["services"] for step in steps["roll"]] == [["decode-0", "prefill-0"], ["prefill-1"]]
    assert steps["pauses"] == {}


def test_ports_of_other_connectors_are_compared():
    """Only Mooncake's connectors are known to learn the other side's port from each request."""

    def of(connector, port):
        parts = {"connectors": [{"kv_connector": connector, "kv_port": port}]}
        config = {"kv_connector": "MultiConnector", "kv_connector_extra_config": parts}
        return exchange({"argv": ["--kv-transfer-config", json.dumps(config)], "env": {}})

    assert of("MooncakeConnectorV1", 1) == of("MooncakeConnectorV1", 2)
    assert of("SFARemoteD2HConnector", 1) != of("SFARemoteD2HConnector", 2)
    assert exchange({"argv": ["--kv-transfer-config", "{"], "env": {}}) == (["--kv-transfer-config", "{"], {})
