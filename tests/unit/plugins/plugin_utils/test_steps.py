# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines restart one after the other behind the router, and which change needs a pause."""

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.ascend.inference.plugins.filter.plan_diff import plan_diff_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.pauses import (
    KEYS,
    LAST,
    OTHER,
    SINGLE,
    UNBALANCED,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.planned_steps import planned_steps
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.steps import (
    differs,
    leaving_engines,
    pending_of,
    restart_steps,
    steps,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import plan_files, record_of, stored_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.revision import (
    BEFORE_ROUTERS,
    LISTED,
    LISTED_OF_ENGINE,
    LISTED_OF_MOONCAKE,
    other_software,
    revision_of,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import change_steps
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

CPU = {
    "inference_engine": "vllm_cpu",
    "inference_runtime": "supervisor",
    "inference_model": {"path": "/m", "name": "m"},
}


def plan(prefill=2, decode=2, **more):
    hosts = {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}}
    sizes = {"prefill": {"instances": prefill}, "decode": {"instances": decode}}
    return launch_plan({**CPU, "inference_pools": sizes, **more}, hosts)


def found(outdated, down=(), rekeyed=()):
    return {"n1": {"outdated": list(outdated), "down": list(down), "rekeyed": list(rekeyed)}}


NOTHING = {
    "roll": [],
    "held": [],
    "pauses": {},
    "refusals": [],
    "notes": [],
    "vacate": {},
    "deregistered": {},
    "orphaned": {},
}
ENGINES = ["decode-0", "decode-1", "prefill-0", "prefill-1"]


@pytest.mark.parametrize("key", ["down", "outdated", "other", "rekeyed", "keyed"])
def test_all_that_a_host_has_to_do_is_pending(key):
    nothing = {"down": [], "outdated": [], "other": [], "rekeyed": [], "keyed": []}
    assert pending_of({key: ["decode-0"], "healthy": ["router"]}) == {**nothing, key: ["decode-0"]}
    assert pending_of({key: None}) == pending_of({}) == nothing


def test_templates_read_the_keys_of_the_result():
    """In a template the name of a method of dictionaries is the method."""
    assert steps(found([]), plan(), plan()) == NOTHING
    assert not [key for key in NOTHING if hasattr({}, key)]


def test_one_instance_of_each_pool_at_a_time():
    new = plan(inference_args={"max-num-seqs": 8})
    result = steps(found(ENGINES), new, plan())
    assert [step["services"] for step in result["roll"]] == [["decode-0", "prefill-0"], ["decode-1", "prefill-1"]]
    assert result["held"] == ENGINES and result["refusals"] == []
    first = result["roll"][0]
    assert first["hosts"] == ["n1"]
    assert sorted(engine["name"] for engine in first["engines"]) == ["decode-0", "prefill-0"]
    assert first["upstream"] == [engine["url"] for engine in new["members"]["engines"] if engine["name"] == "prefill-1"]
    assert first["downstream"] == [
        engine["url"] for engine in new["members"]["engines"] if engine["name"] == "decode-1"
    ]


BALANCED = {"inference_router": {"instances": 2, "balancer": "haproxy"}}


@pytest.mark.parametrize("old", [plan(**BALANCED), plan(**BALANCED, inference_args={"block-size": 64})])
def test_nothing_rolls_after_an_upgrade_by_halves_that_did_not_end(old):
    """Also where the recorded plan has the same settings: half of the engines runs with others, which nobody recorded."""
    changed = found(["decode-1", "prefill-1"])
    result = steps(changed, plan(**BALANCED), old, early=True, unfinished="upper")
    (text,) = result["refusals"]
    assert "decode-1, prefill-1 do not run with the settings of this plan." in text
    assert "Nothing was changed." in text and "Fix: run upgrade." in text and "inference_allow_pause=true" in text
    assert (result["roll"], result["held"]) == ([], [])
    result = steps(changed, plan(**BALANCED), old, allow_pause=True, unfinished="upper")
    assert (result["roll"], result["held"], result["refusals"]) == ([], [], [])
    assert "Pause: decode-1, prefill-1 restart at once" in result["notes"][0]
    down = found([], down=["decode-1", "prefill-1"])
    assert steps(down, plan(**BALANCED), old, unfinished="upper") == NOTHING, "those that do not run only start"


def test_a_damaged_journal_is_no_interrupted_upgrade():
    """Nobody knows of one, so nobody says that there was one, nor that an upgrade needs no pause."""
    changed = found(["prefill-1"])
    (text,) = steps(changed, plan(), plan(), early=True, unfinished="unknown")["refusals"]
    assert "journal.json" in text and "is damaged, so it is not known whether an upgrade was interrupted" in text
    assert "An upgrade was interrupted" not in text and "without a pause" not in text
    assert "Fix: run again with -e inference_allow_pause=true, which restarts no others" in text
    result = steps(changed, plan(), plan(), allow_pause=True, unfinished="unknown")
    assert result["refusals"] == [] and "it is not known whether" in result["notes"][0]


def test_an_unfinished_upgrade_reaches_the_decision():
    new = plan(**BALANCED)
    for unfinished in (False, True):
        result = change_steps({"outdated": ["decode-1"]}, new, json.dumps(new), False, True, unfinished)
        assert bool(result["refusals"]) == unfinished


def test_a_refusal_of_another_kv_cache_names_the_upgrade_where_a_balancer_moves_requests():
    block = {"inference_args": {"block-size": 64}}
    with_balancer, without = (
        steps(found(ENGINES), plan(**more, **block), plan(**more))["refusals"][0] for more in (BALANCED, {})
    )
    assert "or run upgrade, which changes blue/green" in with_balancer and "run upgrade" not in without
    older = {**plan(**BALANCED), "plan_version": 1}
    (text,) = steps(found(ENGINES), plan(**BALANCED, **block), older)["refusals"]
    assert "run upgrade" not in text, "it refuses a plan that another version of the collection wrote"


def test_unchanged_engines_have_no_step():
    assert steps(found([]), plan(), plan()) == NOTHING
    result = steps(found(["decode-1"]), plan(), plan())
    assert [step["services"] for step in result["roll"]] == [["decode-1"]]


def test_a_new_instance_serves_while_the_only_old_one_changes():
    result = steps(found(["decode-0"], down=["decode-1"]), plan(2, 2), plan(2, 1))
    assert [step["services"] for step in result["roll"]] == [["decode-0"]]


@pytest.mark.parametrize("allow", [False, True])
def test_a_pool_with_one_instance_needs_a_pause(allow):
    single = plan(1, 1)
    result = steps(found(["decode-0", "prefill-0"]), single, single, allow)
    assert (result["roll"], result["held"], bool(result["refusals"])) == ([], [], not allow)
    text = " ".join(result["refusals"] or result["notes"])
    assert "decode-0, prefill-0" in text and "no other instance" in text
    assert allow or "inference_allow_pause=true" in text and "Nothing was restarted" in text


@pytest.mark.parametrize("option", ["block-size", "dtype", "kv-cache-dtype", "max-model-len"])
def test_engines_that_cannot_exchange_kv_are_never_mixed(option):
    values = {"block-size": 64, "dtype": "float32", "kv-cache-dtype": "fp8", "max-model-len": 512}
    result = steps(found(ENGINES), plan(inference_args={option: values[option]}), plan())
    assert result["roll"] == [] and "cannot exchange KV cache" in result["refusals"][0]


def test_another_name_of_the_model_is_no_other_kv_cache():
    """Clients are told what is so: they ask by another name, whatever the engines could exchange."""
    renamed, deployed = plan(inference_model={"path": "/m", "name": "new"}), plan()
    name = "clients ask for the model by another name before this change than after it"
    (refusal,) = steps(found(ENGINES), renamed, deployed)["refusals"]
    assert name in refusal and "exchange KV" not in refusal
    assert name in steps(found(["decode-0"], ["decode-1"]), renamed, deployed)["refusals"][0]
    text = "\n".join(plan_diff_filter(renamed, deployed))
    assert "clients ask for the model by another name" in text and "exchange KV" not in text
    both = plan(inference_model={"path": "/m", "name": "new"}, inference_args={"block-size": 64})
    assert "exchange KV" in steps(found(ENGINES), both, deployed)["refusals"][0]
    moved = copy.deepcopy(renamed)  # other engines than those that are deployed say nothing about what they exchange
    for service in moved["services"]:
        service["name"] += "-x"
    assert "exchange KV" in "\n".join(plan_diff_filter(moved, deployed))


def test_another_release_or_software_is_never_mixed():
    deployed = copy.deepcopy(plan())
    deployed["release"] = "cpu-0.1"
    assert "cannot exchange KV cache" in steps(found(ENGINES), plan(), deployed)["refusals"][0]
    assert "cannot exchange KV cache" in steps(found(ENGINES), plan(), {})["refusals"][0]


def test_any_part_of_the_software_counts_but_what_is_in_front_of_the_routers():
    software = {"router": {"kind": "vllm_router", "version": "1"}, "engine": {"release": "1"}, "torch": {"torch": "1"}}
    deployed = {**plan(), "software": software}
    for key in software:
        changed = {**deployed, "software": {**software, key: {**software[key], "version": "2"}}}
        assert other_software(changed, deployed), key
    for key in (*BEFORE_ROUTERS, *LISTED):
        changed = {**deployed, "software": {**software, "router": {**software["router"], key: "2"}}}
        assert not other_software(changed, deployed), key
    for key in LISTED_OF_ENGINE:
        changed = {**deployed, "software": {**software, "engine": {**software["engine"], key: "2"}}}
        assert not other_software(changed, deployed), key
    assert not other_software(deployed, copy.deepcopy(deployed))


def test_what_is_listed_twice_is_compared_once():
    """A plan that an earlier version of the collection wrote has the proxy's files, and no name for each, and no paths of programs."""
    software = launch_plan(*family("p2p", {}))["software"]
    router, engine = software["router"], software["engine"]
    assert router["logger"] in router["files"] and engine["interpreter"].startswith(engine["venv"] + "/")
    assert set(LISTED) == {"logger", "frontend_program", "balancer_program", "interpreter"}
    assert LISTED_OF_ENGINE == ("interpreter",) and LISTED_OF_MOONCAKE == ("built",)


def test_a_plan_of_an_earlier_version_has_the_same_revision():
    """It lacks what the plan names twice, or only for the roles that install."""
    today = launch_plan(*family("p2p", {}))
    before = copy.deepcopy(today)
    for layer, keys in (("router", LISTED), ("engine", LISTED_OF_ENGINE), ("mooncake", LISTED_OF_MOONCAKE)):
        for key in keys:
            before["software"][layer].pop(key, None)
    assert before["software"] != today["software"] and "built" in today["software"]["mooncake"]
    assert not other_software(today, before) and revision_of(today) == revision_of(before)


def test_changed_keys_and_routers_without_an_api_need_a_pause():
    assert "keys between the router" in steps(found(ENGINES, rekeyed=ENGINES), plan(), plan())["refusals"][0]
    without = {key: value for key, value in plan().items() if key != "members"}
    assert "cannot be changed while it runs" in steps(found(ENGINES), without, plan())["refusals"][0]


@pytest.mark.parametrize("down", [["router"], ["prefill-0", "prefill-1"]])
def test_a_service_that_does_not_serve_needs_no_pause(down):
    outdated = [name for name in ENGINES if name not in down]
    assert steps(found(outdated, down), plan(), {}) == NOTHING


def test_the_filter_reads_the_plan_that_a_host_stored():
    facts = {"outdated": ["decode-1"], "down": []}
    whole = plan()
    stored = plan_files({**whole, "services": []}, record_of(whole))[0]["content"]
    result = change_steps(facts, whole, stored)
    assert [step["services"] for step in result["roll"]] == [["decode-1"]]
    for damaged in ("", "{", "[]", json.dumps({**json.loads(stored), "whole": "AAAA"})):
        assert "cannot exchange KV cache" in change_steps(facts, whole, damaged)["refusals"][0]


def test_the_plan_shows_its_steps():
    new = plan(prefill=3, decode=1, inference_args={"max-num-seqs": 8})
    assert planned_steps(new, plan()) == [
        "Steps of deploy, if all services run:",
        "  1. start prefill-2, prove and add the engines to the router",
        "  2. drain, restart, prove and return decode-0, prefill-0; instances that serve meanwhile: 1 of decode, 2 of prefill",
        "  3. drain, restart, prove and return prefill-1; instances that serve meanwhile: 2 of prefill",
        "  4. drain and remove decode-1",
    ]
    lines = plan_diff_filter(new, plan())
    assert "~ decode-0 on n1 restarts: argv + --max-num-seqs 8" in lines and lines[-5:] == planned_steps(new, plan())


def test_the_plan_shows_which_change_needs_a_pause():
    lines = planned_steps(plan(2, 1, inference_args={"max-num-seqs": 8}), plan(2, 1))
    assert lines[-1] == "  Pause: decode-0 restart at once, because its pool has no other instance."


def test_an_instance_that_leaves_serves_while_the_last_one_changes():
    new, old = plan(1, 2, inference_args={"max-num-seqs": 8}), plan()
    result = steps(found(["decode-0", "prefill-0"]), new, old)
    assert [step["services"] for step in result["roll"]] == [["decode-0", "prefill-0"]]
    assert (result["refusals"], result["pauses"]) == ([], {})
    leaving = [engine["url"] for engine in old["members"]["engines"] if engine["name"] == "prefill-1"]
    assert result["roll"][0]["upstream"] == leaving, "prefill-1 still has requests for decode-0"


def test_a_replaced_host_touches_nobody_else():
    def spread(decode_hosts, deployed=None):
        groups = {"n1": ["prefill"], **dict.fromkeys(decode_hosts, ["decode"])}
        hosts = {
            name: {"groups": found_groups, "variables": {"ansible_host": f"192.0.2.{name[1:]}"}}
            for name, found_groups in groups.items()
        }
        sizes = {"prefill": {"instances": 2}, "decode": {"instances": 2}}
        return launch_plan({**CPU, "inference_pools": sizes}, hosts, (), deployed and deployed["placement"])

    old = spread(["n2", "n3"])
    new = spread(["n4", "n3"], old)
    assert planned_steps(new, old) == [
        "Steps of deploy, if all services run:",
        "  1. start decode-0, prove and add the engines to the router",
        "  2. drain and remove decode-0 on n2",
    ]
    assert {service["name"]: service["host"] for service in new["services"] if service["kind"] == "decode"} == {
        "decode-0": "n4",
        "decode-1": "n3",
    }


def test_engines_that_an_interrupted_run_left_behind_are_known():
    old = plan(2, 3)
    stored = plan_files({**old, "services": []}, record_of(old))[0]["content"]
    (found_engine,) = leaving_engines(plan(2, 2), stored_plan(stored))
    assert (found_engine["name"], found_engine["kind"]) == ("decode-2", "decode") and found_engine["url"].startswith(
        "http://"
    )
    assert leaving_engines(plan(), {}) == [] == leaving_engines(old, stored_plan(stored))
    taken = plan(2, 2)  # another engine has its address: it has stopped
    taken["members"]["engines"].append({**found_engine, "name": "prefill-9"})
    assert leaving_engines(taken, stored_plan(stored)) == []


def test_a_router_with_other_settings_needs_a_pause():
    """Also a second engine of the first pool: the router of single engines has no API for others."""
    result = steps(found(["router"], down=["decode-1"]), plan(1, 2), plan(1, 1))
    assert (
        result["pauses"] == {"all requests go through it, and there is one of it": ["router"]} and result["roll"] == []
    )
    assert "router must restart" in result["refusals"][0] and "takes some seconds" in result["refusals"][0]
    assert steps(found(["router"]), plan(), plan(), allow_pause=True)["refusals"] == []
    kept = {"inference_router": {"args": {"enable-igw": True}}}
    assert planned_steps(plan(1, 2, **kept), plan(1, 1, **kept)) == [
        "Steps of deploy, if all services run:",
        "  1. start decode-1, prove and add the engines to the router",
    ]


def test_before_any_file_is_written_a_refusal_says_so():
    single = plan(1, 1)
    early = steps(found(["decode-0"]), single, single, early=True)["refusals"][0]
    locked = steps(found(["decode-0"]), single, single)["refusals"][0]
    assert "Nothing was changed." in early and "no file of a service was written" in locked


def restart(names, down, old, allowed=False):
    chosen = names or [service["name"] for service in old["services"]]
    return restart_steps(chosen, down, old, allowed)


def test_a_restart_drains_what_has_another_instance():
    result = restart([], [], plan(2, 1), True)
    assert [step["services"] for step in result["roll"]] == [["prefill-0"], ["prefill-1"]]
    assert "decode-0" not in result["held"] and "router" not in result["held"] and result["refusals"] == []
    assert "Pause: decode-0 restart at once, because its pool has no other instance." in result["notes"]
    assert [step["services"] for step in restart(["decode-1"], [], plan())["roll"]] == [["decode-1"]]
    assert restart(["decode-0"], ["decode-0"], plan())["roll"] == [], "it does not run, so nothing leaves"
    last = restart(["decode-1"], ["decode-0"], plan(), True)
    assert (last["roll"], last["held"]) == ([], [])
    assert last["notes"] == ["Pause: decode-1 restart at once, because no other instance of its pool runs."]
    started_first = steps(found(["decode-1"], down=["decode-0"]), plan(), plan())
    assert [step["services"] for step in started_first["roll"]] == [["decode-1"]]


@pytest.mark.parametrize(
    ("old", "names", "down", "why"),
    [
        (
            plan(2, 1),
            ["decode-0"],
            (),
            "decode-0 must restart, and no other instance serves in the meantime: its pool has no other instance.",
        ),
        (
            plan(),
            ["decode-1"],
            ["decode-0"],
            "decode-1 must restart, and no other instance serves in the meantime: no other instance of its pool",
        ),
        (
            plan(),
            ["router"],
            (),
            "router must restart, and no other instance serves in the meantime: all requests go through it",
        ),
        (plan(1, 1), ["decode-0"], ["prefill-0"], ""),
        (plan(), ["decode-1"], (), ""),
    ],
)
def test_a_restart_asks_for_a_pause_as_a_change_does(old, names, down, why):
    texts = restart(names, down, old)["refusals"]
    assert [text.startswith(why) and "Nothing was changed." in text for text in texts] == ([True] if why else []), texts
    assert restart(names, down, old, True)["refusals"] == []


def test_no_steps_without_changes():
    assert planned_steps(plan(), plan()) == [] == planned_steps(plan(), {})


def npu_plan(pools, devices=4):
    """A plan of one host with NPUs."""
    hosts = {
        "n1": {
            "groups": list(pools),
            "variables": {"ansible_host": "192.0.2.1", "inference_devices": devices, "inference_interface": "eth0"},
        }
    }
    shared = {"inference_hardware": "a2", "inference_release": "0.18.0", "inference_model": {"path": "/m", "name": "m"}}
    return launch_plan({**shared, "inference_pools": pools}, hosts)


PAIR = {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}}
COLOCATED = {"colocated": {"tensor_parallel_size": 4}}


def units(plan_, *names):
    return [service["unit"] for service in plan_["services"] if service["name"] in names]


def test_services_that_get_the_npus_of_others_wait_until_those_have_stopped():
    old, new = npu_plan(PAIR), npu_plan(COLOCATED)
    pending = {"n1": {"outdated": [], "down": ["colocated-0"], "other": units(old, "prefill-0", "decode-0")}}
    result = steps(pending, new, old, early=True)
    assert result["vacate"] == {"n1": ["decode-0", "prefill-0"]} and result["roll"] == []
    (refusal,) = result["refusals"]
    assert (
        refusal.startswith("The plan gives NPUs or ports of decode-0, prefill-0 to colocated-0")
        and "Nothing was changed." in refusal
    )
    result = steps(pending, new, old, allow_pause=True)
    assert (result["vacate"], result["refusals"]) == ({"n1": ["decode-0", "prefill-0"]}, [])
    assert result["notes"] == [
        "Pause: decode-0, prefill-0 stop first, because their NPUs or ports are given to others."
    ]
    assert any("Pause: decode-0, prefill-0 stop first" in line for line in planned_steps(new, old))


def test_services_that_do_not_run_hold_no_npus():
    old, new = npu_plan(PAIR), npu_plan(COLOCATED)
    pending = {"n1": {"outdated": [], "down": ["colocated-0"], "other": []}}
    assert steps(pending, new, old) == NOTHING


def test_an_engine_that_grows_over_the_npus_of_another_waits_for_it():
    old = npu_plan({"colocated": {"instances": 2, "tensor_parallel_size": 2}})
    new = npu_plan(COLOCATED)
    running = {"n1": {"outdated": ["colocated-0"], "down": [], "other": units(old, "colocated-1")}}
    result = steps(running, new, old, allow_pause=True)
    assert (result["vacate"], result["held"]) == ({"n1": ["colocated-1"]}, [])
    running["n1"]["other"] = []
    assert steps(running, new, old, allow_pause=True)["vacate"] == {}


def test_only_the_service_that_loses_its_port_stops():
    """A frontend takes the port of the router; engines go on."""
    secrets = {"inference_secrets": {"client_keys": "k"}}
    fronted = {"port": 8001, "frontend": "haproxy", "frontend_port": 8000, "certificate": "/c", "certificate_key": "/k"}
    old, new = plan(), plan(inference_router=fronted, **secrets)
    running = {"n1": {"outdated": ["router"], "down": ["frontend"], "other": []}}
    result = steps(running, new, old, allow_pause=True)
    assert (result["vacate"], result["roll"]) == ({"n1": ["router"]}, [])


TWO = {"inference_router": {"instances": 2, "balancer": "haproxy"}}
CHANGED = {"inference_router": {**TWO["inference_router"], "args": {"max-payload-size": 1000000}}}


def test_routers_behind_a_balancer_restart_one_after_the_other():
    old, new = plan(**TWO), plan(**CHANGED)
    result = steps(found(["router", "router-1"]), new, old)
    assert [step["routers"] for step in result["roll"]] == [["router"], ["router-1"]]
    assert result["roll"][0] == {
        "services": ["router"],
        "hosts": ["n1"],
        "engines": [],
        "leaving": [],
        "upstream": [],
        "downstream": [],
        "routers": ["router"],
    }
    assert (result["held"], result["refusals"]) == (["router", "router-1"], [])
    assert "  1. drain, restart and return router; routers that serve meanwhile: 1" in planned_steps(new, old)


def test_engines_change_before_routers():
    new = plan(inference_args={"max-num-seqs": 8}, **CHANGED)
    result = steps(found([*ENGINES, "router", "router-1"]), new, plan(**TWO))
    assert [step["routers"] for step in result["roll"]] == [[], [], ["router"], ["router-1"]]


@pytest.mark.parametrize(
    ("reason", "because"),
    [
        ("one router", SINGLE),
        ("no balancer yet", UNBALANCED),
        ("balancer down", None),  # nothing serves, so there is nothing to pause
        ("keys", KEYS),
        ("other engines", OTHER),
        ("balancer changes", SINGLE),
    ],
)
def test_routers_that_cannot_change_one_by_one_need_a_pause(reason, because):
    old, new, outdated, down = plan(**TWO), plan(**CHANGED), ["router", "router-1"], []
    if reason == "one router":
        old, new, outdated = plan(), plan(inference_router={"args": {"max-payload-size": 1000000}}), ["router"]
    elif reason == "no balancer yet":
        old, outdated, down = plan(), ["router"], ["router-1", "balancer"]
    elif reason == "balancer down":
        down = ["balancer"]
    elif reason == "other engines":
        new, outdated = plan(inference_args={"block-size": 64}, **CHANGED), [*ENGINES, *outdated]
    elif reason == "balancer changes":
        outdated = ["balancer"]
    result = steps(found(outdated, down, rekeyed=outdated if reason == "keys" else ()), new, old)
    assert not any(step["routers"] for step in result["roll"])
    assert result["pauses"] == ({because: outdated} if because else {})
    duration = "as long as loading the model" if reason == "other engines" else "some seconds"
    assert all(f"which takes {duration}. " in text for text in result["refusals"])


@pytest.mark.parametrize(
    ("router", "name", "port"), [({}, "router", 8000), ({"instances": 2, "balancer": "haproxy"}, "balancer", 8001)]
)
def test_another_port_of_the_entry_is_said_with_both_addresses(router, name, port):
    key = "port" if name == "router" else "balancer_port"
    old, new = plan(inference_router=router), plan(inference_router={**router, key: 8100})
    result = steps(found([name]), new, old, early=True)
    before, after = (f"http://192.0.2.1:{number}" for number in (port, 8100))
    why = f"the address that clients use changes from {before} to {after}"
    assert result["pauses"] == {why: [name]} and result["refusals"] == [
        f"{name} must restart: {why}. Clients get errors until it is ready again, which takes some seconds, and those that use the address before get "
        "them from then on. Nothing was changed. Fix: run again with -e inference_allow_pause=true when that is acceptable and clients use the new "
        "address, or keep the one before."
    ]
    allowed = steps(found([name]), new, old, allow_pause=True)
    assert allowed["notes"] == [f"Pause: {name} restart at once, because {why}."]


def test_a_service_serves_with_one_of_its_routers():
    result = steps(found(["decode-0"], down=["router-1"]), plan(**TWO), plan(**TWO))
    assert [step["services"] for step in result["roll"]] == [["decode-0"]]
    assert steps(found(["decode-0"], down=["router", "router-1"]), plan(**TWO), plan(**TWO)) == NOTHING


def test_a_balancer_in_front_is_no_other_software():
    """Engines change one by one while a second router and the balancer are added."""
    new = plan(inference_args={"max-num-seqs": 8}, **TWO)
    result = steps(found(ENGINES, down=["router-1", "balancer"]), new, plan())
    assert len(result["roll"]) == 2 and result["pauses"] == {}


def test_named_routers_restart_one_after_the_other():
    both = plan(**TWO)
    assert [step["routers"] for step in restart(["router", "router-1"], [], both)["roll"]] == [["router"], ["router-1"]]


def test_the_last_router_that_runs_is_restarted_at_once():
    """The playbook restart starts a router that is down only after the steps, and the balancer does not drain the last other one."""
    result = restart([], ["router-1"], plan(**TWO))
    assert not any(step["routers"] for step in result["roll"]) and "router" not in result["held"]
    assert result["pauses"] == {LAST: ["router"], SINGLE: ["balancer"]}
    every = restart([], [], plan(**TWO))
    assert [step["routers"] for step in every["roll"] if step["routers"]] == [["router"], ["router-1"]]
    started_first = steps(found(["router"], down=["router-1"]), plan(**CHANGED), plan(**TWO))
    assert [step["routers"] for step in started_first["roll"]] == [["router"]]


@pytest.mark.parametrize(
    ("change", "different"),
    [
        ({}, False),
        ({"outdated": ["prefill-0"]}, True),
        ({"other": ["decode-7"]}, True),
        ({"healthy": ["prefill-0"]}, True),
        ({"healthy": None}, True),
        (None, True),
    ],
)
def test_services_that_are_not_known_to_be_as_planned_differ(change, different):
    """A host whose services are all healthy and current needs no step; one that gave no answer may need all."""
    new = plan()
    found = {"outdated": [], "other": [], "healthy": [service["name"] for service in new["services"]]}
    registered = None if change is None else {**found, **change}
    assert differs({"n1": registered}, new) is different
