# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of AISBench, the benchmark of Huawei's figures: its folder, its arguments, and its result in the form of ``vllm bench serve``.

Facts, from ais_bench_benchmark 3.1.20260630 (read, and run against an engine with known delays): it writes below its work folder and below
``tmp`` of the current folder, and a copy of its configuration with the key of the API into both; it ends with status 0 also if nothing was
measured; an answer with status 200 and without text is a success with 0 tokens, and so is a stream that breaks off; one without an event fails
as "chunk size is less than 2". A failed request is in ``ABBR_details.jsonl`` with ``success`` false. What it cannot write of a request it drops
there with a message at level DEBUG, and what a process of its summary had to count when it failed is missing in the totals. The details are
UTF-8 without escapes, so text of an answer may have characters that end a line for others, such as U+2028.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re

from ..files import tree
from ..tools import foreign_file, foreign_json
from .prompts import written

MOST = 512 * 2**20  # bytes of a file of the result
SERVICE, DATASET = (
    "service",
    "random",
)  # the names (abbr) in the configuration, after which the result's files are named
SILENT = "chunk size is less than 2"  # the error of an answer with status 200 and nothing else
NO_TEXT = "to calculate TTFT"  # that of vLLM
PROMPTS = "prompts.jsonl"  # the file of random prompts in the folder
NAME = re.compile(r"bench-\d+")  # of a folder: with the number of the module's process
PARTS = {"mean": "Average", "p50": "Median", "p90": "P90", "p99": "P99"}
# What is wrong with an environment -> the sentence of it. The texts are those that the program prints.
TRAPS = (
    (
        r"pyarrow requires NumPy 2",
        "its pyarrow needs NumPy 2, and AISBench needs NumPy 1. Fix: install pyarrow<21 in its environment",
    ),
    (
        r"compiled using NumPy 1\.x|_ARRAY_API not found|numpy\.core\.multiarray failed to import",
        "its environment has NumPy 2, and AISBench needs NumPy 1. Fix: install numpy<2 in its environment, which must not be that of an engine",
    ),
    (
        r"has no attribute 'getargspec'",
        "pyext 0.5, which it needs, cannot be imported with Python 3.11 or later. Fix: make its environment with Python 3.10",
    ),
    (
        r"No module named '?([\w.]+)",
        r"its environment has no module {0}. Fix: install ais_bench_benchmark with all that it depends on",
    ),
    (
        r"unrecognized arguments|invalid choice: 'perf'",
        "it is too old for the options that are needed. Fix: install ais_bench_benchmark 3.1",
    ),
)


def prepare(folder, config, key):
    """Make the folder, which only the owner of its parent can read, with prompts and configuration: the program copies the key to other files there.

    Folders of runs that were killed are removed before; the caller holds the lock of the deployment's measurements. The owner of the parent may put
    a link in place of the folder at any moment, so it is opened once and not followed: TreeError then. ValueError if no prompts can be made.
    """
    wanted = config["prompts"]
    config = {name: value for name, value in config.items() if name != "prompts"}
    files = {} if wanted.get("file") else {PROMPTS: written(wanted)}
    (dataset,) = config["datasets"]
    dataset["path"] = wanted.get("file") or os.path.join(folder, PROMPTS)
    parent, name = os.path.split(folder)
    for left in os.listdir(parent):
        if NAME.fullmatch(left):
            remove(os.path.join(parent, left))
    for model in config["models"]:
        model["api_key"] = key
    holder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.mkdir(name, 0o700, dir_fd=holder)
        owner, inside = os.fstat(holder), tree.descend(holder, [name], folder)
    finally:
        os.close(holder)
    if inside is None:
        raise tree.TreeError(f"{folder} was removed while it was being prepared. Fix: run the benchmark again")
    try:
        files["config.json"] = json.dumps(config).encode("utf-8")
        for each, content in files.items():
            tree.write(inside, each, content, 0o600, owner.st_uid, owner.st_gid)
        tree.own(inside, 0o700, owner.st_uid, owner.st_gid)
    finally:
        os.close(inside)


def arguments(folder):
    """Of one run without a request before those that count: its prompt would be in a prefix cache."""
    return [
        os.path.join(folder, "config.json"),
        *("--mode", "perf", "--work-dir", os.path.join(folder, "out"), "--num-warmups", "0", "--debug"),
    ]


def remove(folder):
    """Remove the folder, which has prompts, answers and the key of the API."""
    if os.path.isdir(folder) and not os.path.islink(folder):
        tree.remove_all(folder)


def trap(output):
    """What is known to be wrong with such an environment, from what the program printed; empty if nothing is."""
    for pattern, sentence in TRAPS:
        found = re.search(pattern, output)
        if found:
            return sentence.format(*found.groups())
    return ""


def asked(config):
    """How many requests a configuration asks for."""
    return config["prompts"]["count"]


def read(folder, count):
    """The result of ``count`` requests in the form of ``vllm bench serve``.

    Raises OSError without its files and ValueError for damaged ones, or if they are about another number of requests.
    """
    runs = sorted(os.listdir(os.path.join(folder, "out")))
    if not runs:
        raise ValueError("it made no folder for its results")
    place = os.path.join(folder, "out", runs[-1], "performances", SERVICE)
    common = foreign_json.loads(_text(folder, os.path.join(place, f"{DATASET}.json")))
    times = _rows(_text(folder, os.path.join(place, f"{DATASET}.csv")))
    lines = _text(folder, os.path.join(place, f"{DATASET}_details.jsonl")).split("\n")
    requests = [_request(line) for line in lines if line.strip()]
    if not isinstance(common, dict):
        raise ValueError("its result is not a JSON object")
    found = {
        "duration": _seconds(_total(common, "Benchmark Duration")),
        "completed": _total(common, "Success Requests"),
        "failed": _total(common, "Failed Requests"),
        "total_input_tokens": _total(common, "Total Input Tokens"),
        "total_output_tokens": _total(common, "Total Generated Tokens"),
        "request_throughput": _total(common, "Request Throughput"),
        "output_throughput": _total(common, "Output Token Throughput"),
        "total_token_throughput": _total(common, "Total Token Throughput"),
        "output_lens": [tokens for tokens, _error in requests],
        "errors": [error for _tokens, error in requests],
    }
    counted = [found["completed"], found["failed"]]
    if None in counted or not sum(counted) == len(requests) == count:
        raise ValueError(
            f"{count} requests were to be sent, its details have {len(requests)}, and it counted {counted[0]} as successful and {counted[1]} as failed"
        )
    for time in ("ttft", "tpot", "itl", "e2el"):
        for part, column in PARTS.items():
            found[f"{part}_{time}_ms"] = _number((times.get(time.upper()) or {}).get(column))
    return found


def _text(folder, path):
    with foreign_file.opened_below(folder, path) as stream:
        return stream.read(MOST).decode("utf-8", "replace")


def _rows(text):
    """{name of a time: its row}. Raises ValueError."""
    if "\0" in text:  # UTF-16, for instance; Python before 3.11 refuses it
        return {}
    try:
        return {row.get("Performance Parameters"): row for row in csv.DictReader(io.StringIO(text))}
    except csv.Error as error:
        raise ValueError(f"its table is damaged: {error}") from error


def _request(line):
    """(output tokens, error) of a line of details."""
    found = foreign_json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("a line of its details is not a JSON object")
    if found.get("success") is True:
        return found.get("output_tokens"), ""
    error = str(found.get("error_info") or "no reason is known")
    return 0, f"no text {NO_TEXT}" if SILENT in error else error


def _total(common, name):
    part = common.get(name)
    return _number(part.get("total")) if isinstance(part, dict) else None


def _number(value):
    """The number before a unit, such as ``1353.9538 ms``; None for everything else, and for more digits than a number has."""
    found = re.match(r"(?:0|[1-9]\d{0,17})(?:\.\d{1,30})?(?=\s|$)", str(value))
    return json.loads(found.group()) if found else None


def _seconds(milliseconds):
    return None if milliseconds is None else milliseconds / 1000
