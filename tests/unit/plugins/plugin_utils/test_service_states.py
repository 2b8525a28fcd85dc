# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a service is restarted for, and what is waited for, from a plan of the real planner."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import (
    _written,
    service_states,
    software_files,
)


@pytest.fixture(scope="module")
def plan():
    words = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_root": "/srv/inference",
        "inference_deployment": "x",
        "inference_model": {"path": "/m/tiny"},
        "inference_pools": {"prefill": {}, "decode": {}},
        "inference_router": {"flavour": "load_balance"},
    }
    return launch_plan(words, {"one": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "10.1.1.1"}}})


def test_programs_say_what_they_have_to_run_with(plan):
    found = {state["unit"]: state for state in service_states(plan, plan["services"])}
    assert sorted(found) == ["x-decode-0", "x-prefill-0", "x-router"]
    assert found["x-decode-0"]["digest"] == next(
        service["digest"] for service in plan["services"] if service["name"] == "decode-0"
    )
    assert found["x-decode-0"]["digest_file"] == "/srv/inference/deployments/x/run/decode-0.digest"


def test_software_that_changed_under_a_service_counts_for_that_service_only(plan):
    found = {state["unit"]: state["newer"] for state in service_states(plan, plan["services"])}
    assert [item for item in found["x-decode-0"] if item.endswith(("vllm.json", "mooncake.json", "mooncake_serial.py"))]
    assert not set(found["x-router"]) & set(found["x-decode-0"])
    assert plan["software"]["router"]["script"] in found["x-router"]


def test_services_without_a_url_are_not_waited_for(plan):
    services = [dict(service, health=None) if service["name"] == "router" else service for service in plan["services"]]
    found = {state["name"]: state["url"] for state in service_states(plan, services)}
    assert found == {
        "decode-0": "http://10.1.1.1:7300/health",
        "prefill-0": "http://10.1.1.1:7100/health",
        "router": "",
    }


def test_table_has_a_line_for_each_service(plan):
    lines = plan_table(plan)
    assert len(lines) == 3 + len(plan["services"])
    assert lines[2].split() == ["SERVICE", "HOST", "DEVICES", "PORTS", "HEALTH"]
    assert "api 8000" in lines[-1] and "http://10.1.1.1:8000/healthcheck" in lines[-1]


def test_every_option_of_a_service_is_that_of_the_plan(plan):
    for state, service in zip(service_states(plan, plan["services"]), plan["services"], strict=True):
        newer = state.pop("newer")
        assert newer[: len(service["scripts"])] == list(service["scripts"].values())
        assert {file["path"] for file in service["files"]} <= set(newer)
        assert state == {
            "name": service["name"],
            "unit": service["unit"],
            "digest": service["digest"],
            "digest_file": service["digest_file"],
            "stop_timeout": service["stop"]["timeout"],
            "stop_signal": service["stop"]["signal"],
            "script": service["scripts"]["run"],
            "container": service["container"],
            "log": service["log"],
            "url": service["health"]["url"],
            "timeout": service["health"]["timeout"],
        }
        assert service["health"]["timeout"] > 0 and service["stop"]["timeout"] > 0
    (state,) = service_states(plan, [{**plan["services"][0], "health": None}])
    assert (state["url"], state["timeout"]) == ("", 0)
    (state,) = service_states(plan, [{**plan["services"][0], "starts_file": "/run/x.starts"}])
    assert state["starts_file"] == "/run/x.starts"


@pytest.mark.parametrize(
    ("kind", "layers", "others"),
    [
        ("mooncake_master", ["mooncake"], 0),
        ("router", ["router"], 1),  # the script of the proxy
        ("balancer", [], 0),
        ("frontend", [], 0),
        ("etcd", [], 0),
        ("probe", [], 0),
        ("decode", ["vllm", "mooncake"], 2),  # of our plugin
        ("encode", ["vllm", "mooncake"], 2),
    ],
)
def test_software_of_a_service_by_its_kind(plan, kind, layers, others):
    found = software_files(plan, {"kind": kind})
    venv = plan["software"]["router" if kind == "router" else "engine"]["venv"]
    assert found[: len(layers)] == [f"{venv}/.ascend-inference/{layer}.json" for layer in layers]
    rest = found[len(layers) :]
    assert len(rest) == others * (len(plan["software"]["engine"]["python_path"]) if others == 2 else 1)
    assert all(path.endswith(("/ascend_inference_cpu/plugin.py", "/mooncake_serial.py", ".py")) for path in rest)
    contained = {**plan, "runtime_facts": {**plan["runtime_facts"], "contained": True}}
    assert software_files(contained, {"kind": kind}) == []


def test_code_of_the_probe_alone_is_its_own(monkeypatch):
    """Other code beside an engine is no reason to load a model again."""
    monkeypatch.setitem(_written.__globals__, "code_files", lambda service: [{"path": "/code/a.py"}])
    base = {"files": [{"path": "/a/b.json"}], "scripts": {"run": "/a/run"}}
    for kind, code in (("decode", []), ("router", []), ("probe", ["/code/a.py"])):
        assert _written({**base, "kind": kind}) == ["/a/run", "/a/b.json", *code]
