# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module deployment_run: one run at a time holds a deployment's lock, and only its holder releases it."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock, journal
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
