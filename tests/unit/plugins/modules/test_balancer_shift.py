# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""balancer_shift against a small HAProxy and routers that are asked in memory: what goes wrong gives all requests back."""

from __future__ import annotations

import threading
import time
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.balancer import shift
from ansible_collections.ascend.inference.plugins.module_utils.balancer.admin import BalancerProblem
from ansible_collections.ascend.inference.plugins.module_utils.balancer.shift import Seen, Watch, worse
from ansible_collections.ascend.inference.plugins.module_utils.drill import load
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_balancer_servers import DRAIN, READY, HAProxy

URLS = {"router": "http://192.0.2.1:8000", "router-1": "http://192.0.2.1:8020"}
BACK = {"router": (READY, 100), "router-1": (DRAIN, 0)}


class Counting(HAProxy):
    """Counts requests of clients by weight; ``fails``: every one of this router fails, ``dies``: it is down from now on."""

    fails = ""
    begun = 0.0  # when it started

    def answer(self, command):
        if command == "show info":
            return f"Name: HAProxy\nUptime_sec: {int((time.monotonic() - self.begun) * 100)}\n\n"
        if command != "show stat":
            return super().answer(command)
        counts = self.__dict__.setdefault("counts", {name: [0, 0] for name in self.servers})
        rows = []
        for name, server in self.servers.items():
            got = server[2] if server[1] == READY else 0
            counts[name][0] += got
            counts[name][1] += got if name == self.fails else 0
            rows.append(f"routers,{name},{server[3]},{counts[name][0]},{counts[name][1]},0,0,")
        return "# pxname,svname,scur,stot,hrsp_5xx,econ,eresp,\n" + "\n".join(rows) + "\n\n"


@pytest.fixture
def haproxy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    made = Counting("balancer.sock")
    made.servers["router-1"][1:3] = [DRAIN, 0]
    return made


@pytest.fixture
def answers(monkeypatch):
    """{router: (seconds to the first text, problem)}: how routers answer; None: not at all."""
    given = {"router": (0.1, ""), "router-1": (0.1, "")}

    def send(service, nonce, number, stream, **more):
        name = next(name for name in URLS if URLS[name] == service.target.url)
        if given[name] is None:
            time.sleep(2)
        first, problem = given[name] or (2.0, "")
        return load.Request(nonce, number, stream, time.time(), first, first, problem, "" if problem else "text")

    monkeypatch.setattr(load, "send", send)
    monkeypatch.setattr(shift, "RATE", 20.0)
    monkeypatch.setattr(shift, "INTERVAL", 0.02)
    monkeypatch.setattr(shift, "LATE", 0.1)
    return given


@pytest.fixture
def run(haproxy, answers, run_module):
    def call(check=False, **arguments):
        routers = [{"name": name, "url": url} for name, url in URLS.items()]
        given = {"socket": haproxy.path, "origin": ["router"], "to": ["router-1"], "routers": routers, "model": "m"}
        return run_module("balancer_shift", check=check, **{**given, "seconds": 0.3, "timeout": 1, **arguments})

    return call


def now(haproxy):
    return {name: (server[1], server[2]) for name, server in haproxy.servers.items()}


def test_requests_move_in_three_steps(run, haproxy):
    found = run()
    assert (found["failed"], found["changed"]) == (False, True), found
    assert [step["share"] for step in found["steps"]] == [5, 50, 100]
    assert all(step["to"]["asked"] > 1 and step["to"]["first"] == 0.1 for step in found["steps"])
    assert now(haproxy) == {"router": (READY, 0), "router-1": (READY, 100)}
    weights = [call.split("/")[1] for call in haproxy.calls if "weight" in call]
    assert weights == [
        f"{name} weight {value}"
        for share in (5, 50, 100)
        for name, value in (("router-1", share), ("router", 100 - share))
    ]


def test_check_mode_moves_nothing(run, haproxy):
    assert run(check=True)["changed"] and haproxy.calls == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((0.1, "http 500: dead"), "direct requests failed: http 500: dead"),
        ((0.1, "empty"), "direct requests failed: empty"),
        ((0.9, ""), "the first token comes after 0.9 s, and after 0.1 s at the routers before"),
        (None, "router-1 did not answer the last direct request within"),
    ],
)
def test_what_direct_requests_show_gives_all_requests_back(run, haproxy, answers, answer, why):
    answers["router-1"] = answer
    found = run()
    assert found["failed"] and f"at 5 percent of the requests {why}" in found["msg"], found
    assert "The latter get all requests again" in found["msg"] and len(found["steps"]) == 1
    assert now(haproxy) == BACK


def test_failures_of_clients_give_all_requests_back(run, haproxy):
    haproxy.fails = "router-1"
    found = run()
    assert found["failed"] and "requests of clients failed, and 0 of" in found["msg"] and now(haproxy) == BACK


def test_a_failure_does_not_wait_for_other_answers(run, haproxy, answers, monkeypatch):
    monkeypatch.setattr(shift, "LATE", 30.0)
    monkeypatch.setattr(shift, "INTERVAL", 0.2)  # so that the request has begun
    answers["router"] = None
    haproxy.fails = "router-1"
    begin = time.monotonic()
    assert run()["failed"] and now(haproxy) == BACK
    assert time.monotonic() - begin < 1.5, "an answer takes 2 s"


def test_a_router_that_dies_gives_all_requests_back(run, haproxy, answers, monkeypatch):
    ask = Counting.answer

    def dies(self, command):
        if "weight 50" in command:
            self.servers["router-1"][0] = 0
        return ask(self, command)

    monkeypatch.setattr(Counting, "answer", dies)
    found = run()
    assert found["failed"] and now(haproxy) == BACK, found


def test_a_router_before_that_dies_gives_nothing_back(run, haproxy, answers, monkeypatch):
    """It would lead all requests away from the routers that do well."""
    ask = shift.Balancer.ask

    def dies(self, command):
        if command.endswith("weight 50"):
            haproxy.servers["router"][0] = 0
        return ask(self, command)

    monkeypatch.setattr(shift.Balancer, "ask", dies)
    found = run()
    assert not found.get("failed"), found
    assert now(haproxy) == {"router": (READY, 0), "router-1": (READY, 100)}


def test_a_router_that_stops_answering_gives_all_requests_back(run, haproxy, answers, monkeypatch):
    send, sent = load.send, []

    def hangs(service, *arguments, **more):
        if service.target.url == URLS["router-1"]:
            sent.append(1)
            answers["router-1"] = (0.1, "") if len(sent) < 3 else None
        return send(service, *arguments, **more)

    monkeypatch.setattr(load, "send", hangs)
    found = run()
    assert found["failed"] and "router-1 did not answer the last direct request" in found["msg"], found
    assert now(haproxy) == BACK


def starts_anew(haproxy):
    """As a service that its runtime starts again: states, weights and counters are those of its configuration."""
    haproxy.begun = time.monotonic()
    haproxy.counts = {name: [0, 0] for name in haproxy.servers}
    for server in haproxy.servers.values():
        server[1:3] = [READY, 100]


@pytest.mark.parametrize("share", [5, 50, 100])
def test_a_balancer_that_starts_anew_gives_all_requests_back(run, haproxy, share, monkeypatch):
    bring = shift.bring

    def brought(balancer, names, state, weight, **more):
        found = bring(balancer, names, state, weight, **more)
        if weight == share:
            threading.Timer(0.1, starts_anew, [haproxy]).start()
        return found

    monkeypatch.setattr(shift, "bring", brought)
    found = run()
    assert found["failed"] and "the balancer restarted while the routers were compared" in found["msg"], found
    assert now(haproxy) == BACK


def test_weights_that_somebody_else_changes_give_all_requests_back(run, haproxy, monkeypatch):
    threading.Timer(0.15, haproxy.servers["router-1"].__setitem__, [2, 70]).start()
    found = run(seconds=1)
    assert found["failed"] and "router-1 is ready with weight 70, and was set to ready with weight 5" in found["msg"], (
        found
    )
    assert now(haproxy) == BACK


def test_a_router_that_got_requests_before_its_turn_is_not_compared(run, haproxy):
    haproxy.servers["router-1"][1:3] = [READY, 100]
    found = run()
    assert found["failed"] and "router-1 got requests of clients before it was proven" in found["msg"], found
    assert now(haproxy) == BACK


def test_requests_are_given_back_to_a_balancer_that_is_starting(run, haproxy, monkeypatch):
    ask, since = shift.Balancer.ask, []

    def away(self, command):
        if since and time.monotonic() < since[0] + 0.3:
            raise BalancerProblem("the balancer does not answer")
        if not since and command.endswith("weight 50"):
            since.append(time.monotonic())
            starts_anew(haproxy)
        return ask(self, command)

    monkeypatch.setattr(shift.Balancer, "ask", away)
    found = run()
    assert found["failed"] and now(haproxy) == BACK, found


def test_the_old_routers_get_nothing_back_while_they_are_dead(run, haproxy, answers):
    haproxy.servers["router"][0] = 0
    answers["router-1"] = (0.1, "empty")
    assert run()["failed"]
    assert now(haproxy) == {"router": (READY, 100), "router-1": (READY, 5)}, "else nobody would serve"


def test_a_balancer_that_does_nothing_is_an_error(run, haproxy):
    haproxy.deaf = True
    assert "Requests were not moved" in run()["msg"]


def test_the_routers_before_may_fail_as_well():
    same = Seen(100, 3, 5, 0.1, ())
    assert worse(same, same, 2.0) == ""
    assert worse(same, Seen(10, 1, 5, 0.1, ()), 2.0).startswith("1 of 10 requests of clients failed, and 3 of 100")
    assert worse(Seen(0, 0, 5, 0.1, ()), Seen(0, 0, 5, 0.4, ()), 2.0) == "", "0.2 s are no difference"
    assert worse(Seen(0, 0, 5, 0.1, ()), Seen(0, 0, 5, 0.41, ()), 2.0)
    assert worse(Seen(0, 0, 5, -1.0, ("empty",)), Seen(0, 0, 5, 9.0, ()), 2.0) == "", "nothing to compare with"


def test_a_router_is_silent_without_an_answer_or_with_one_that_is_due():
    """Only those that are asked for are named."""
    watch = object.__new__(Watch)
    watch.services = {"answered": None, "mute": None, "owing": None, "other": None}
    watch.answers = {"answered": ["an answer"], "mute": [], "owing": ["an answer"], "other": []}
    watch.lock = threading.Lock()
    thread = {True: types.SimpleNamespace(is_alive=lambda: True), False: types.SimpleNamespace(is_alive=lambda: False)}
    watch.loads = [types.SimpleNamespace(threads=[thread[False], thread[name == "owing"]]) for name in watch.services]
    assert watch.silent(["answered", "mute", "owing"]) == ["mute", "owing"]
    assert watch.silent(["answered"]) == []
