# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a restart, read as a person reads it: what leaves, restarts, is proven and returns, in which order."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.restart import restart
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_steps import BALANCED, plan

ASK, GIVE = "Ask the routers which engines they lack", "Give the routers the engines that they lack"
PROVE = "Prove these engines with each of their peers"
LAYERWISE = {
    "inference_release": "0.23.0",
    "inference_hardware": "a3",
    "inference_interface": "eth0",
    "inference_devices": 4,
    "inference_model": {"path": "/models/x", "name": "x"},
    "inference_kv_transfer": "mooncake_layerwise",
    "inference_args": {"max-model-len": 32768},
    "inference_pools": {kind: {"instances": 2, "tensor_parallel_size": 2} for kind in ("prefill", "decode")},
    "inference_router": {"instances": 2, "balancer": "haproxy"},
}
HOSTS = {"n1": "prefill", "n2": "decode", "n3": "router", "n4": "router"}


def script(names, down=(), whole=None, allowed=False, **found):
    return restart(whole or plan(), {"n1": {"down": list(down), **found}}, names, allowed, 300, 200)


def titles(*given, **more):
    return [step.title for step in script(*given, **more).steps]


def test_an_engine_leaves_finishes_restarts_is_proven_and_returns():
    assert titles(["decode-0"]) == [
        "Take decode-0 out of the routers",
        "Wait for the last requests of decode-0, at most 300 s",
        "Restart decode-0 and wait until ready, at most 1800 s",
        ASK, PROVE, GIVE,
        ASK, PROVE, GIVE,
    ]  # fmt: skip


def test_what_is_alone_restarts_at_once_if_that_is_allowed():
    assert titles(["router"], allowed=True) == ["Restart router and wait until ready, at most 120 s", ASK, PROVE, GIVE]
    refused = script(["router"])
    assert "router must restart" in refused.refusals[0] and "Nothing was changed." in refused.refusals[0]


def test_all_services_by_default():
    restarted = [
        name for step in script([], allowed=True).steps for names in step.at.values() for name in names.get("names", ())
    ]
    assert sorted(restarted) == sorted(service["name"] for service in plan()["services"])


def test_the_last_requests_are_waited_for_at_the_engine_and_its_peers():
    wait = script(["decode-0"]).steps[1].at["n1"]
    assert [engine["name"] for engine in wait["engines"]] == ["decode-0"] and wait["timeout"] == 300
    assert [url.rpartition(":")[2] for url in wait["upstream"]] == [
        engine["url"].rpartition(":")[2] for engine in plan()["members"]["engines"] if engine["kind"] == "prefill"
    ]
    decode = {engine["url"] for engine in plan()["members"]["engines"] if engine["kind"] == "decode"}
    assert set(wait["downstream"]) == decode, "what prefill holds for none of these is fetched by nobody"


def test_a_router_behind_the_balancer_restarts_alone():
    assert titles(["router-1"], whole=plan(**BALANCED))[:5] == [
        "Send no new requests to router-1 and wait for its last ones, at most 300 s",
        "Restart router-1 and wait until ready, at most 120 s",
        "Wait until router-1 has its engines",
        "Send requests to router-1",
        ASK,
    ]
    steps = script(["router-1"], whole=plan(**BALANCED)).steps
    assert steps[0].at["n1"]["servers"] == ["router-1"] and steps[0].at["n1"]["state"] == "drain"
    assert "weight" not in steps[0].at["n1"] and steps[3].at["n1"]["weight"] == 100
    members = steps[2].at["n1"]["members"]
    assert [engine["name"] for engine in members] == [
        engine["name"] for engine in plan(**BALANCED)["members"]["engines"]
    ]
    assert steps[2].at["n1"]["more"] == [], "the other router is left alone"
    assert steps[-1].title == "Send requests to all routers" and steps[-1].at["n1"]["servers"] == ["router", "router-1"]


@pytest.mark.parametrize(("down", "seconds"), [([], 200), (["router"], 200), (["router", "router-1"], 0)])
def test_requests_are_sent_only_through_routers_that_ran_before(down, seconds):
    """One that starts is given its engines by its own program."""
    steps = script(["decode-0"], down, plan(**BALANCED), allowed=True).steps
    gives = [step for step in steps if step.title == GIVE]
    assert {step.at["n1"]["use_timeout"] for step in gives} == {seconds}
    assert (PROVE in [step.title for step in steps]) == bool(seconds)


def test_nothing_is_restarted_with_other_keys():
    assert "decode-0 run with other values" in script(["decode-1"], rekeyed=["decode-0"]).refusals[0]


def test_routers_that_read_their_engines_at_the_start_restart_one_after_the_other():
    addresses = {name: {"ansible_host": f"192.0.2.{name[1]}"} for name in HOSTS}
    hosts = {name: {"groups": [kind], "variables": addresses[name]} for name, kind in HOSTS.items()}
    whole = launch_plan(LAYERWISE, hosts)
    found = restart(whole, {"n1": {}}, ["decode-0"], False, 300, 200)
    first = [step.title for step in found.steps[:9]]
    assert first == [
        "Take decode-0 out of the routers",
        "Send requests to all routers",
        "Send no new requests to router and wait for its last ones, at most 300 s",
        "Restart router, which reads its engines when it starts",
        "Send requests to router",
        "Send no new requests to router-1 and wait for its last ones, at most 300 s",
        "Restart router-1, which reads its engines when it starts",
        "Send requests to router-1",
        "Require that these routers have the engines",
    ]
    assert all(step.fill == "restarting" and step.asked == 0 for step in found.steps[1:9])
    urls = [whole["members"]["url"], whole["members"]["more"][0]["url"]]
    assert [step.given["url"] for step in found.steps[2:8]] == [urls[0]] * 3 + [urls[1]] * 3
    assert [list(step.at) for step in found.steps[1:8]] == [["n3"], ["n3"], ["n3"], ["n3"], ["n3"], ["n4"], ["n3"]]
    give = [number for number, step in enumerate(found.steps) if step.title == GIVE]
    assert all(found.steps[number].fill == "" and found.steps[number + 1].asked == number for number in give)
