# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait looks at processes and URLs together; both are played by tables here, and so is the clock."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeProblem, state
from ansible_collections.ascend.inference.plugins.module_utils.runtime.wait import Waiter


class Runtime:
    """``story``: for each poll the state of each service; the last one lasts."""

    def __init__(self, *story):
        self.story, self.polls = story, 0

    def states(self, services):
        now = self.story[min(self.polls, len(self.story) - 1)]
        self.polls += 1
        return {item["unit"]: now[item["name"]] for item in services if item["name"] in now}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


UP, REBORN = state("running", True, start_id=1), state("running", True, start_id=2)
DOWN = state("exited", detail="code 1")


def service(name, timeout=100):
    return {"name": name, "unit": "x-" + name, "url": name, "timeout": timeout}


def wait(runtime, answers, services, restarts=0):
    clock = Clock()

    def probe(url):
        return clock.now >= answers.get(url, 10**9)

    waiter = Waiter(runtime, restarts, 1.0, probe, clock, clock.sleep)
    return waiter.wait(services), clock.now


def test_ready_when_all_answer():
    (ready, failed), now = wait(Runtime({"a": UP, "b": UP}), {"a": 2, "b": 5}, [service("a"), service("b")])
    assert (ready, failed, now) == ({"a": 2.0, "b": 5.0}, {}, 5.0)


def test_dead_service_fails_at_once():
    (ready, failed), now = wait(Runtime({"a": UP, "b": DOWN}), {"a": 50}, [service("a"), service("b")])
    assert list(failed) == ["b"] and "exited code 1" in failed["b"] and ready == {}
    assert now == 0.0


@pytest.mark.parametrize(("restarts", "good"), [(0, False), (1, True)])
def test_restart_between_two_polls_is_seen(restarts, good):
    (ready, failed), _now = wait(Runtime({"a": UP}, {"a": REBORN}), {"a": 3}, [service("a")], restarts)
    assert (list(ready), list(failed)) == ((["a"], []) if good else ([], ["a"]))
    assert good or failed["a"] == "exits after its start (number of restarts: 1)"


def test_a_service_without_a_pid_yet_was_not_restarted():
    (ready, failed), _now = wait(
        Runtime({"a": state("running", True, start_id=0)}, {"a": UP}), {"a": 3}, [service("a")]
    )
    assert list(ready) == ["a"] and not failed


def test_a_service_that_the_runtime_does_not_know_is_dead():
    (ready, failed), _now = wait(Runtime({"a": UP}), {}, [service("a"), service("b")])
    assert list(failed) == ["b"] and "unknown to the runtime" in failed["b"]


def test_a_runtime_that_cannot_be_asked_fails_all():
    class Broken:
        def states(self, services):
            raise RuntimeProblem("no answer")

    assert wait(Broken(), {"a": 1}, [service("a")])[0] == ({}, {"a": "no answer"})


def test_slow_service_has_its_own_patience():
    (ready, failed), now = wait(
        Runtime({"a": UP, "b": UP}), {"a": 20}, [service("a", timeout=10), service("b", timeout=99)]
    )
    assert list(failed) == ["a"] and "did not answer within 10 s" in failed["a"]
    assert 10 <= now < 12


def test_services_that_are_ready_are_not_asked_again():
    runtime = Runtime({"a": UP, "b": UP}, {"a": DOWN, "b": UP})
    (ready, failed), _now = wait(runtime, {"a": 0, "b": 3}, [service("a"), service("b")])
    assert sorted(ready) == ["a", "b"] and not failed
