# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A log is judged by messages, in the order of time and per process: the first cause of the last life, never what follows from it."""

from __future__ import annotations

import re
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis import diagnose
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.diagnose import causes_in, lives_of
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.log_causes import CAUSES
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.messages import messages
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.needles import needles

from .test_log_causes import TEXTS

SERVER = "(APIServer pid={}) INFO 11-01 09:00:00 [api_server.py:1] vLLM API server version 0.23.0"


def ids(lines):
    return [found.id for found in causes_in(lines, "decode-0")]


# A line, and the process, level and place that it has.
HEADS = [
    ("(Worker_DP0_TP1_EP1 pid=7) ERROR 11-01 10:00:00 [x.py:1] text", "Worker_DP0_TP1_EP1", "ERROR", "x.py:1"),
    ("(Worker pid=7) (Worker_TP1 pid=7) ERROR 03-31 02:49:30 [x.py:1] text", "Worker_TP1", "ERROR", "x.py:1"),
    ("(VllmWorker rank=0 pid=7) ERROR 09-26 01:47:48 [x.py:1] text", "VllmWorker rank=0", "ERROR", "x.py:1"),
    ("ERROR 02-26 10:15:42 x.py:1] text", "", "ERROR", "x.py:1"),
    ("WARNING 09-01 10:00:00 [x.py:1] [vllm-ascend] [platform] - text", "", "WARNING", "x.py:1"),
    ("E0608 14:45:44.404292 342420 a.cpp:8] text", "", "ERROR", "a.cpp:8"),
    ("E20260608 14:45:44.404292 342420 a.cpp:8] text", "", "ERROR", "a.cpp:8"),
    ("[rank1]:[E528 08:52:46.164295950 a.cpp:8] text", "rank 1", "ERROR", "a.cpp:8"),
    ("[rank1]: text", "rank 1", "", ""),
    (
        "Capturing graphs:   0%| | 0/9 [00:00<?, ?it/s][rank1]:[E903 07:21:23.263967696 a.cpp:8] text",
        "rank 1",
        "ERROR",
        "a.cpp:8",
    ),
    ("[ERROR] HCCL(5017,python):2026-08-04-06:53:21.443.545 [a.cc:6] text", "process 5017", "ERROR", "a.cc:6"),
    ("[ERROR]GE(9,):2026-08-04-06:53:21.443.545[a.cc:6] text", "process 9", "ERROR", "a.cc:6"),
    ("[ERROR] 2026-03-18-10:33:52 (PID:749, Device:6, RankID:-1) text", "process 749", "ERROR", ""),
    (
        "[749] [2026-03-18 10:33:52:123] torch.distributed: [ERROR] [751] text",
        "process 749",
        "ERROR",
        "torch.distributed",
    ),
    ("2026-11-01 10:00:00.123456 ERROR    [17] [rpc.hpp:3] text", "", "ERROR", "rpc.hpp:3"),
    ('{"asctime": "2026-11-01", "levelname": "ERROR", "name": "vllm", "message": "text"}', "", "ERROR", ""),
    ("ERROR:    text", "", "ERROR", ""),
]


@pytest.mark.parametrize(("line", "process", "level", "place"), HEADS, ids=[head[0][:30] for head in HEADS])
def test_the_head_of_a_line_is_read(line, process, level, place):
    (message,) = messages(["\x1b[0;36m" + line])
    assert (message.process, message.level, message.place) == (process, level, place)
    assert message.lines == [(0, "text")]


def test_lines_of_a_message_are_joined_although_others_stand_between_them():
    lines = [
        "(Worker_TP0 pid=1) ERROR 11-01 10:00:00 [m.py:9] Traceback (most recent call last):",
        "(Worker_TP1 pid=2) ERROR 11-01 10:00:00 [m.py:9] Traceback (most recent call last):",
        '(Worker_TP0 pid=1) ERROR 11-01 10:00:00 [m.py:9]   File "x.py", line 1, in f',
        "(Worker_TP1 pid=2) ERROR 11-01 10:00:00 [m.py:9] RuntimeError: two",
        "(Worker_TP0 pid=1) ERROR 11-01 10:00:00 [m.py:9] RuntimeError: one",
    ]
    found = messages(lines)
    assert [(one.process, [number for number, dummy in one.lines]) for one in found] == [
        ("Worker_TP0", [0, 2, 4]),
        ("Worker_TP1", [1, 3]),
    ]


def traceback(rank, clock, text):
    head = f"(Worker_TP{rank} pid={1000 + rank}) ERROR 11-01 {clock} [multiproc_executor.py:962] "
    frames = [f'{head}  File "/x{number}.py", line {number}, in f' for number in range(44)]
    return [head + "WorkerProc hit an exception.", head + "Traceback (most recent call last):", *frames, head + text]


def test_the_first_of_sixteen_workers_is_the_cause():
    lines = traceback(3, "10:00:00", "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB")
    for rank in range(16):
        lines += traceback(rank, "10:02:00", "RuntimeError: EI0006: Getting socket times out.") if rank != 3 else []
    lines += ["(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above."]
    assert len(lines) > 700 and ids(lines) == ["LOG-NPU-MEMORY"]


def test_time_decides_and_not_the_order_of_lines():
    lines = traceback(1, "10:00:09", "OSError: [Errno 28] No space left on device")
    lines += traceback(2, "10:00:01", "RuntimeError: NPU out of memory.")
    assert ids(lines) == ["LOG-NPU-MEMORY", "LOG-DISK"]


def test_the_end_of_a_year_is_no_end_of_time():
    lines = [
        "(W pid=1) ERROR 12-31 23:59:59 [x.py:1] NPU out of memory.",
        "(W pid=1) ERROR 01-01 00:00:01 [x.py:1] Bus error",
    ]
    assert ids(lines) == ["LOG-NPU-MEMORY", "LOG-SHARED-MEMORY"]


def test_what_happened_hours_before_the_end_is_not_its_cause():
    lines = ["E1101 01:00:00.000000 7 x.cpp:1] Failed to connect to target: 192.0.2.1:1, status: 103900"]
    assert ids(lines) == ["LOG-KV-LINK"]
    assert ids([*lines, "INFO 11-01 09:00:00 [x.py:1] goes on"]) == []


def test_a_port_that_is_in_use_after_a_hang_is_left_over_from_it():
    hang = "(Worker_TP0 pid=5) ERROR 11-01 09:10:00 [m.py:9] RuntimeError: EI0002: The wait execution of the Notify register times out."
    port = "(Worker_TP0 pid=6) ERROR 11-01 09:17:00 [m.py:9] zmq.error.ZMQError: Address already in use (addr='tcp://192.0.2.1:65536')"
    assert ids([port]) == ["LOG-PORT"]
    assert ids([hang, port]) == ["LOG-COLLECTIVE"]
    assert ids([SERVER.format(1), hang, SERVER.format(2).replace("09:00", "09:16"), port]) == [
        "LOG-COLLECTIVE",
        "LOG-PORT",
    ]


def test_the_last_life_is_judged_and_the_one_before_it_if_the_last_one_says_nothing():
    first = [SERVER.format(1), "(W pid=3) ERROR 11-01 09:01:00 [x.py:1] NPU out of memory."]
    second = [SERVER.format(2), "(W pid=4) ERROR 11-01 09:05:00 [x.py:1] OSError: [Errno 28] No space left on device"]
    assert len(lives_of(messages([*first, *second]))) == 2
    assert ids([*first, *second]) == ["LOG-DISK"]
    assert ids([*first, *second[:1]]) == ["LOG-NPU-MEMORY"]


def test_hccl_names_the_rank_that_hangs():
    lines = [
        "[rank1]: EI0002: [PID: 5] 2026-11-01-10:00:00.1.1 The wait execution of the Notify register times out.",
        "        Cluster Exception Location[IP/ID]:[192.0.2.15/6], Arrival Time:[x], ExceptionType:[Stuck Occurred], Possible Reason:1",
        "(EngineCore_DP0 pid=9) ERROR 11-01 10:00:01 [core.py:1] EngineCore encountered a fatal error.",
    ]
    (found,) = causes_in(lines, "x")
    assert found.id == "LOG-RANK-STUCK" and found.problem.endswith("; HCCL names NPU 6 of 192.0.2.15")


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("EI0002: Notify register times out from remote rank:[6].", "; the text names rank 6"),
        ("EI0002: Notify register times out from remote rank:[4294967295].", ""),
        ("Connect timeout to: 192.0.2.2:20033, you can", "; the text names peer 192.0.2.2:20033"),
        ("RuntimeError: error code is 507015, fault kernel_name=Mla_0b, x", "; the kernel is Mla_0b"),
    ],
)
def test_the_text_names_the_other_one(line, end):
    (found,) = causes_in([line], "x")
    assert found.problem.endswith(end) and (end or ";" not in found.problem)


def test_an_unknown_failure_has_the_first_error_of_a_worker_and_the_advice_of_cann():
    lines = [
        "(APIServer pid=1) ERROR 11-01 10:00:00 [x.py:1] a line of another process",
        "(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9] WorkerProc hit an exception.",
        "(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9] Traceback (most recent call last):",
        '(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9]   File "/x.py", line 90, in get',
        "(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9] RuntimeError: nobody knows this.",
        "(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9] E99001: [PID: 901] something of CANN",
        "(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9]         Possible Cause: The moon is full.",
        "(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9]         Solution: 1. Wait for the sun.",
        "(EngineCore_DP0 pid=700) ERROR 11-01 10:00:02 [core.py:1] EngineCore failed to start.",
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        "(APIServer pid=1) [ERROR] 2026-11-01-10:00:03 (PID:1, Device:-1, RankID:-1) ERR99999 UNKNOWN applicaiton exception",
    ]
    (found,) = causes_in(lines, "x")
    assert (found.id, found.value) == ("LOG-UNKNOWN", "Worker_TP3: RuntimeError: nobody knows this.")
    assert found.why == "CANN says: The moon is full." and found.fix == "1. Wait for the sun."
    assert ids(lines[8:]) == []


def test_a_report_of_cann_is_an_error_also_after_its_title():
    lines = [
        "[PID: 9] 2026-09-16-11:00:43.191.752 Some_Error(EZ9008): Nobody knows this.",
        "        Solution: 1. Wait.",
    ]
    (found,) = causes_in(lines, "x")
    assert (found.id, found.value, found.fix) == ("LOG-UNKNOWN", lines[0], "1. Wait.")


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (
            ["    assert self.size is not None", "           ^^^^^^", "AssertionError"],
            "AssertionError: assert self.size is not None",
        ),
        (["    assert size, text", "AssertionError: size"], "AssertionError: size"),
        (["    run()", "AssertionError"], "AssertionError"),
    ],
)
def test_an_assertion_without_words_is_shown_with_its_condition(lines, value):
    head = "(Worker_TP3 pid=901) ERROR 11-01 10:00:01 [m.py:9] "
    (found,) = causes_in([head + line for line in ["Traceback (most recent call last):", *lines]], "x")
    assert found.value == "Worker_TP3: " + value


def test_the_size_of_a_buffer_counts_more_than_the_operator_that_asks_for_it():
    assert ids(
        [
            "(EngineCore_DP0 pid=7) RuntimeError: call aclnnMoeDistributeDispatchV3 failed, error code is 561002",
            "(EngineCore_DP0 pid=7) EZ9999[PID: 7] 2025-12-23-07:36:19.237.396 (EZ9999):  HCCL_BUFFSIZE is too SMALL, HCCL_BUFFSIZE=200MB.",
            "(EngineCore_DP0 pid=7)        MoeDistributeDispatchV2 do tiling failed, ret is -1.",
        ]
    ) == ["LOG-HCCL-BUFFER", "LOG-OPERATOR"]


def test_needles_are_in_every_line_that_matches():
    """Without its needle a line is not searched."""
    for cause in CAUSES:
        pattern, texts = re.compile(cause.pattern), needles(cause.pattern)
        for line, dummy in TEXTS:
            assert not texts or not pattern.search(line) or any(text in line for text in texts), (cause.id, line)
    assert needles(r"(?:ab|cd)e|\bfoo bar\d+ bazzz(?:q|r)?x") == ()
    assert needles(r"abc\.d?|(?:hello|world!)\w") == ("abc.", "hello", "world!")
    assert needles(r"(?:abc)?x{2}") == () and needles("ab[cde]fghi*") == ("fgh",)


def test_a_failed_assertion_is_shown_with_its_condition_and_after_everything_else():
    lines = [
        "(Worker_TP6 pid=903) ERROR 06-12 08:47:02 [multiproc_executor.py:962]     assert self.sas_metadata is not None",
        "(Worker_TP6 pid=903) ERROR 06-12 08:47:02 [multiproc_executor.py:962] AssertionError",
    ]
    (found,) = causes_in(lines, "x")
    assert (found.id, found.value) == ("LOG-CODE", "Worker_TP6: AssertionError: assert self.sas_metadata is not None")
    assert ids([*lines, "(Worker_TP6 pid=903) ERROR 06-12 08:47:03 [x.py:1] error code is 507018"]) == [
        "LOG-AICPU-KERNEL"
    ]
    assert ids(["AttributeError: 'X' object has no attribute 'y'", "E99001: [PID: 901] x", "  Solution: 1. Wait."]) == [
        "LOG-UNKNOWN"
    ]


def test_a_hostile_log_is_read_in_a_moment():
    """A program of an attacker may write what it wants; limits hold for lines, messages, processes and forms."""
    began = time.process_time()
    lines = [
        f"(W{number} pid={number}) ERROR 11-01 10:00:00 [x.py:{number}] " + "error code is HCCL(" * 200
        for number in range(1500)
    ]
    assert ids(lines) == ["LOG-UNKNOWN"]
    assert len({one.process for one in messages(lines)}) == 1500
    assert time.process_time() - began < 20
    assert diagnose.FORMS <= 20000
