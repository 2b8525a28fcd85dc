# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""service_state under systemd, against a systemctl that is simulated by a few lines of Python over files of the test's folder."""

from __future__ import annotations

import http.server
import json
import os
import sys
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime import base
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import state
from ansible_collections.ascend.inference.plugins.modules import service_state

TARGET = "demo.target"
SYSTEMCTL = """#!{python}
import json, os, sys
folder = "{folder}"
path = os.path.join(folder, "state.json")
state = json.load(open(path))
words = [word for word in sys.argv[1:] if word != "--" and not word.startswith("--")]
with open(os.path.join(folder, "calls"), "a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
verb, units = words[0], words[1:]
exists = lambda unit: os.path.exists(os.path.join(folder, "units", unit))
if verb == "show":
    for unit in units:
        known = state.get(unit, dict())
        loaded = exists(unit) or known.get("active") == "active"
        print("Id=" + unit, "LoadState=" + ("loaded" if loaded else "not-found"),
              "ActiveState=" + known.get("active", "inactive"), "SubState=" + known.get("sub", "dead"),
              "UnitFileState=" + ("" if not exists(unit) else "enabled" if known.get("enabled") else "disabled"),
              "NeedDaemonReload=" + known.get("reload", "no"), "", sep="\\n")
    sys.exit(0)
for unit in units:
    if not exists(unit) and verb != "reset-failed":
        print("Failed to " + verb + " " + unit + ": Unit not found.")
        sys.exit(5)
    known = state.setdefault(unit, dict())
    if verb in ("start", "restart"):
        known.update(active="active", sub="running")
    if verb == "stop" or "--now" in sys.argv:
        known.update(active="inactive", sub="dead")
    if verb in ("enable", "disable"):
        known["enabled"] = verb == "enable"
if verb == "daemon-reload":
    for known in state.values():
        known["reload"] = "no"
json.dump(state, open(path, "w"))
"""

MARK = "# Written by ascend.inference. The next deployment replaces changes.\n"


class Host:
    """The simulated service manager: unit files, what it thinks of them, and what it was asked."""

    def __init__(self, folder):
        self.folder, self.units = folder, folder / "units"
        self.units.mkdir()
        (folder / "bin").mkdir()
        program = folder / "bin" / "systemctl"
        program.write_text(SYSTEMCTL.replace("{python}", sys.executable).replace("{folder}", str(folder)))
        program.chmod(0o755)
        self.say({})
        self.file(TARGET, "")

    def say(self, state):
        (self.folder / "state.json").write_text(json.dumps(state))

    def told(self):
        return json.loads((self.folder / "state.json").read_text())

    def file(self, name, target=TARGET):
        (self.units / name).write_text(MARK + (f"[Unit]\nPartOf={target}\n" if target else "[Unit]\n"))
        os.utime(str(self.units / name), (1000, 1000))

    def unit(self, name, digest="1", ran="", newer=()):
        self.file(name)
        path = self.folder / (name + ".digest")
        if ran:
            path.write_text(ran + "\n")
        return {"name": name, "unit": name, "digest": digest, "digest_file": str(path), "newer": list(newer)}

    def calls(self):
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return [line for line in lines if not line.startswith("show")]


@pytest.fixture
def host(tmp_path, monkeypatch):
    made = Host(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return made


@pytest.fixture
def call(host, run_module):
    settings = {"target": TARGET, "directory": str(host.units)}

    def run(state, *units, **more):
        return run_module(
            "service_state", state=state, runtime="systemd", settings=settings, services=list(units), **more
        )

    return run


RUNS = {"active": "active", "sub": "running", "enabled": True}


def test_what_is_new_is_enabled_and_not_started(host, call):
    unit = host.unit("demo-a.service")
    assert call("present", unit, check=True)["changed"] and host.calls() == []
    result = call("present", unit)
    assert result["changed"] and not result["failed"]
    assert host.calls() == ["enable demo-a.service demo.target"]
    assert not call("present", unit)["changed"]


def test_changed_files_are_read_again(host, call):
    unit = host.unit("demo-a.service")
    host.say({"demo-a.service": dict(RUNS, reload="yes"), TARGET: {"enabled": True}})
    assert call("present", unit)["changed"]
    assert host.calls() == ["daemon-reload"]


def test_units_that_are_no_longer_planned_go_and_those_of_others_stay(host, call):
    unit = host.unit("demo-a.service")
    host.file("demo-old.service")
    host.file("demo-b-engine.service", "demo-b.target")
    host.file("demo-notes.service", "")
    call("present", unit)
    assert sorted(os.listdir(str(host.units))) == [
        "demo-a.service",
        "demo-b-engine.service",
        "demo-notes.service",
        TARGET,
    ]
    assert "disable --now demo-old.service" in host.calls()


@pytest.mark.parametrize("check", [False, True])
def test_units_that_go_later_are_named_and_no_change(host, call, check):
    unit = host.unit("demo-a.service")
    host.say({"demo-a.service": RUNS, TARGET: {"enabled": True}})
    host.file("demo-old.service")
    result = call("present", unit, remove=False, check=check)
    assert (result["changed"], result["other"], result["stopped"]) == (False, ["demo-old.service"], [])
    assert host.calls() == [] and (host.units / "demo-old.service").exists()


@pytest.mark.parametrize("check", [False, True])
def test_units_that_are_kept_stay_while_others_go(host, call, check):
    unit = host.unit("demo-a.service")
    host.say({"demo-a.service": RUNS, TARGET: {"enabled": True}})
    host.file("demo-old.service")
    host.file("demo-serves.service")
    result = call("present", unit, keep=["demo-serves.service"], check=check)
    assert (result["changed"], result["stopped"]) == (True, ["demo-old.service"])
    assert result["other"] == ["demo-old.service", "demo-serves.service"]
    assert (host.units / "demo-serves.service").exists() and not any("serves" in line for line in host.calls())
    assert (host.units / "demo-old.service").exists() == check


def test_only_what_differs_is_restarted(host, call, tmp_path):
    secret = tmp_path / "secrets.sh"
    secret.touch()
    os.utime(str(secret), (9e9, 9e9))
    units = [
        host.unit("demo-same.service", "1", "1"),
        host.unit("demo-other.service", "2", "1"),
        host.unit("demo-silent.service", "1"),
        host.unit("demo-secret.service", "1", "1", [str(secret)]),
        host.unit("demo-off.service", "1", "1"),
        host.unit("demo-loop.service", "1", "1"),
        host.unit("demo-file.service", "1", "1"),
    ]
    os.utime(str(host.units / "demo-file.service"), (9e9, 9e9))
    state = {unit["name"]: dict(RUNS) for unit in units}
    state["demo-off.service"] = {"active": "failed", "sub": "failed"}
    state["demo-loop.service"] = {"active": "activating", "sub": "auto-restart"}
    host.say(state)
    again = ["demo-other.service", "demo-silent.service", "demo-secret.service", "demo-file.service"]
    down = ["demo-off.service", "demo-loop.service"]
    foreseen = call("started", *units, check=True)
    assert host.calls() == []
    result = call("started", *units)
    assert (result["started"], result["restarted"]) == (foreseen["started"], foreseen["restarted"]) == (down, again)
    assert "demo-other.service running 2" in result["diff"]["after"]
    orders = [line for line in host.calls() if not line.startswith("reset-failed")]
    assert orders == ["restart " + " ".join(again), "start " + " ".join(down), "start demo.target"]
    assert not call("started", units[0])["changed"]


@pytest.mark.parametrize("state", ["stopped", "started", "restarted"])
@pytest.mark.parametrize(
    "text", ["[Unit]\nPartOf=x.target\n", MARK + "[Unit]\nPartOf=other.target\n", MARK + f"[Unit]\n# PartOf={TARGET}\n"]
)
def test_units_of_others_are_neither_stopped_nor_started(host, call, state, text):
    """A plan that somebody changed names the unit sshd.service."""
    mine, other = host.unit("a.service"), host.unit("sshd.service")
    (host.units / "sshd.service").write_text(text)
    host.say({} if state == "started" else {"a.service": RUNS, "sshd.service": RUNS})
    result = call(state, mine, other)
    assert result["failed"] and "sshd.service is not a unit of this deployment" in result["msg"]
    assert host.calls() == []


def test_a_unit_of_the_system_is_not_stopped(host, call):
    other = host.unit("sshd.service")
    (host.units / "sshd.service").unlink()
    host.say({"sshd.service": RUNS})
    assert "sshd.service is not a unit" in call("stopped", other)["msg"] and host.calls() == []


@pytest.fixture
def order(host, call, tmp_path):
    """``order(plan, state, *units)``: an order by the plan of another host; ``plan`` is the text of this host's own one, None without a folder."""

    def run(text, state, *units, **more):
        folder = tmp_path / "deployments" / "x"
        if text is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "plan.json").write_text(text)
        return call(state, *units, own=str(folder), **more)

    return run


def test_another_host_s_plan_stops_what_this_host_has_of_the_deployment(host, order):
    mine, other = host.unit("a.service"), host.unit("b.service")
    host.say({"a.service": RUNS, "b.service": RUNS})
    own = {"runtime": "systemd", "runtime_settings": {"target": TARGET, "directory": str(host.units)}}
    result = order(
        json.dumps({**own, "services": [{"name": "a.service", "unit": "a.service"}]}), "stopped", mine, other
    )
    assert result["stopped"] == ["a.service"]


def test_the_own_plan_says_where_units_are(host, order, tmp_path):
    """The other host's plan names a folder that its user wrote."""
    mine = host.unit("a.service")
    host.say({"a.service": RUNS})
    own = {"runtime": "systemd", "runtime_settings": {"target": TARGET, "directory": str(tmp_path / "none")}}
    text = json.dumps({**own, "services": [{"name": "a.service", "unit": "a.service"}]})
    assert "a.service is not a unit" in order(text, "stopped", mine)["msg"] and host.calls() == []


@pytest.mark.parametrize("state", ["stopped", "absent"])
@pytest.mark.parametrize("text", [None, "[]", "{", '{"services": [1]}', '{"services": []}'])
def test_another_host_s_plan_stops_nothing_where_the_deployment_is_not(host, order, state, text):
    mine = host.unit("a.service")
    host.say({"a.service": RUNS})
    result = order(text, state, mine)
    stopped = ["a.service", TARGET] if state == "absent" and text == '{"services": []}' else []
    assert sorted(result["stopped"]) == stopped and not result.get("failed")


def test_a_host_whose_run_was_killed_before_the_record_is_cleaned(host, order, tmp_path):
    mine = host.unit("a.service")
    host.say({"a.service": RUNS})
    (tmp_path / "deployments" / "x").mkdir(parents=True)
    assert "a.service" in order(None, "absent", mine)["stopped"]


@pytest.mark.parametrize(
    ("hosts", "stops"), [([], True), (["n1"], True), (["n1", "n2"], True), (["n2"], False)], ids=str
)
def test_a_deployment_of_the_same_name_on_other_hosts_goes_on(host, order, tmp_path, hosts, stops):
    mine = host.unit("a.service")
    host.say({"a.service": RUNS})
    own = {"runtime": "systemd", "runtime_settings": {"target": TARGET, "directory": str(host.units)}}
    folder = tmp_path / "deployments" / "x"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "placement.json").write_text(json.dumps({"instances": [{"hosts": [["n1", [0]]]}]}))
    text = json.dumps({**own, "services": [{"name": "a.service", "unit": "a.service"}]})
    assert order(text, "stopped", mine, own_hosts=hosts)["stopped"] == (["a.service"] if stops else [])


@pytest.mark.parametrize("planted", ["100 9 1", "a link", "a folder"])
@pytest.mark.parametrize("state", ["started", "restarted"])
def test_an_order_begins_the_count_of_starts_anew_and_what_runs_keeps_it(host, call, tmp_path, state, planted):
    due = host.unit("demo-due.service", "2", "1")
    left = host.unit("demo-left.service", "1", "1")
    other, counts = tmp_path / "other", {}
    other.write_text("kept")
    for unit in (due, left):
        unit["starts_file"] = str(tmp_path / f"{unit['name']}.starts")
        counts[unit["name"]] = tmp_path / f"{unit['name']}.starts"
        counts[unit["name"]].write_text("100 9 1")
    if planted != "100 9 1":
        counts["demo-due.service"].unlink()
        counts["demo-due.service"].symlink_to(other) if planted == "a link" else counts["demo-due.service"].mkdir()
    host.say({unit["name"]: dict(RUNS) for unit in (due, left)})
    chosen = [due] if state == "restarted" else [due, left]
    call(state, *chosen, check=True)
    assert os.path.lexists(str(counts["demo-due.service"]))
    assert call(state, *chosen)["restarted"] == ["demo-due.service"]
    assert os.path.lexists(str(counts["demo-due.service"])) == (planted == "a folder")
    assert (counts["demo-left.service"].read_text(), other.read_text()) == ("100 9 1", "kept")


def test_the_target_starts_when_all_units_run_and_not_before(host, call):
    first, second = host.unit("demo-a.service", "1", "1"), host.unit("demo-b.service", "1", "1")
    call("started", first)
    assert "start demo.target" not in host.calls()
    assert call("started", second, check=True)["changed"]
    call("started", second)
    assert host.calls()[-1] == "start demo.target"
    assert not call("started", second)["changed"]
    host.say({**host.told(), TARGET: {}})
    assert call("started", second, check=True)["changed"] and call("started", second)["changed"]


@pytest.fixture
def url():
    """An address that answers 200 to /health and 503 to everything else."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/health" else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_healthy_are_those_for_which_nothing_would_be_done(host, call, url):
    units = {
        name: dict(host.unit(f"demo-{name}.service", digest, "1"), name=name, url=path and url + path)
        for name, digest, path in [
            ("answers", "1", "/health"),
            ("silent", "1", ""),
            ("loads", "1", "/loading"),
            ("other", "2", "/health"),
            ("off", "1", "/health"),
        ]
    }
    state = {units[name]["unit"]: dict(RUNS) for name in units if name != "off"}
    host.say({**state, TARGET: dict(RUNS)})
    result = call("present", *units.values())
    assert (result["down"], result["outdated"], result["healthy"]) == (["off"], ["other"], ["answers", "silent"])
    host.say({**state, units["off"]["unit"]: dict(RUNS), TARGET: {"enabled": True}})
    result = call("present", *units.values())
    assert result["down"] == [] and result["healthy"] == []  # the state started would start the target


def test_one_call_asks_systemd_as_often_for_one_unit_as_for_sixteen(host, call):
    def questions(count):
        units = [host.unit(f"demo-{number}.service", "1", "1") for number in range(count)]
        host.say({**{unit["unit"]: dict(RUNS) for unit in units}, TARGET: dict(RUNS)})
        host.calls()
        assert not call("started", *units)["changed"]
        return len((host.folder / "calls").read_text().splitlines())

    (host.folder / "calls").write_text("")
    few = questions(1)
    (host.folder / "calls").write_text("")
    assert questions(16) == few <= 3


def test_an_unknown_runtime_is_an_error(run_module):
    result = run_module("service_state", runtime="quadlet", settings={}, services=[])
    assert result["failed"] and "unknown runtime 'quadlet'" in result["msg"] and "supervisor" in result["msg"]


def test_restart_and_stop(host, call):
    unit = host.unit("demo-a.service", "1", "1")
    host.say({"demo-a.service": dict(RUNS)})
    host.say({"demo-a.service": dict(RUNS), TARGET: {"enabled": True}})
    for check in (True, False):
        found = call("restarted", unit, check=check)
        assert (found["restarted"], found["changed"]) == (["demo-a.service"], True)
    assert host.calls()[-1] == "restart demo-a.service", "the target is started by a start only"
    for check in (True, False):
        found = call("stopped", unit, check=check)
        assert (found["stopped"], found["changed"]) == (["demo-a.service"], True)
    assert not call("stopped", unit)["changed"]


def test_registration_tells_what_a_start_would_restart(host, call):
    units = [host.unit("demo-a.service", "1", "1"), host.unit("demo-b.service", "1", "1")]
    os.utime(str(host.units / "demo-b.service"), (9e9, 9e9))
    host.say({unit["unit"]: dict(RUNS) for unit in units})
    assert call("present", *units)["outdated"] == ["demo-b.service"]


def test_absent_leaves_nothing_of_its_own(host, call):
    host.unit("demo-a.service")
    host.file("demo-b-engine.service", "demo-b.target")
    assert call("absent", check=True)["stopped"] == ["demo-a.service", TARGET]
    assert call("absent")["changed"] and os.listdir(str(host.units)) == ["demo-b-engine.service"]
    assert not call("absent")["changed"]


def test_a_refusal_has_systemd_s_message(host, call):
    unit = dict(host.unit("demo-a.service"), unit="demo-gone.service")
    result = call("started", unit)
    assert result["failed"] and "Unit not found" in result["msg"] and "systemd" in result["msg"]


@pytest.mark.parametrize(
    ("state", "check", "waits"),
    [
        ("started", False, True),
        ("restarted", False, True),
        ("started", True, False),
        ("restarted", True, False),
        ("stopped", False, False),
        ("present", False, False),
    ],
)
def test_services_with_an_address_are_waited_for_after_a_start_on_request(host, call, url, state, check, waits):
    unit = dict(host.unit("demo-a.service", "1", "1"), name="a", url=url + "/health")
    silent = dict(host.unit("demo-b.service", "1", "1"), name="b", url="")
    host.say({name: dict(RUNS) for name in ("demo-a.service", "demo-b.service")})
    found = call(state, unit, silent, wait=True, check=check)
    assert not found["failed"] and ("ready" in found) is waits
    if waits:
        assert list(found["ready"]) == ["a"] and found["failed_services"] == found["logs"] == found["causes"] == {}
    assert "ready" not in call(state, unit, check=check), "and not without"


def test_a_service_that_does_not_answer_fails_the_call_with_what_was_done(host, call, url):
    program = host.folder / "bin" / "journalctl"
    program.write_text(f'#!/bin/sh\necho "$*" >> {host.folder}/asked; seq 1 60; printf "the\\033 end\\n"\n')
    program.chmod(0o755)
    unit = dict(host.unit("demo-a.service", "1", "1"), name="a", url=url + "/loading", timeout=0)
    found = call("started", unit, wait=True, lines=3)
    assert found["failed"] and found["started"] == ["demo-a.service"] and found["changed"]
    assert list(found["failed_services"]) == ["a"] and found["ready"] == {}
    assert found["msg"].splitlines() == [
        f"a runs, but {url}/loading did not answer within 0 s",
        "59",
        "60",
        "the\\x1b end",
    ]
    assert found["logs"]["a"].splitlines()[:2] == ["59", "60"] and found["causes"] == {"a": []}
    assert len(call("restarted", unit, wait=True)["logs"]["a"].splitlines()) == 30, "by default"
    call("restarted", unit, wait=True, lines=service_state.LINES + 5)
    asked = (host.folder / "asked").read_text().splitlines()
    assert all("--unit=demo-a.service" in line for line in asked)
    counts = [int(line.rpartition("--lines=")[2]) for line in asked]
    assert counts == [service_state.LINES, service_state.LINES, service_state.LINES + 5], (
        "causes are looked for in more"
    )


def test_what_does_not_run_is_stopped_before_others_start_and_the_order_says_so(host, call):
    first, second = host.unit("demo-a.service", "2", "1"), host.unit("demo-b.service", "1", "1")
    host.say({"demo-a.service": dict(RUNS)})
    found = call("started", first, second, check=True)
    assert (found["restarted"], found["started"], found["stopped"]) == (["demo-a.service"], ["demo-b.service"], [])
    assert found["diff"] == {
        "before": "demo-b.service inactive (dead) \ndemo-a.service running 1\n",
        "after": "demo-b.service running 1\ndemo-a.service running 2\n",
    }


def test_registration_says_what_is_added_and_removed(host, call):
    unit = host.unit("demo-a.service")
    host.file("demo-old.service")
    for check in (True, False):
        found = call("present", unit, check=check)
        assert (found["stopped"], found["started"], found["restarted"]) == (["demo-old.service"], [], [])
        assert found["other"] == ["demo-old.service"] and found["changed"]
        assert found["diff"] == {"before": "demo-old.service\n", "after": f"demo-a.service\n{TARGET}\n"}
    gone = call("absent", check=True)
    assert gone["diff"] == {"before": f"demo-a.service\n{TARGET}\n", "after": ""} and "other" not in gone


class NotRunning:
    """A runtime that is not running itself."""

    def __init__(self, problem=None):
        self.started, self.problem = [], problem or base.RuntimeNotRunning("off")

    def states(self, _services):
        raise self.problem

    def start(self, services):
        self.started += [service["unit"] for service in services]

    stop = restart = None  # never called

    def apply(self, _services, _check, **_more):
        return False, [], []

    def outdated(self, _service, _found):
        raise AssertionError("nothing runs")

    def complete(self, _check):
        return False


@pytest.mark.parametrize("state", ["started", "stopped", "present"])
def test_under_a_runtime_that_is_off_no_service_runs(run_module, monkeypatch, state):
    runtime = NotRunning()
    monkeypatch.setattr(service_state, "runtime_of", lambda name, settings: runtime)
    service = {"name": "a", "unit": "u", "digest": "1"}
    found = run_module("service_state", state=state, runtime="x", settings={}, services=[service])
    assert not found["failed"], found
    if state == "present":
        assert (found["down"], found["outdated"], found["healthy"]) == (["a"], [], [])
    else:
        assert runtime.started == found["started"] == (["u"] if state == "started" else [])
        assert found["changed"] is (state == "started")


@pytest.mark.parametrize("problem", [base.RuntimeProblem("no\x1b rights"), OSError("no\x1b rights")])
def test_what_the_runtime_refuses_is_said_with_its_name(run_module, monkeypatch, problem):
    monkeypatch.setattr(service_state, "runtime_of", lambda name, settings: NotRunning(problem))
    found = run_module("service_state", runtime="x", settings={}, services=[{"name": "a", "unit": "u"}])
    assert found["failed"] and found["msg"] == "Services under x: no\\x1b rights"


@pytest.mark.parametrize(("restarts", "good"), [(None, False), (0, False), (1, True)])
def test_restarts_while_waiting_are_tolerated_as_often_as_asked(run_module, monkeypatch, restarts, good):
    class Restarting(NotRunning):
        def __init__(self):
            super().__init__()
            self.looks = 0

        def states(self, _services):
            self.looks += 1
            return {"u": base.state("running", up=True, start_id=min(self.looks, 3), since=1.0)}

        def outdated(self, _service, _found):
            return False

        def log(self, _service, _lines):
            return ""

    runtime = Restarting()
    answers = iter([False, True])
    monkeypatch.setattr(service_state, "runtime_of", lambda name, settings: runtime)
    monkeypatch.setattr(
        service_state.Waiter.__init__, "__defaults__", (0, 0.0, lambda url: next(answers), time.monotonic, time.sleep)
    )
    given = {} if restarts is None else {"restarts": restarts}
    service = {"name": "a", "unit": "u", "url": "http://x"}
    found = run_module("service_state", runtime="x", settings={}, services=[service], wait=True, **given)
    assert found["failed"] is not good, found


def test_a_failed_service_is_explained_above_its_log():
    class Runtime:
        def states(self, wanted):
            return {"u": state("failed", detail="exit code 1")}

        def log(self, service, lines):
            return "RuntimeError: NPU out of memory\n" + "INFO\n" * (lines - 2) + "engine core failed"

    service = {"name": "decode-0", "unit": "u", "url": "http://x/health", "timeout": 5}
    found = service_state.waited(Runtime(), {"services": [service], "restarts": 0, "lines": 3})
    assert found["logs"] == {"decode-0": "INFO\nINFO\nengine core failed"}
    assert [cause["id"] for cause in found["causes"]["decode-0"]] == ["LOG-NPU-MEMORY"]
    lines = service_state.message(found, {}).splitlines()
    assert lines[0] == "decode-0 is not running: failed exit code 1"
    assert lines[1].startswith("Likely cause: the device has no memory left") and lines[4].startswith(
        "  Fix: Set quant"
    )
    assert lines[5:] == ["INFO", "INFO", "engine core failed"]


def test_failures_are_listed_by_name():
    found = {
        "failed_services": {"b": "is off", "a": "is on"},
        "logs": {"a": "x", "b": "y"},
        "causes": {"a": [], "b": []},
    }
    assert service_state.message(found, {}) == "a is on\nx\n\nb is off\ny"


def test_units_of_the_site_that_are_part_of_the_target_stay(host, run_module):
    """A site may tie an exporter to the deployment; and a target of the deployment's name may be older than the collection."""
    for name in ("exporter.service", TARGET):
        (host.units / name).write_text(f"[Unit]\nPartOf={TARGET}\n")
    host.file("x-old.service")
    host.say({name: {"LoadState": "loaded"} for name in ("exporter.service", "x-old.service", TARGET)})
    settings = {"target": TARGET, "directory": str(host.units)}
    result = run_module("service_state", runtime="systemd", settings=settings, services=[], state="absent")
    assert not result["failed"], result
    assert {path.name for path in host.units.iterdir()} == {"exporter.service", TARGET}
    assert not [call for call in host.calls() if "exporter" in call or TARGET in call.split()]
