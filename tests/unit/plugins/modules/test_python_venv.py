# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module python_venv in processes of its own: two at once, and one that is killed at any moment."""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import venv
from ansible_collections.ascend.inference.plugins.module_utils.tools.file_lock import LOCK
from ansible_collections.ascend.inference.plugins.modules import python_venv

FORK = multiprocessing.get_context("fork")
# Stands for an interpreter: "-m venv PATH" takes a moment and makes what venv makes, in its order; an installation writes a file.
PYTHON = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  "-m venv "*)
    mkdir -p "$3/bin"; sleep 0.1; echo home >> "$3/pyvenv.cfg"; sleep 0.1; cp "$0" "$3/bin/python"; sleep 0.1 ;;
  *"pip install"*)
    sleep {pause}; echo installed > "${{0%/bin/python}}/package" ;;
esac
"""


@pytest.fixture
def host(tmp_path):
    """Options of the module, with an interpreter that takes ``pause`` seconds for an installation."""

    def made(pause=0.2, **more):
        program = tmp_path / "python3"
        program.write_text(PYTHON.format(log=tmp_path / "log", pause=pause))
        program.chmod(0o755)
        given = {"path": str(tmp_path / "venvs" / "engine"), "requirements": ["a==1"], "python": str(program), **more}
        return {**{name: option.get("default") for name, option in python_venv.ARGUMENTS.items()}, **given}

    return made


def work(params, queue=None):
    wish, answer = python_venv.wanted(params), ""
    try:
        answer = python_venv.build(params, wish)
    except Exception as error:
        answer = str(error)
    if queue:
        queue.put(answer)
    return answer


def installations(tmp_path):
    return (tmp_path / "log").read_text().count("pip install")


def test_two_at_once_build_once(host, tmp_path):
    queue = FORK.Queue()
    workers = [FORK.Process(target=work, args=(host(), queue)) for _number in range(2)]
    for worker in workers:
        worker.start()
    answers = [queue.get(timeout=60) for _worker in workers]
    for worker in workers:
        worker.join()
    assert sorted(answers, key=str) == [False, True] and installations(tmp_path) == 1
    assert venv.read_stamp(host()["path"], "base") == python_venv.wanted(host())


def test_one_that_cannot_wait_says_who_works(host, tmp_path):
    worker = FORK.Process(target=work, args=(host(pause=3),))
    worker.start()
    until((tmp_path / "venvs" / "engine" / "bin" / "python").exists)
    answer = work(host(pause=3, lock_timeout=0))
    worker.join()
    assert f"{LOCK} is held by process {worker.pid} on " in answer and "Fix: wait" in answer
    assert installations(tmp_path) == 1


def until(condition, patience=30):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def test_an_installer_that_outlives_its_module_keeps_the_lock(host, tmp_path):
    """A killed module's pip goes on writing; nothing else may build the environment as long as it does."""
    worker = FORK.Process(target=work, args=(host(pause=2),))
    worker.start()
    until(lambda: (tmp_path / "log").exists() and "pip install" in (tmp_path / "log").read_text())
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    assert "is held by" in work(host(lock_timeout=0))
    assert work(host(lock_timeout=30)) is True


@pytest.mark.parametrize("moment", [0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.6])
def test_killed_at_any_moment_the_next_call_completes_it(host, tmp_path, moment):
    """All of its processes are killed, as by a crash of the host."""
    script = "import json, sys; from ansible_collections.ascend.inference.plugins.modules import python_venv as m; "
    script += "print('begins', flush=True); p = json.loads(sys.argv[1]); m.build(p, m.wanted(p))"
    argv = [sys.executable, "-c", script, json.dumps(host())]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGKILL)
    assert work(host(lock_timeout=10)) in (True, False)
    assert venv.read_stamp(host()["path"], "base") == python_venv.wanted(host())
    assert (pathlib.Path(host()["path"]) / "package").read_text() == "installed\n"


def test_killed_while_a_half_made_environment_is_removed(host, monkeypatch):
    """The mark goes last: what is left of the environment is still known as ours."""
    path = pathlib.Path(host()["path"])
    work(host())
    (path / venv.STAMPS / venv.MARK).touch()
    real = venv.shutil.rmtree

    def killed(name, *rest):
        real(name, *rest)
        raise KeyboardInterrupt

    monkeypatch.setattr(venv.shutil, "rmtree", killed)
    for _round in range(4):
        with pytest.raises(KeyboardInterrupt):
            python_venv.build(host(), {**python_venv.wanted(host()), "exclude": ["b"]})
        assert not path.exists() or venv.is_incomplete(str(path))
        if not path.exists():
            break
    monkeypatch.undo()
    assert work(host()) is True


@pytest.mark.parametrize("folder", ["resolution", "wheels"])
def test_killed_while_its_packages_are_resolved_or_built(host, folder):
    """These have folders beside the stamps."""
    inside = pathlib.Path(host()["path"]) / venv.STAMPS / folder
    work(host())
    inside.mkdir()
    (inside / "file").touch()
    (inside.parent / venv.MARK).touch()
    assert work(host()) is True
    assert not inside.exists() and venv.read_stamp(host()["path"], "base") == python_venv.wanted(host())


def test_a_full_disk_leaves_an_environment_that_is_built_again(host, monkeypatch):
    def full(*unused):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(venv, "write_atomically", full)
    assert "No space left" in work(host())
    monkeypatch.undo()
    assert venv.is_incomplete(host()["path"]) and work(host()) is True
