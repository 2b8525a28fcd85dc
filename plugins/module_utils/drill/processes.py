# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a service, from /proc: its main process and all that it started."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

WORKER, CORE = (
    "Worker",
    "EngineCore",
)  # vLLM's titles of the processes of a rank, VLLM::Worker_TP0, and of the engine, VLLM::EngineCore_DP0
SPAWNED = "multiprocessing.spawn"  # of releases without titles
HELPER = "resource_tracker"


class Process(NamedTuple):
    """``title``: its command line, which a process can change; ``started``: clock ticks since boot, so that a reused id is recognised."""

    pid: int
    parent: int
    title: str
    started: str


def read(pid: int, root: str = "/proc") -> Process | None:
    """One process; None if it does not exist (any more)."""
    try:
        with open(f"{root}/{pid}/stat") as stream:
            rest = stream.read().rpartition(")")[2].split()
        with open(f"{root}/{pid}/cmdline", "rb") as stream:
            title = stream.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        with open(f"{root}/{pid}/comm") as stream:
            title = title or stream.read().strip()
    except (OSError, IndexError):
        return None
    return Process(pid, int(rest[1]), title, rest[19]) if rest[0] != "Z" else None


def is_paused(process: Process, root: str = "/proc") -> bool:
    """Whether a process that is still the same was stopped by a signal."""
    now = read(process.pid, root)
    try:
        with open(f"{root}/{process.pid}/stat") as stream:
            letter = stream.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return now is not None and now.started == process.started and letter == "T"


def tree(pid: int, root: str = "/proc") -> list[Process]:
    """A process and its descendants, parents first; empty if it does not exist."""
    everything = [read(int(name), root) for name in os.listdir(root) if name.isdigit()]
    children: dict[int, list[Process]] = {}
    for process in everything:
        if process:
            children.setdefault(process.parent, []).append(process)
    top = read(pid, root)
    found = [top] if top else []
    for process in found:
        found += sorted(children.get(process.pid, ()))
    return found


def rank_of(processes: list[Process]) -> Process | None:
    """The process of the last rank of an engine: a worker, else the engine's core, else one that multiprocessing spawned."""
    children = [process for process in processes[1:] if HELPER not in process.title]
    for title in (WORKER, CORE, SPAWNED):
        found = [process for process in children if title in process.title]
        if found:
            return max(found, key=lambda process: (process.title, process.pid))
    return None


def send(processes: list[Process], number: signal.Signals) -> list[Process]:
    """Send a signal to processes that are still the same -> those that got it. Raises PermissionError."""
    reached = []
    for process in processes:
        now = read(process.pid)
        if now is None or now.started != process.started:
            continue
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            continue
        reached.append(process)
    return reached
