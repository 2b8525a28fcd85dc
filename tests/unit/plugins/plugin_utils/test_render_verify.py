# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's section for verification names the secret that the engines ask for, and nothing of its value."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

VALUE = "sk-nobody-may-see-this"


def section(secrets=None, **changes):
    inventory = {
        name: {"groups": [group], "variables": {"ansible_host": f"10.0.0.{number}", "inference_devices": 4}}
        for number, (name, group) in enumerate((("p", "prefill"), ("d", "decode")), 1)
    }
    pool = {"tensor_parallel_size": 4}
    words = {
        "inference_release": "0.23.0",
        "inference_hardware": "a3",
        "inference_model": {"path": "/models/ds", "name": "ds"},
        "inference_pools": {"prefill": pool, "decode": pool},
        **({"inference_secrets": secrets} if secrets else {}),
        **changes,
    }
    plan = launch_plan(words, inventory)
    assert VALUE not in json.dumps(plan)
    read_plan(plan["verify"])  # what the module takes
    return plan["verify"]


def test_engines_that_ask_for_a_key_are_asked_with_it():
    assert section({"api_key": VALUE})["engine_api_key"] == "api_key"


@pytest.mark.parametrize(
    "changes",
    [{}, {"inference_engine": "vllm_cpu", "inference_release": "cpu-0.32.0", "inference_hardware": "cpu"}],
    ids=["vllm-ascend's proxy", "vllm-router"],
)
def test_between_prefill_and_decode_the_router_sends_its_own_key_so_clients_need_none(changes):
    found = section({"api_key": VALUE}, **changes)
    assert found["engine_api_key"] == "api_key"
    assert "api_key" not in found["entry"]


@pytest.mark.parametrize(
    "changes",
    [
        {"inference_router": {"flavour": "vllm_router"}, "inference_pools": {"colocated": {"group": "decode"}}},
        {"inference_router": {"flavour": "none"}, "inference_pools": {"colocated": {"group": "decode"}}},
    ],
    ids=["a router that passes the client's on", "no router"],
)
def test_where_nothing_in_between_knows_the_key_the_client_sends_it(changes):
    found = section({"api_key": VALUE}, **changes)
    assert (found["engine_api_key"], found["entry"]["api_key"]) == ("api_key", "api_key")


def test_without_a_key_nothing_is_named():
    found = section()
    assert "engine_api_key" not in found
    assert "api_key" not in found["entry"]
