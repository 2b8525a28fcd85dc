# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtime of supervisord with a supervisord that is played; a real one is in test_supervisor.py, where the package is installed."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import types
import xmlrpc.client

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime import supervisord
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeNotRunning, RuntimeProblem
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisor import Supervisor, unexpected_ends
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisord import Supervisord, SupervisorError


def info(state, pid=0, start=0, detail=""):
    return {"state": state, "pid": pid, "start": start, "detail": detail}


class Daemon:
    """A supervisord: ``known`` programs with their state; ``new``, ``other`` and ``gone`` names in its configuration."""

    def __init__(self, **known):
        self.known, self.new, self.other, self.gone = known, [], [], []
        self.calls, self.up, self.problem, self.asked = [], True, None, 0

    def runs(self):
        return self.up

    def processes(self):
        if self.problem:
            raise self.problem
        return dict(self.known)

    def differences(self):
        self.asked += 1
        return list(self.new), list(self.other), list(self.gone)

    def __getattr__(self, verb):
        return lambda *given: self.calls.append((verb, *given))


def service(name, **more):
    return {"name": name, "unit": name, "digest": "", "digest_file": None, "newer": [], **more}


@pytest.fixture
def made(tmp_path):
    """``made(a="RUNNING")`` -> (the runtime, its daemon)."""

    def make(**states):
        settings = {"socket": "/run/s", "log": str(tmp_path / "log"), "command": "/bin/supervisord", "config": "/c"}
        used = Supervisor(settings)
        used.supervisord = Daemon(**{name: info(state, 7) for name, state in states.items()})
        return used, used.supervisord

    return make


def test_a_supervisord_that_is_off_is_no_state_of_a_program(made):
    used, daemon = made(a="RUNNING")
    daemon.up = False
    with pytest.raises(RuntimeNotRunning, match="does not answer on /run/s.*Fix: run ascend.inference.deploy"):
        used.states([])
    assert used.remove([service("a")], False) == [] and daemon.calls == []


@pytest.mark.parametrize(
    "problem",
    [
        SupervisorError("odd"),
        OSError("odd"),
        http.client.BadStatusLine("odd"),
        xmlrpc.client.Fault(1, "odd"),
        xmlrpc.client.ProtocolError("u", 500, "odd", {}),
    ],
)
@pytest.mark.parametrize("ask", ["states", "pids", "apply", "remove"])
def test_what_supervisord_refuses_is_a_problem_of_the_runtime(made, problem, ask):
    used, daemon = made(a="RUNNING")
    daemon.problem = problem
    more = {"apply": [False], "remove": [False]}.get(ask, [])
    with pytest.raises(RuntimeProblem, match="^supervisord at /run/s: .*odd"):
        getattr(used, ask)([service("a")], *more)


def test_restarts_are_those_since_supervisord_started(made, tmp_path):
    used, _daemon = made(a="RUNNING", b="BACKOFF")
    assert used.states([])["a"]["restarts"] == 0
    (tmp_path / "log").write_text(
        "INFO exited: a (exit status 1)\nINFO supervisord started with pid 4\nINFO exited: a (exit status 1; not expected)\n"
        "INFO spawned: 'a'\nINFO exited: b (terminated by SIGKILL)\nINFO exited: a (exit status 1)\nINFO stopped: a (exit status 0)\n"
    )
    found = used.states([])
    assert (found["a"]["restarts"], found["b"]["restarts"]) == (2, 1)
    assert (found["b"]["state"], found["b"]["pending"], found["a"]["up"]) == ("restarting", True, True)
    assert unexpected_ends("") == {}


def test_ids_of_processes_are_of_services_that_run(made):
    used, daemon = made(a="RUNNING", b="STOPPED", c="RUNNING")
    daemon.known["b"]["pid"] = 0
    assert used.pids([service(name) for name in ("a", "b", "x")]) == {"a": 7}


def test_the_log_of_a_program_is_its_file(made, tmp_path):
    (tmp_path / "a.log").write_text("one\ntwo\nthree\n")
    used, _daemon = made()
    assert used.log(service("a", log={"path": str(tmp_path / "a.log")}), 2) == "two\nthree"


@pytest.mark.parametrize("check", [True, False])
def test_a_supervisord_that_is_off_is_launched_with_all_programs(made, check):
    used, daemon = made()
    daemon.up = False
    assert used.apply([service("a"), service("b")], check) == (True, ["a", "b"], [])
    assert [call[:3] for call in daemon.calls] == ([] if check else [("launch", "/bin/supervisord", "/c")])


@pytest.mark.parametrize(
    ("planned", "remove", "expected"),
    [
        (["a", "b"], True, (False, [], [])),
        (["c", "b", "a"], True, (True, ["c"], [])),
        (["a"], True, (True, [], ["b"])),
        (["a"], False, (False, [], ["b"])),
        (["c", "a"], False, (True, ["c"], ["b"])),
    ],
)
def test_check_mode_compares_names_and_reads_no_configuration(made, planned, remove, expected):
    used, daemon = made(a="RUNNING", b="STOPPED")
    assert used.apply([service(name) for name in planned], True, remove=remove) == expected
    assert daemon.asked == 0 and daemon.calls == [], "the files of check mode are the old ones"


@pytest.mark.parametrize(("remove", "forgotten"), [(True, ["b", "old"]), (False, ["b"])])
def test_programs_are_registered_and_running_ones_go_on(made, remove, forgotten):
    used, daemon = made(a="RUNNING", b="STOPPED", s="STARTING", old="RUNNING")
    daemon.new, daemon.other, daemon.gone = ["n"], ["a", "b", "s"], ["old"]
    found = used.apply([service("a", stop_timeout=100)], False, remove=remove)
    assert found == (True, ["n", "b"], ["old"])
    assert daemon.calls == [("forget", name, 220) for name in forgotten] + [("add", "n"), ("add", "b")]


@pytest.mark.parametrize(
    ("new", "other", "gone", "remove", "changed"),
    [
        ([], [], [], True, False),
        ([], ["a"], [], True, False),
        (["n"], [], [], True, True),
        ([], ["b"], [], True, True),
        ([], [], ["old"], True, True),
        ([], [], ["old"], False, False),
    ],
)
def test_what_counts_as_a_change(made, new, other, gone, remove, changed):
    used, daemon = made(a="RUNNING", b="STOPPED")
    daemon.new, daemon.other, daemon.gone = new, other, gone
    assert used.apply([service("a")], False, remove=remove)[0] is changed


@pytest.mark.parametrize("verb", ["start", "restart"])
def test_a_program_starts_with_its_present_configuration(made, verb):
    used, daemon = made(a="BACKOFF", b="STOPPED")
    daemon.other = ["b", "z"]
    getattr(used, verb)([service("a", stop_timeout=10), service("b", stop_timeout=100)])
    assert daemon.calls == [
        ("stop", ["a", "b"], 220),
        ("start", "a"),
        ("forget", "b", 220),
        ("add", "b"),
        ("start", "b"),
    ]


def test_differences_are_read_once_until_something_starts(made):
    used, daemon = made(a="RUNNING", b="RUNNING")
    daemon.other = ["a"]
    found = [used.outdated(service(name), {}) for name in ("a", "b", "a")]
    assert (found, daemon.asked) == ([True, False, True], 1)
    used.start([service("b")])
    daemon.other = []
    assert used.outdated(service("a"), {}) is False


def test_a_program_whose_section_is_about_to_be_written_differs(made):
    used, dummy = made(a="RUNNING", ab="RUNNING")
    assert [used.outdated(service(name, written=["/c", "/c [program:ab]"]), {}) for name in ("a", "ab")] == [
        False,
        True,
    ]


@pytest.mark.parametrize("check", [True, False])
def test_removal_ends_supervisord_too(made, check):
    used, daemon = made(b="RUNNING", a="STOPPED")
    assert used.remove([service("a", stop_timeout=100)], check) == ["supervisord", "a", "b"]
    assert daemon.calls == ([] if check else [("shut_down", 220)])


def asked(**methods):
    """(a Supervisord, the calls of its methods)."""
    calls = []

    def method(name, answer):
        def answered(*given):
            calls.append((name, *given))
            return answer(*given) if callable(answer) else answer

        return answered

    daemon = Supervisord("/nowhere")
    daemon.rpc = types.SimpleNamespace(**{name: method(name, answer) for name, answer in methods.items()})
    return daemon, calls


@pytest.mark.parametrize(("name", "runs"), [("RUNNING", True), ("SHUTDOWN", False), ("RESTARTING", False)])
def test_only_a_running_supervisord_runs(name, runs):
    assert asked(getState={"statename": name})[0].runs() is runs


def test_each_program_has_its_reason():
    row = {
        "name": "a",
        "statename": "BACKOFF",
        "pid": 0,
        "start": 5,
        "spawnerr": "can't find command",
        "description": "d",
    }
    daemon, _calls = asked(getAllProcessInfo=[row, dict(row, name="b", spawnerr="")])
    assert daemon.processes() == {"a": info("BACKOFF", 0, 5, "can't find command"), "b": info("BACKOFF", 0, 5, "d")}


def test_a_program_is_not_waited_for():
    daemon, calls = asked(startProcess=True, addProcessGroup=True)
    daemon.start("a")
    daemon.add("b")
    assert calls == [("startProcess", "a", False), ("addProcessGroup", "b")]


def played(*states):
    """Answers of supervisord in turn, one state of ``a`` each; the last one stays."""
    left = list(states)

    def answer():
        name = left.pop(0) if len(left) > 1 else left[0]
        return [{"name": "a", "statename": name, "pid": 1, "start": 1, "spawnerr": "", "description": ""}]

    return answer


@pytest.mark.parametrize(
    ("states", "stops"),
    [
        (["STOPPED"], 0),
        (["FATAL"], 0),
        (["RUNNING", "STOPPING", "STOPPED"], 1),
        (["STARTING", "STOPPED"], 1),
        (["BACKOFF", "STOPPED"], 1),
        (["RUNNING", "STARTING", "EXITED"], 2),
    ],
)
def test_a_program_is_stopped_until_it_has_ended(monkeypatch, states, stops):
    monkeypatch.setattr(supervisord.time, "sleep", lambda seconds: None)
    daemon, calls = asked(getAllProcessInfo=played(*states), stopProcess=True)
    daemon.stop(["a", "unknown"], 60)
    assert [call for call in calls if call[0] == "stopProcess"] == [("stopProcess", "a", False)] * stops
    assert len([call for call in calls if call[0] == "getAllProcessInfo"]) == len(states), "until it has ended"


def test_a_program_that_does_not_end_is_named(monkeypatch):
    daemon, _calls = asked(getAllProcessInfo=played("STOPPING"), stopProcess=True)
    with pytest.raises(SupervisorError, match="^a, b did not exit within 0.2 s$"):
        daemon.stop(["a", "b"], 0.2)


def test_a_forgotten_program_is_stopped_before():
    daemon, calls = asked(getAllProcessInfo=played("RUNNING", "STOPPED"), stopProcess=True, removeProcessGroup=True)
    daemon.forget("a", 5)
    assert [call[0] for call in calls if call[0] != "getAllProcessInfo"] == ["stopProcess", "removeProcessGroup"]


def test_the_end_of_supervisord_is_waited_for():
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)

    def end():
        process.stdin.close()
        process.wait()

    daemon, calls = asked(getPID=process.pid, shutdown=end)
    daemon.shut_down(20)
    assert calls == [("getPID",), ("shutdown",)]
    daemon, _calls = asked(getPID=os.getpid(), shutdown=True)
    with pytest.raises(SupervisorError, match=rf"supervisord \(pid {os.getpid()}\) did not exit within 0.2 s"):
        daemon.shut_down(0.2)


@pytest.mark.parametrize("code", [0, 2])
def test_supervisord_is_launched_in_its_environment_and_has_to_answer(tmp_path, code):
    program = tmp_path / "supervisord"
    program.write_text(f'#!/bin/sh\necho "$PWD $* $A" > {tmp_path}/seen\necho refused >&2\nexit {code}\n')
    program.chmod(0o755)
    states = [False, True]
    daemon, _calls = asked(getState=lambda: {"statename": "RUNNING" if states.pop(0) else "SHUTDOWN"})
    if code:
        with pytest.raises(SupervisorError, match="did not start:\nrefused"):
            daemon.launch(str(program), "/c", {"A": "7"})
    else:
        daemon.launch(str(program), "/c", {"A": "7"})
        assert states == []
        silent, _calls = asked(getState={"statename": "SHUTDOWN"})
        with pytest.raises(SupervisorError, match="does not answer on /nowhere within 0.2 s"):
            silent.launch(str(program), "/c", {"A": "7"}, timeout=0.2)
    assert (tmp_path / "seen").read_text() == "/ -c /c 7\n"
