# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a deploy, read as a person reads it; ``test_change_sequences.py`` plays it on a model of hosts and router."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.deploy import deploy
from ansible_collections.ascend.inference.plugins.plugin_utils.change.observe import known, questions
from ansible_collections.ascend.inference.plugins.plugin_utils.change.player import elsewhere
from ansible_collections.ascend.inference.plugins.plugin_utils.change.restart import rejoin
from ansible_collections.ascend.inference.plugins.plugin_utils.change.script import lines
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.router import members_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.change.test_restart import (
    ASK,
    GIVE,
    HOSTS,
    LAYERWISE,
    PROVE,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import observed
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_steps import BALANCED, plan

SAME = {"routers": {"added": [], "others": []}, "balancer": {"changed": False}}
ENTRIES = ("router", "router-1", "balancer")
OUT = "Take engines out of the routers that are not planned"
LEFT = "Wait for the last requests of engines that left, at most 300 s"


def script(whole, old, allowed=False, early=False, answers=None, inventory=(), **found):
    """All on n1. ``found``: names of services that are not as planned; all others are healthy."""
    names = [service["name"] for service in whole["services"]]
    wrong = {*found.get("down", ()), *found.get("outdated", ())}
    registered = {"healthy": [name for name in names if name not in wrong], **found}
    seen = {"n1": observed(json.dumps(old), registered, **(SAME if answers is None else answers))}
    return deploy(whole, seen, allowed, early, False, inventory, {"user": "u"}, 300, 200)


def titles(*given, **more):
    return [step.title for step in script(*given, **more).steps]


def rolled(name, seconds=1800):
    return [
        f"Take {name} out of the routers",
        f"Wait for the last requests of {name}, at most 300 s",
        f"Restart {name} and wait until ready, at most {seconds} s",
        ASK, PROVE, GIVE,
    ]  # fmt: skip


def test_what_runs_as_planned_has_no_step():
    assert lines(script(plan(**BALANCED), plan(**BALANCED))) == []


def test_a_changed_engine_leaves_restarts_and_returns_and_nothing_else_is_asked():
    assert titles(plan(), plan(), outdated=["decode-1"]) == rolled("decode-1")


def test_new_services_start_stage_by_stage_and_join():
    found = script(plan(2, 3), plan(2, 2), down=["decode-2"], answers={})
    assert [step.title for step in found.steps] == [
        "Start or restart decode-2 and wait until ready, at most 1800 s",
        "Start router if needed and wait until ready, at most 120 s",
        ASK, PROVE, GIVE,
        OUT, LEFT,
    ]  # fmt: skip
    assert found.steps[0].at["n1"]["names"] == ["decode-2"]
    assert [step.fill for step in found.steps[5:]] == ["strangers", "leaving"], "the router has not answered before"
    assert [step.asked for step in found.steps[5:]] == [2, 5]


def test_a_first_deploy_takes_nothing_out():
    names = [service["name"] for service in plan()["services"]]
    found = titles(plan(), {}, down=names, answers={})
    assert found[-2:] == [ASK, GIVE] and not any("Take" in title for title in found)


def test_a_service_that_runs_and_does_not_answer_is_waited_for():
    answers = ["prefill-0", "prefill-1", "decode-0", "router"]
    assert titles(plan(), plan(), healthy=answers)[0] == "Start decode-1 if needed and wait until ready, at most 1800 s"


@pytest.mark.parametrize("answer", [None, {"changed": True}])
def test_routers_return_that_an_interrupted_run_has_drained(answer):
    answers = {**SAME, "balancer": answer}
    assert titles(plan(**BALANCED), plan(**BALANCED), answers=answers) == ["Send requests to all routers"]


def test_an_engine_that_a_router_lacks_is_proven_and_added_unless_it_restarts_later():
    url = next(engine["url"] for engine in plan()["members"]["engines"] if engine["name"] == "decode-1")
    lacks = {"routers": {"added": [url], "others": [], "before": {}}}
    assert titles(plan(), plan(), answers=lacks) == [ASK, PROVE, GIVE]
    assert titles(plan(), plan(), answers=lacks, outdated=["decode-1"]) == rolled("decode-1")


def test_engines_and_services_that_are_not_planned_leave_at_the_end():
    found = script(plan(2, 2), plan(2, 3), other=["inference-decode-2"])
    assert [step.title for step in found.steps] == [OUT, LEFT, "Stop and remove inference-decode-2"]
    assert found.steps[0].at["n1"]["purge"] and found.steps[0].fill == ""
    (gone,) = found.steps[1].given["leaving"]
    assert gone["name"] == "decode-2" and found.steps[2].at == {"n1": {"keep": []}}
    others = {"routers": {"added": [], "others": ["http://192.0.2.9:7300"]}}
    assert titles(plan(), plan(), answers=others) == [OUT, LEFT]


def test_a_changed_router_behind_a_balancer_is_drained_first():
    found = titles(plan(**BALANCED), plan(**BALANCED), outdated=["router-1"])
    assert found == [
        "Send no new requests to router-1 and wait for its last ones, at most 300 s",
        "Restart router-1 and wait until ready, at most 120 s",
        "Wait until router-1 has its engines",
        "Send requests to router-1",
    ]


def test_before_files_are_written_only_refusals_count():
    found = script(plan(1, 1), plan(1, 1), outdated=["decode-0"], early=True)
    assert (found.steps, found.notes) == ([], []) and "Nothing was changed." in found.refusals[0]
    assert script(plan(1, 1), plan(1, 1), outdated=["decode-0"], early=True, allowed=True).refusals == []
    assert "no file of a service was written" in script(plan(1, 1), plan(1, 1), outdated=["decode-0"]).refusals[0]


def moved(old_host, new_host):
    """Plans of decode with two processes, of which the second moves."""

    def of(second):
        pools = {
            "prefill": {"instances": 1, "tensor_parallel_size": 8},
            "decode": {"tensor_parallel_size": 8, "data_parallel_size": 2, "load_balancing": "internal"},
        }
        hosts = {"b1": "prefill", "d1": "decode", second: "decode"}
        inventory = {
            name: {"groups": [kind], "variables": {"ansible_host": f"192.0.2.{number}", "inference_devices": 8}}
            for number, (name, kind) in enumerate(hosts.items(), 1)
        }
        more = {
            "inference_hardware": "a2",
            "inference_pools": pools,
            "inference_router": {},
            "inference_model": {"path": "/m", "name": "m", "moe": "true"},
        }
        return launch_plan(
            {**LAYERWISE, "inference_kv_transfer": "mooncake", "inference_devices": 8, **more}, inventory
        )

    return of(old_host), of(new_host)


def test_processes_on_hosts_that_the_plan_does_not_have_stop_before_their_instance_starts_anew():
    old, new = moved("d2", "d3")
    left = next(service["name"] for service in old["services"] if service["host"] == "d2")
    first = next(service["name"] for service in new["services"] if service["host"] == "d1")
    found = {}
    for host in ("b1", "d1", "d3"):
        here = [service["name"] for service in new["services"] if service["host"] == host]
        registered = {
            "down": here if host == "d3" else [],
            "outdated": [first] if host == "d1" else [],
            "healthy": here,
        }
        found[host] = observed(json.dumps(old), registered)
    script = deploy(new, found, True, False, False, {"b1", "d1", "d2", "d3"}, {"user": "u"}, 300, 200)
    (step,) = [step for step in script.steps if step.orphaned]
    assert (step.orphaned, list(step.at), step.title) == (
        "d2", ["b1"], f"Stop {left}, whose instance starts anew without its host",
    )  # fmt: skip
    given = step.at["b1"]
    assert given["state"] == "stopped" and given["own"] == new["directory"] and given["own_hosts"] == ["b1", "d1", "d3"]
    assert [service["name"] for service in given["services"]] == [left] and given["settings"]["user"] == "u"
    starts = [number for number, step in enumerate(script.steps) if step.title.startswith("Start")]
    assert script.steps.index(step) < starts[0]
    without = deploy(new, found, True, False, False, {"b1", "d1", "d3"}, {}, 300, 200)
    assert not any(step.orphaned for step in without.steps), "it left the inventory"


def test_routers_that_read_their_engines_at_the_start_are_read_and_restart_only_if_needed():
    hosts = {
        name: {"groups": [kind], "variables": {"ansible_host": f"192.0.2.{name[1]}"}} for name, kind in HOSTS.items()
    }
    whole = launch_plan(LAYERWISE, hosts)
    names = {host: [each["name"] for each in whole["services"] if each["host"] == host] for host in HOSTS}
    same = {host: observed(json.dumps(whole), {"healthy": names[host]}, **SAME) for host in HOSTS}
    assert deploy(whole, same, False, False, False, (), {}, 300, 200).steps == []
    other = {
        **same,
        "n4": observed("", {"healthy": names["n4"]}, routers={"added": [], "restart": ["http://192.0.2.4:8020"]}),
    }
    found = deploy(whole, other, False, False, False, (), {}, 300, 200)
    assert [step.title for step in found.steps][:4] == [ASK, PROVE, GIVE, "Send requests to all routers"]
    assert found.steps[2].fill == "" and found.steps[3].fill == "restarting"


@pytest.mark.parametrize("name", ENTRIES)
def test_check_mode_asks_routers_and_balancer_only_if_all_run(name):
    found = script(plan(**BALANCED), plan(**BALANCED), down=[name, "decode-0"], answers={})
    played = {step.verb: step.check for step in found.steps}
    assert played == {
        "state": True,
        "ask": name == "balancer",
        "prove": False,
        "members": name == "balancer",
        "balance": name != "balancer",
        **({"drain": False} if "drain" in played else {}),
    }


def test_hosts_are_asked_for_what_they_have():
    whole = plan(**BALANCED)
    asked = questions(members_of(whole, "n1"), whole["balancer"], "/d", True, {})
    assert {key: (each.module, each.needed) for key, each in asked.items()} == {
        "routers": ("router_members", False),
        "balancer": ("balancer_servers", False),
        "recorded": ("deployed_plan_info", True),
    }
    assert asked["balancer"].arguments["state"] == "ready" and asked["balancer"].arguments["weight"] == 100
    assert asked["recorded"].arguments == {"directory": "/d", "content": True}
    changed = questions({}, {}, "/d", False, {"outdated": ["decode-0"]})
    assert changed["recorded"].arguments["content"] is False and list(changed) == ["recorded"]
    assert questions({}, {}, "/d", False, {"outdated": []}) == {}


def test_an_answer_that_failed_is_none():
    found = known({}, {"routers": {"failed": True}, "balancer": {"unreachable": True}}, False)
    assert (found["routers"], found["balancer"], found["content"], found["half"]) == (None, None, None, "")


def test_only_engines_that_run_as_planned_return_to_the_routers():
    whole = plan(2, 3)
    found = {"n1": observed("", {"down": ["decode-1"], "outdated": ["prefill-0"]})}
    steps = rejoin(whole, found, 300, 200).steps
    assert [step.title for step in steps] == [ASK, PROVE, GIVE]
    assert [engine["name"] for engine in steps[2].at["n1"]["members"]] == ["decode-0", "decode-2", "prefill-1"]
    assert rejoin({**whole, "members": {}}, found, 300, 200).steps == []


def test_two_hosts_with_different_records_are_named_and_neither_is_taken():
    whole = plan()
    registered = {"healthy": [service["name"] for service in whole["services"]], "outdated": ["decode-1"]}
    seen = {
        host: observed(json.dumps(recorded), registered if host == "n1" else {"healthy": []}, **SAME)
        for host, recorded in (("n1", plan(2, 3)), ("n2", plan(3, 2)))
    }
    found = deploy(whole, seen, True, False, False, (), {"user": "u"}, 300, 200)
    assert any("recorded different plans" in text for text in found.notes)
    same = {host: {**here, "content": seen["n1"]["content"]} for host, here in seen.items()}
    assert not any(
        "recorded different" in text
        for text in deploy(whole, same, True, False, False, (), {"user": "u"}, 300, 200).notes
    )


@pytest.mark.parametrize(
    "found", [{"down": ["router"]}, {"outdated": ["router"]}, {"healthy": ["router"], "other": ["old"]}]
)
def test_the_router_on_a_host_of_a_cluster_changes_without_its_pods(found):
    """The cluster has changed them before, and no host of the play is theirs."""
    variables = {
        "inference_runtime": "kubernetes",
        "inference_release": "0.13.0",
        "inference_hardware": "a3",
        "inference_interface": "eth0",
        "inference_model": {"path": "/models/moe", "name": "moe"},
        "inference_pools": {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}},
        "inference_kubernetes": {"namespace": "serving", "router": {"mode": "host"}},
    }
    cluster = launch_plan(variables, {"n1": {"groups": ["router"], "variables": {"ansible_host": "192.0.2.1"}}}, ())
    whole = {**cluster, **cluster["kubernetes"]["router"]["on_host"]}
    assert len(whole["services"]) == 3
    seen = {"n1": observed("" if "down" in found else json.dumps(whole), found)}
    played = deploy(whole, seen, True, False, False, ["n1"], {}, 300, 200)
    assert played.steps and not elsewhere(played, ["n1"]) and "decode-0" not in str(lines(played))
