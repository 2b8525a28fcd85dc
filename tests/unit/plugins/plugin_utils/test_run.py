# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By what a run is recognised, and when it has ended for certain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import run

HERE = run.this_run(f"/tmp/{run.PREFIX}{os.getpid()}abc")
pytestmark = pytest.mark.skipif(not run.space(), reason="needs Linux' /proc")


@pytest.mark.parametrize(
    "name", ["{{ lookup('pipe', 'touch /tmp/x') }}", "a b", "x'; id", "r\n", "é", "r" * 101, "{%a%}"]
)
def test_nobody_is_told_to_type_what_a_host_wrote(name):
    """Ansible evaluates what follows -e."""
    said = run.refusal("n1", "/opt/x/deployments/inference", {"id": name, "owner": "o" * 999})
    assert "break_lock" not in said and name not in said and "o" * 65 not in said
    assert "/opt/x/deployments/.inference.lock" in said and said.isprintable()
    assert "o" * 65 not in run.refusal("n1", "/d", {"id": "r1", "owner": "o" * 999})
    assert "o" * 65 not in run.left("n1", {"id": "r1", "owner": "o" * 999})


def test_a_record_of_a_host_adds_no_line_to_a_message():
    text = "x\n# INJECTED\t"
    holder = {
        "id": "r1",
        "owner": text,
        "controller": text,
        "since": text,
        "step": text,
        "script": [{"step": text, "state": "open"}],
    }
    assert run.refusal("n1", "/d", holder).isprintable() and run.left("n1", holder).isprintable()


def test_the_process_is_the_one_that_the_temporary_folder_names():
    assert (HERE["id"], HERE["process"]) == (f"{run.PREFIX}{os.getpid()}abc", os.getpid())
    assert run.this_run(f"/tmp/{run.PREFIX}{os.getppid()}abc/")["process"] == os.getppid()
    assert run.this_run("/tmp/elsewhere")["process"] == 0


def test_a_run_that_lives_has_not_ended():
    assert not run.ended(HERE, HERE)


def test_a_run_whose_process_is_gone_has_ended():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        holder = {**HERE, "process": process.pid, "start": run.start_of(process.pid)}
        assert not run.ended(holder, HERE)
        process.communicate(b"\n")
    assert run.ended(holder, HERE)


def test_the_start_of_a_process_is_its_own_and_tells_it_from_one_before():
    """Ticks since the boot: a process id that is used again has another start."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        start = int(run.start_of(process.pid)) / os.sysconf("SC_CLK_TCK")
        process.communicate(b"\n")
    assert since_boot - 30 < start <= since_boot + 1


def test_a_process_id_that_another_process_has_by_now_is_no_life():
    assert run.ended({**HERE, "start": "1"}, HERE)


@pytest.mark.parametrize("unknown", [{"space": "other"}, {"space": ""}, {"process": 0}, {"start": ""}])
def test_what_cannot_be_known_is_not_taken_for_an_end(unknown):
    assert not run.ended(
        {**HERE, "process": 2**30, "start": "1", **unknown}, {**HERE, **{k: v for k, v in unknown.items() if v == ""}}
    )


def test_the_refusal_says_who_and_what_to_do():
    text = run.refusal(
        "h1", "/opt/x/deployments/sample", {**HERE, "owner": "anna", "controller": "bastion", "id": "r1"}
    )
    assert "h1: deployment sample is being changed by anna on bastion since 20" in text
    assert text.endswith("-e inference_break_lock=r1")


@pytest.mark.parametrize("odd", [{"process": "12x"}, {"process": [1]}, {"process": 1.5}, {"start": 7}, {"start": {}}])
def test_a_damaged_record_of_a_lock_proves_no_end(odd):
    assert run.ended({**HERE, "process": 2**30, "start": "1", **odd}, HERE) is False


def test_a_record_of_a_host_neither_moves_the_terminal_nor_adds_a_command():
    record = {**HERE, "owner": "anna\x1b[2J\u202e", "controller": "b\x07", "id": "r1; reboot"}
    text = run.refusal("h1", "/opt/x/deployments/sample", record)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "break_lock" not in text and "reboot" not in text


def locked(**more):
    return "placement\nlocked: " + json.dumps(
        {**HERE, "owner": "anna", "controller": "bastion", "since": "2026-11-28", **more}
    )


OTHER = {"id": "r1", "space": "another machine"}


@pytest.mark.parametrize(
    ("printed", "broken", "refused"),
    [
        ({"h1": "", "h2": locked(**OTHER)}, "", True),
        ({"h2": locked(**OTHER)}, "r1", False),  # taken over
        ({"h1": locked()}, "", False),  # by this run
        ({"h1": locked(id="r2", start="1")}, "", False),  # by one that has ended for certain
        ({"h1": "placement\nlocked: {"}, "", False),
        ({}, "", False),
    ],
)
def test_a_deployment_that_another_run_changes_is_refused_at_once(printed, broken, refused):
    found = run.refusals(printed, "/opt/x/deployments/sample", HERE, broken)
    assert len(found) == refused and all(
        text.startswith("h2: deployment sample is being changed by anna") for text in found
    )


def test_a_run_says_in_which_step_the_one_before_it_was_killed():
    holder = {**HERE, "id": "another", "step": "step 3 of 9: Restart decode-0"}
    text = run.left("n1", holder)
    assert (
        text.startswith("n1: the run another of ")
        and "did not end its change, in step 3 of 9: Restart decode-0." in text
    )
    assert "(run another, in step 3 of 9: Restart decode-0). Two runs" in run.refusal("n1", "/d/x", holder)
    assert "(run another). Two runs" in run.refusal("n1", "/d/x", {**holder, "step": ""})
    rows = [{"step": each, "state": "open" if each > "C" else "done"} for each in "ABCDEFGHIJK"]
    text = run.left("n1", {**holder, "script": rows})
    assert ", in step 3 of 9: Restart decode-0; after it: D; E; F; G; H; I; and 2 more. This run looks" in text
    for strange in (7, [7], [{"state": "open"}], {"a": 1}):
        assert run.step_of({"step": "s", "script": strange}).startswith(", in s"), "a host may write any text"
    assert len(run.step_of({"step": "x" * 5000, "script": [{"step": "y" * 5000, "state": "open"}] * 99})) < 2500
