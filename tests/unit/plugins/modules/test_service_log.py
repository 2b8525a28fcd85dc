# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module service_log over logs in files and over a docker of a few lines."""

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import runner
from ansible_collections.ascend.inference.plugins.modules import service_log

TOOK = "KV cache transfer for request r{} took {} ms. local_ip x\n"
LINES = {
    "transferred": "KV cache transfer for request ",
    "delayed": "Delaying free of ",
    "listening": "started listening on path: tcp://",
}
DOCKER = """#!/bin/sh
echo "$*" >> {folder}/asked
{action}
"""


@pytest.fixture
def host(tmp_path, run_module, monkeypatch):
    return Host(tmp_path, run_module, monkeypatch)


class Host:
    """``log``: the text of decode-0's file. prefill-0 is on another host; router-0 is in a container."""

    def __init__(self, folder, run_module, monkeypatch):
        self.folder, self.run_module, self.monkeypatch, self.place = (
            folder,
            run_module,
            monkeypatch,
            folder / "decode-0.log",
        )
        self.place.write_text(TOOK.format(0, 99) + "started listening on path: tcp://h:1\n")
        self.router = {"kind": "none"}

    def engine(self, name, host, **log):
        return {"name": name, "host": host, "url": "http://127.0.0.1:9", "log": log, "ranks": 1}

    def call(self, **options):
        entry = {
            "name": "router-0",
            "host": "n1",
            "url": "http://127.0.0.1:9",
            "kind": "load_balance",
            "log": self.router,
        }
        plan = {
            "mode": "disaggregated",
            "model": "tiny",
            "entry": entry,
            "store": None,
            "transfer": {"protocol": "prefill_answers", "listeners_per_prefill": 1, "lines_per_request": 1},
            "release": {"name": "x", "has_prompt_tokens_by_source": True, "lines": LINES, "known_limits": []},
            "block_size": 8,
            "min_prompt_tokens": 0,
            "max_tokens": 8,
            "chunk_tokens": 64,
            "prefill": [self.engine("prefill-0", "n2", kind="file", path=str(self.folder / "prefill-0.log"))],
            "decode": [self.engine("decode-0", "n1", kind="file", path=str(self.place))],
            "colocated": [],
        }
        return self.run_module("service_log", verify=plan, host="n1", **options)

    def write(self, text):
        with self.place.open("a") as stream:
            stream.write(text)

    def docker(self, action):
        """router-0 runs in a container, and this is what docker does."""
        self.router = {"kind": "docker", "unit": "inference-router-0"}
        (self.folder / "bin").mkdir()
        program = self.folder / "bin" / "docker"
        program.write_text(DOCKER.replace("{folder}", str(self.folder)).replace("{action}", action))
        program.chmod(0o755)
        self.monkeypatch.setenv("PATH", f"{self.folder}/bin:{os.environ['PATH']}")

    def asked(self):
        return (self.folder / "asked").read_text().splitlines()


@pytest.mark.parametrize("check", [True, False])
def test_without_marks_the_ends_of_this_host_s_logs_are_returned(host, check):
    begin = time.time()
    found = host.call(check=check)
    status = host.place.stat()
    (mark,) = [found["marks"].pop("decode-0")]
    assert found["marks"] == {} and (mark["inode"], mark["size"]) == (status.st_ino, status.st_size)
    assert begin <= found["time"] <= time.time() and int(begin) <= mark["time"] <= time.time()
    assert found["changed"] is False and not {"logs", "counts"} & set(found)


def test_what_came_since_the_marks_is_read(host):
    marks = host.call()["marks"]
    host.write(TOOK.format(1, 12.5) + "Mooncake transfer failed\nERROR x\nDelaying free of 3 blocks\n")
    found = host.call(marks=marks)
    assert found["changed"] is False and sorted(found["logs"]) == ["decode-0"] and not {"marks", "counts"} & set(found)
    log = found["logs"]["decode-0"]
    assert (log["readable"], log["problem"], log["transfer_ms"]) == (True, "", [12.5])
    assert log["red_flags"] == ["Mooncake transfer failed"] and log["alarms"] == ["ERROR x"] and log["listening"] == 1
    assert len(log["transferred"]) == len(log["delayed"]) == 1 and len(log["tail"]) == 6


def test_no_mark_of_a_log_means_all_of_it(host):
    """A host whose services were marked while they had no log gives ``{}``; marking again would return nothing of what was asked for."""
    found = host.call(marks={})
    assert found["logs"]["decode-0"]["transfer_ms"] == [99.0] and "marks" not in found
    assert host.call(marks={}, brief=True)["counts"]["decode-0"]["transfers"] == 1


def test_brief_counts_what_came_since_the_marks(host):
    marks = host.call()["marks"]
    host.write(TOOK.format(1, 12.5) + TOOK.format(2, 0.25) + "Force freed request: r1\nForce freed request: r2\n")
    found = host.call(marks=marks, brief=True)
    counted = {"readable": True, "problem": "", "flags": {"kv_freed_by_force": 2}, "first": "Force freed request: r1"}
    assert found["counts"] == {"decode-0": dict(counted, expired=0, transfers=2, transfer_ms=12.75)}
    assert found["changed"] is False and not {"marks", "logs"} & set(found)
    assert "marks" in host.call(brief=True), "without marks there is nothing to count"


@pytest.mark.parametrize("brief", [True, False])
def test_a_container_is_asked_for_the_same_time(host, brief):
    host.docker("echo 'Mooncake transfer failed' >&2; echo " + TOOK.format(1, 3))
    marks = host.call()["marks"]
    assert sorted(marks) == ["decode-0", "router-0"] and (marks["router-0"]["inode"], marks["router-0"]["size"]) == (
        0,
        0,
    )
    marks["router-0"]["time"] = 1234
    found = host.call(marks=marks, brief=brief)["counts" if brief else "logs"]["router-0"]
    assert found["transfer_ms"] == (3.0 if brief else [3.0]), found
    assert (found["first"] if brief else found["red_flags"][0]) == "Mooncake transfer failed", "of its stderr"
    assert host.asked() == ["logs --tail=20000 inference-router-0", "logs --since=1234 inference-router-0"]


@pytest.mark.parametrize(
    ("action", "seconds", "problem"),
    [
        ("exec sleep 60", 0.3, "docker logs --tail=20000 inference-router-0 exceeded its timeout of 0.3 s"),
        ("echo No such container; exit 1", 300, "ended with 1: No such container"),
    ],
    ids=["hangs", "fails"],
)
@pytest.mark.parametrize("brief", [True, False])
def test_a_log_that_cannot_be_read_is_said_beside_the_others(host, monkeypatch, action, seconds, problem, brief):
    host.docker(action)
    assert service_log.TIMEOUT == 300
    monkeypatch.setattr(service_log, "TIMEOUT", seconds)
    begin = time.monotonic()
    found = host.call(marks={}, brief=brief)
    assert not found["failed"] and time.monotonic() - begin < 20
    logs = found["counts" if brief else "logs"]
    assert logs["router-0"]["readable"] is False and problem in logs["router-0"]["problem"]
    assert logs["decode-0"]["readable"] is True


def test_much_of_a_container_s_log_is_read_and_not_all(host, monkeypatch):
    """More than a tool may print is usual for a log; what has no end is no evidence."""
    monkeypatch.setattr(runner, "MOST_OUTPUT", 2**16)
    host.docker("head -c 200000 /dev/zero | tr '\\0' x; echo; echo " + TOOK.format(1, 3))
    found = host.call(marks={})["logs"]["router-0"]
    assert (found["readable"], found["transfer_ms"]) == (True, [3.0])
    assert service_log.MOST_LOG == 64 * 2**20
    monkeypatch.setattr(service_log, "MOST_LOG", 2**16)
    assert host.call(marks={})["logs"]["router-0"]["readable"] is False


def test_why_an_engine_fails_is_told_with_the_known_issue_of_its_release(host):
    host.place.write_text(
        "INFO 11-01 10:00:00 [x.py:1] fine\nRuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n"
    )
    # A process without an API, which the section verify does not have.
    log = {"decode-0-1": {"kind": "file", "path": str(host.place)}}
    issues = [
        {"number": "1", "signs": "LOG-NPU-MEMORY", "text": "known issue of X: it grows"},
        {"number": "2", "signs": "LOG-PORT", "text": "known issue of X: another"},
    ]
    first, second = host.call(causes=log, known_issues=issues)["told"]
    assert first.startswith("decode-0-1: Likely cause: the device has no memory left") and "\n  Fix: " in first
    assert second == "decode-0-1: It looks like a known issue of X: it grows"
    host.place.write_text("INFO 11-01 10:00:00 [x.py:1] fine\n")
    assert host.call(causes=log)["told"] == ["decode-0-1: no error is in its log"]
    host.place.unlink()
    assert host.call(causes=log)["told"][0].startswith("decode-0-1: its log cannot be read: ")
    assert host.call(causes={"other": {"kind": "none"}})["told"] == []
