# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file with requests in the format of Mooncake's traces (FAST25): one object of JSON in each line.

``{"timestamp": milliseconds, "input_length": tokens, "output_length": tokens, "hash_ids": [block of BLOCK tokens, ...]}``. The program that sends
them ends with the first line that it does not understand, after minutes; and a request that is longer than the model's context fails.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any

from ..tools.foreign_json import number

BLOCK = 512  # tokens
LONGEST = 2**20  # bytes of a line
NAMED = 3  # lines in a text
FORMAT = (
    'Each line has to be like {"timestamp": 27482, "input_length": 955, "output_length": 52, "hash_ids": [46, 47]}, with a block of 512 tokens '
    "for each number"
)


def trace_problem(path: str, requests: int, most: int) -> str:
    """What is wrong with the first requests (0: all) of the file; empty if nothing is. ``most``: tokens of the model's context, 0 if not known."""
    wrong: list[str] = []
    long: list[str] = []
    lines = 0
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return f"{path} is no file. Fix: set inference_bench.trace to a file on this host"
        with open(path, "rb") as stream:
            for place, line in enumerate(iter(lambda: stream.readline(LONGEST), b""), 1):
                problem, tokens = _judged(line)
                lines += 1
                if problem:
                    wrong.append(f"line {place}: {problem}")
                elif most and tokens > most:
                    long.append(f"line {place}: {tokens}")
                if len(wrong) >= NAMED or lines == requests:
                    break
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}. Fix: set inference_bench.trace to a file on this host"
    if wrong:
        return f"{path} is no trace: {'; '.join(wrong)}. Fix: {FORMAT}"
    if not lines:
        return f"{path} has no requests. Fix: {FORMAT}"
    if long:
        shown = ", ".join(long[:NAMED]) + (", ..." if len(long) > NAMED else "")
        return (
            f"{len(long)} of {lines} requests of {path} have more tokens of prompt and answer than max-model-len, {most} ({shown}), so each of them "
            "would fail. Fix: leave these lines out, or deploy with a larger max-model-len"
        )
    return ""


def _judged(line: bytes) -> tuple[str, int]:
    """(what is wrong with a line, tokens of its prompt and answer)."""
    try:
        row: Any = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return "is no JSON" if line.strip() else "is empty", 0
    if not isinstance(row, dict):
        return "is no object", 0
    for name, least in (("timestamp", 0), ("input_length", 1), ("output_length", 1)):
        value = number(row.get(name))
        if value is None or value < least or (name != "timestamp" and value != int(value)):
            return f"{name} is {json.dumps(row.get(name))[:40]}", 0
    blocks = row.get("hash_ids")
    if not isinstance(blocks, list) or not all(isinstance(block, int) for block in blocks):
        return "hash_ids is no list of numbers", 0
    if len(blocks) * BLOCK < row["input_length"]:
        return f"hash_ids has {len(blocks)} blocks, and input_length is {row['input_length']}", 0
    return "", int(row["input_length"] + row["output_length"])
