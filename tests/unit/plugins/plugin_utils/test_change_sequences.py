# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sequences of random changes of one deployment, with a model of what hosts and router do in each step of the script.

After each step of a change: nobody is stopped that the router still has, no two services of a host have one NPU or port, the router pairs no
engines of two revisions, and a pool that served has an engine that serves. Only an announced pause may break the first and the last.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.deploy import decide, deploy
from ansible_collections.ascend.inference.plugins.plugin_utils.change.restart import restart
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.planned_steps import planned_steps
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.decided import observed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ENGINES = ("prefill", "decode")
VARIABLES = {
    "inference_release": "0.23.0",
    "inference_hardware": "a2",
    "inference_interface": "eth0",
    "inference_model": {"path": "/models/m", "name": "m", "moe": "true"},
}
OPERATIONS = (
    "host",
    "host",
    "instances",
    "instances",
    "swap",
    "dies",
    "limit",
    "kv",
    "api",
    "kv port",
    "npu",
    "router",
)
# That put no service on another host: a killed run notes neither the places nor the NPUs of what it added, and such a service may be in the way.
STAY = ("instances", "limit", "kv", "api", "kv port")


class Stopped(Exception):
    """The run fails on purpose: the module would not take out the last engine that answers."""


class Rack:
    """What runs: services by (host, name), the members of each router by URL, those that it must not get back, and the plan that hosts recorded."""

    def __init__(self):
        self.running, self.lists, self.away, self.recorded = {}, {}, {}, {}
        self.pause, self.died, self.runs, self.begun = True, False, 0, set()

    def pending(self, plan):
        """What the module service_state reports of each planned host."""
        found = {host["name"]: {"down": [], "outdated": [], "other": []} for host in plan["hosts"]}
        for service in plan["services"]:
            now = self.running.get((service["host"], service["name"]))
            if now is None:
                found[service["host"]]["down"].append(service["name"])
            elif now["digest"] != service["digest"]:
                found[service["host"]]["outdated"].append(service["name"])
        planned = {(service["host"], service["name"]) for service in plan["services"]}
        for place, service in self.running.items():
            if place not in planned and place[0] in found:
                found[place[0]]["other"].append(service["unit"])
        return found

    def serving(self, kind):
        """URLs of engines of a pool that the router has and that run."""
        alive = self.alive()
        return {url for members in self.lists.values() for url in members if members[url] == kind and url in alive}

    def alive(self):
        return {url_of(service) for service in self.running.values() if service["health"]}

    def listed(self):
        return {url for members in self.lists.values() for url in members}

    @property
    def members(self):
        """Those of the planned router, which is the one that is changed."""
        return self.lists.setdefault(self.router(), {})

    def router(self):
        return self.plan["members"]["host"], self.plan["members"]["router"]

    def drop(self, engines, allowed):
        for kind in {engine["kind"] for engine in engines}:
            left = self.serving(kind) - {engine["url"] for engine in engines}
            if not left and not allowed and self.serving(kind):
                raise Stopped(kind)
        for engine in engines:
            self.members.pop(engine["url"], None)
            self.away.setdefault(self.router(), set()).add(engine["url"])

    def end(self, place):
        service = self.running.pop(place, None)
        if service and service["kind"] in ENGINES and service["health"]:
            assert self.pause or url_of(service) not in self.listed(), f"{place} stops while the router has it"
        self.lists.pop(place, None)

    def crash(self, place):
        """A process ends, or its host: those of its instance end and start with it (``PartOf=``, or without their peer)."""
        gone = self.running.get(place, {})
        for other, service in list(self.running.items()):
            if (service["kind"], service["instance"]) == (gone.get("kind"), gone.get("instance")):
                self.running.pop(other)
                self.lists.pop(other, None)

    def start(self, service, revision):
        place = (service["host"], service["name"])
        self.end(place)
        for (host, name), other in self.running.items():
            if host == service["host"]:
                clash = set(used(other)) & set(used(service))
                assert not clash, f"{name} still has {clash}, which {service['name']} needs"
        self.running[place] = {**service, "revision": revision, "run": self.runs}
        if place == self.router():  # its command and its start program add what is planned
            away = self.away.get(place, ())
            self.lists[place] = {each["url"]: each["kind"] for each in self.engines() if each["url"] not in away}
        self.one_revision()

    def engines(self):
        return self.plan["members"]["engines"]

    def add(self, engines):
        self.members.update({engine["url"]: engine["kind"] for engine in engines})
        self.away.setdefault(self.router(), set()).difference_update(self.members)
        self.one_revision()

    def one_revision(self):
        alive = {url_of(service): service["revision"] for service in self.running.values() if service["health"]}
        for members in self.lists.values():
            found = {alive[url] for url in members if url in alive}
            assert len(found) < 2, "engines of two revisions are behind one router"

    def observed(self, plan):
        """What the hosts of a plan say: of the services, and the first router of its engines; each has the recorded plan."""
        found, text = self.pending(plan), json.dumps(self.recorded) if self.recorded else ""
        wanted, section = {engine["url"] for engine in plan["members"]["engines"]}, plan["members"]
        same = {(service["host"], service["name"]): service["digest"] for service in plan["services"]}
        for host, here in found.items():
            as_planned = [place for place, digest in same.items() if place[0] == host and digest == self.digest(place)]
            here["healthy"] = [name for _host, name in as_planned]
        routers = {
            "before": {kind: [url for url in self.members if self.members[url] == kind] for kind in ENGINES},
            "added": [url for url in wanted if url not in self.members],
            "others": [url for url in self.members if url not in wanted],
            "silent": [url for url in self.members if url not in wanted and url not in self.alive()],
        }
        answers = (
            {section["host"]: {"routers": routers}} if (section["host"], section["router"]) in self.running else {}
        )
        begun = {"recorded": {"revisions": sorted(self.begun)}} if self.begun else {}
        return {host: observed(text, found[host], **begun, **answers.get(host, {})) for host in found}

    def digest(self, place):
        return self.running.get(place, {}).get("digest")

    def deploy(self, plan, killed=None, allowed=None):
        """The steps of a deploy; whether the change was a pause.

        ``killed``: the number of steps after which the run is killed; ``allowed``: whether a pause is, None for one that is needed.
        """
        first = not self.recorded
        self.runs += 1
        self.plan, self.served = plan, {kind for kind in ENGINES if self.serving(kind)}
        found, inventory = self.observed(plan), {host for host, _name in self.running}
        early = deploy(plan, found, False, True, False, inventory, {}, 300, 300)
        if early.refusals and allowed is False:
            raise Stopped(*early.refusals)
        self.pause = first or bool(early.refusals) or bool(decide(plan, found, False, True, False).steps["pauses"])
        # Nothing is answered anyway; or by a router that only a killed run knew, on a host that is in no plan, so that nobody asks it.
        self.pause = (
            self.pause or len(self.served) < len(ENGINES) or bool({host for host, _name in self.lists} - {*found})
        )
        script = deploy(plan, found, allowed or bool(early.refusals), False, False, inventory, {}, 300, 300)
        assert not script.refusals
        same = {(service["host"], service["name"]): service["digest"] for service in plan["services"]}
        for place, service in self.running.items():  # engines that are as planned belong to the plan's revision
            if same.get(place) == service["digest"]:
                service["revision"] = plan["revision"]
        self.begun.add(plan["revision"])
        for step in script.steps[:killed]:
            for host in step.at:
                getattr(self, f"play_{step.verb}")(step, step.orphaned or host, step.at[host])
        if killed is not None:
            return self.pause
        self.begun = set()
        wanted = {engine["url"] for engine in plan["members"]["engines"]}
        planned_hosts = {host["name"] for host in plan["hosts"]}
        for place in [place for place in self.running if place[0] not in planned_hosts]:
            self.end(place)  # by the play of hosts that leave
        self.recorded = plan
        assert {place: service["digest"] for place, service in self.running.items()} == same
        assert set(self.members) == wanted
        runs = {}
        for service in self.running.values():
            runs.setdefault((service["kind"], service["instance"]), set()).add(service["run"])
        assert all(len(found) == 1 for found in runs.values()), "processes of an instance start together"
        return self.pause

    def restart(self, names, killed):
        """The first ``killed`` steps of a restart of these services of the recorded plan, without a pause."""
        self.runs += 1
        self.plan, self.served, self.pause = self.recorded, {kind for kind in ENGINES if self.serving(kind)}, False
        found = {host: {**here, "rekeyed": []} for host, here in self.pending(self.plan).items()}
        script = restart(self.plan, found, names, False, 300, 300)
        if script.refusals:
            raise Stopped(*script.refusals)
        self.pause = len(self.served) < len(ENGINES)
        for step in script.steps[:killed]:
            for host in step.at:
                getattr(self, f"play_{step.verb}")(step, step.orphaned or host, step.at[host])

    def play_state(self, _step, host, given):
        for service in self.plan["services"]:
            place = (service["host"], service["name"])
            if service["host"] != host or service["name"] not in given["names"]:
                continue
            if given["state"] == "stopped":
                self.end(place)
            elif self.digest(place) != service["digest"] or given["state"] == "restarted":
                self.start(service, self.plan["revision"])

    def play_present(self, _step, host, given):
        same = {(service["host"], service["name"]) for service in self.plan["services"]}
        for place, service in list(self.running.items()):
            if place[0] == host and place not in same and service["unit"] not in given["keep"]:
                self.end(place)

    def play_orphaned(self, _step, host, given):
        for service in given["services"]:
            self.end((host, service["name"]))

    def play_members(self, _step, _host, given):
        if given["state"] == "absent":
            return self.drop(given["members"], given.get("allow_last", False))
        self.add(given["members"])
        if given.get("purge"):
            wanted = {engine["url"] for engine in given["members"]}
            self.lists[self.router()] = {url: kind for url, kind in self.members.items() if url in wanted}
        elif not self.pause:
            assert {kind for kind in ENGINES if self.serving(kind)} >= self.served

    def play_drain(self, _step, _host, _given):
        """Nothing is in flight here."""

    play_ask = play_prove = play_drain


def url_of(service):
    return service["health"]["url"].rsplit("/", 1)[0]


def used(service):
    found = [f"npu {device}" for device in service["devices"]]
    return found + [f"port {port['first'] + n}" for port in service["ports"] for n in range(port["count"])]


def planned(rack, wanted):
    hosts = {name for group in wanted["groups"].values() for name in group}
    inventory = {
        name: {
            "groups": [group for group in wanted["groups"] if name in wanted["groups"][group]],
            "variables": {
                "ansible_host": f"192.0.2.{'abcdefgh'.index(name[0]) * 16 + int(name[1:])}",
                "inference_devices": wanted["devices"].get(name, 8),
            },
        }
        for name in hosts
    }
    more = {"inference_args": wanted["args"], "inference_pools": wanted["pools"]}
    if wanted["groups"]["front"]:
        more["inference_router"] = {"group": "front"}
    return launch_plan({**VARIABLES, **more}, inventory, (), rack.recorded and rack.recorded["placement"])


def changed(data, wanted, rack, operations=OPERATIONS):
    """One operation; a host that dies takes its services with it."""
    kind, groups = data.draw(st.sampled_from(ENGINES)), wanted["groups"]
    operation = data.draw(st.sampled_from(operations))
    other = ENGINES[1 - ENGINES.index(kind)]
    if operation == "host":
        groups[kind] = [*groups[kind], data.draw(st.sampled_from(["a1", "d5", "h9"]))]
        groups[kind] = list(dict.fromkeys(groups[kind]))
    elif operation in ("swap", "dies") and len(groups[kind]) > 1:
        gone = data.draw(st.sampled_from(groups[kind]))
        groups[kind].remove(gone)
        if operation == "swap":
            groups[other] = list(dict.fromkeys([*groups[other], gone]))
            wanted["pools"][other]["instances"] += 1
            wanted["pools"][kind]["instances"] = max(1, wanted["pools"][kind]["instances"] - 1)
        else:
            groups[other] = [name for name in groups[other] if name != gone] or [gone]
            if gone not in groups[other]:
                rack.died = True
                for place in [place for place in rack.running if place[0] == gone]:
                    rack.crash(place)
    elif operation == "instances":
        pool = wanted["pools"][kind]
        pool["instances"] = max(1, pool["instances"] + data.draw(st.sampled_from([-1, 1])))
    elif operation == "limit":
        wanted["args"]["max-num-seqs"] = data.draw(st.integers(8, 12))
    elif operation == "kv":
        wanted["args"]["block-size"] = data.draw(st.sampled_from([64, 128]))
    elif operation in ("api", "kv port"):
        name, first = ("api", [7100, 7300, 7500]) if operation == "api" else ("kv", [24600, 36000, 42000])
        wanted["pools"]["decode"].setdefault("ports", {})[name] = [data.draw(st.sampled_from(first))]
    elif operation == "npu":
        wanted["devices"][data.draw(st.sampled_from(groups[kind]))] = 7
    elif operation == "router":
        groups["front"] = [data.draw(st.sampled_from([*groups["prefill"], *groups["decode"]]))]


@st.composite
def deployments(draw):
    size = draw(st.sampled_from([4, 8]))
    pools = {
        kind: {
            "instances": draw(st.integers(1, 3)),
            "tensor_parallel_size": size,
            "data_parallel_size": draw(st.sampled_from([1, 1, 2])),
            "load_balancing": draw(st.sampled_from(["internal", "external"])),
        }
        for kind in ENGINES
    }
    groups = {"prefill": ["b1", "b2", "b3"], "decode": ["d1", "d2", "d3", "d4"], "front": []}
    return {"pools": pools, "groups": groups, "args": {}, "devices": {}}


def test_a_change_of_one_process_starts_its_whole_instance_anew():
    """The port of its API is in the command of the first process only. The others would look for the process that is gone."""
    pool = {"instances": 1, "tensor_parallel_size": 8, "load_balancing": "internal"}
    pools = {"prefill": {**pool, "data_parallel_size": 1}, "decode": {**pool, "data_parallel_size": 2}}
    groups = {"prefill": ["b1"], "decode": ["d1", "d2"], "front": []}
    rack, wanted = Rack(), {"pools": pools, "groups": groups, "args": {}, "devices": {}}
    rack.deploy(planned(rack, wanted))
    pools["decode"]["ports"] = {"api": [7500]}
    assert rack.deploy(planned(rack, wanted)), "a pause, which Rack has judged"


def simple(size=8, decode=2, prefill=1, front=()):
    pools = {
        kind: {"instances": count, "tensor_parallel_size": size, "load_balancing": "internal"}
        for kind, count in (("prefill", prefill), ("decode", decode))
    }
    groups = {"prefill": ["b1"], "decode": ["d1", "d2", "d3"], "front": [*front]}
    return {"pools": pools, "groups": groups, "args": {}, "devices": {}}


def test_a_change_of_one_process_starts_its_whole_instance_anew_also_while_nothing_serves():
    rack, wanted = Rack(), simple(decode=1)
    wanted["pools"]["decode"]["data_parallel_size"] = 2
    rack.deploy(planned(rack, wanted))
    rack.crash(("b1", "prefill-0"))
    wanted["pools"]["decode"]["ports"] = {"api": [7500]}
    rack.deploy(planned(rack, wanted))


def test_a_dead_engine_on_a_host_that_leaves_is_none_that_serves():
    """Nobody asks such a host. The router would not give up the last engine that answers, and says that one does not."""
    rack, wanted = Rack(), simple()
    rack.deploy(planned(rack, wanted))
    rack.crash(("d2", "decode-1"))
    wanted["groups"]["decode"] = ["d1"]
    wanted["pools"]["decode"]["instances"] = 1
    wanted["args"]["max-num-seqs"] = 8
    with pytest.raises(Stopped, match="its pool has no other instance"):
        rack.deploy(planned(rack, wanted), allowed=False)
    rack.deploy(planned(rack, wanted), allowed=True)


@pytest.mark.parametrize("killed", range(7))
def test_what_a_killed_restart_left_out_of_the_router_returns_without_another_change(killed):
    rack, wanted = Rack(), simple(prefill=2)
    wanted["groups"]["prefill"] = ["b1", "b2"]
    plan = planned(rack, wanted)
    rack.deploy(plan)
    rack.restart([service["name"] for service in plan["services"] if service["kind"] in ENGINES], killed)
    assert not rack.deploy(plan, allowed=False)


def test_an_engine_whose_former_url_the_router_has_too_leaves_under_both():
    """While nothing served, a run gave it another port and the router this one, and was killed. Then the former port is planned again."""
    rack, wanted = Rack(), simple()
    rack.deploy(planned(rack, wanted))
    rack.crash(("b1", "prefill-0"))
    before = rack.recorded
    wanted["pools"]["decode"]["ports"] = {"api": [7500]}
    rack.deploy(planned(rack, wanted), killed=5)
    assert len(rack.listed()) == 5, "the prefill engine, and both URLs of two decode engines"
    wanted["pools"]["decode"]["ports"] = {}
    plan = planned(rack, wanted)
    assert [each["url"] for each in plan["members"]["engines"]] == [
        each["url"] for each in before["members"]["engines"]
    ]
    assert not rack.deploy(plan, allowed=False)


@given(deployments(), st.data())
@settings(
    max_examples=200 if os.environ.get("LONG") else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_no_change_of_a_sequence_breaks_what_serves(wanted, data):
    rack = Rack()
    for _number in range(5):
        try:
            plan = planned(rack, wanted)
        except PlanError as error:
            found = {finding.id for finding in error.findings}
            assert not {item for item in found if item.startswith(("PORT", "DEV"))}, str(error)
        else:
            assert planned(rack, wanted) == plan
            before = copy.deepcopy(rack.recorded)
            try:
                pause = rack.deploy(plan)
            except Stopped:
                assert rack.died
                return
            assert pause or not before or not any("Pause" in line for line in planned_steps(plan, before))
        changed(data, wanted, rack)


@given(deployments(), st.data())
@settings(
    max_examples=300 if os.environ.get("LONG") else 6,
    derandomize=not os.environ.get("LONG"),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_two_commands_lead_back_from_any_kill_and_crash(wanted, data):
    """Deploy, and deploy with a pause where the first one refuses: `Rack.deploy` requires that all runs as planned then, with all engines in the router."""
    rack = Rack()
    try:
        plan = planned(rack, wanted)
    except PlanError:
        return
    rack.deploy(plan)
    for _number in range(3):
        if not rack.begun:  # after a change that was killed it refuses
            names = data.draw(st.lists(st.sampled_from(sorted(name for _host, name in rack.running)), max_size=3))
            with contextlib.suppress(Stopped):
                rack.restart(names, data.draw(st.integers(0, 8)))
        changed(data, wanted, rack, STAY)
        try:
            plan = planned(rack, wanted)
        except PlanError:
            continue
        with contextlib.suppress(Stopped):
            rack.deploy(plan, killed=data.draw(st.integers(0, 12)))
        for place in data.draw(st.lists(st.sampled_from(sorted(rack.running)), max_size=3)) if rack.running else ():
            rack.crash(place)
    try:
        plan = planned(rack, wanted)
    except PlanError:
        return
    for allowed in (False, True):
        with contextlib.suppress(Stopped):
            rack.deploy(plan, allowed=allowed)
            return
    raise AssertionError("two commands are not enough")
