# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Against a real supervisord where the package is installed; what to start and to restart, everywhere."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import threading
import types
import xmlrpc.client

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime import decisions
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import state
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisor import Supervisor
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisord import Supervisord
from ansible_collections.ascend.inference.plugins.modules import service_state as module


def program(tmp_path, name, planned, running):
    path = tmp_path / f"{name}.digest"
    path.write_text(running + "\n")
    return {"name": name, "unit": name, "digest": planned, "digest_file": str(path), "newer": []}


def test_only_what_differs_is_restarted(tmp_path):
    programs = [
        program(tmp_path, "same", "1", "1"),
        program(tmp_path, "other", "2", "1"),
        program(tmp_path, "off", "1", "1"),
    ]
    same, other, off = programs
    states = {"same": state("running", True, since=1.0), "other": state("starting", True), "off": state("fatal")}
    assert decisions.decide("started", programs, states) == ([off], [other], [])
    assert decisions.decide("started", programs, states, lambda item, found: True) == ([off], [same, other], [])
    assert decisions.decide("restarted", programs, states) == ([off], [same, other], [])
    assert decisions.decide("stopped", programs, states) == ([], [], [same, other])
    states["off"] = state("restarting", pending=True)
    assert decisions.decide("stopped", programs, states) == ([], [], programs)


def test_a_program_that_never_said_what_it_runs_is_restarted(tmp_path):
    planned = dict(program(tmp_path, "one", "1", "1"), digest_file=str(tmp_path / "absent"))
    assert decisions.outdated(planned, state("running", True))


def test_a_newer_secret_restarts(tmp_path):
    secret = tmp_path / "secrets.sh"
    secret.touch()
    planned = dict(program(tmp_path, "one", "1", "1"), newer=[str(secret), str(tmp_path / "absent")])
    began = os.stat(str(secret)).st_mtime
    os.utime(planned["digest_file"], (began - 60, began - 60))
    assert decisions.outdated(planned, state("running", True))
    os.utime(planned["digest_file"], (began, began))
    assert not decisions.outdated(planned, state("running", True))


def test_supervisord_starts_no_program_itself_and_gets_no_other_variables(tmp_path, monkeypatch):
    """Programs are started by stage; what the connection has in its environment is nothing for engines."""
    for name, value in {"HOME": "/home/x", "PATH": "/bin", "TZ": "UTC", "SECRET": "planted"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setattr(getpass, "getuser", lambda: "x")
    runtime, launched = Supervisor({"socket": "/s", "command": "/bin/supervisord", "config": "/c"}), []
    monkeypatch.setattr(runtime.supervisord, "launch", lambda *arguments: launched.append(arguments))
    runtime._launch()
    expected = {"HOME": "/home/x", "PATH": "/bin", "TZ": "UTC", "USER": "x", "ASCEND_INFERENCE_AUTOSTART": "false"}
    assert launched == [("/bin/supervisord", "/c", expected)]


CONFIG = """
[unix_http_server]
file={folder}/s
[supervisord]
pidfile={folder}/pid
logfile={folder}/log
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
"""
PROGRAM = "[program:{0}]\ncommand=/bin/sh -c 'echo 1 > {folder}/{0}.digest; exec sleep 1000'\nautostart=false\n"


def test_a_supervisord_that_does_not_answer_holds_nobody(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen(5)
        asked = Supervisord(str(tmp_path / "s"), timeout=0.2)
        found = []
        thread = threading.Thread(target=lambda: found.extend([asked.runs(), asked.processes()]), daemon=True)
        thread.start()
        thread.join(20)
        assert found == [False, {}]


def runtime_in(folder):
    settings = {"socket": str(folder / "s"), "config": str(folder / "conf"), "log": str(folder / "log")}
    return Supervisor(dict(settings, command=shutil.which("supervisord")))


def work(runtime, params, check):
    done = module.registered if params["state"] in ("present", "absent") else module.running
    return done(runtime, params, check)


@pytest.mark.skipif(not shutil.which("supervisord"), reason="the package supervisor is not installed")
def test_life_of_a_real_supervisord(tmp_path):
    def call(check=False, **words):
        params = {"state": "started", "services": programs, **words}
        return work(runtime_in(tmp_path), params, check)

    def configure(*names):
        text = CONFIG + "".join(PROGRAM.replace("{0}", name) for name in names)
        (tmp_path / "conf").write_text(text.replace("{folder}", str(tmp_path)))
        return [
            {"name": name, "unit": name, "digest": "1", "digest_file": str(tmp_path / f"{name}.digest"), "newer": []}
            for name in names
        ]

    programs = configure("a", "b")
    assert call(check=True, state="present")["changed"] and not (tmp_path / "pid").exists()
    assert call(state="present")["changed"] and not call(state="present")["changed"]
    try:
        assert call()["started"] == ["a", "b"]
        while not (tmp_path / "b.digest").exists() or not (tmp_path / "a.digest").exists():
            pass
        assert not call()["changed"]
        programs[0]["digest"] = "2"
        assert call(check=True)["restarted"] == call()["restarted"] == ["a"]
        programs = configure("b")
        before = runtime_in(tmp_path).supervisord.processes()
        assert call(state="present", remove=False)["stopped"] == []
        assert runtime_in(tmp_path).supervisord.processes()["a"]["pid"] == before["a"]["pid"] > 0
        assert (
            call(state="present", keep=["a"])["stopped"]
            == []
            == call(state="present", keep=["a"], check=True)["stopped"]
        )
        assert (
            not call(state="present", keep=["a"])["changed"]
            and not call(state="present", keep=["a"], check=True)["changed"]
        )
        assert runtime_in(tmp_path).supervisord.processes()["a"]["pid"] == before["a"]["pid"]
        assert call(state="present")["stopped"] == ["a"]
        assert call(state="stopped")["stopped"] == ["b"] and not call(state="stopped")["changed"]
    finally:
        assert call(state="absent")["changed"]
    assert not call(state="absent")["changed"]


@pytest.mark.skipif(not shutil.which("supervisord"), reason="the package supervisor is not installed")
@pytest.mark.parametrize("state", ["started", "restarted"])
def test_a_program_that_dies_at_once_can_be_put_right(tmp_path, state):
    runtime = runtime_in(tmp_path)
    supervisor = runtime.supervisord
    services = [{"name": "a", "unit": "a", "digest": "", "digest_file": None, "newer": []}]

    def call(**words):
        return work(runtime, {"state": "present", "services": services, **words}, False)

    dies = "[program:a]\ncommand=/bin/sh -c 'test -e {folder}/right && exec sleep 1000'\nautostart=false\nstartretries=99\n"
    (tmp_path / "conf").write_text((CONFIG + dies).replace("{folder}", str(tmp_path)))
    call()
    try:
        call(state="started")
        while supervisor.processes()["a"]["state"] != "BACKOFF":
            pass
        (tmp_path / "right").touch()
        assert call(state=state)["started"] == ["a"]
        assert supervisor.processes()["a"]["state"] in (
            "STARTING",
            "RUNNING",
        )  # at once, not at supervisord's next trial
        while supervisor.processes()["a"]["state"] != "RUNNING":
            pass
        assert not call(state="started")["changed"]
        (tmp_path / "right").unlink()
        supervisor.stop(["a"], 60)
        supervisor.start("a")
        while supervisor.processes()["a"]["state"] != "BACKOFF":
            pass
        assert call(state="stopped")["stopped"] == ["a"]
        assert supervisor.processes()["a"]["state"] == "STOPPED"
    finally:
        call(state="absent")


@pytest.mark.skipif(not shutil.which("supervisord"), reason="the package supervisor is not installed")
def test_another_program_waits_for_the_restart(tmp_path):
    runtime = runtime_in(tmp_path)
    digest = tmp_path / "a.digest"
    services = [{"name": "a", "unit": "a", "digest": "1", "digest_file": str(digest), "newer": []}]

    def call(**words):
        return work(runtime_in(tmp_path), {"state": "present", "services": services, **words}, False)

    def configure(more=""):
        (tmp_path / "conf").write_text((CONFIG + PROGRAM.replace("{0}", "a") + more).replace("{folder}", str(tmp_path)))

    configure()
    call()
    try:
        call(state="started")
        while not digest.exists():
            pass
        first = runtime.supervisord.processes()["a"]["pid"]
        configure("stopwaitsecs=99\n")
        found = call()
        assert (found["outdated"], found["down"]) == (["a"], [])
        assert runtime.supervisord.processes()["a"]["pid"] == first, "it serves until it has left the router"
        assert call(state="started")["restarted"] == ["a"]
        assert runtime.supervisord.processes()["a"]["pid"] != first
        assert call()["outdated"] == [] and not call(state="started")["changed"]
    finally:
        call(state="absent")


@pytest.mark.parametrize("code", [10, 50, 60, 70, 90, 2])
@pytest.mark.parametrize(
    ("call", "tolerated", "states"),
    [
        (lambda daemon: daemon.add("a"), (90,), []),  # it has the program
        (lambda daemon: daemon.start("a"), (60, 50), []),  # it runs, or ends at once: its state and its log show that
        (lambda daemon: daemon.stop(["a"], 5), (70,), ["RUNNING", "EXITED"]),  # it has ended meanwhile
        (lambda daemon: daemon.forget("a", 0), (10,), []),  # it is gone
    ],
    ids=["add", "start", "stop", "forget"],
)
def test_faults_that_say_that_the_work_is_done_are_no_errors(call, tolerated, states, code):
    def fail(*_arguments):
        raise xmlrpc.client.Fault(code, "fault")

    program = {"name": "a", "pid": 1, "start": 1, "spawnerr": "", "description": ""}
    answers = [[dict(program, statename=name)] for name in states]
    daemon = Supervisord("/nowhere")
    daemon.rpc = types.SimpleNamespace(
        addProcessGroup=fail,
        startProcess=fail,
        stopProcess=fail,
        removeProcessGroup=fail,
        getAllProcessInfo=lambda: answers.pop(0) if answers else [],
    )
    if code in tolerated:
        call(daemon)
    else:
        with pytest.raises(xmlrpc.client.Fault):
            call(daemon)
