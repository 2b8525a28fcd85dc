# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``vllm bench serve`` of an older vLLM lacks. tests/parsers/bench_client.py compares this with the programs of the releases."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from .settings import Bench

FIRST = (0, 9, 1)  # with --save-detailed, without which nobody knows whether an answer is empty
BACKEND = (0, 10)  # the option --backend; --endpoint-type says the same before
DATASETS = {"prefix_repetition": (0, 10, 1), "timed_trace": (0, 23)}


def number_of(vllm: str) -> tuple[int, ...]:
    """(0, 11, 0) of 0.11.0rc3; () of a version that is no number."""
    found = []
    for part in vllm.split(".")[:3]:
        digits = part.split("rc")[0].split("post")[0]
        if not digits.isdigit():
            break
        found.append(int(digits))
    return tuple(found)


def target(vllm: str, url: str, chat: bool) -> list[str]:
    """The options that choose the protocol of the requests, the server, and the protocol's path."""
    known = number_of(vllm)
    option = "--endpoint-type" if known and known < BACKEND else "--backend"
    name, path = ("openai-chat", "/v1/chat/completions") if chat else ("openai", "/v1/completions")
    return [option, name, "--base-url", url, "--endpoint", path]


def greedy(vllm: str) -> list[str]:
    """The option for answers of temperature 0. Before --backend the client looks for it when a temperature is given, and ends; without one it sends 0."""
    known = number_of(vllm)
    return [] if known and known < BACKEND else ["--temperature", "0"]


def dataset(bench: Bench) -> str:
    """The name of the prompts' data set."""
    if bench.profile == "trace":
        return "timed_trace"
    return "prefix_repetition" if bench.prefix else "random"


def client_findings(vllm: str, bench: Bench) -> t.Iterator[Finding]:
    """Why this vLLM's client cannot send the load. Only what it lacks is refused, and what else the user can do is said."""
    known, wanted = number_of(vllm), dataset(bench)
    if known and known < FIRST:
        problem = f"vLLM {vllm} has no vllm bench serve with --save-detailed, which came with 0.9.1"
        yield _refusal("driver", problem, "Set driver: aisbench, or upgrade to a release with vLLM 0.9.1 or later.")
    elif known and known < DATASETS.get(wanted, ()):
        least = ".".join(str(part) for part in DATASETS[wanted])
        problem = f"vllm bench serve of vLLM {vllm} has no data set {wanted}, which came with {least}"
        other = "" if wanted == "timed_trace" else "driver: aisbench, "
        fix = f"Use {other}another profile, or a release with vLLM {least} or later."
        yield _refusal("profile", problem, fix)


def _refusal(name: str, problem: str, fix: str) -> Finding:
    return Finding(f"inference_bench.{name}", "BENCH-SETTING", problem, fix, why="The client would refuse its options.")
