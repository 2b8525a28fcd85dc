# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An interrupted measurement ends with its requests, and one that runs is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench import driver, running
from ansible_collections.ascend.inference.plugins.modules import service_status

# The module's work in a process of its own; the program that sends requests stays until it is ended.
MODULE = """
import sys
from ansible_collections.ascend.inference.plugins.module_utils.bench import driver, running
folder, timeout = sys.argv[1], float(sys.argv[2])
program = "import os, time; open('%s/program', 'w').write(str(os.getpid())); time.sleep(300)" % folder
command = driver.Command([sys.executable, "-c", program], {}, [], folder)
with running.Running(folder):
    driver.run_load(command, folder + "/result.json", 0, timeout)
"""


def lives(process):
    """Whether a process exists and is no zombie."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(found, seconds=20.0):
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.02)
    return found()


@pytest.fixture
def measuring(tmp_path):
    """A module that measures, and the process of its program."""

    def start(timeout=300):
        module = subprocess.Popen(
            [sys.executable, "-c", MODULE, str(tmp_path), str(timeout)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A shell starts what runs in the background with this signal ignored, and Python then leaves it so.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(module)
        note = tmp_path / "program"
        assert until(lambda: note.exists() and note.read_text()), module.stderr.read() if module.poll() else ""
        started.append(int(note.read_text()))
        return module, started[-1]

    started = []
    yield start
    for process in started:
        if isinstance(process, int):
            if lives(process):
                os.kill(process, signal.SIGKILL)
        else:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_program_ends_with_its_module(measuring, number):
    module, program = measuring()
    module.send_signal(number)
    module.wait(120)
    assert until(lambda: not lives(program)), "it goes on sending requests"


def test_the_program_ends_if_nobody_reads_its_result(measuring):
    module, program = measuring()
    module.stdout.close()  # what the connection leaves behind when the playbook is ended
    assert until(lambda: not lives(program)), "it goes on sending requests"
    module.wait(120)


def test_the_program_ends_with_its_time(measuring):
    module, program = measuring(timeout=2)
    assert module.wait(30) != 0
    assert until(lambda: not lives(program))


@pytest.mark.parametrize(("script", "status"), [("cat", 0), ("exit 3", 3), ("kill -KILL $$", 137), ("echo said", 0)])
def test_a_program_reads_nothing_and_its_status_and_output_are_kept(tmp_path, script, status):
    argv = driver.whole_argv(driver.Command(["bash", "-c", script], {}, [], str(tmp_path)), str(tmp_path / "x"))
    done = driver.execute(argv, 20, dict(os.environ), stdin=driver.held(threading.Event()), merged=True)
    assert (done.rc, done.timed_out) == (status, False)
    expected = {"echo said": "said", "kill -KILL $$": "Killed"}.get(script, "")
    assert expected in done.stdout and bool(done.stdout) == bool(expected), done.stdout


def test_a_measurement_that_runs_is_named(measuring, tmp_path):
    assert running.found(str(tmp_path)) == {}
    module, program = measuring()
    assert running.found(str(tmp_path))["process"] == module.pid
    with pytest.raises(driver.BenchError, match=f"process {module.pid}.*Fix: .*kill {module.pid}"), running.Running(
        str(tmp_path)
    ):
        pass
    (text,) = service_status.measured(str(tmp_path))
    assert f"process {module.pid}" in text and "Fix:" in text
    assert lives(program)
    module.kill()
    module.wait(120)
    assert running.found(str(tmp_path)) == {} and service_status.measured(str(tmp_path)) == []
    with running.Running(str(tmp_path)):
        assert running.found(str(tmp_path))["process"] == os.getpid()
    assert not (tmp_path / running.NAME).exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"process": "<b>"}', json.dumps({"since": 4})])
def test_a_note_that_is_broken_names_an_unknown_process(tmp_path, text):
    with running.Running(str(tmp_path)) as held:
        held.lock.write(text)
        assert running.found(str(tmp_path)) == {"process": "unknown", "since": "an unknown time"}


def test_a_folder_that_is_missing_has_no_measurement(tmp_path):
    assert running.found(str(tmp_path / "missing")) == {}
