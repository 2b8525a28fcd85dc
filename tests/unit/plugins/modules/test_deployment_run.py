# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module deployment_run: one run at a time holds a deployment's lock, and only its holder releases it."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import left
from ansible_collections.ascend.inference.plugins.module_utils.files import begun, deployment_lock, journal
from ansible_collections.ascend.inference.plugins.module_utils.tools import file_lock

FIRST = {"id": "first", "owner": "anna", "controller": "bastion", "since": "2026-11-22T02:00:00Z"}
SECOND = {**FIRST, "id": "second", "owner": "bert"}


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "root" / "deployments" / "sample")


@pytest.fixture
def call(run_module, directory):
    def made(state, run, check=False, **options):
        return run_module("deployment_run", check=check, directory=directory, state=state, run=run, **options)

    return made


def test_the_second_run_is_told_who_holds_the_lock(call):
    assert call("begin", FIRST)["holder"] == FIRST
    assert call("begin", FIRST)["holder"] == FIRST, "a run may begin twice"
    answer = call("begin", SECOND)
    assert answer["holder"] == FIRST and not answer["changed"]
    call("end", SECOND)
    assert call("begin", SECOND)["holder"] == FIRST, "only its holder releases it"
    call("end", FIRST)
    assert call("begin", SECOND)["holder"] == SECOND


def test_what_is_recorded_is_read_under_the_lock(call, directory, monkeypatch):
    """Another run may end, and record its plan, until this one holds the lock."""
    held = []
    monkeypatch.setattr(journal, "previous", lambda *_given: held.append(deployment_lock.holder_of(directory)) or {})
    call("begin", FIRST, previous="upgrade")
    assert held == [FIRST]


def test_a_lock_whose_journal_cannot_be_read_is_released(call, directory, monkeypatch):
    """The first host of a change fails then, and nobody else knows that it was locked."""

    def unreadable(*_given):
        raise OSError("Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(journal, "previous", unreadable)
        assert call("begin", FIRST, previous="upgrade")["failed"]
    assert deployment_lock.holder_of(directory) == {}
    call("begin", SECOND)
    monkeypatch.setattr(journal, "previous", unreadable)
    assert call("begin", FIRST, previous="upgrade")["failed"]
    assert deployment_lock.holder_of(directory) == SECOND


def test_only_the_named_run_loses_its_lock(call):
    call("begin", FIRST)
    assert call("begin", SECOND, replace="another")["holder"] == FIRST
    assert call("begin", SECOND, replace="first")["holder"] == SECOND
    call("end", FIRST)
    assert call("begin", FIRST)["holder"] == SECOND


def test_nothing_is_left_after_the_end(call, directory):
    call("begin", FIRST)
    call("end", FIRST)
    assert os.listdir(os.path.dirname(directory)) == []


def test_nothing_is_left_by_two_ends_at_once(call, directory, monkeypatch):
    """Hosts with one folder end at once: the second one waits for the guard while the first one removes the file."""
    call("begin", FIRST)
    path, waits = deployment_lock.path_of(directory), threading.Event()

    class Waiting(file_lock.FileLock):
        def __enter__(self):
            waits.set()
            return super().__enter__()

    with file_lock.FileLock(path, 1):
        monkeypatch.setattr(deployment_lock, "FileLock", Waiting)
        second = threading.Thread(target=deployment_lock.release, args=(directory, "first"))
        second.start()
        assert waits.wait(10)
        os.unlink(path)
    second.join(10)
    assert not second.is_alive() and not os.path.exists(path)


def test_check_mode_locks_nothing(call, directory):
    assert call("begin", FIRST, check=True)["holder"] == {}
    assert not os.path.exists(os.path.dirname(directory))
    call("begin", FIRST)
    assert call("end", FIRST, check=True)["holder"] == FIRST
    assert call("begin", SECOND, check=True)["holder"] == FIRST


def test_nothing_is_made_on_a_host_without_deployments(call, directory):
    assert call("begin", FIRST, make=False)["holder"] == FIRST
    call("end", FIRST)
    assert not os.path.exists(os.path.dirname(directory))


def test_a_run_notes_its_step_in_its_own_lock_only(call, directory):
    assert call("note", FIRST, step="step 1 of 2: Ask")["holder"] == {}
    assert not os.path.exists(deployment_lock.path_of(directory)), "what nobody locked stays so"
    call("begin", FIRST)
    assert call("note", SECOND, step="step 1 of 2: Ask")["holder"] == FIRST
    assert call("note", FIRST, check=True, step="step 1 of 2: Ask")["holder"] == FIRST
    noted = {
        "step": "step 2 of 2: Give",
        "script": [{"step": "Ask", "state": "done"}, {"step": "Give", "state": "begun"}],
    }
    assert call("note", FIRST, **noted)["holder"] == {**FIRST, **noted}
    assert call("end", FIRST)["holder"] == {}


def test_a_script_that_no_reader_of_the_lock_would_read_whole_is_left_out(call, directory):
    """A record that is cut off holds nobody up: another run would take the lock of this one."""
    call("begin", FIRST)
    rows = [
        {"step": f"Take decode-{number} out of the routers (n{number})", "state": "open"} for number in range(20000)
    ]
    noted = {"step": "step 1 of 20000: Take decode-0 out of the routers"}
    assert call("note", FIRST, **noted, script=rows)["holder"] == {**FIRST, **noted}
    assert call("begin", SECOND)["holder"] == {**FIRST, **noted}
    assert call("note", FIRST, **noted, script=rows[:9])["holder"] == {**FIRST, **noted, "script": rows[:9]}
    assert call("end", FIRST)["holder"] == {}


@pytest.mark.parametrize("text", ["", "{", '{"owner": "x"}'])
def test_a_lock_that_was_interrupted_while_it_was_taken_holds_nobody_up(call, directory, text):
    call("begin", FIRST)
    with open(deployment_lock.path_of(directory), "w", encoding="utf-8") as stream:
        stream.write(text)
    assert call("begin", SECOND)["holder"] == SECOND


def contend(directory, number, barrier, queue):
    barrier.wait()
    try:
        queue.put(deployment_lock.take(directory, {"id": str(number)})["id"])
    except OSError as error:
        queue.put(str(error))


@pytest.mark.parametrize("attempt", range(10))
def test_of_many_runs_at_once_one_gets_the_lock(directory, attempt):
    context = multiprocessing.get_context("fork")
    barrier, queue = context.Barrier(8), context.Queue()
    workers = [context.Process(target=contend, args=(directory, number, barrier, queue)) for number in range(8)]
    for worker in workers:
        worker.start()
    found = {queue.get(timeout=60) for _worker in workers}
    for worker in workers:
        worker.join()
    assert len(found) == 1 and found < set("01234567")


def test_a_folder_that_another_run_has_just_made_is_not_replaced(directory, monkeypatch):
    """It may be making its lock there."""
    parent = os.path.dirname(directory)
    os.makedirs(parent)
    before, known = os.stat(parent).st_ino, os.path.isdir
    late = [parent]
    monkeypatch.setattr(os.path, "isdir", lambda path: known(path) and not (path in late and not late.remove(path)))
    deployment_lock.take(directory, FIRST)
    assert os.stat(parent).st_ino == before


def test_a_system_folder_is_refused(run_module):
    done = run_module("deployment_run", directory="/usr/deployments/x", state="begin", run=FIRST)
    assert done["failed"] and "is a folder of the system" in done["msg"]


def test_a_link_in_place_of_the_lock_is_not_followed(call, directory, tmp_path):
    os.makedirs(os.path.dirname(directory))
    (tmp_path / "victim").write_text("precious")
    os.symlink(tmp_path / "victim", deployment_lock.path_of(directory))
    assert call("begin", FIRST)["failed"]
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_lock_that_its_holder_removes_meanwhile_is_taken_anew(tmp_path):
    path = str(tmp_path / "lock")
    with file_lock.FileLock(path, 0):
        os.unlink(path)
        with file_lock.FileLock(path, 0) as second:
            assert second.text() == ""


def test_who_holds_a_lock_is_said(tmp_path):
    path = str(tmp_path / "lock")
    with file_lock.FileLock(path, 0) as lock:
        lock.sign()
        with pytest.raises(file_lock.Busy, match=rf"held by process {os.getpid()} on "), file_lock.FileLock(
            path, 0.1, 0.01
        ):
            pass


def test_an_interrupted_change_is_named_by_its_plan(call, directory):
    os.makedirs(directory)
    found = call("begin", FIRST, previous="upgrade")
    assert (found["phase"], found["interrupted"]) == ("", "")
    for phase, interrupted in (("changing", "6c48"), ("deployed", "")):
        journal.note(directory, phase, {"digest": "6c48", "release": "1"}, FIRST)
        found = call("begin", FIRST, previous="upgrade")
        assert (found["phase"], found["interrupted"]) == (phase, interrupted)


def test_a_slash_behind_the_folder_locks_the_same(call, run_module, directory):
    found = run_module("deployment_run", directory=directory + "/", state="begin", run=FIRST)
    assert found["holder"] == FIRST and call("begin", SECOND)["holder"] == FIRST
    assert run_module("deployment_run", directory=directory + "//", state="end", run=FIRST)["holder"] == {}
    assert call("begin", SECOND)["holder"] == SECOND


def test_the_end_says_who_holds_the_lock_then(call):
    call("begin", FIRST)
    assert call("end", SECOND)["holder"] == FIRST and call("end", FIRST)["holder"] == {}


def test_an_upgrade_learns_which_plan_runs_that_was_never_verified(call, directory):
    os.makedirs(directory)

    def found(phase, digest):
        with journal.Folder(directory) as folder:
            folder.write(journal.PLAN, {"digest": digest})
        journal.note(directory, phase, {"digest": digest}, FIRST)
        return call("begin", FIRST, previous="upgrade")["unverified"]

    assert found("deployed", "d-1") == {}, "nothing else was ever verified"
    journal.verified(directory, "d-1", FIRST)
    assert found("deployed", "d-1") == {}
    assert found("deployed", "d-2") == {"digest": "d-2"}
    assert found("changing", "d-2") == {}, "it is not known what runs"
    assert "unverified" not in call("begin", FIRST, previous="rollback")


@pytest.mark.parametrize("previous", ["", "upgrade", "rollback", "verified"])
def test_what_is_known_of_the_last_changes_is_returned_on_request(call, directory, previous):
    os.makedirs(directory)
    keys = {"previous", "phase", "half", "revisions", "interrupted"}
    for number, digest in enumerate(("d-1", "d-2")):
        with journal.Folder(directory) as folder:
            folder.write(journal.PLAN, {"digest": digest, "revision": f"r-{number}"})
        journal.note(directory, "deployed", {"digest": digest}, FIRST)
        journal.verified(directory, digest, FIRST)
    found = call("begin", FIRST, **({"previous": previous} if previous else {}))
    assert set(found) & keys == (keys if previous else set()) and "verified" not in found
    if previous:
        assert found["previous"]["digest"] == {"upgrade": "d-2", "rollback": "d-1", "verified": "d-2"}[previous]
        assert found.get("last", {}).get("digest") == {"rollback": "d-2"}.get(previous), (
            "for hosts that a change did not reach"
        )
        assert (found["phase"], found["half"], found["revisions"], found["interrupted"]) == ("verified", "", [], "")
    journal.note(directory, "changing", {"digest": "d-3", "half": "first", "revision": "r-9"}, FIRST)
    found = call("end", FIRST, check=True, previous="upgrade")
    about = {"phase": "changing", "half": "first", "revisions": ["r-1", "r-9"], "interrupted": "d-3"}
    assert {key: found[key] for key in about} == about and found["previous"]["digest"] == "d-2"


def test_a_damaged_journal_makes_everything_unknown_and_says_how_it_is_mended(call, directory):
    os.makedirs(directory)
    with open(os.path.join(directory, journal.JOURNAL), "w") as stream:
        stream.write("{")
    found = call("begin", FIRST, previous="upgrade")
    assert found["failed"] and f"{directory}/journal.json is damaged, so it is not known" in found["msg"]
    assert found["msg"].startswith(f"Lock of {directory}: ") and "Fix: run deploy with the settings" in found["msg"]
    assert call("begin", SECOND, check=True)["failed"] and deployment_lock.holder_of(directory) == {}
    found = call("begin", FIRST, previous="upgrade", accept_half=True)
    assert (found["half"], found["interrupted"], found["revisions"]) == ("unknown", "unknown", ["unknown"])
    (warning,) = found["warnings"]
    assert "is damaged" in warning and "write the file again with the plan that is deployed" in warning
    assert call("begin", FIRST)["failed"], "it is still damaged"
    call("begin", FIRST, accept_half=True)
    found = call("begin", SECOND)
    assert (found["holder"], found["warnings"]) == (FIRST, []), "who does not get the lock is told who has it"
    (unrecorded,) = call("end", FIRST, verified="d-1")["warnings"]
    assert "is damaged" in unrecorded and "Fix: run deploy, then verify again" in unrecorded
    os.unlink(os.path.join(directory, journal.JOURNAL))
    assert call("begin", FIRST, accept_half=True)["warnings"] == []


@pytest.mark.parametrize(
    ("check", "run", "options", "noted"),
    [
        (False, FIRST, {}, ["n0", "n1", "n2"]),
        (True, FIRST, {}, ["n0"]),
        (False, SECOND, {}, ["n0"]),
        (False, SECOND, {"replace": "first"}, ["n0", "n1", "n2"]),
        (False, FIRST, {"hosts": []}, ["n0"]),
    ],
    ids=["its own", "check mode", "another run", "instead of another run", "no hosts"],
)
def test_hosts_of_a_run_are_noted_by_the_one_that_holds_the_lock(call, directory, check, run, options, noted):
    os.makedirs(directory)
    call("begin", FIRST, hosts=["n0"])
    call("begin", run, check=check, **dict({"hosts": ["n2", "n1"]}, **options))
    assert begun.read(directory) == noted


@pytest.mark.parametrize(
    ("state", "run", "check", "stays"),
    [
        ("begin", FIRST, False, False),
        ("begin", FIRST, True, True),
        ("begin", SECOND, False, True),
        ("end", FIRST, False, False),
        ("end", FIRST, True, True),
        ("end", SECOND, False, True),
    ],
)
def test_a_drill_that_was_interrupted_is_ended_by_the_one_that_holds_the_lock(
    call, directory, state, run, check, stays
):
    os.makedirs(directory)
    call("begin", FIRST)
    left.note(directory, "kill", {"etcd-0": []})
    found = call(state, run, check=check)
    assert os.path.exists(os.path.join(directory, journal.LEFT)) is stays
    said = [text for text in found["warnings"] if "A drill that hit etcd-0 was interrupted here" in text]
    assert len(said) == (1 if state == "begin" and not stays else 0)


def test_a_full_disk_is_named_with_its_free_space(call, directory, monkeypatch):
    def full(*_arguments):
        raise OSError(28, "No space left on device", "x\x1b")

    monkeypatch.setattr(deployment_lock, "take", full)
    found = call("begin", FIRST)
    assert found["failed"] and "MiB free" in found["msg"] and "\x1b" not in found["msg"]


def test_a_lock_that_is_not_released_in_time_is_no_traceback(call, monkeypatch):
    def busy(*_arguments):
        raise file_lock.Busy("held by process 7")

    monkeypatch.setattr(deployment_lock, "take", busy)
    found = call("begin", FIRST)
    assert found["failed"] and found["msg"].endswith(": held by process 7")


def test_a_plan_is_noted_as_verified_by_the_end_only(call, directory):
    os.makedirs(directory)
    with journal.Folder(directory) as folder:
        folder.write(journal.PLAN, {"digest": "d-1"})
    assert "verified" not in call("begin", FIRST, verified="d-1") and "verified" not in call("end", FIRST)
    found = call("end", FIRST, check=True, verified="d-1")
    assert "verified" not in found and journal.previous(directory, "verified") == {}
    found = call("end", FIRST, verified="d-1")
    assert (found["verified"], found["warnings"], found["changed"]) == (True, [], False)
    assert journal.previous(directory, "verified") == {"digest": "d-1"}
    assert journal.read(directory)["run"] == {key: FIRST[key] for key in ("id", "owner", "controller")}


def test_check_mode_releases_no_lock(call, directory):
    os.makedirs(directory)
    call("begin", FIRST)
    journal.note(directory, "changing", {"digest": "d-3", "half": "first"}, FIRST)
    found = call("begin", FIRST, check=True)
    assert found["failed"] and "the first half" in found["msg"] and deployment_lock.holder_of(directory) == FIRST
    assert call("begin", FIRST)["failed"] and deployment_lock.holder_of(directory) == {}
