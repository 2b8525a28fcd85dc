# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a change that was interrupted: without a pause if all engines can exchange KV cache, not without permission if nobody knows."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.choices import rollback_mode, upgrade_mode
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import change_steps

ENGINES = ["prefill-0", "prefill-1", "decode-0", "decode-1"]
SERVERS = {"router": {"state": "ready", "weight": 100}, "router-1": {"state": "ready", "weight": 100}}
LIMIT = {"inference_args": {"max-num-seqs": 8}}
BLOCK = {"inference_args": {"block-size": 64}}


def cpu(prefill=2, decode=2, **more):
    variables = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_model": {"path": "/m", "name": "m"},
        "inference_pools": {"prefill": {"instances": prefill}, "decode": {"instances": decode}},
        **more,
    }
    return launch_plan(variables, {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}})


OLD = cpu()


def interrupted(plan=OLD, revisions=(OLD["revision"],), outdated=tuple(ENGINES), down=(), half=""):
    """What is known of a host on which a change was interrupted; ``plan``: the verified one, with which what runs is compared."""
    planned = {service["name"] for service in plan["services"]}
    runs = {"down": list(down), "outdated": [name for name in outdated if name in planned], "other": []}
    return {
        "n1": {
            "previous": plan,
            "locked": {
                "phase": "changing",
                "half": half,
                "revisions": list(revisions),
                "interrupted": "another",
            },
            "runs": {"old": runs, "new": runs, "servers": {}},
            "__service_registered": runs,
        }
    }


def back(found, *given, text=None):
    return rollback_mode(found, json.dumps(OLD) if text is None else text, *given)


@pytest.mark.parametrize(
    ("outdated", "steps"),
    [
        (ENGINES, "2 steps;"),
        (["decode-1"], "1 step;"),
        (["prefill-0", "decode-0", "decode-1"], "2 steps;"),
        ([], "Nothing changes:"),
    ],
)
def test_engines_of_one_revision_return_one_after_the_other(outdated, steps):
    result = back(interrupted(outdated=outdated))
    assert (result["mode"], result["refusals"], result["rounds"]) == ("rolling", [], [])
    assert result["text"].startswith(f"Mode rolling: no pause. {steps}"), "of what runs, not of what is recorded"


def test_an_engine_that_the_change_has_stopped_starts_first():
    assert back(interrupted(outdated=["decode-0"], down=["decode-1"]))["mode"] == "rolling"


def test_where_the_hardware_needs_a_pause_it_is_announced_as_in_an_upgrade():
    plan = cpu(1, 1)
    result = back(interrupted(plan, [plan["revision"]]), text=json.dumps(plan))
    assert (result["mode"], result["refusals"]) == ("recreate", [])
    assert "its pool has no other instance" in result["text"] and "interrupted" not in result["text"]


@pytest.mark.parametrize(
    "found",
    [
        interrupted(revisions=[OLD["revision"], "another"]),
        interrupted(revisions=["another"]),
        interrupted(revisions=["unknown"]),
        interrupted(revisions=[]),
        {"n1": {**interrupted()["n1"], "runs": {}}},
    ],
)
def test_nothing_that_serves_stops_without_permission_if_nobody_knows_what_runs(found):
    (text,) = back(found)["refusals"]
    assert (
        "it is not recorded that the last change has ended" in text
        and "Nothing was changed" in text
        and "inference_allow_pause=true" in text
    )
    for given in ((True,), (False, "recreate")):
        result = back(found, *given)
        assert (result["mode"], result["refusals"]) == ("recreate", [])
        assert "it is not recorded that the last change has ended" in result["text"]


@pytest.mark.parametrize("down", [["decode-0", "decode-1"], ["router"], [*ENGINES, "router"]])
def test_who_serves_nobody_needs_no_permission_for_a_pause(down):
    result = back(interrupted(revisions=["another"], down=down))
    assert (result["mode"], result["refusals"]) == ("recreate", [])


def test_without_a_recorded_plan_what_serves_goes_on():
    for found in (interrupted(), interrupted(revisions=[])):
        found["n1"]["locked"]["phase"] = "changing" if found["n1"]["locked"]["revisions"] else "verified"
        (text,) = back(found, text="{")["refusals"]
        assert "plan.json is missing or damaged" in text and "run site" in text
        assert back(found, True, text="{")["mode"] == "recreate"


def test_after_a_change_of_one_half_nothing_rolls():
    """The routers know the engines of their half only."""
    found = interrupted(half="first")
    assert back(found, True)["mode"] == "recreate"
    assert upgrade_mode(found, OLD, "")["mode"] == "recreate"


def test_an_upgrade_after_another_change_was_interrupted_rolls_among_engines_of_one_revision():
    found, third = interrupted(), cpu(**LIMIT)
    assert third["revision"] == OLD["revision"]
    result = upgrade_mode(found, third, "")
    assert result["mode"] == "rolling" and result["text"].startswith("Mode rolling: no pause. 2 steps;")
    found["n1"]["locked"]["revisions"] = [OLD["revision"], "another"]
    assert upgrade_mode(found, third, "")["mode"] == "recreate"


@pytest.mark.parametrize(
    "forged", [{}, {"half": "first"}, {"revisions": []}, {"half": "unknown", "interrupted": "unknown"}]
)
@pytest.mark.parametrize("asked", ["", "recreate"])
def test_what_few_hosts_say_of_an_interrupted_change_stops_nothing(forged, asked):
    """Root of one host can write its journal. A run that was killed at its beginning leaves the same, and goes on with its own settings."""
    claims = interrupted(revisions=["another"])["n1"]
    claims["locked"].update(forged)
    rests = interrupted(outdated=())["n1"] | {
        "locked": {"phase": "verified", "interrupted": "", "half": "", "revisions": []}
    }
    third = cpu(**LIMIT)
    found = upgrade_mode({"n1": rests, "n2": claims, "n3": rests}, third, asked)
    if asked:
        assert (found["mode"], found["refusals"]) == ("recreate", [])
    else:
        (text,), damaged = found["refusals"], forged.get("half") == "unknown"
        says = (
            "journal.json is damaged, so it may be that a change was interrupted"
            if damaged
            else "says that a change was interrupted"
        )
        assert (
            found["mode"] == "" and text.startswith(f"n2: {says}") and ("run deploy, which writes" in text) == damaged
        )
    assert upgrade_mode({"n1": claims, "n2": claims, "n3": rests}, third)["mode"] == "recreate"
    assert upgrade_mode({"n1": rests, "n2": rests}, third)["mode"] == "rolling"
    assert upgrade_mode({"n1": claims, "n2": rests}, third)["mode"] == ""


@pytest.mark.parametrize("claim", [{"half": "first"}, {"revisions": ["another"]}])
def test_what_few_hosts_say_of_an_interrupted_change_chooses_no_halves(claim):
    """Half of the instances would serve alone for it. Whoever knows better asks for it."""
    router = {"inference_router": {"instances": 2, "balancer": "haproxy"}}
    old, third = cpu(**router), cpu(**router, **LIMIT)
    runs = {"down": [], "outdated": ENGINES, "other": []}
    known = {"previous": old, "runs": {"old": {**runs, "outdated": []}, "new": runs, "servers": SERVERS}}
    rests = {**known, "locked": {"phase": "verified", "interrupted": "", "half": "", "revisions": []}}
    claims = {**known, "locked": {"phase": "changing", "interrupted": "another", "half": "", "revisions": [], **claim}}
    assert upgrade_mode({"n1": rests, "n2": rests, "n3": rests}, third)["mode"] == "rolling"
    refused = upgrade_mode({"n1": rests, "n2": claims, "n3": rests}, third)
    assert refused["mode"] == "" and refused["refusals"][0].startswith("n2: says that a change was interrupted")
    assert "inference_upgrade_mode=blue_green" in refused["refusals"][0]
    for found in ({"n1": claims, "n2": claims, "n3": rests}, {"n1": rests, "n2": claims, "n3": claims}):
        assert upgrade_mode(found, third)["mode"] == "blue_green"
    assert upgrade_mode({"n1": rests, "n2": claims, "n3": rests}, third, "blue_green")["mode"] == "blue_green"


def test_few_hosts_do_not_add_to_what_most_say_of_an_interrupted_change():
    """All engines have one revision, so they restart one after the other; one host says that there is another one, or a half."""
    honest, third = interrupted()["n1"], cpu(**LIMIT)
    for forged in ({"revisions": [OLD["revision"], "another"]}, {"half": "first"}):
        claims = {**honest, "locked": {**honest["locked"], **forged}}
        assert upgrade_mode({"n1": honest, "n2": honest, "n3": honest}, third)["mode"] == "rolling"
        assert upgrade_mode({"n1": honest, "n2": claims, "n3": honest}, third)["mode"] == ""


def four_hosts(asked="", **rekeyed):
    """The mode of an upgrade of four hosts with an engine each, of which some say that engines there have other keys."""
    hosts = {
        f"n{number}": {
            "groups": ["prefill" if number < 3 else "decode"],
            "variables": {"ansible_host": f"192.0.2.{number}"},
        }
        for number in (1, 2, 3, 4)
    }
    variables = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_model": {"path": "/m", "name": "m"},
        "inference_secrets": {"api_key": "k"},
        "inference_pools": {"prefill": {"instances": 2}, "decode": {"instances": 2}},
    }
    old, new = launch_plan(variables, hosts), launch_plan({**variables, **LIMIT}, hosts)
    found = {}
    for host in hosts:
        names = [service["name"] for service in new["services"] if service["host"] == host]
        runs = {"down": [], "outdated": names, "other": [], "rekeyed": rekeyed.get(host, [])}
        found[host] = {
            "previous": old,
            "locked": {"phase": "verified", "interrupted": "", "half": "", "revisions": []},
            "runs": {"old": {**runs, "outdated": []}, "new": runs, "servers": {}},
        }
    return upgrade_mode(found, new, asked)


def test_what_few_hosts_say_of_other_keys_stops_nothing():
    """Root of one host can start its services with another key, or say that it did."""
    assert four_hosts()["mode"] == "rolling"
    claimed = four_hosts(n4=["decode-1"])
    assert claimed["mode"] == "" and claimed["refusals"][0].startswith("n4: says that engines or routers run there")
    assert four_hosts("recreate", n4=["decode-1"])["mode"] == "recreate"
    most = four_hosts(n1=["prefill-0"], n2=["prefill-1"], n3=["decode-0"], n4=["decode-1"])
    assert most["mode"] == "recreate" and not most["refusals"]


def test_a_plan_that_few_hosts_say_is_deployed_stops_nothing():
    rests = interrupted(outdated=())["n1"] | {"locked": {"phase": "verified"}}
    claims = {**rests, "locked": {"phase": "deployed", "unverified": cpu(**BLOCK)}}
    assert upgrade_mode({"n1": rests, "n2": claims, "n3": rests}, OLD)["mode"] == "rolling"
    assert "was never verified" in upgrade_mode({"n1": claims, "n2": claims, "n3": rests}, OLD)["refusals"][0]


def steps(plan, revisions, allow_pause=False):
    return change_steps(
        interrupted(plan)["n1"]["__service_registered"], plan, json.dumps(OLD), allow_pause, revisions=revisions
    )


def test_engines_of_a_revision_that_was_never_recorded_do_not_restart_among_others():
    """A change to another KV cache was interrupted, and this plan is the recorded one: the record alone says that nothing differs."""
    assert len(steps(OLD, [OLD["revision"]])["roll"]) == 2 and len(steps(OLD, [])["roll"]) == 2
    for others in ([OLD["revision"], cpu(**BLOCK)["revision"]], ["unknown"]):
        refused = steps(OLD, others)
        assert refused["roll"] == [] and "cannot exchange KV cache" in refused["refusals"][0]
        allowed = steps(OLD, others, True)
        assert set(allowed["vacate"]["n1"]) == set(ENGINES), "all of them stop before any starts"


def test_going_on_to_the_revision_of_the_change_stops_the_old_engines_first():
    new = cpu(**BLOCK)
    found = steps(new, [new["revision"], OLD["revision"]], True)
    assert set(found["vacate"]["n1"]) == set(ENGINES) and found["roll"] == []
