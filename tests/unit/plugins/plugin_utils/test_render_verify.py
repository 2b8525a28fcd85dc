# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's section for verification, and what upstream's guides set for one pool, one rank or hosts of one generation."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

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
    "frontend": "haproxy",
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
    assert (entry["name"], entry["kind"], entry["api_key"]) == ("frontend", "frontend", "client_keys")
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


GIB = 2**30
P, D = "inference_pools.prefill", "inference_pools.decode"


def engines(name, changes):
    plan = launch_plan(*family(name, changes))
    return plan, {service["name"]: service for service in plan["services"] if service["kind"] in ("prefill", "decode")}


def segment(service):
    return json.loads(next(f["content"] for f in service["files"] if f["path"].endswith("mooncake.json")))[
        "global_segment_size"
    ]


def test_a_pool_that_contributes_nothing_is_no_client_that_the_master_counts():
    plan, found = engines("both", {f"{D}.store_segment_size": 0, "inference_store.segment_size": "4GB"})
    usual = launch_plan(*family("both", {"inference_store.segment_size": "4GB"}))["verify"]["store"]
    assert {segment(service) for name, service in found.items() if name.startswith("decode")} == {0}
    assert {segment(service) for name, service in found.items() if name.startswith("prefill")} == {"4GB"}
    own, contributing = plan["verify"]["store"], sum(len(found[name]["devices"]) for name in found if "prefill" in name)
    assert (own["clients"], own["capacity_bytes"]) == (contributing, contributing * 4 * GIB)
    assert own["clients"] < usual["clients"] and usual["capacity_bytes"] == usual["clients"] * 4 * GIB


def test_a_pool_has_a_segment_of_its_own_and_it_wins():
    plan, found = engines(
        "both", {f"{P}.store_segment_size": "8GB", "inference_store.options": {"global_segment_size": "2GB"}}
    )
    assert segment(found["prefill-0"]) == 8 * GIB and segment(found["decode-0-0"]) == "2GB"


EXTERNAL = {f"{D}.load_balancing": "external"}


def test_one_rank_of_each_instance_has_variables_of_its_own():
    """GLM-5.3-Flash on A2: each rank has its range of HCCL's ports. The last rank of 32 has the number 31."""
    name, last = "HCCL_NPU_SOCKET_PORT_RANGE", {31: {"env": {"HCCL_NPU_SOCKET_PORT_RANGE": "63100-63199"}}}
    changes = {
        f"{D}.ranks": last,
        f"{D}.env": {name: "60000-60099"},
        f"{D}.hosts": {"node4": {"env": {name: "61000-61099"}}},
    }
    _plan, found = engines("p2p", {**changes, **EXTERNAL})
    values = {service["env"][name] for name_, service in found.items() if name_ == "decode-0-31"}
    assert values == {"63100-63199"} and found["decode-0-30"]["env"][name] != "63100-63199"
    assert found["decode-0-0"]["env"][name] == "60000-60099" and name not in found["prefill-0"]["env"]


def test_a_misspelt_variable_of_one_rank_is_found_there():
    found = launch_plan(*family("p2p", {**EXTERNAL, f"{D}.ranks": {3: {"env": {"VLLM_ASCEND_ENABLE_MLAP": 1}}}}))[
        "findings"
    ]
    assert [item["path"] for item in found if "MLAP" in item["path"]] == [f"{D}.ranks.3.env.VLLM_ASCEND_ENABLE_MLAP"]


WIDE = {"inference_hardware": "950", "inference_devices": 16}


@pytest.mark.parametrize(
    ("name", "changes", "path"),
    [
        ("docker", {}, "/etc/hixlep"),
        ("docker", {"inference_release": "0.23.0"}, "/etc/hixlep"),
        ("docker", {f"{P}.kv.mooncake.ascend_local_comm_res_path": "/srv/links"}, "/srv/links"),
        ("docker", {"inference_env.ASCEND_GLOBAL_RESOURCE_CONFIG": "{}"}, None),  # another kind of link
        ("both", {}, None),  # the code does not read it below a MultiConnector
        ("docker", {"inference_hardware": "a3"}, None),
    ],
)
def test_the_links_of_a_950_are_described_to_the_connector(name, changes, path):
    _plan, found = engines(name, {**WIDE, "inference_release": "0.23.0.post1", **changes})
    argv = found["prefill-0"]["argv"]
    config = json.loads(argv[argv.index("--kv-transfer-config") + 1])
    assert config["kv_connector_extra_config"].get("ascend_local_comm_res_path") == path
    box = found["prefill-0"]["container"]
    wanted = {**WIDE, **changes}["inference_hardware"] == "950"
    assert not box or ("/etc/hixlep:/etc/hixlep:ro" in box["mounts_if_present"]) == wanted
