# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drill whose module and guard were killed leaves a record; the next run that locks the deployment ends the fault."""

from __future__ import annotations

import json
import os
import signal

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import left, processes
from ansible_collections.ascend.inference.plugins.module_utils.files import journal
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import state
from ansible_collections.ascend.inference.plugins.modules import deployment_run, service_fault, service_status
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.runs import RUN, begin
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_drill import (
    SERVICE,
    Runtime,
    stopped,
    until,
)


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "deployments/inference"
    folder.mkdir(parents=True, mode=0o755)
    return folder


def record(base):
    path = base / journal.LEFT
    return json.loads(path.read_text()) if path.exists() else {}


def fault(base, monkeypatch, pid, action="pause", recovered=1.0, **more):
    """The module, whose result of the wait is given."""
    given = {"runtime": "", "settings": {}, "services": [SERVICE], "part": "main", "action": action, "timeout": 1}
    params = {**given, "seconds": 0.01, "times": 1, "directory": str(base)}
    monkeypatch.setattr(service_fault, "runtime_of", lambda *unused: Runtime(pid, [state("running", True, start_id=1)]))
    monkeypatch.setattr(service_fault, "recovered", lambda *unused: {"decode-0": recovered})
    for name, function in more.items():
        monkeypatch.setattr(service_fault, name, function)
    return service_fault.run(type("Module", (), {"params": params, "check_mode": False}))


def test_the_record_is_there_before_the_fault_and_gone_after_the_recovery(base, monkeypatch, family):
    seen = []
    fault(base, monkeypatch, family.pid, pause=lambda *unused: seen.append(record(base)))
    (known,) = seen
    assert (
        known["action"] == "pause" and [family.pid, processes.read(family.pid).started] in known["services"]["decode-0"]
    )
    assert record(base) == {}


def test_a_service_that_did_not_come_back_stays_on_record(base, monkeypatch, family):
    fault(base, monkeypatch, family.pid, "kill", recovered=None, kill=lambda *unused: None)
    assert record(base)["action"] == "kill"
    (text,) = begin(base)["warnings_"]
    assert "A drill that hit decode-0 was interrupted here; they had been killed. Fix: run status" in text
    assert record(base) == {} and begin(base)["warnings_"] == []


def test_the_next_run_continues_what_is_paused(base, family):
    victims = processes.tree(family.pid)
    left.note(str(base), "pause", {"decode-0": victims})
    for item in victims:
        os.kill(item.pid, signal.SIGSTOP)
    until(lambda: all(stopped(item.pid) for item in victims))
    given = {"previous": "", "accept_half": True, "make": True, "replace": "", "verified": "", "hosts": []}
    deployment_run.work({**given, "directory": str(base), "state": "begin", "run": RUN}, True)
    assert stopped(family.pid) and record(base), "check mode changes nothing"
    begin(base, run={**RUN, "id": "other"})
    until(lambda: not any(stopped(item.pid) for item in victims))
    assert record(base) == {}


def test_status_names_what_a_drill_paused_while_it_is_paused(base, family):
    victims = processes.tree(family.pid)
    left.note(str(base), "pause", {"decode-0": victims, "decode-1": []})
    assert service_status.drilled(str(base)) == [], "its time is over"
    for item in victims:
        os.kill(item.pid, signal.SIGSTOP)
    until(lambda: all(stopped(item.pid) for item in victims))
    (text,) = service_status.drilled(str(base))
    assert (
        "a drill has paused decode-0, " in text
        and "Fix: if no drill runs any more, run ascend.inference.deploy" in text
    )
    begin(base)
    until(lambda: not any(stopped(item.pid) for item in victims))
    assert service_status.drilled(str(base)) == []
    (base / journal.LEFT).write_text('{"services": [1]}')
    assert service_status.drilled(str(base)) == []


def test_a_run_that_does_not_get_the_lock_continues_nothing(base, family):
    begin(base, run={**RUN, "id": "other"})
    left.note(str(base), "pause", {"decode-0": processes.tree(family.pid)})
    begin(base)
    assert record(base), "the drill of the other run is still at work"


def test_another_process_with_the_same_id_is_left_alone(base, family):
    victims = [item._replace(started="1") for item in processes.tree(family.pid)]
    left.note(str(base), "pause", {"decode-0": victims})
    os.kill(family.pid, signal.SIGSTOP)
    until(lambda: stopped(family.pid))
    assert "0 of their processes were continued" in left.resume(str(base)) and stopped(family.pid)


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"action": "pause"}', '{"action": "pause", "services": {"a": [[1, "x"], [0], 3]}}']
)
def test_a_damaged_record_stops_no_run(base, content):
    (base / journal.LEFT).write_text(content)
    begin(base)
    left.forget(str(base))
    assert not (base / journal.LEFT).exists()


def test_without_a_folder_nothing_is_noted(tmp_path):
    left.note(str(tmp_path / "deployments/x"), "kill", {})
    left.forget(str(tmp_path / "deployments/x"))
    assert left.resume(str(tmp_path / "deployments/x")) == "" and list(tmp_path.iterdir()) == []


def test_a_drill_that_comes_to_its_end_leaves_no_record(base):
    begin(base)
    left.note(str(base), "kill", {"decode-0": []})
    begin(base, state="end", run={**RUN, "id": "other"})
    assert record(base), "another run has ended"
    begin(base, state="end")
    assert record(base) == {}


def test_no_record_reaches_the_first_process_or_one_with_a_reused_id(base, monkeypatch):
    """Ids of 1 and below mean init, groups, and everything; a process with another start is another one."""
    sent = []
    monkeypatch.setattr(left, "send", lambda found, number: sent.extend(found) or found)
    monkeypatch.setattr(left, "read", lambda pid: processes.Process(pid, 1, "engine", "1"))
    with journal.Folder(str(base)) as folder:
        rows = [[pid, "1"] for pid in (-1, 0, 1, 2)] + [[2, "2"], [2], "text", [None, "1"]]
        folder.write(journal.LEFT, {"action": "pause", "services": {"decode-0": rows}})
    assert "1 of their processes" in left.resume(str(base))
    assert [item.pid for item in sent] == [2]


@pytest.mark.parametrize(("services", "named"), [({"b": [], "a": []}, "a, b"), ({}, "services"), (7, "services")])
def test_the_sentence_about_a_drill_names_its_services(base, services, named):
    with journal.Folder(str(base)) as folder:
        folder.write(journal.LEFT, {"action": "kill", "services": services})
    assert left.resume(str(base)).startswith(f"A drill that hit {named} was interrupted here; they had been killed. ")
    assert left.resume(str(base)) == "" and not record(base)
