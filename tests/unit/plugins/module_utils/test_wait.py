# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait looks at processes and URLs together; both are played by tables here, and so is the clock."""

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime import (
    base,
    decisions,
    supervisor,
    systemd,
)
from ansible_collections.ascend.inference.plugins.module_utils.runtime import (
    wait as waiting,
)
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeProblem, state
from ansible_collections.ascend.inference.plugins.module_utils.runtime.wait import Waiter
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply


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


def test_the_timeout_is_the_last_moment_that_is_waited_for():
    (ready, failed), now = wait(Runtime({"a": UP}), {"a": 10}, [service("a", timeout=10)])
    assert (ready, failed, now) == ({"a": 10.0}, {}, 10.0)
    assert wait(Runtime({"a": UP}), {}, [service("a", timeout=10)])[1] == 11.0
    assert wait(Runtime(), {}, []) == (({}, {}), 0.0)


@pytest.mark.parametrize(
    ("reply", "good"),
    [(Reply(200, "", 0.0, ""), True), (Reply(204, "", 0.0, ""), False), (Reply(200, "", 0.0, "cut"), False)],
)
def test_what_counts_as_ready(monkeypatch, reply, good):
    asked = []
    monkeypatch.setattr(waiting, "ask", lambda target, path, timeout: asked.append((target, path, timeout)) or reply)
    assert waiting.answers("https://n1/health") is good
    target, path, timeout = asked[0]
    assert (target.url, target.validate_certs, path, timeout) == ("https://n1/health", False, "", 5.0)


def test_healthy_are_those_that_answer_or_have_nothing_to_ask():
    known = [{"name": "a", "url": "x"}, {"name": "b", "url": "y"}, {"name": "c", "url": ""}, {"name": "d"}]
    found = waiting.healthy(known, lambda url: url == "y")
    assert [item["name"] for item in found] == ["b", "c", "d"]


def decided_service(tmp_path, digest="d", newer=()):
    return {"name": "a", "unit": "a", "digest": digest, "digest_file": str(tmp_path / "a.digest"), "newer": list(newer)}


@pytest.mark.parametrize(
    ("written", "digest", "old"),
    [("d\n", "d", False), ("e\n", "d", True), (None, "d", True), (None, "", False), ("e", "", False)],
)
def test_a_service_with_another_digest_is_outdated(tmp_path, written, digest, old):
    if written is not None:
        (tmp_path / "a.digest").write_text(written)
    assert decisions.outdated(decided_service(tmp_path, digest), state("running", True)) is old


@pytest.mark.parametrize(("age", "old"), [(0.0, False), (1.0, False), (1.5, True), (-5.0, False)])
def test_a_file_that_changed_after_the_start_outdates(tmp_path, age, old):
    (tmp_path / "key").write_text("")
    os.utime(str(tmp_path / "key"), (1000 + age, 1000 + age))
    for by_file in (True, False):  # the start by the digest file, else by the runtime
        if by_file:
            (tmp_path / "a.digest").write_text("d")
            os.utime(str(tmp_path / "a.digest"), (1000, 1000))
        else:
            (tmp_path / "a.digest").unlink()
        found = decided_service(tmp_path, "d" if by_file else "", [str(tmp_path / "none"), str(tmp_path / "key")])
        assert decisions.outdated(found, state("running", True, since=9e9 if by_file else 1000.0)) is old
    assert decisions.began(found, state("running", True)) == 0.0


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("started", (["down", "gone", "pending"], ["old", "special"], [])),
        ("restarted", (["down", "gone", "pending"], ["fresh", "old", "special"], [])),
        ("stopped", ([], [], ["fresh", "old", "special", "pending"])),
    ],
)
def test_what_is_started_restarted_and_stopped(tmp_path, wanted, expected):
    (tmp_path / "good").write_text("d")
    names = ("down", "fresh", "gone", "old", "special", "pending")
    known = [
        {"unit": name, "digest": "e" if name == "old" else "d", "digest_file": str(tmp_path / "good"), "newer": []}
        for name in names
    ]
    states = {name: state("running", True) for name in ("fresh", "old", "special")}
    states.update(down=state("exited"), pending=state("restarting", pending=True))
    found = decisions.decide(wanted, known, states, lambda item, _state: item["unit"] == "special")
    assert tuple([item["unit"] for item in part] for part in found) == expected


def test_the_difference_has_a_line_for_each_service(tmp_path):
    (tmp_path / "good").write_text("old")
    start, again, stop = ({"unit": unit, "digest": "new", "digest_file": str(tmp_path / "good")} for unit in "abc")
    found = decisions.difference({"b": UP, "c": UP}, [start], [again], [stop])
    assert found == {
        "before": "a absent \nb running old\nc running \n",
        "after": "a running new\nb running new\nc stopped new\n",
    }


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (
            {"ActiveState": "active", "SubState": "running", "NRestarts": "2", "UnitFileState": "enabled"},
            ("running", True, False, 2, 2, ""),
        ),
        (
            {"ActiveState": "activating", "SubState": "start"},
            ("running", True, False, None, None, "is not enabled: it is not started after a reboot"),
        ),
        (
            {"ActiveState": "reloading", "SubState": "x", "UnitFileState": "enabled"},
            ("running", True, False, None, None, ""),
        ),
        (
            {"ActiveState": "activating", "SubState": "auto-restart", "NRestarts": "1"},
            ("activating (auto-restart)", False, True, 1, 1, "result ?"),
        ),
        (
            {"ActiveState": "activating", "SubState": "auto-restart-queued"},
            ("activating (auto-restart-queued)", False, True, None, None, "result ?"),
        ),
        (
            {"ActiveState": "failed", "SubState": "failed", "Result": "oom-kill"},
            ("failed (failed)", False, False, None, None, "result oom-kill"),
        ),
        (
            {"LoadState": "not-found", "ActiveState": "inactive", "NRestarts": "0"},
            ("absent", False, False, 0, None, ""),
        ),
    ],
)
def test_the_state_of_a_unit(shown, expected):
    found = systemd._state(shown)
    assert tuple(found[key] for key in ("state", "up", "pending", "start_id", "restarts", "detail")) == expected
    assert found["since"] is None


def test_when_a_unit_began():
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    found = systemd._state({"ActiveState": "active", "ActiveEnterTimestampMonotonic": str(int((now - 50) * 1e6))})
    assert found["since"] == pytest.approx(time.time() - 50, abs=5)


def unit_folder(tmp_path, **files):
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text)
    called = []

    def run(argv, timeout=60):
        called.append((argv, timeout))
        shown = "LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nNeedDaemonReload=no"
        return 0, "\n\n".join([shown] * len(argv[argv.index("--") + 1 :])) if "show" in argv else ""

    return systemd.Systemd({"target": "x.target", "directory": str(tmp_path)}, run), called


OURS = "# Written by ascend.inference.\nPartOf=x.target\n"


def test_units_of_ours_are_known_by_mark_and_target(tmp_path):
    runtime, called = unit_folder(
        tmp_path,
        b__service=OURS,
        a__service=OURS,
        c__service="PartOf=x.target\n",
        d__service=OURS.replace("x.", "xx."),
        e__timer=OURS,
    )
    (tmp_path / "f.service").symlink_to("none")
    assert runtime.own() == ["a.service", "b.service"]
    changed, registered, old = runtime.apply([{"unit": "a.service"}], True)
    assert (changed, registered, old) == (True, [], ["b.service"]) and not [
        argv for argv, dummy in called if "disable" in argv
    ]
    assert runtime.apply([{"unit": "a.service"}], True, remove=False)[0] is False
    del called[:]
    runtime.apply([{"unit": "a.service", "stop_timeout": 300}], False)
    orders = [argv[1:] for argv, _timeout in called if "show" not in argv]
    assert orders == [["disable", "--now", "b.service"], ["daemon-reload"], ["reset-failed", "b.service"]]
    assert dict((argv[1], timeout) for argv, timeout in called)["disable"] == 420
    assert not (tmp_path / "b.service").exists() and (tmp_path / "c.service").exists()


def test_orders_of_all_units_are_one_command(tmp_path):
    runtime, called = unit_folder(tmp_path, a__service=OURS, b__service=OURS)
    runtime.stop([])
    assert called == []
    for verb in ("start", "restart", "stop"):
        getattr(runtime, verb)([{"unit": "a.service"}, {"unit": "b.service", "stop_timeout": 100}])
        assert called[-2][0] == ["systemctl", "reset-failed", "a.service", "b.service"]
        assert called[-1] == (["systemctl", verb, "a.service", "b.service"], 220)


@pytest.mark.parametrize(("stop_timeouts", "seconds"), [([], 180), ([None, 0], 180), ([60], 180), ([61, 10], 181)])
def test_the_time_that_a_stop_may_take(stop_timeouts, seconds):
    assert base.stop_time([{"stop_timeout": one} for one in stop_timeouts]) == seconds


def test_a_command_of_a_runtime_prints_both_streams_in_plain_words(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("KEPT", "1")
    code, text = base.command(["sh", "-c", 'echo $LC_ALL $SYSTEMD_COLORS "$SYSTEMD_PAGER" $KEPT; echo err >&2; exit 3'])
    assert (code, text) == (3, "C 0  1\nerr\n")


def test_a_command_of_a_runtime_that_hangs_or_is_missing_is_a_problem():
    with pytest.raises(RuntimeProblem, match=r"^sleep 60 exceeded its timeout of 0.2 s$"):
        base.command(["sleep", "60"], 0.2)
    with pytest.raises(RuntimeProblem, match="/nowhere/x cannot be started"):
        base.command(["/nowhere/x"])


def test_a_command_of_a_runtime_has_a_minute_and_may_print_as_much_as_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(base, "execute", lambda *given, **more: asked.append((given[1], more)) or Done())
    assert base.command(["x"]) == base.command(["x"], 5, 7) == (0, "")
    assert asked == [(60, {"merged": True, "most": None}), (5, {"merged": True, "most": 7})]


class Done:
    """The end of a command."""

    rc, stdout, timed_out = 0, "", False


def test_the_start_of_systemd_s_target_is_the_last_step(tmp_path):
    calls = []
    shown = {"x.target": "inactive", "a.service": "active"}

    def run(argv, timeout=60):
        calls.append(argv[1:])
        if argv[1] != "show":
            return 0, ""
        units = argv[argv.index("--") + 1 :]
        return 0, "\n\n".join(f"LoadState=loaded\nActiveState={shown[unit]}\nSubState=x" for unit in units)

    (tmp_path / "a.service").write_text(OURS)
    runtime = systemd.Systemd({"target": "x.target", "directory": str(tmp_path)}, run)
    for check in (True, False):
        assert runtime.complete(check) is True
    assert [argv for argv in calls if argv[0] != "show"] == [["start", "x.target"]]
    shown["a.service"] = "failed"
    assert runtime.complete(False) is False, "an earlier start would ignore the stages"
    shown.update({"x.target": "active", "a.service": "active"})
    assert runtime.complete(False) is False


def test_processes_of_units_that_run(tmp_path):
    answers = {"a": "71\n", "b": "0\n", "c": "\n"}
    asked = []

    def run(argv, timeout=60):
        asked.append(argv)
        return 0, answers[argv[-1]]

    runtime = systemd.Systemd({"target": "x.target", "directory": str(tmp_path)}, run)
    assert runtime.pids([{"unit": name} for name in "abc"]) == {"a": 71}
    assert asked[0] == ["systemctl", "show", "--property=MainPID", "--value", "--", "a"]
    assert runtime.show([]) == {} and len(asked) == 3
    answers["a"] = "LoadState=loaded\n"
    with pytest.raises(RuntimeProblem, match="systemctl show returned 1 of 2 units"):
        runtime.show(["b", "a"])


def test_a_systemd_that_refuses_is_a_problem_with_its_words(tmp_path):
    runtime = systemd.Systemd({"target": "x", "directory": str(tmp_path / "none")}, lambda *given: (4, " denied \n"))
    with pytest.raises(RuntimeProblem, match="^systemctl start a exited with 4: denied$"):
        runtime.start([{"unit": "a"}])
    assert runtime.own() == []


@pytest.mark.parametrize(
    ("properties", "check", "orders"),
    [
        ("NeedDaemonReload=no\nUnitFileState=enabled", False, []),
        ("NeedDaemonReload=yes\nUnitFileState=enabled", False, [["daemon-reload"]]),
        ("NeedDaemonReload=no\nUnitFileState=disabled", False, [["enable", "a", "x.target"]]),
        ("NeedDaemonReload=yes\nUnitFileState=", False, [["daemon-reload"], ["enable", "a", "x.target"]]),
        ("NeedDaemonReload=yes\nUnitFileState=", True, []),
    ],
)
def test_units_are_read_again_and_enabled_where_they_are_not(tmp_path, properties, check, orders):
    calls = []

    def run(argv, timeout=60):
        calls.append(argv[1:])
        shown = f"LoadState=loaded\nActiveState=active\n{properties}"
        return 0, "\n\n".join([shown] * len(argv[argv.index("--") + 1 :])) if argv[1] == "show" else ""

    runtime = systemd.Systemd({"target": "x.target", "directory": str(tmp_path)}, run)
    changed, enabled, old = runtime.apply([{"unit": "a"}], check)
    assert changed is ("yes" in properties or "UnitFileState=enabled" not in properties)
    assert enabled == ([] if "UnitFileState=enabled" in properties else ["a", "x.target"]) and old == []
    assert [argv for argv in calls if argv[0] != "show"] == orders


@pytest.mark.parametrize(("age", "old"), [(0, False), (1, False), (3, True)])
def test_a_unit_that_was_written_after_its_start_is_outdated(tmp_path, age, old):
    runtime = systemd.Systemd({"target": "x.target", "directory": str(tmp_path)}, None)
    service = {"unit": "a.service", "digest_file": ""}
    assert runtime.outdated(service, state("running", True, since=1000.0)) is False, "there is no unit"
    (tmp_path / "a.service").write_text("")
    os.utime(str(tmp_path / "a.service"), (1000 + age, 1000 + age))
    assert runtime.outdated(service, state("running", True, since=1000.0)) is old


def test_the_last_lines_of_a_unit_s_journal_are_its_log(tmp_path):
    asked = []
    runtime = systemd.Systemd({"target": "x", "directory": ""}, lambda argv: asked.append(argv) or (1, "text"))
    assert runtime.log({"unit": "a.service"}, 7) == "text"
    assert asked == [["journalctl", "--no-pager", "--output=cat", "--unit=a.service", "--lines=7"]]


def test_the_last_lines_of_a_file(tmp_path):
    path = tmp_path / "log"
    path.write_text("".join(f"{number}{'x' * 300}\n" for number in range(50)))
    lines = base.tail(str(path), 3).splitlines()
    assert [line.rstrip("x") for line in lines] == ["47", "48", "49"]
    assert base.tail(str(tmp_path / "none"), 3).startswith("([Errno 2]")


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (("RUNNING", 7, 5), ("running", True, False, 7, 5, "")),
        (("STARTING", 7, 0), ("running", True, False, 7, None, "")),
        (("STARTING", 0, 0), ("starting", True, False, 0, None, "why")),
        (("BACKOFF", 0, 5), ("restarting", False, True, 0, 5, "why")),
        (("FATAL", 0, 5), ("fatal", False, False, 0, 5, "why")),
        (("EXITED", 0, 5), ("exited", False, False, 0, 5, "why")),
    ],
)
def test_the_state_of_a_program(info, expected):
    name, pid, start = info
    found = supervisor._state({"state": name, "pid": pid, "start": start, "detail": "why"}, 4)
    assert tuple(found[key] for key in ("state", "up", "pending", "start_id", "since", "detail")) == expected
    assert found["restarts"] == 4
