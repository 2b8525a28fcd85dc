# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a router uses engines: requests through it until each of them has finished one."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Sequence

from ..tools.http_client import ask
from ..verify.metrics import FINISHED
from ..verify.prompts import completion_of, new_nonce, prompt_of
from .base import Member, Router
from .drain import Found, metrics_of

PAUSE = 0.5  # seconds between two rounds
WORDS, TOKENS = 8, 2  # of a request
MOST = 64  # requests at once


def unused(
    router: Router,
    added: Sequence[Member],
    engines: int,
    timeout: float,
    read: Callable[[str], Found] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Any] = time.sleep,
) -> list[Member]:
    """Those of ``added`` that finished no request within ``timeout`` seconds, though two for each of the router's ``engines`` were sent at once.

    Other clients' requests count as well: they came through the router, too. An engine whose counters cannot be read was not used, and what it
    had finished before it was read for the first time does not count.
    """
    read = read or metrics_of
    end = clock() + timeout
    before = {member: _finished(read(member.url)) for member in added}
    left = list(added)
    while True:
        _send(router, min(MOST, 2 * max(engines, 1)), max(1.0, end - clock()))
        left = [member for member in left if not _used(before, member, _finished(read(member.url)))]
        if not left or clock() >= end:
            return left
        sleep(PAUSE)


def _used(before: dict[Member, float | None], member: Member, now: float | None) -> bool:
    first = before[member]
    if first is None:
        before[member] = now
    return first is not None and now is not None and now > first


def _finished(found: Found) -> float | None:
    return None if found is None or isinstance(found, str) else found.get(FINISHED, 0.0)


def _send(router: Router, number: int, timeout: float) -> None:
    """Different prompts at once: a router that counts requests under way, and one that hashes prompts, then choose several engines."""

    def send(_number: int) -> None:
        body = completion_of(router.model, prompt_of(new_nonce(), WORDS), TOKENS)
        ask(router.target, "/v1/completions", body, timeout)

    with ThreadPoolExecutor(max_workers=number) as pool:
        list(pool.map(send, range(number)))
