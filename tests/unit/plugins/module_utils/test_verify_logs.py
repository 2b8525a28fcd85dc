# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came into a log since the mark, also when it was rotated meanwhile."""

from __future__ import annotations

import os
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify import logs, verdict
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import Lines, Log
from ansible_collections.ascend.inference.plugins.module_utils.verify.verdict import core_id, judge_logs

LINES = Lines("KV cache transfer for request ", "Delaying free of ", "started listening on path: tcp://")


def file_log(path):
    return Log("file", str(path), "")


def never(argv):
    raise AssertionError(argv)


def since(path, marks):
    return logs.read([("one", file_log(path))], marks, LINES, never)["one"]


def test_only_what_came_after_the_mark_counts(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("Mooncake transfer failed\nKVCacheSendingThread started listening on path: tcp://h:1\n")
    marks = logs.mark([("one", file_log(path))])
    with path.open("a") as stream:
        stream.write(
            "KV cache transfer for request r1 took 12.50 ms. local_ip x\nDelaying free of 3 blocks for request r1\n"
        )
    found = since(path, marks)
    assert found["readable"] is True
    assert found["red_flags"] == []
    assert found["transfer_ms"] == [12.5]
    assert len(found["transferred"]) == len(found["delayed"]) == found["listening"] == 1
    assert found["tail"][0] == "Mooncake transfer failed"


def test_warnings_are_alarms_whatever_their_colour(tmp_path):
    path = tmp_path / "one.log"
    warnings = [
        "\x1b[2m10:00\x1b[0m \x1b[31mERROR\x1b[0m router: gone",
        "WARNING 11-22 [core.py] slow",
        "W1122 10:00 a.cpp:1] x",
    ]
    path.write_text("\n".join([*warnings, "INFO no ERRORS", "Warned"]) + "\n")
    assert since(path, {})["alarms"] == ["10:00 ERROR router: gone", *warnings[1:]]


def test_a_rotated_log_is_read_on(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("old\n")
    marks = logs.mark([("one", file_log(path))])
    with path.open("a") as stream:
        stream.write("KV cache transfer for request r1 took 1.00 ms\n")
    os.rename(path, str(path) + ".1")
    path.write_text("KV cache transfer for request r2 took 2.00 ms\n")
    assert since(path, marks)["transfer_ms"] == [1.0, 2.0]


def test_a_log_truncated_in_place_is_read_from_its_start(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("x" * 500 + "\n")
    marks = logs.mark([("one", file_log(path))])
    path.write_text("KV cache transfer for request r2 took 2.00 ms\n")
    assert since(path, marks)["transfer_ms"] == [2.0]


def test_a_log_that_appears_later_is_read_whole(tmp_path):
    path = tmp_path / "one.log"
    marks = logs.mark([("one", file_log(path))])
    path.write_text("KV cache transfer for request r2 took 2.00 ms\n")
    assert since(path, marks)["transfer_ms"] == [2.0]


def test_averages_of_vllm_s_own_connector_are_times_too(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("KV Transfer metrics: Num successful transfers=2, Avg xfer time (ms)=3.5, Num failed transfers=0\n")
    assert (since(path, {})["transfer_ms"], since(path, {})["red_flags"]) == ([3.5], [])


def test_a_line_without_end_is_cut(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("ERROR " + "x" * 1000000 + "\nERROR two\n")
    found = since(path, {})
    assert [len(line) for line in found["alarms"]] == [logs.LINE_KEPT, 9] and len(found["tail"][0]) == logs.LINE_KEPT


def test_a_missing_log_is_said(tmp_path):
    found = since(tmp_path / "none.log", {})
    assert found["readable"] is False
    assert "none.log" in found["problem"]


@pytest.mark.parametrize(
    "line",
    [
        "ERROR Mooncake transfer failed, ret: -1",
        "batch failed status: 103900",
        "Force freed expired request: r1. Reason: Request exceeded timeout threshold (480 seconds)",
        "Force freed request: r1",
        "Failing 3 request(s) due to KV load failure (policy=fail)",
        "Recovered from KV load failure: 1 request(s) rescheduled",
        "Counters can only be incremented by non-negative amounts.",
        "Instance 10.0.0.3:7100 was not added to the proxy.",
        "KV Transfer metrics: Num successful transfers=2, Avg xfer time (ms)=3.5, Num failed transfers=0, Num failed recvs=1",
    ],
)
def test_red_flags(tmp_path, line):
    path = tmp_path / "one.log"
    path.write_text("INFO fine\n" + line + "\n")
    assert since(path, {})["red_flags"] == [line]


def test_the_journal_and_docker_are_asked_for_the_window():
    asked = []

    def run(argv):
        asked.append(" ".join(argv))
        return 0, "KV cache transfer for request r9 took 3 ms\n"

    services = [("a", Log("journald", "", "inference-a.service")), ("b", Log("docker", "", "inference-b"))]
    found = logs.read(services, {"a": {"time": 77}, "b": {"time": 88}}, LINES, run)
    assert found["a"]["transfer_ms"] == found["b"]["transfer_ms"] == [3.0]
    assert asked == [
        "journalctl --no-pager --output=cat --unit=inference-a.service --lines=20000",
        "journalctl --no-pager --output=cat --unit=inference-a.service --since=@77",
        "docker logs --tail=20000 inference-b",
        "docker logs --since=88 inference-b",
    ]


def test_a_tool_that_refuses_is_said():
    found = logs.read([("b", Log("docker", "", "inference-b"))], {}, LINES, lambda argv: (1, "No such container"))
    assert found["b"]["readable"] is False
    assert "No such container" in found["b"]["problem"]


def test_red_flags_of_a_log_that_was_read_in_part_count():
    plan = types.SimpleNamespace(
        transfer=types.SimpleNamespace(listeners_per_prefill=0),
        release=types.SimpleNamespace(lines=LINES),
        disaggregated=False,
        role=lambda name: [],
    )
    found = logs.evidence("r", [], ["Mooncake transfer failed"], LINES, "the log of a pod has more than 64 MiB")
    (step,) = judge_logs(plan, {}, {"r": found})
    assert (step["status"], step["hop"]) == ("failed", "r")


FORCED = (
    "ERROR Force freed expired request: r1. Reason: Request exceeded timeout threshold ({} seconds). Action: Resources"
)
MOONCAKE = "WARNING Force freed expired Mooncake request r1 after {} seconds"
UNSENT = "WARNING KV of r1 timed out after {} seconds without being sent"
SUMMED = "INFO KV Transfer metrics: Num KV expired reqs=1"


@pytest.mark.parametrize("line", [FORCED, MOONCAKE, UNSENT])
@pytest.mark.parametrize(
    ("held", "elapsed", "old"),
    [
        ("480", 60, True),
        ("480", 478, True),
        ("480", 480, False),
        ("30", 60, False),
        ("480", None, False),
        ("480", -5, False),
    ],
)
def test_the_end_of_a_request_from_before_the_window_is_no_red_flag(monkeypatch, line, held, elapsed, old):
    """``elapsed``: seconds since the mark; less than 0 after a clock was set back."""
    monkeypatch.setattr(logs.time, "time", lambda: 10000.0)
    text = line.format(held)
    window = [text, "INFO x", "Mooncake transfer failed, ret: -1", SUMMED]
    found = logs.evidence("p", [], window, LINES, since=None if elapsed is None else 10000.0 - elapsed)
    assert found["expired"] == ([text, SUMMED] if old else [])
    assert found["red_flags"] == (window[2:3] if old else [text, *window[2:]])


def test_a_sum_of_expired_requests_is_old_only_if_all_known_ones_are(monkeypatch):
    monkeypatch.setattr(logs.time, "time", lambda: 10000.0)
    for window in (
        [SUMMED],
        [SUMMED, FORCED.format(480), MOONCAKE.format(5)],
        [SUMMED, "ERROR Force freed request r2"],
    ):
        assert SUMMED in logs.evidence("p", [], window, LINES, since=9940.0)["red_flags"]


def test_requests_from_before_are_a_warning_that_names_the_setting(tmp_path):
    plan = types.SimpleNamespace(
        transfer=types.SimpleNamespace(listeners_per_prefill=0),
        release=types.SimpleNamespace(lines=LINES),
        disaggregated=False,
        role=lambda name: [],
    )
    path = tmp_path / "p.log"
    path.write_text("before\n")
    marks = logs.mark([("p", file_log(path))])
    with path.open("a") as stream:
        stream.write(FORCED.format(480) + "\n")
    read = logs.read([("p", file_log(path))], marks, LINES, never)
    (step,) = judge_logs(plan, {}, read)
    assert step["status"] == "passed"
    (warning,) = verdict._warnings(plan, read)
    assert warning.startswith("p freed KV cache of requests that began before this verification")
    assert "inference_kv_hold_timeout" in warning and "(480 seconds)" in warning


def test_the_part_of_the_id_that_both_sides_log():
    assert core_id("cmpl-4f2a") == core_id("chatcmpl-4f2a") == "4f2a"


def test_of_a_rotated_log_only_what_came_since_the_mark_counts(tmp_path):
    """A failure of before the mark, in the file that was rotated away, is none of this verification."""
    path = tmp_path / "engine.log"
    path.write_text("Mooncake transfer failed, ret: -1\n")
    marks = logs.mark([("e", Log("file", str(path), ""))])
    with path.open("a") as stream:
        stream.write("ERROR before the rotation\n")
    path.rename(tmp_path / "engine.log.1")
    path.write_text("ERROR after the rotation\n")
    found = logs.read([("e", Log("file", str(path), ""))], marks, LINES, run=None)["e"]
    assert found["red_flags"] == []
    assert found["alarms"] == ["ERROR before the rotation", "ERROR after the rotation"]


def counted(path, marks):
    return logs.counts([("one", file_log(path))], marks, LINES, never)["one"]


def test_counts_are_of_all_lines_since_the_mark(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("Mooncake transfer failed\n")
    marks = logs.mark([("one", file_log(path))])
    with path.open("a") as stream:
        stream.write("KV cache transfer for request r1 took 12.50 ms. local_ip x\n" * (logs.LINES_KEPT + 5))
        stream.write("Force freed expired request r7\nForce freed request r8\nRecovered from KV load failure\n")
    found = counted(path, marks)
    assert (found["transfers"], found["transfer_ms"]) == (logs.LINES_KEPT + 5, 12.5 * (logs.LINES_KEPT + 5))
    assert (
        found["flags"] == {"kv_freed_by_force": 2, "recomputed": 1}
        and found["first"] == "Force freed expired request r7"
    )
    assert found["readable"] and not found["problem"]


@pytest.mark.parametrize(
    ("held", "line", "last", "old"),
    [
        (480, "11-30 03:01:00", "11-30 03:10:00", True),
        (480, "11-30 03:09:00", "11-30 03:10:00", False),
        (480, "11-30 23:59:00", "12-01 00:08:00", False),  # on another day: not known
        (480, "11-30 03:11:00", "11-30 03:10:00", False),
        (700, "11-30 03:09:00", "11-30 03:10:00", True),
        (700, "", "", True),
        (480, "", "11-30 03:10:00", False),
    ],
)
def test_a_request_that_began_before_is_none_of_a_long_window(tmp_path, monkeypatch, held, line, last, old):
    """After ten minutes a line of the first one speaks of a request that began seven minutes earlier."""
    path = tmp_path / "one.log"
    path.write_text("")
    marks = {"one": {**logs.mark([("one", file_log(path))])["one"], "time": 1000}}
    monkeypatch.setattr(logs.time, "time", lambda: 1600.0)
    path.write_text(f"WARNING {line} [x.py:1] {MOONCAKE.format(held)}\nINFO {last} [y.py:2] Engine 000\nno time\n")
    found = counted(path, marks)
    assert (found["flags"], found["expired"]) == (({}, 1) if old else ({"kv_freed_by_force": 1}, 0))
    assert bool(since(path, marks)["expired"]) == old


def test_counts_of_a_log_that_is_missing_are_not_known(tmp_path):
    found = counted(tmp_path / "none.log", {})
    assert not found["readable"] and "Errno 2" in found["problem"]  # in the language of the machine


def test_counts_of_a_part_of_a_log_are_said_to_be_that(tmp_path, monkeypatch):
    path = tmp_path / "one.log"
    path.write_text("Mooncake transfer failed\n" * 4)
    marks = logs.mark([("one", file_log(path))])
    monkeypatch.setattr(logs, "WINDOW_BYTES", 2**20)
    with path.open("a") as stream:
        stream.write("Force freed request r8\n" + "x" * 2**20 + "\n")
    found = counted(path, marks)
    assert found["flags"] == {"kv_freed_by_force": 1} and not found["readable"] and "1 MiB" in found["problem"]
    assert counted(path, logs.mark([("one", file_log(path))]))["readable"]


@pytest.mark.parametrize(("grown", "readable"), [(2**20, True), (2**20 + 1, False)])
@pytest.mark.parametrize("rotated", [False, True])
def test_a_log_that_grew_by_what_is_read_is_counted_whole(tmp_path, monkeypatch, grown, readable, rotated):
    path = tmp_path / "one.log"
    path.write_text("x" * 2**20 * 2)
    marks = logs.mark([("one", file_log(path))])
    monkeypatch.setattr(logs, "WINDOW_BYTES", 2**20)
    if rotated:
        path.rename(str(path) + ".1")
    with path.open("a") as stream:
        stream.write("x" * grown)
    assert counted(path, marks)["readable"] is readable


def test_counts_are_of_averages_too_and_the_first_line_is_cut(tmp_path):
    path = tmp_path / "one.log"
    metrics = "KV Transfer metrics: Num successful transfers=3, Avg xfer time (ms)=1.5, Num failed transfers=0\n"
    path.write_text(metrics + "Mooncake transfer failed " + "x" * 400 + "\nForce freed request: r1\n" + metrics)
    found = counted(path, {})
    assert (found["transfers"], found["transfer_ms"]) == (6, 9.0)
    assert found["flags"] == {"transfer_failed": 1, "kv_freed_by_force": 1}
    assert found["first"] == "Mooncake transfer failed " + "x" * 275


def test_what_a_client_wrote_is_no_red_flag_of_the_counts(tmp_path):
    path = tmp_path / "one.log"
    path.write_text("INFO Received request r1: prompt: 'Mooncake transfer failed', params: x\n")
    assert (counted(path, {})["flags"], since(path, {})["red_flags"]) == ({}, [])


def test_a_container_is_counted_and_is_never_too_long():
    lines = "KV cache transfer for request r9 took 3 ms\n" * 2
    found = logs.counts([("b", Log("docker", "/none", "b"))], {}, LINES, lambda argv: (0, lines))["b"]
    assert (found["readable"], found["transfers"], found["transfer_ms"]) == (True, 2, 6.0)
    found = logs.counts([("b", Log("docker", "", "b"))], {}, LINES, lambda argv: (1, "gone"))["b"]
    assert (found["readable"], found["transfers"], found["flags"], found["first"]) == (False, 0, {}, "")


def test_of_a_mark_only_numbers_count():
    """It comes back from the host's own answer by way of the controller."""
    wrong = {"a": {"size": ["x"], "inode": 7, "time": "now"}, "b": "x"}
    assert [logs._since(wrong, name) for name in ("a", "b", "c")] == [{"inode": 7}, {}, {}]
    assert logs._since("x", "a") == {}
