# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A blue/green upgrade: no engine of one revision is ever behind a router of the other, and no half gets requests before its proof."""

from __future__ import annotations

import copy
import itertools
import json

import pytest
from ansible_collections.ascend.inference.plugins.filter.rounds import FilterModule
from ansible_collections.ascend.inference.plugins.plugin_utils.change.choice import way_back
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import halves, rollback
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.half_plan import kept, of_half
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.halves import FIRST, NEW, OLD, SECOND
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.upgrade import mode, planned_mode
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import part_of, parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.choices import known, rollback_mode
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import hosts
from hypothesis import given, settings
from hypothesis import strategies as st

ROUTER = {"instances": 2, "balancer": "haproxy"}
KINDS = ("prefill", "decode", "colocated")


def cpu(prefill=2, decode=2, routers=2, **more):
    variables = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_model": {"path": "/m", "name": "m"},
        "inference_pools": {"prefill": {"instances": prefill}, "decode": {"instances": decode}},
        "inference_router": {**ROUTER, "instances": routers},
        **more,
    }
    return launch_plan(variables, {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}})


def npu(release, **more):
    """Two instances of each pool on NPUs; the proxy reads lists of hosts and ports."""
    variables = {
        "inference_release": release,
        "inference_model": {"path": "/models/dense", "name": "dense"},
        "inference_hardware": "a2",
        "inference_cann_path": f"/opt/cann-{release}",
        "inference_engine_install": "site",
        "inference_rules_ignore": ["RELEASE-CANDIDATE"],
        "inference_pools": {
            kind: {"instances": 2, "tensor_parallel_size": 4, "args": {"max-num-seqs": 16}}
            for kind in ("prefill", "decode")
        },
        "inference_router": ROUTER,
        **more,
    }
    return launch_plan(variables, hosts(2, {"prefill": (1,), "decode": (2,)}))


BLOCK = {"inference_args": {"block-size": 64}}


def services(plan, kinds=KINDS):
    return {service["name"]: service for service in plan["services"] if service["kind"] in kinds}


def urls_behind(router):
    """Engines of a router: of its command line, and of the file for the program that adds them."""
    found = {word for word in router["argv"] if word.startswith("http://")}
    words, lists, name = router["argv"], {}, ""
    for word in words:
        name = word if word.startswith("--") else name
        lists.setdefault(name, []).append(word)
    for option in ("--prefiller", "--decoder"):
        pairs = zip(lists.get(f"{option}-hosts", [])[1:], lists.get(f"{option}-ports", [])[1:], strict=True)
        found |= {f"http://{host}:{port}" for host, port in pairs}
    for file in router["members"]["files"]:
        if file["path"].endswith(".json"):
            assert {row["url"] for row in json.loads(file["content"])["members"]} == found
    return found


def judge(old, new, revisions, target):
    """The rules of a mixed plan."""
    found = halves.mixed(old, new, revisions, target)
    split = halves.halves(new)
    plans = {OLD: services(old, (*KINDS, "router")), NEW: services(new, (*KINDS, "router"))}
    urls = {engine["name"]: engine["url"] for engine in new["members"]["engines"]}
    assert not set(split[FIRST]) & set(split[SECOND])
    assert [service["name"] for service in found["services"]] == [service["name"] for service in new["services"]]
    used = []
    for service in found["services"]:
        used += [(service["host"], "npu", device) for device in service["devices"]]
        used += [
            (service["host"], "port", port["first"] + number)
            for port in service["ports"]
            for number in range(port["count"])
        ]
    assert len(used) == len(set(used)), "no device and no port has two services"
    for half, names in split.items():
        assert {kind for kind in KINDS if services(new, (kind,))} <= {found_kind(new, name) for name in names}, half
        assert any(found_kind(new, name) == "router" for name in names)
        for name in names:
            service = next(row for row in found["services"] if row["name"] == name)
            assert service["digest"] == plans[revisions[half]][name]["digest"]
            if service["kind"] == "router" and len(set(revisions.values())) == 2:
                assert urls_behind(service) == {urls[engine] for engine in names if engine in urls}
    return found


def found_kind(plan, name):
    return next(service["kind"] for service in plan["services"] if service["name"] == name)


@settings(max_examples=6, deadline=None)
@given(st.integers(2, 5), st.integers(2, 5), st.integers(2, 3))
def test_no_router_of_a_mixed_plan_knows_engines_of_two_revisions(prefill, decode, routers):
    old, new = cpu(prefill, decode, routers), cpu(prefill, decode, routers, **BLOCK)
    assert halves.half_obstacles(new, old) == []
    for first, second in itertools.product((OLD, NEW), repeat=2):
        for target in (OLD, NEW):
            judge(old, new, {FIRST: first, SECOND: second}, target)
    counts = {
        half: len({name for name in names if found_kind(new, name) == "decode"})
        for half, names in halves.halves(new).items()
    }
    assert counts == {FIRST: decode // 2, SECOND: decode - decode // 2}
    assert halves.mixed(old, new, {FIRST: NEW, SECOND: NEW}, NEW) == new


@pytest.mark.parametrize("release", ["0.24.0rc1", "0.30.0rc1"])
def test_releases_on_npus(release):
    old, new = npu("0.23.0.post1"), npu(release)
    assert halves.half_obstacles(new, old) == []
    found = judge(old, new, {FIRST: NEW, SECOND: OLD}, NEW)
    programs = {service["name"]: service["argv"][0] for service in found["services"]}
    assert release in programs["decode-1"] and release in programs["router-1"]
    assert "0.23.0.post1" in programs["decode-0"] and "0.23.0.post1" in programs["router"]
    judge(new, old, {FIRST: NEW, SECOND: OLD}, NEW)
    assert part_of(found, "node2") == dict(parts(found))["node2"]


def test_lists_of_engines_keep_their_pairs():
    lists = [
        "--prefiller-hosts",
        "h1",
        "h2",
        "--prefiller-ports",
        "1",
        "2",
        "--decoder-hosts",
        "h1",
        "--decoder-ports",
        "3",
    ]
    assert kept(lists, ["http://h2:2", "http://h1:3"]) == [
        *("--prefiller-hosts", "h2", "--prefiller-ports", "2"),
        *("--decoder-hosts", "h1", "--decoder-ports", "3"),
    ]
    assert kept(["--worker-urls", "http://h1:1", "http://h2:1"], ["http://h2:1"]) == ["--worker-urls", "http://h2:1"]


PLANS = cpu(), cpu(**BLOCK)
ROUTERS = {FIRST: "router-1", SECOND: "router"}


def played(runs, asked, target, until):
    """What runs and gets requests after ``until`` steps of the rounds; checks at each that only proven halves get requests."""
    runs, asked = dict(runs), set(asked)
    planned = halves.rounds(*PLANS, runs, asked, target)
    if planned is None:
        return None
    for found in planned:
        half, goal = found["half"], found["revisions"][found["half"]]
        serving = halves.OTHER_HALF[half]
        assert found["serving"]["routers"] == [ROUTERS[serving]] and found["routers"] == [ROUTERS[half]]
        assert runs[serving], "the half that serves runs with one revision"
        for step in ("drain", "stop", "start", "prove", "move"):
            if until == 0:
                return runs, asked
            until -= 1
            if step == "drain":
                asked = {ROUTERS[serving]}
            elif step == "stop":
                runs[half] = ""
            elif step == "start":
                runs[half] = goal
            elif step == "move":
                asked = {*ROUTERS.values()} if found["last"] else {ROUTERS[half]}
    return runs, asked


@pytest.mark.parametrize("target", [OLD, NEW])
@pytest.mark.parametrize("killed", range(11))
def test_a_run_that_was_killed_anywhere_goes_on_or_back(killed, target):
    """From each step of a change to the new plan, and of the way back, the next run knows which half serves, and finishes."""
    begin = {FIRST: OLD, SECOND: OLD}, set(ROUTERS.values())
    runs, asked = played(*begin, NEW, killed)
    for again in range(11):
        for direction in (OLD, NEW):
            middle = played(runs, asked, direction, again)
            assert middle, (killed, again, direction)
            end = played(*middle, target, 99)
            assert end == ({FIRST: target, SECOND: target}, set(ROUTERS.values()))


def test_a_half_that_was_not_proven_is_never_trusted():
    old, new = cpu(), cpu(**BLOCK)
    unproven = {FIRST: NEW, SECOND: ""}  # one of the old engines died
    assert halves.rounds(old, new, unproven, ["router"], OLD) is None
    assert halves.rounds(old, new, unproven, ["router", "router-1"], NEW) is None, "the balancer has restarted"
    assert halves.rounds(old, new, unproven, [], NEW) is None
    assert [found["half"] for found in halves.rounds(old, new, unproven, ["router-1"], NEW)] == [SECOND]
    back = halves.rounds(old, new, unproven, ["router-1"], OLD)
    assert [(found["half"], found["last"]) for found in back] == [(SECOND, False), (FIRST, True)]


def test_of_two_new_halves_the_first_is_trusted():
    """The second one may have just started, and a balancer that started anew without its states sends requests to both."""
    both = {FIRST: NEW, SECOND: NEW}
    (found,) = halves.rounds(*PLANS, both, ["router", "router-1"], NEW)
    assert (found["half"], found["last"]) == (SECOND, True)
    assert [found["half"] for found in halves.rounds(*PLANS, both, ["router", "router-1"], OLD)] == [SECOND, FIRST]
    assert [found["half"] for found in halves.rounds(*PLANS, both, ["router"], NEW)] == [FIRST], "it gets all of them"


@pytest.mark.parametrize("target", [OLD, NEW])
def test_a_half_that_the_balancer_passes_over_is_not_trusted_for_its_settings(target):
    """It may have been started by a way back that was killed, and still load the model: the other half serves."""
    behind = {FIRST: OLD, SECOND: NEW}
    assert halves.rounds(*PLANS, behind, ["router"], target)[0]["half"] == FIRST, "the second one gets all requests"
    assert halves.rounds(*PLANS, {FIRST: OLD, SECOND: ""}, ["router"], target) is None
    assert halves.rounds(*PLANS, behind, [], target)[0]["half"] == SECOND, "nobody knows who gets requests"
    assert halves.rounds(*PLANS, behind, ["router", "router-1"], target)[0]["half"] == SECOND
    answers = halves.rounds(*PLANS, {FIRST: OLD, SECOND: ""}, ["router"], target, [FIRST])
    assert answers[0]["half"] == SECOND, "it runs and answers, and the other one does not run with either plan"
    assert halves.rounds(*PLANS, behind, ["router"], target, [FIRST])[0]["half"] == FIRST, "a proof comes before"


def test_what_runs_is_compared_with_both_plans():
    plan = cpu()
    none, every = {"down": [], "outdated": []}, {"down": [], "outdated": ["decode-1", "prefill-1"]}
    assert halves.runs_as({"n1": none}, {"n1": every}, plan) == {FIRST: OLD, SECOND: OLD}
    assert halves.runs_as({"n1": every}, {"n1": none}, plan) == {FIRST: NEW, SECOND: OLD}
    down = {"n1": {"down": ["decode-1"], "outdated": []}}
    assert halves.runs_as(down, down, plan) == {FIRST: "", SECOND: OLD}


@pytest.mark.parametrize(
    ("row", "gets"),
    [
        ({"state": "ready", "weight": 100}, True),
        ({"state": "ready", "weight": 1}, True),
        ({"state": "ready", "weight": 0}, False),
        ({"state": "drain", "weight": 100}, False),
        ({"state": "maint", "weight": 100}, False),
    ],
)
def test_a_router_is_asked_if_it_is_ready_and_has_a_weight(row, gets):
    """During a move the routers of the other half are ready with a weight of 0."""
    runs = {"down": [], "outdated": []}
    found = halves.seen({"n1": {OLD: runs, NEW: runs, "servers": {"router": row}}, "n2": {OLD: runs, NEW: runs}})
    assert found["asked"] == (["router"] if gets else [])


def test_nothing_is_known_of_halves_if_a_host_was_not_looked_at():
    runs = {"down": [], "outdated": []}
    assert halves.seen({}) is None
    assert halves.seen({"n1": {OLD: runs, NEW: runs}, "n2": {OLD: runs}}) is None


def with_service(plan, kind):
    found = copy.deepcopy(plan)
    found["services"].append({**found["services"][0], "name": kind, "kind": kind})
    return found


@pytest.mark.parametrize("kind", ["encode", "mooncake_master", "memcache_meta_service", "etcd"])
def test_what_both_halves_would_share_is_an_obstacle_before_or_afterwards(kind):
    """Engines of two revisions would find KV cache or embeddings of each other there."""
    plan = cpu()
    for new, old in ((with_service(plan, kind), plan), (plan, with_service(plan, kind))):
        assert any(text.startswith(f"{kind}: both halves") for text in halves.half_obstacles(new, old))


@pytest.mark.parametrize("kind", ["frontend", "probe"])
def test_what_is_beside_the_halves_is_no_obstacle(kind):
    plan = with_service(cpu(), kind)
    assert halves.half_obstacles(plan, plan) == []


def test_a_half_is_proven_through_its_own_router():
    old, new = cpu(), cpu(**BLOCK)
    first, last = halves.rounds(old, new, {FIRST: OLD, SECOND: OLD}, [], NEW)
    section = first["verify"]
    assert section["entry"]["name"] == "router-1" and "routers" not in section and section["block_size"] == 64
    assert [engine["name"] for role in KINDS for engine in section[role]] == ["prefill-1", "decode-1"]
    assert first["upstream"] == [new["verify"]["prefill"][0]["url"]]
    assert last["last"] and not last["verify"] and "balancer" in last["starts"] and "router-1" not in last["starts"]


def interrupted(down=(), outdated=(), **more):
    """hostvars of a host after an upgrade that was killed; ``down`` and ``outdated`` compared with the verified plan."""
    runs = {"down": list(down), "outdated": list(outdated)}
    return {
        "n1": {
            "previous": cpu(),
            "locked": {"phase": "changing", "half": "first"},
            "runs": {"old": runs, "new": runs, "servers": {}},
        },
        **more,
    }


@pytest.mark.parametrize(
    ("found", "half"),
    [
        (interrupted(), FIRST),
        (interrupted(outdated=["decode-1", "prefill-1"]), FIRST),
        (interrupted(down=["decode-1"], outdated=["prefill-1"]), FIRST),
        (interrupted(down=["decode-0"]), SECOND),
    ],
)
def test_a_rollback_leaves_the_half_alone_that_runs_with_the_verified_plan(found, half):
    result = rollback_mode(found, json.dumps(cpu()))
    (planned,) = result["rounds"]
    assert (result["mode"], result["refusals"], planned["half"], planned["last"]) == ("blue_green", [], half, True)
    assert not set(planned["starts"]) & set(halves.halves(cpu())[halves.OTHER_HALF[half]])
    assert planned["revisions"] == {FIRST: OLD, SECOND: OLD} and "no pause" in result["text"]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (interrupted(down=["decode-0"], outdated=["prefill-1"]), "neither half runs completely"),
        (interrupted(n2={}), "hosts are named that are not part"),
        ({"n1": {**interrupted()["n1"], "runs": {}}}, "neither half runs completely"),
        ({"n1": {**interrupted()["n1"], "previous": cpu(routers=1)}}, "there is one router"),
    ],
)
def test_a_rollback_that_would_stop_the_serving_half_is_refused(found, why):
    result = rollback_mode(found, json.dumps(cpu()))
    (text,) = result["refusals"]
    assert why in text and "Nothing was changed" in text and "Fix: run upgrade" in text and result["rounds"] == []
    allowed = rollback_mode(found, json.dumps(cpu()), True)
    assert (allowed["mode"], allowed["refusals"], allowed["rounds"]) == ("recreate", [], [])


def returning(first, asked):
    """hostvars of a host after a rollback by halves from a plan that was never verified was killed; ``first``: what of the first half runs."""
    split, every = halves.halves(PLANS[0]), [*services(PLANS[0], (*KINDS, "router"))]
    outdated = {OLD: split[FIRST], NEW: [*split[SECOND], "balancer"]}
    down = [] if first else ["decode-1"]
    runs = {key: {"down": down, "outdated": names} for key, names in outdated.items()}
    servers = {name: {"state": "ready", "weight": 100} for name in asked}
    assert len(every) == 6
    return {
        "n1": {
            "previous": PLANS[0],
            "locked": {"phase": "changing", "half": FIRST},
            "runs": {**runs, "servers": servers},
        }
    }


@pytest.mark.parametrize("first", [True, False])
def test_a_rollback_that_was_killed_gives_no_requests_to_a_half_that_it_has_not_proven(first):
    result = rollback_mode(returning(first, ["router"]), json.dumps(PLANS[1]))
    assert (result["mode"], result["refusals"]) == ("blue_green", []) and "Mode blue_green: no pause." in result["text"]
    begin, end = result["rounds"]
    assert (begin["half"], begin["serving"]["routers"], begin["target"]) == (FIRST, ["router"], NEW)
    assert begin["verify"] and (end["half"], end["last"]) == (SECOND, True)


def test_a_rollback_that_was_killed_after_the_proof_goes_on_with_the_other_half():
    result = rollback_mode(returning(True, ["router-1"]), json.dumps(PLANS[1]))
    assert [(found["half"], found["last"]) for found in result["rounds"]] == [(SECOND, True)]


def test_a_rollback_that_was_killed_stops_nothing_if_the_recorded_plan_is_damaged():
    (text,) = rollback_mode(returning(True, ["router"]), "{")["refusals"]
    assert "Nothing was changed" in text and "inference_allow_pause" in text


@pytest.mark.parametrize(("healthy", "mode"), [(("prefill-0", "decode-0", "router"), "blue_green"), (("router",), "")])
def test_a_verified_half_that_the_balancer_passes_over_has_to_answer(healthy, mode):
    """An upgrade was killed while the second half was drained, or on the way back, while it started again."""
    found = interrupted(outdated=["decode-1", "prefill-1"])
    found["n1"]["runs"]["servers"] = {"router-1": {"state": "ready", "weight": 100}}
    found["n1"]["runs"]["new"]["healthy"] = list(healthy)
    result = rollback_mode(found, json.dumps(cpu()))
    assert (result["mode"], [planned["half"] for planned in result["rounds"]]) == (mode, [FIRST] if mode else [])
    assert mode or "gets requests, or answers" in result["refusals"][0]


@pytest.mark.parametrize("killed", range(1, 11))
def test_a_rollback_that_was_killed_anywhere_is_finished_by_the_next_ones(killed):
    """From a recorded plan that was never verified. Only halves that serve already, or were proven, get requests."""
    running, plan = PLANS
    runs, asked = played({FIRST: OLD, SECOND: OLD}, set(ROUTERS.values()), NEW, killed)
    for again in (*range(11), 99):
        differs = {
            revision: [name for half, names in halves.halves(plan).items() if runs[half] != revision for name in names]
            for revision in (OLD, NEW)
        }
        seen = {key: {"n1": {"down": [], "outdated": names}} for key, names in differs.items()}
        found = rollback.mode({"n1": plan}, running, ["changing"], {**seen, "asked": sorted(asked)}, half=True)
        assert found["mode"] == "blue_green", (killed, again)
        assert set(found["rounds"][0]["serving"]["routers"]) & asked, "it serves already"
        expected = halves.rounds(running, plan, runs, asked, NEW)
        assert found["rounds"] == expected
        runs, asked = played(runs, asked, NEW, again)
    assert (runs, asked) == ({FIRST: NEW, SECOND: NEW}, set(ROUTERS.values()))


def test_a_rollback_that_was_asked_to_stop_everything_does_so_after_an_interruption():
    """A half that fails its proof each time would keep the rollback from ever ending."""
    for found in (returning(True, ["router"]), interrupted(outdated=["decode-1", "prefill-1"])):
        result = rollback_mode(found, json.dumps(PLANS[1]), False, "recreate")
        assert (result["mode"], result["refusals"], result["rounds"]) == ("recreate", [], [])
        assert "it is not recorded that the last change has ended" in result["text"]


def test_an_upgrade_back_trusts_a_half_that_was_drained_if_it_answers():
    """With the settings before, after a run was killed that had drained the second half: the first one has a plan that this run does not know."""
    old, every = cpu(), ["decode-1", "prefill-1"]
    for names, chosen in ((["prefill-0", "decode-0", "router"], "blue_green"), (["prefill-0", "router"], "")):
        runs = {"n1": {"down": [], "outdated": every, "healthy": names}}
        found = mode({"n1": old}, old, "", ["another"], {"old": runs, "new": runs, "asked": ["router-1"]})
        assert found["mode"] == chosen, names


def test_an_answer_is_no_proof_without_a_recorded_plan():
    """A rollback to the verified plan may have started the half just now, and nothing has judged its answers."""
    for recorded, chosen in ((json.dumps(cpu()), "blue_green"), ("{", "")):
        found = interrupted(outdated=["decode-1", "prefill-1"])
        found["n1"]["runs"]["servers"] = {"router-1": {"state": "ready", "weight": 100}}
        found["n1"]["runs"]["new"]["healthy"] = ["prefill-0", "decode-0", "router"]
        assert rollback_mode(found, recorded)["mode"] == chosen


def test_a_half_that_gets_the_requests_is_trusted_without_a_recorded_plan():
    for asked, chosen in ((["router"], "blue_green"), ([], "")):
        found = interrupted(outdated=["decode-1", "prefill-1"])
        found["n1"]["runs"]["servers"] = {name: {"state": "ready", "weight": 100} for name in asked}
        assert rollback_mode(found, "{")["mode"] == chosen


def test_a_rollback_without_a_recorded_plan_says_so():
    result = rollback_mode(rests(PLANS[1], PLANS[0]), "{", True)
    assert result["mode"] == "recreate" and "not known with which plan the services run" in result["text"]
    assert "KV cache" not in result["text"] and "no plan is deployed" not in result["text"]


def test_a_rollback_that_was_killed_says_that_nobody_knows_which_half_serves():
    found = returning(True, ["router"])
    found["n1"]["runs"]["old"]["down"] = ["decode-0"]
    (text,) = rollback_mode(found, json.dumps(PLANS[1]))["refusals"]
    assert "not known which half" in text and "run rollback again" in text and "upgrade" not in text


def rests(old, new, phase="verified", down=(), asked=("router", "router-1"), **more):
    """hostvars of a host on which ``old`` runs, except services that are ``down``; ``new`` is the verified plan before it."""
    names = [service["name"] for service in old["services"] if service["name"] not in down]
    servers = {name: {"state": "ready", "weight": 100} for name in asked}
    runs = {"old": {"down": list(down), "outdated": []}, "new": {"down": list(down), "outdated": names}}
    return {
        "n1": {
            "previous": new,
            "locked": {"phase": phase, "half": ""},
            "runs": {**runs, "servers": servers},
        },
        **more,
    }


@pytest.mark.parametrize("phase", ["verified", "deployed"])
def test_a_rollback_between_two_kv_caches_goes_by_halves(phase):
    old, new = PLANS
    result = rollback_mode(rests(new, old, phase), json.dumps(new))
    assert (result["mode"], result["refusals"]) == ("blue_green", []) and "Mode blue_green: no pause." in result["text"]
    first, last = result["rounds"]
    assert (first["half"], first["revisions"], first["last"]) == (FIRST, {FIRST: NEW, SECOND: OLD}, False)
    assert (last["half"], last["revisions"], last["last"]) == (SECOND, {FIRST: NEW, SECOND: NEW}, True)
    assert FilterModule().filters()["_round_plan"](last, new, old, "n1") == dict(parts(old))["n1"], (
        "the verified plan at the end"
    )
    assert first["verify"]["block_size"] == old["verify"]["block_size"]


@pytest.mark.parametrize(("phase", "mode"), [("verified", "blue_green"), ("deployed", "blue_green"), ("changing", "")])
def test_a_rollback_rests_if_each_host_does(phase, mode):
    """Some hosts may be verified and others deployed: the last verification failed for the latter."""
    old, new = PLANS
    found = rests(new, old, "verified")
    found["n2"] = {**found["n1"], "locked": {"phase": phase, "half": ""}}
    assert rollback_mode(found, json.dumps(new))["mode"] == mode


@pytest.mark.parametrize(
    ("found", "text", "given", "why"),
    [
        (rests(PLANS[1], PLANS[0]), PLANS[1], (False, "recreate"), "cannot exchange KV cache"),
        (rests(PLANS[1], PLANS[0], down=["decode-0", "decode-1"]), PLANS[1], (), "nothing serves that could go on"),
        (rests(PLANS[1], PLANS[0], down=["router", "router-1"]), PLANS[1], (), "nothing serves that could go on"),
        (rests(PLANS[1], PLANS[0], n2={}), PLANS[1], (), "hosts are named that are not part"),
        (rests(cpu(routers=1, **BLOCK), cpu(routers=1)), cpu(routers=1, **BLOCK), (), "there is one router"),
        (rests(PLANS[1], PLANS[0]), {**PLANS[1], "plan_version": 1}, (), "another version of this collection"),
        (rests(PLANS[1], PLANS[0], "changing"), PLANS[1], (True,), "it is not recorded that the last change has ended"),
    ],
)
def test_a_rollback_at_rest_says_why_everything_stops(found, text, given, why):
    result = rollback_mode(found, json.dumps(text), *given)
    assert (result["mode"], result["refusals"], result["rounds"]) == ("recreate", [], [])
    assert why in result["text"] and result["text"].startswith("Mode recreate: every service stops")


@pytest.mark.parametrize(
    "found",
    [
        rests(PLANS[1], PLANS[0], down=["decode-0", "prefill-1"]),
        {"n1": {**rests(*PLANS)["n1"], "previous": PLANS[0], "runs": {}}},
    ],
)
def test_a_rollback_stops_nothing_because_nobody_knows_which_half_serves(found):
    (refused,) = rollback_mode(found, json.dumps(PLANS[1]))["refusals"]
    assert "not known which half" in refused and "Nothing was changed" in refused and "inference_allow_pause" in refused
    result = rollback_mode(found, json.dumps(PLANS[1]), True)
    assert (result["mode"], result["refusals"]) == ("recreate", [])


def test_a_rollback_that_needs_no_halves_does_not_use_them():
    old, new = cpu(), cpu(inference_args={"max-num-seqs": 8})
    assert rollback_mode(rests(new, old), json.dumps(new))["mode"] == "rolling"


@pytest.mark.parametrize("adds", [True, False])
def test_a_half_is_asked_with_the_key_that_its_router_does_not_add(adds):
    plan = copy.deepcopy(cpu(inference_secrets={"api_key": "x"}))
    assert plan["verify"]["engine_api_key"] == "api_key"
    for name, router in services(plan, ("router",)).items():
        assert router["secret_env"] == {"OPENAI_API_KEY": "api_key"}
        router["secret_env"] = router["secret_env"] if adds else {}
        entry = of_half(plan, [name, "prefill-0", "decode-0"])["entry"]
        assert entry.get("api_key") == (None if adds else "api_key")


@pytest.mark.parametrize(("prefill", "decode", "routers"), [(2, 2, 2), (3, 2, 2), (3, 5, 2), (5, 4, 3)])
def test_the_cost_is_that_of_the_smaller_half(prefill, decode, routers):
    plan = cpu(prefill, decode, routers)
    text = halves.cost_of_halves(plan)
    for kind, count in (("prefill", prefill), ("decode", decode)):
        least = min(sum(found_kind(plan, name) == kind for name in names) for names in halves.halves(plan).values())
        assert f"{least} of {count} {kind}" in text


def test_what_hosts_saw_reaches_the_decision():
    old, new = PLANS
    none, every = {"down": [], "outdated": []}, {"down": [], "outdated": ["decode-1", "prefill-1"]}
    servers = {"router": {"state": "ready", "weight": 100}, "router-1": {"state": "drain", "weight": 0}}
    seen = {"n1": {"previous": old, "runs": {"old": every, "new": none, "servers": servers}}}
    way = way_back(known(seen), new, "blue_green")
    (found,) = way["rounds"]
    assert way["mode"] == "blue_green"
    assert (found["half"], found["target"], found["last"]) == (FIRST, OLD, True)
    assert FilterModule().filters()["_round_plan"](found, old, new, "n1") == dict(parts(old))["n1"]
    assert halves.seen({"n1": seen["n1"]["runs"]})["asked"] == ["router"]
    assert way_back(known({"n1": {}}), new, "blue_green")["mode"] == "recreate", "nobody has looked"
    for other in ("rolling", "recreate"):
        assert way_back(known(seen), new, other) == {"mode": other, "rounds": [], "text": "", "refusals": []}
    assert halves.seen({"n1": {"old": none}, "n2": {"old": none, "new": none}}) is None


SEEN = {"old": {"n1": {"down": [], "outdated": []}}, "new": {"n1": {"down": [], "outdated": ["decode-0", "decode-1"]}}}
SEEN["asked"] = ["router", "router-1"]


def test_the_mode_set_is_chosen_when_rolling_is_impossible():
    old, new = cpu(), cpu(**BLOCK)
    found = mode({"n1": old}, new, "", seen=SEEN)
    assert (found["mode"], len(found["rounds"]), found["refusals"]) == ("blue_green", 2, [])
    assert found["text"].startswith("Mode blue_green: no pause. First decode-1, prefill-1, router-1 change")
    assert "at least 1 of 2 prefill, 1 of 2 decode" in found["text"]
    assert mode({"n1": old}, new, "", ["another"], SEEN)["mode"] == "blue_green", "what runs is known"
    assert mode({"n1": old}, new, "recreate", seen=SEEN)["mode"] == "recreate"
    assert mode({"n1": old}, cpu(inference_args={"max-num-seqs": 8}), "", seen=SEEN)["mode"] == "rolling"
    lost = {**SEEN, "old": SEEN["new"], "new": {"n1": {"down": ["decode-0", "decode-1"], "outdated": []}}}
    assert "not known which half" in mode({"n1": old}, new, "blue_green", seen=lost)["refusals"][0]


def test_nothing_stops_because_nobody_knows_what_serves():
    """The hardware allows a change without a pause, so stopping everything has to be asked for."""
    old, new = cpu(), cpu(**BLOCK)
    lost = {
        "old": {"n1": {"down": [], "outdated": ["decode-0", "decode-1"]}},
        "new": {"n1": {"down": ["decode-0", "decode-1"], "outdated": []}},
    }
    for seen in ({**lost, "asked": ["router", "router-1"]}, None):
        found = mode({"n1": old}, new, "", seen=seen)
        (text,) = found["refusals"]
        assert (found["mode"], found["rounds"]) == ("", []), seen
        assert (
            "not known which half" in text
            and "Nothing was changed" in text
            and "inference_upgrade_mode=recreate" in text
        )
        found = mode({"n1": old}, new, "recreate", seen=seen)
        assert (found["mode"], found["refusals"]) == ("recreate", [])
    one = cpu(2, 1), cpu(2, 1, **BLOCK)
    assert mode({"n1": one[0]}, one[1], "")["mode"] == "recreate", (
        "nothing gentler is possible, so it is what the upgrade costs"
    )


def changed(plan, **more):
    found = copy.deepcopy(plan)
    found.update(more)
    return found


def single_changed():
    plan = copy.deepcopy(cpu(**BLOCK))
    next(service for service in plan["services"] if service["kind"] == "balancer")["digest"] = "other"
    return plan


def test_the_cost_of_a_change_that_goes_on_is_that_of_the_rounds_that_are_left():
    old, new = PLANS
    alone = [name for name, service in services(new).items() if service["instance"] == 1]
    rest = {"n1": {"down": [], "outdated": ["decode-0", "prefill-0", "router"]}}
    done = {"n1": {"down": [], "outdated": [*alone, "router-1"]}}
    one = mode({"n1": old}, new, "", seen={"old": done, "new": rest, "asked": ["router-1"]})
    assert len(one["rounds"]) == 1 and "router-1 and the engines behind it run with this plan" in one["text"]
    assert "First " not in one["text"]
    two = mode({"n1": old}, new, "", seen={"old": rest, "new": done, "asked": ["router-1"]})
    assert [found["half"] for found in two["rounds"]] == [SECOND, FIRST]
    assert two["text"].index("decode-0") < two["text"].index("decode-1")


def test_a_plan_of_another_version_is_refused_once():
    """Nobody looked at what runs of it, and a run with the mode recreate would be refused as well."""
    old, new = {**cpu(), "plan_version": 1}, cpu(**BLOCK)
    assert mode({"n1": old}, new, "")["refusals"] == []
    assert "another version of this collection" in mode({"n1": old}, new, "blue_green")["refusals"][0]


def test_services_of_no_half_change_last():
    found = halves.mixed(cpu(), single_changed(), {FIRST: NEW, SECOND: OLD}, NEW)
    assert "other" not in [service["digest"] for service in found["services"]]


def with_store():
    plan = copy.deepcopy(cpu(**BLOCK))
    plan["services"].append({**plan["services"][0], "name": "mooncake_master", "kind": "mooncake_master"})
    return plan


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (cpu(2, 1), cpu(2, 1, **BLOCK), "there is one decode instance, and each half needs one"),
        (
            cpu(inference_router={}),
            cpu(inference_router={}, **BLOCK),
            "inference_router: {instances: 2, balancer: haproxy} adds one",
        ),
        (cpu(), cpu(3, 2, **BLOCK), "prefill-2: new, removed, or on other hosts"),
        (cpu(), single_changed(), "balancer: there is one of it, and its settings change"),
        (with_store(), with_store(), "mooncake_master: both halves would exchange KV cache"),
        (cpu(), cpu(inference_model={"path": "/m", "name": "n"}), "another name"),
    ],
)
def test_what_cannot_change_by_halves_says_why(old, new, why):
    assert any(why in reason for reason in halves.half_obstacles(new, old))
    (text,) = mode({"n1": old}, new, "blue_green")["refusals"]
    assert (
        why in text and "inference_router: {instances: 2, balancer: haproxy}" in text and "Nothing was changed" in text
    )
    found = mode({"n1": old}, new, "")
    assert found["mode"] != "blue_green"
    assert found["mode"] == "rolling" or (
        why in found["text"] and "Mode blue_green, without a pause, is not possible" in found["text"]
    )


def test_a_router_without_a_balancer_is_no_second_reason():
    """The balancer comes with a second router, so one reason says all."""
    reasons = " ".join(halves.half_obstacles(cpu(inference_router={}, **BLOCK), cpu(inference_router={})))
    assert "no balancer" in reasons and "there is one" not in reasons
    reasons = " ".join(halves.half_obstacles(cpu(1, **BLOCK), cpu(1)))
    assert "there is one prefill instance, and each half needs one" in reasons and "no balancer" not in reasons


def test_the_plan_says_which_mode_an_upgrade_takes():
    old = cpu()
    assert planned_mode(old, old) == [] and planned_mode(old, {}) == []
    assert planned_mode(cpu(**BLOCK), old)[0].startswith("The playbook upgrade would choose mode blue_green: no pause.")
    assert planned_mode(cpu(inference_args={"max-num-seqs": 8}), old) == [], "deploy needs no pause"
    (line,) = planned_mode(cpu(inference_router={}, **BLOCK), cpu(inference_router={}))
    assert (
        line.startswith("The playbook upgrade would choose mode recreate")
        and "{instances: 2, balancer: haproxy}" in line
    )
    (line,) = planned_mode(cpu(**BLOCK), {**old, "plan_version": 1})
    assert "upgrade would refuse" in line and "another version of this collection" in line


def test_the_cost_of_rolling_tells_steps_of_engines_from_those_of_routers():
    old = cpu()
    router = {"instances": 2, "balancer": "haproxy", "args": {"log-level": "debug"}}
    text = mode({"n1": old}, cpu(inference_router=router, inference_args={"max-num-seqs": 8}), "")["text"]
    assert text.startswith("Mode rolling: no pause. 2 steps; in each, one instance of each pool") and text.endswith(
        "return: router, router-1."
    )
    text = mode({"n1": old}, cpu(inference_router=router), "")["text"]
    assert (
        text
        == "Mode rolling: no pause. One after the other finish their requests, restart and return: router, router-1."
    )


def test_the_plan_says_that_an_upgrade_refuses_other_hosts_and_a_shared_cann():
    """As `refusals` does, whatever mode would be possible."""
    old, new = cpu(), cpu(**BLOCK)
    for place in ({"hosts": [*new["hosts"], {"name": "n9"}]}, {"runtime": "systemd"}):
        (line,) = planned_mode({**new, **place}, old)
        assert line.startswith("The playbook upgrade would refuse, because the hosts or the runtime") and "site" in line
    cann = [
        {"software": {**each["software"], "cann": {"version": each["digest"], "path": "/c"}}} for each in (old, new)
    ]
    first, second = planned_mode({**new, **cann[1]}, {**old, **cann[0]})
    assert first.startswith("The playbook upgrade would refuse, unless cann_method is none: ") and "both in /c" in first
    assert second.startswith("The playbook upgrade would then choose mode ")
    contained = {"runtime_facts": {**new["runtime_facts"], "contained": True}}
    assert not any("refuse" in line for line in planned_mode({**new, **cann[1], **contained}, {**old, **cann[0]}))
