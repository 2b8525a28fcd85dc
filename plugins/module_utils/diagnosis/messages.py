# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A log split into messages: who wrote each of them, at which level and when.

Many processes write into one log of an engine, each in its own form. Sources: vllm/logger.py and vllm/utils/system_utils.py (decorate_logs) of
vLLM 0.9-0.33, glog 0.4 and 0.7, c10/util/Logging.cpp of PyTorch, the runtime of CANN (src/dfx/log, src/dfx/error_manager), torch_npu/csrc/core.
"""

from __future__ import annotations

import re
from typing import Iterable, NamedTuple

from ..tools.client_text import without_clients

LINE = 2000  # characters of a line that are read
MOST_LINES = 100000  # lines that are read: the last ones
LONGEST = 400  # lines of one message that are kept: a traceback of several exceptions is shorter
PROCESSES = 512  # that are told apart; a log may name more only if somebody invents them

# A worker's line may carry its prefix two times. Up to vLLM 0.30 it is before each line of the process, from 0.31 on before those of the logger.
_PROCESS = re.compile(
    r"(?:\((?P<name>[A-Za-z]\w{0,60}(?: (?:TP|DP|PP|EP|rank=)\d{1,5})?) pid=(?P<pid>\d{1,9})(?:, ip=[^)\s]{1,60})?\)\s?)+"
)
_RANK = re.compile(r"\[rank(?P<rank>\d{1,5})\]:?[ ]?")
# What PyTorch writes while a bar of progress is drawn stands behind it, in its line.
_BEHIND_BAR = re.compile(r"(?=\[rank\d{1,5}\]:\[[IWEF]\d{3,4} \d\d:)")
_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL|EVENT|TRACE)"
_FORMS = tuple(
    re.compile(form)
    for form in (
        # vLLM: INFO 11-21 10:00:00 [core.py:1] text; before 0.9 without the first bracket; vllm-ascend may add two more words in brackets
        _LEVEL
        + r" (?:\d{4}-)?(?P<month>\d\d)-(?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d)(?:[.,]\d+)? \[?(?P<place>[\w./-]+:\d+)\] ?(?:\[vllm-ascend\] \[[^\]]*\] - )?",
        # glog, with a year or without; also klog of Kubernetes
        r"(?P<level>[IWEF])(?:20\d\d)?(?P<month>\d\d)(?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d)\.\d{6} +\d+ (?P<place>[\w./-]+:\d+)\] ?",
        # PyTorch: [W1101 10:00:01.224261525 NPUStream.cpp:647] text; the month has no zero before it
        r"\[(?P<level>[IWEF])(?P<month>\d{1,2})(?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d)\.\d{9} (?P<place>[\w./-]+:\d+)\] ?",
        # CANN's plog: [ERROR] HCCL(311,python):2026-05-23-11:12:13.100.200 [file.cc:300] text
        r"\["
        + _LEVEL
        + r"\] ?[A-Z_]+\((?P<pid>\d{1,9}),[^)]{0,60}\): ?\d{4}-(?P<month>\d\d)-(?P<day>\d\d)-(?P<time>\d\d:\d\d:\d\d)[.\d]* ?"
        r"(?:\[(?P<place>[^\]]{1,80})\])? ?",
        # torch-npu at the end of an exception
        r"\["
        + _LEVEL
        + r"\] \d{4}-(?P<month>\d\d)-(?P<day>\d\d)-(?P<time>\d\d:\d\d:\d\d) \(PID:(?P<pid>\d{1,9}), [^)]{1,60}\) ",
        # torch-npu's own log
        r"\[(?P<pid>\d{1,9})\] \[\d{4}-(?P<month>\d\d)-(?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d)[:.]\d{3}\] (?P<place>[\w.]{1,60}): \["
        + _LEVEL
        + r"\] \[\d+\] ",
        # the RPC library of Mooncake's store, and vllm-router
        r"\[?\d{4}-(?P<month>\d\d)-(?P<day>\d\d)[ T](?P<time>\d\d:\d\d:\d\d)[.,\d]*Z?\]? +\[?"
        + _LEVEL
        + r"\]?:? +(?:\[\d+\] )?(?:\[(?P<place>[\w./-]+:\d+)\] )?",
        # uvicorn, Python's logging, and programs that write a level before their text
        r"\[?" + _LEVEL + r"\]?(?::| -)? +",
    )
)
# CANN's error manager: EI0006: [PID: 7] 2026-... text; [PID: 7] 2026-... Title(EI0006): text; EE9999[PID: 7] 2026-... (EE9999): text
_CANN = re.compile(
    r"(?:E[A-Z0-9]\d{4}(?::| ?(?=\[PID))|\[PID: (?P<pid>\d{1,9})\] \d{4}-(?P<month>\d\d)-(?P<day>\d\d)-(?P<time>\d\d:\d\d:\d\d))"
)
# Further lines of a message: of a traceback, of CANN's report, of an exception that follows a traceback.
_CONTINUES = re.compile(
    r"\s|$|Traceback \(most|The above exception|During handling|(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b|\[Error\]: |TraceBack \(most|Solution"
    r"|Possible"
)
_JSON = re.compile(r'\{.{0,400}?"levelname": ?"(?P<level>[A-Z]{4,8})".*?"message": ?"(?P<text>.*)"')
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# vLLM's dump of the scheduler, which is full of numbers and of what clients sent, and lines of access logs.
_NO_WORD = re.compile(
    r'\[dump_input\.py:\d+\]|(?:SchedulerOutput|CachedRequestData|NewRequestData|SamplingParams)\(|\bInitializing a V1 LLM engine|" \d{3}(?: [A-Z]|$)'
    r"|\bnon-default args: |^\s+\^+\s*$|^\s+~*\^+~*\s*$"
)
_DAYS = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)  # before each month, in a leap year
LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL", "EVENT": "INFO", "TRACE": "DEBUG"}


class Message(NamedTuple):
    """process: "Worker_TP3", "rank 3", a process id, or "". when: seconds since the begin of the year, -1 if unknown.

    level: of LEVELS' values, or "" if the line has none. place: file and line of the source, or "". lines: (number of the line, text without what is
    before it).
    """

    process: str
    pid: str
    level: str
    when: float
    place: str
    lines: list[tuple[int, str]]


def messages(lines: Iterable[str]) -> list[Message]:
    """The messages of a log, in the order in which they begin; a message's lines may stand between those of other processes.

    Lines that say nothing about the service are left out: dumps, access logs, texts of clients.
    """
    kept = list(lines)[-MOST_LINES:]
    found: list[Message] = []
    last: dict[str, Message] = {}  # the message that a process writes
    clock = -1.0
    for number, raw in enumerate(kept):
        line = without_clients(_COLOUR.sub("", raw[:LINE]))
        process, pid, text, begin = _head(line)
        if _NO_WORD.search(line):
            last.pop(process, None)
            continue
        values = begin.groupdict() if begin else {}
        time = _seconds(values)
        clock = time if time >= 0 else clock
        level = values.get("level") or ""
        level, place = LEVELS.get(level, level), values.get("place") or ""
        open_ = last.get(process)
        if open_ and _same(open_, begin, level, time, place, text) and len(open_.lines) < LONGEST:
            open_.lines.append((number, text))
            continue
        message = Message(process, pid, level, time if time >= 0 else clock, place, [(number, text)])
        found.append(message)
        if len(last) < PROCESSES or process in last:
            last[process] = message
    return found


def _head(line):
    """(process, its id, text, match of what is before the text or None)."""
    own = _PROCESS.match(line)
    process, pid, at = (own.group("name"), own.group("pid"), own.end()) if own else ("", "", 0)
    behind = _BEHIND_BAR.search(line, at)
    at = behind.end() if behind else at
    rank = _RANK.match(line, at)
    if rank:
        process, at = process or "rank " + rank.group("rank"), rank.end()
    if not own and line.startswith("{"):
        found = _JSON.match(line)
        if found:
            return process, pid, found.group("text"), found
    for form in _FORMS:
        found = form.match(line, at)
        if found:
            pid = pid or found.groupdict().get("pid") or ""
            return process or (f"process {pid}" if pid else ""), pid, line[found.end() :], found
    found = _CANN.match(line, at)
    return process, pid, line[at:], found


def _same(message, begin, level, time, place, text):
    """Whether a line goes on with its process's message: each line of a message of vLLM has the prefix of its first one."""
    if begin is None:
        return bool(message.level in ("ERROR", "CRITICAL", "FATAL", "") and _CONTINUES.match(text)) or not message.level
    if not place or place != message.place or level != message.level or message.when != time:
        return False
    return bool(_CONTINUES.match(text)) or len(message.lines) > 1


def _seconds(values):
    try:
        hours, minutes, seconds = (int(part) for part in values["time"].split(":"))
        day = _DAYS[int(values["month"]) - 1] + int(values["day"])
        return float(((day * 24 + hours) * 60 + minutes) * 60 + seconds)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return -1.0
