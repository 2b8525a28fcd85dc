# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other values of inference_secrets: what each process started with decides, in every playbook that restarts one."""

from __future__ import annotations

import copy
import hashlib
import json

import pytest
from ansible_collections.ascend.inference.plugins.filter.plan_diff import plan_diff_filter
from ansible_collections.ascend.inference.plugins.filter.secret_digests import secret_digests_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.pauses import KEYS
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import restart_steps
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.choices import rollback_mode, upgrade_mode
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import change_steps

ENGINES = ["decode-0", "decode-1", "prefill-0", "prefill-1"]
BALANCED = {"inference_router": {"instances": 2, "balancer": "haproxy"}}


def plan(prefill=2, decode=2, **more):
    variables = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_model": {"path": "/m", "name": "m"},
        "inference_secrets": {"api_key": "k", "client_keys": "c"},
        "inference_pools": {"prefill": {"instances": prefill}, "decode": {"instances": decode}},
        **more,
    }
    return launch_plan(variables, {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}})


def told(old, rekeyed=(), keyed=(), down=(), outdated=(), other=()):
    """What service_state returns where these services run with other secrets than planned, and these with the planned ones."""
    names = [service["name"] for service in old["services"]]
    return {
        "down": list(down),
        "outdated": [name for name in names if name in {*rekeyed, *outdated}],
        "rekeyed": list(rekeyed),
        "keyed": list(keyed),
        "other": [f"inference-{name}" for name in other],
        "healthy": [name for name in names if name not in {*down, *rekeyed, *outdated}],
    }


def change(new, old, **found):
    early = found.pop("early", False)
    allow = found.pop("allow", False)
    return change_steps(told(new, **found), new, json.dumps(old), allow, early)


def test_the_same_key_has_the_same_digest_wherever_it_is_read():
    whole = plan()
    found = secret_digests_filter(whole["services"], whole, {"api_key": "k", "client_keys": "c"})
    assert {service["name"] for service in whole["services"] if service["secret_env"]} == set(found) >= set(ENGINES)
    assert len({found[name] for name in ENGINES}) == 1
    other = secret_digests_filter(whole["services"], whole, {"api_key": "l", "client_keys": "c"})
    assert all(other[name] != found[name] for name in ENGINES)
    assert secret_digests_filter(whole["services"], whole, {"client_keys": "c"}) == {}


def test_a_digest_is_not_that_of_the_key_alone():
    """Short keys could be looked up, and equal keys of two deployments be recognised."""
    whole = plan()
    found = secret_digests_filter(whole["services"], whole, {"api_key": "k"})["decode-0"]
    assert found not in hashlib.sha256(b"k").hexdigest()
    elsewhere = {**whole, "directory": "/elsewhere"}
    assert secret_digests_filter(whole["services"], elsewhere, {"api_key": "k"})["decode-0"] != found


@pytest.mark.parametrize("early", [True, False])
def test_other_keys_need_a_pause_whoever_wrote_them(early):
    result = change(plan(), plan(), rekeyed=ENGINES, early=early)
    assert (
        result["pauses"] == {KEYS: ENGINES}
        and "the keys between the router and the engines change" in result["refusals"][0]
    )
    assert result["roll"] == []


def test_a_new_service_changes_no_key():
    """One prefill more and one decode less: its file of secrets is new, and nobody else's changes."""
    new, old = plan(prefill=3, decode=1), plan()
    rest = ["decode-0", "prefill-0", "prefill-1"]
    result = change(new, old, keyed=rest, down=["prefill-2"], other=["decode-1"])
    assert (result["refusals"], result["pauses"]) == ([], {})


def test_a_client_key_of_the_frontend_is_none_between_router_and_engines():
    fronted = plan(inference_router={"frontend": "haproxy", "certificate": "/c", "certificate_key": "/k"})
    result = change(fronted, fronted, rekeyed=["frontend"], outdated=["decode-0"], keyed=["decode-0", "decode-1"])
    assert KEYS not in str(result["pauses"]) and result["held"] == ["decode-0"]


def test_processes_with_both_keys_are_named():
    """After a crash of one that found new keys, which an interrupted run had written."""
    result = change(plan(), plan(), rekeyed=["decode-0", "prefill-0", "prefill-1"], keyed=["decode-1"])
    assert "decode-1 started with the new ones already" in result["refusals"][0] and "401" in result["refusals"][0]
    assert result["roll"] == [] and "decode-1" not in sum(result["pauses"].values(), [])


def test_what_stops_for_another_says_that_keys_change():
    """Its NPUs are given away, which alone needs no pause: the keys do."""
    new, old = plan(prefill=3, decode=1), plan()
    taken = copy.deepcopy(new)
    next(service for service in taken["services"] if service["name"] == "prefill-2")["ports"] = next(
        service["ports"] for service in old["services"] if service["name"] == "decode-1"
    )
    rest = ["decode-0", "prefill-0", "prefill-1"]
    assert change(taken, old, keyed=rest, down=["prefill-2"], other=["decode-1"])["deregistered"]["pause"] is False
    found = change(taken, old, rekeyed=rest, down=["prefill-2"], other=["decode-1"])["refusals"]
    (text,) = [text for text in found if "NPUs or ports of decode-1 to prefill-2" in text]
    assert KEYS in text


def test_the_difference_names_keys_and_their_pause():
    whole = plan()
    assert plan_diff_filter(whole, whole, [told(whole), {}]) == ["No changes: the deployed plan is the same."]
    lines = plan_diff_filter(whole, whole, [told(whole, rekeyed=ENGINES), {}])
    assert "~ decode-0 on n1 restarts: other values of inference_secrets" in lines
    assert f"  Pause: {', '.join(ENGINES)} restart at once, because {KEYS}." in lines
    assert lines[-1].startswith("The playbook upgrade would choose mode recreate")


def test_the_difference_names_what_only_files_of_hosts_show():
    """A setting of the role, or an edit by hand: deploy restarts the service for it, so its steps and its pause are announced."""
    whole = plan()
    lines = plan_diff_filter(whole, whole, [told(whole, outdated=["decode-1", "router"]), {}])
    assert lines[:2] == [
        "~ decode-1 on n1 restarts: other files on the host",
        "~ router on n1 restarts: other files on the host",
    ]
    assert any("drain, restart, prove and return decode-1;" in line for line in lines)
    assert any(line.startswith("  Pause: router restart at once") for line in lines)


def hostvars(new, old, found, phase="verified"):
    locked = {"phase": phase, "previous": old, "interrupted": "", "half": "", "revisions": []}
    runs = {"old": found, "new": found, "servers": {}, "holds": False}
    for router in ("router", "router-1"):
        runs["servers"][router] = {"state": "ready", "weight": 100}
    return {"n1": {"locked": locked, "previous": old, "runs": runs}}


def rotating(old, new, rekeyed, keyed=(), asked=""):
    """The mode of an upgrade; what runs has the former settings, whichever keys: nobody knows the former ones."""
    found = hostvars(new, old, told(old, rekeyed, keyed))
    found["n1"]["runs"]["old"] = told(old)
    return upgrade_mode(found, new, asked)


def reader(name):
    return name.startswith(("decode", "prefill", "router"))


@pytest.mark.parametrize("more", [{}, {"inference_args": {"max-num-seqs": 8}}])
@pytest.mark.parametrize(
    ("asked", "mode"), [("", "blue_green"), ("rolling", ""), ("blue_green", "blue_green"), ("recreate", "recreate")]
)
def test_an_upgrade_changes_keys_half_by_half(asked, mode, more):
    """Each half has routers of its own, which send the key that its engines have."""
    old, new = plan(**BALANCED), plan(**BALANCED, **more)
    rekeyed = [service["name"] for service in old["services"] if reader(service["name"])]
    result = rotating(old, new, rekeyed, asked=asked)
    assert result["mode"] == mode and (mode or KEYS in result["refusals"][0])
    assert [found["half"] for found in result["rounds"]] == (["first", "second"] if mode == "blue_green" else [])


def test_keys_that_were_changed_in_one_half_are_changed_in_the_other():
    """The run was killed, or failed, after requests were moved to the first half."""
    old = plan(**BALANCED)
    halves = rotating(old, old, [each["name"] for each in old["services"] if reader(each["name"])])["rounds"]
    first, second = (found["services"] for found in halves)
    found = hostvars(old, old, told(old, second, first))
    found["n1"]["runs"].update(old=told(old))
    found["n1"]["runs"]["servers"]["router"] = {"state": "drain", "weight": 0}
    (left,) = upgrade_mode(found, old, "")["rounds"]
    assert (left["half"], left["services"], left["last"]) == ("second", second, True)
    found["n1"]["runs"]["servers"] = {
        "router": {"state": "ready", "weight": 100},
        "router-1": {"state": "drain", "weight": 0},
    }
    assert [each["half"] for each in upgrade_mode(found, old, "")["rounds"]] == ["first", "second"], "not yet proven"


def test_keys_that_clients_send_do_not_change_half_by_half():
    """They would need both. This router passes on what they send."""
    passing = copy.deepcopy(plan(**BALANCED))
    for service in passing["services"]:
        if service["kind"] == "router":
            service["secret_env"] = {}
    assert "clients send this key" in rotating(passing, passing, ENGINES, asked="blue_green")["refusals"][0]
    assert rotating(passing, passing, ENGINES)["mode"] == "recreate"


def test_a_refused_change_of_keys_names_what_changes_them_without_a_pause():
    balanced, single = plan(**BALANCED), plan()
    (text,) = change(balanced, balanced, rekeyed=ENGINES)["refusals"]
    assert "or run upgrade, which changes blue/green" in text
    assert not any("run upgrade" in text for text in change(single, single, rekeyed=ENGINES)["refusals"])
    lines = plan_diff_filter(balanced, balanced, [told(balanced, rekeyed=ENGINES), {}])
    assert lines[-1].startswith("The playbook upgrade would choose mode blue_green: no pause.")


@pytest.mark.parametrize("keyed", [[], ["decode-1"]])
def test_a_rollback_to_other_keys_is_none_without_a_pause(keyed):
    old, new = plan(), plan(inference_args={"max-num-seqs": 8})
    rekeyed = [name for name in ENGINES if name not in keyed]
    found = hostvars(new, old, told(old, rekeyed, keyed))
    (text,) = rollback_mode(found, json.dumps(new))["refusals"]
    assert text.startswith(f"{', '.join(rekeyed)} run with other keys") and "inference_allow_pause=true" in text
    # With the former ones decode-1 would be the one with other keys.
    assert ("put the former keys back" in text) is (not keyed)
    for given in ((True,), (False, "recreate")):
        result = rollback_mode(found, json.dumps(new), *given)
        assert (result["mode"], result["refusals"]) == ("recreate", []) and KEYS in result["text"]
    assert rollback_mode(found, json.dumps(new), True, "rolling")["refusals"]
    nothing = hostvars(new, old, told(old, rekeyed, down=["router"]))
    assert rollback_mode(nothing, json.dumps(new))["refusals"] == [], "nothing serves that could pause"


def test_the_mode_of_a_rollback_that_was_asked_for_is_taken_or_refused():
    old, new = plan(**BALANCED), plan(**BALANCED, inference_args={"max-num-seqs": 8})
    other = plan(**BALANCED, inference_args={"block-size": 64})

    def asked(running, mode):
        found = hostvars(running, old, told(old, outdated=ENGINES))
        found["n1"]["runs"]["old"] = told(old)
        return rollback_mode(found, json.dumps(running), False, mode)

    assert [asked(new, mode)["mode"] for mode in ("", "rolling", "blue_green", "recreate")] == [
        "rolling",
        "rolling",
        "blue_green",
        "recreate",
    ]
    assert [asked(other, mode)["mode"] for mode in ("", "rolling", "blue_green", "recreate")] == [
        "blue_green",
        "",
        "blue_green",
        "recreate",
    ]
    assert "cannot exchange KV cache" in asked(other, "rolling")["refusals"][0]
    assert "and there are rolling, blue_green and recreate" in asked(new, "gently")["refusals"][0]
    single = plan(inference_args={"max-num-seqs": 8})
    found = hostvars(single, plan(), told(plan(), outdated=ENGINES))
    assert "no balancer" in rollback_mode(found, json.dumps(single), False, "blue_green")["refusals"][0]


def test_a_restart_starts_nothing_with_keys_that_others_do_not_have():
    whole = plan()
    for allowed in (False, True):
        result = restart_steps(["decode-1"], [], whole, allowed, ["decode-0"])
        assert result["roll"] == [] and "decode-0 run with other values" in result["refusals"][0]


@pytest.mark.parametrize(
    ("run", "file", "said"),
    [
        ({}, {}, "n1 (no answer)"),
        ({"outdated": []}, {}, "n1 (no answer)"),
        ({"outdated": [], "failed": True, "msg": "no \x1b[31mdocker"}, {}, "n1 (no "),
        ({"outdated": []}, {"failed": True, "msg": "sudo: a password"}, "n1 (sudo: a password)"),
    ],
)
def test_a_host_that_does_not_answer_is_not_a_host_without_changes(run, file, said):
    lines = plan_diff_filter(plan(), plan(), [run], [file])
    assert said in lines[-1] and lines[-1].startswith("Not compared: ") and "\x1b" not in lines[-1]


def test_nothing_is_said_of_hosts_that_were_compared_or_have_nothing_yet():
    assert len(plan_diff_filter(plan(), plan(), [{"outdated": []}], [{"written": []}])) == 1
    assert len(plan_diff_filter(plan(), {}, [{}], [{}])) == 1
