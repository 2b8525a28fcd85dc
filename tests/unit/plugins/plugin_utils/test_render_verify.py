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


# --- the entry of clients, ranks, and inference_verify ---------------------------------------------------------------------

FRONTEND = {
    "flavour": "load_balance",
    "frontend": "nginx",
    "certificate": "/etc/tls/c.pem",
    "certificate_key": "/etc/tls/k.pem",
}


def test_the_entry_is_the_frontend_of_clients():
    found = section(
        {"client_keys": VALUE},
        inference_router=FRONTEND,
        inference_verify={"ca_file": "/etc/ca.pem", "server_name": "llm.x"},
    )
    entry = found["entry"]
    assert (entry["name"], entry["kind"], entry["api_key"]) == ("frontend", "nginx", "client_keys")
    assert entry["url"] == "https://10.0.0.1:8443"
    assert (entry["ca_path"], entry["server_name"]) == ("/etc/ca.pem", "llm.x")
    assert {"/instances/add", "/instances/remove", "/metrics", "/invocations"} <= set(entry["refused_paths"])
    assert [router["name"] for router in found["routers"]] == ["router"]
    assert found["routers"][0]["url"].startswith("http://")
    assert found["changed"] == []


def test_without_a_frontend_the_entry_refuses_no_paths():
    found = section()
    assert "refused_paths" not in found["entry"] and "routers" not in found


def test_the_ranks_behind_an_api_are_known():
    pool = {"tensor_parallel_size": 2, "data_parallel_size": 2}
    external = dict(pool, load_balancing="external")
    found = section(inference_pools={"prefill": pool, "decode": external})
    assert [engine.get("ranks", 1) for engine in found["prefill"] + found["decode"]] == [2, 1, 1]
    assert found["release"]["has_rank_header"] is True
    old = section(inference_release="0.11.0")
    assert old["release"]["has_rank_header"] is False


def test_the_registry_of_ranks_is_known_for_vllm_s_own_connector():
    found = section(inference_engine="vllm_cpu", inference_release="cpu-0.32.0", inference_hardware="cpu")
    assert found["prefill"][0]["bootstrap"].startswith("http://10.0.0.1:")
    assert "bootstrap" not in found["decode"][0]
    assert "bootstrap" not in section()["prefill"][0]


def test_the_chunk_and_the_parsers_come_from_the_options():
    args = {"max_num_batched_tokens": 4096, "reasoning-parser": "deepseek_r1"}
    found = section(inference_args=args)
    assert (found["chunk_tokens"], found["parsers"]) == (4096, ["reasoning-parser deepseek_r1"])
    assert section()["chunk_tokens"] == 8192


def test_inference_verify_loosens_and_is_named_with_its_reason():
    wish = {"reason": "two quantisations", "near_tie": 40, "agreement": 90, "burst": 0, "compared_tokens": 4}
    found = section(inference_verify=wish)
    assert (found["near_tie"], found["agreement"], found["burst"], found["match"]) == (0.9163, 90, 0, "prefix:4")
    assert found["changed"] == ["compared_tokens 4", "agreement 90", "near_tie 40", "burst 0"]
    assert found["reason"] == "two quantisations"


def test_the_tolerance_depends_on_the_engine():
    cpu = section(inference_engine="vllm_cpu", inference_release="cpu-0.32.0", inference_hardware="cpu")
    assert (cpu["match"], cpu["near_tie"], cpu["logprob_difference"]) == ("exact", 0.0101, 0.01)
    npu = section()
    assert (npu["match"], npu["near_tie"], npu["logprob_difference"]) == ("prefix:8", 0.5108, 0.2624)


def test_the_burst_respects_the_frontend_s_limit():
    router = dict(FRONTEND, frontend_parallel_requests=4)
    assert section({"client_keys": VALUE}, inference_router=router)["burst"] == 4
