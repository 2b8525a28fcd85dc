# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others do during a drill: use the service (requests that the engines have, or finish within some seconds), or take its lock over.

The load of a drill is detached from its connection, which a long fault leaves idle until it is closed: neither its parent nor a session tells that the
controller is gone. The lock of the deployment does, as soon as another run takes it over.
"""

from __future__ import annotations

import time
from typing import Callable, Sequence

from ..files import deployment_lock
from ..tools.http_client import Target, ask
from ..verify.metrics import FINISHED, Samples, read_metrics

HAVE = ("vllm:num_requests_running", "vllm:num_requests_waiting")
FREE = 2.0  # seconds; a lock without a record may be one that is being written


def users(
    engines: Sequence[dict[str, str]], token: str, seconds: float, sleep: Callable[[float], None] = time.sleep
) -> list[str]:
    """A sentence for each engine ({name, url}) that works for somebody; an engine without counters is named too."""
    before = [_counters(engine, token) for engine in engines]
    sleep(seconds)
    found = []
    for engine, first in zip(engines, before):
        second = _counters(engine, token)
        if first is None or second is None or HAVE[0] not in second or (FINISHED in first) != (FINISHED in second):
            found.append("{} does not answer with its counters".format(engine["name"]))
            continue
        have = sum(second.get(name, 0.0) for name in HAVE)
        finished = second.get(FINISHED, 0.0) - first.get(FINISHED, 0.0)
        if have or finished:
            found.append("{} has {:.0f} requests and finished {:.0f}".format(engine["name"], have, max(0.0, finished)))
    return found


def _counters(engine: dict[str, str], token: str) -> Samples | None:
    reply = ask(Target(engine["url"], token), "/metrics", timeout=10.0)
    return read_metrics(reply.body) if reply.status == 200 and not reply.error else None


class Holder:
    """The run that holds the lock now. ``directory``: the deployment's folder; "", or nobody holds its lock: never over."""

    def __init__(self, directory: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.directory, self.clock = directory, clock
        self.run = self._holder()
        self.free_since: float | None = None

    def gone(self) -> bool:
        """Whether another run holds the lock, or nobody for a while."""
        found = self._holder() if self.run else ""
        if found or not self.run:
            self.free_since = None
            return found != self.run
        self.free_since = self.clock() if self.free_since is None else self.free_since
        return self.clock() - self.free_since >= FREE

    def _holder(self) -> str:
        return str(deployment_lock.holder_of(self.directory).get("id", "")) if self.directory else ""
