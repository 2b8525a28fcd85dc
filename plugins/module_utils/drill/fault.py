# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One fault: kills or pauses processes of services, and waits until the services have recovered by themselves.

A pause ends with its time, whatever happens to the module: a process of its own continues what the module cannot.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import Any, Callable, Sequence

from ..runtime.base import Runtime, RuntimeProblem
from ..runtime.wait import answers
from .processes import Process, rank_of, send, tree

GUARD = 5  # seconds after which the other process continues paused processes
POLL = 0.2


class FaultError(Exception):
    """The fault could not be made; the text says why and how to fix it."""


def victims(runtime: Runtime, services: Sequence[dict[str, Any]], part: str, whole: bool) -> dict[str, list[Process]]:
    """{service: processes} that get the signal: the main one, with ``whole`` its descendants as well, or for the part ``rank`` one rank.

    Raises FaultError if a service does not run or has no process of a rank.
    """
    found, problems = {}, []
    pids = runtime.pids(services)
    for service in services:
        name, pid = service["name"], pids.get(service["unit"], 0)
        processes = tree(pid) if pid else []
        if not processes:
            problems.append(f"{name} does not run")
            continue
        rank = rank_of(processes)
        if part == "rank" and rank is None:
            problems.append(f"{name} has no process of a rank beside its main process")
        elif part == "rank" and rank is not None:
            found[name] = tree(rank.pid) if whole else [rank]
        else:
            found[name] = processes if whole else processes[:1]
    if problems:
        raise FaultError(
            "{}. No process was touched. Fix: run ascend.inference.status, or name another service".format(
                "; ".join(problems)
            )
        )
    return found


def kill(processes: Sequence[Process]) -> None:
    """SIGKILL, all at once. Raises FaultError without the permission."""
    _signal(list(processes), signal.SIGKILL)


def pause(
    processes: Sequence[Process], seconds: float, times: int, sleep: Callable[[float], None] = time.sleep
) -> None:
    """SIGSTOP for ``seconds``, ``times`` times with as long a time between; always ends with SIGCONT. Raises FaultError."""
    victims = list(processes)
    guard, pipe = _guard(victims, seconds * (2 * times - 1) + GUARD)
    previous = signal.signal(signal.SIGTERM, _ended)
    try:
        for turn in range(times):
            if turn:
                sleep(seconds)
            _signal(victims, signal.SIGSTOP)
            sleep(seconds)
            _signal(victims, signal.SIGCONT)
    finally:
        send(victims, signal.SIGCONT)
        signal.signal(signal.SIGTERM, previous)
        os.close(pipe)
        os.waitpid(guard, 0)


def _guard(victims: list[Process], seconds: float) -> tuple[int, int]:
    """Start a process of an own session that continues the victims when this one ends or the time is over -> its id, and a pipe to close."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(reading)
        return child, writing
    try:
        os.setsid()
        os.close(writing)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # a connection ends only when all of its streams are closed
            os.dup2(silence, stream)
        select.select([reading], [], [], seconds)
        send(victims, signal.SIGCONT)
    finally:
        os._exit(0)


def _ended(number: int, frame: Any) -> None:
    raise FaultError(f"the module was ended with signal {number}; paused processes run again")


def _signal(processes: list[Process], number: signal.Signals) -> None:
    try:
        reached = send(processes, number)
    except PermissionError as error:
        if number == signal.SIGSTOP:
            send(processes, signal.SIGCONT)
        raise FaultError(
            f"{error}: the processes belong to another user. Fix: set ansible_become for this host"
        ) from error
    if not reached and number != signal.SIGCONT:
        raise FaultError("the processes ended before the fault. Fix: run ascend.inference.status")


def recovered(
    runtime: Runtime,
    services: Sequence[dict[str, Any]],
    old: dict[str, Any],
    timeout: float,
    probe: Callable[[str], bool] = answers,
) -> dict[str, float | None]:
    """Seconds until each service ran and answered by itself, None after ``timeout``.

    ``old``: {unit: start id} that a service must no longer have, of those that were killed.
    """
    begin = time.monotonic()
    found: dict[str, float | None] = {service["name"]: None for service in services}
    while None in found.values() and time.monotonic() - begin < timeout:
        try:
            states = runtime.states(services)
        except RuntimeProblem:
            states = {}
        for service in services:
            state = states.get(service["unit"])
            if found[service["name"]] is not None or not state or not state["up"]:
                continue
            again = service["unit"] not in old or state["start_id"] != old[service["unit"]]
            if again and (not service["url"] or probe(service["url"])):
                found[service["name"]] = round(time.monotonic() - begin, 1)
        time.sleep(POLL)
    return found
