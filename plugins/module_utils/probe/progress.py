# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines make no progress: they have requests, and no token was computed or generated for some time."""

from __future__ import annotations

from typing import NamedTuple

from ..tools.http_client import Reply
from ..verify.metrics import read_metrics

REQUESTS = ("vllm:num_requests_running", "vllm:num_requests_waiting")
TOKENS = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")
PREFERRED = 10  # rounds of the probe in which an engine that began to work again is preferred
OK, STALLED, SILENT, DOWN, UNKNOWN = "ok", "stalled", "silent", "down", "unknown"


class State(NamedTuple):
    """One engine. seconds: for how long it has been stalled or silent, else 0. requests: running and waiting ones."""

    state: str
    seconds: float = 0.0
    requests: float = 0.0


class _Seen(NamedTuple):
    state: str
    since: float
    tokens: float


def judged(reply: Reply) -> tuple[str, float, float]:
    """(state, requests, tokens) of an answer to /metrics. An engine that refuses connections is down: it is starting, or has ended.

    One that accepts a connection and does not answer hangs; one without the counters is unknown.
    """
    if reply.never_connected:
        return DOWN, 0.0, 0.0
    if reply.error == "timeout":
        return SILENT, 0.0, 0.0
    samples = read_metrics(reply.body) if reply.status == 200 and not reply.error else {}
    if REQUESTS[0] not in samples or not any(name in samples for name in TOKENS):
        return UNKNOWN, 0.0, 0.0
    requests = sum(samples.get(name, 0.0) for name in REQUESTS)
    return (STALLED if requests else OK), requests, sum(samples.get(name, 0.0) for name in TOKENS)


class Progress:
    """Compares each reading of an engine with the earlier ones. `look` returns the state; only its duration says whether it matters."""

    def __init__(self) -> None:
        self.seen: dict[str, _Seen] = {}
        self.returned: dict[str, int] = {}  # engine: rounds in which it is preferred
        self.states: dict[str, State] = {}

    def look(self, name: str, reply: Reply, now: float) -> State:
        """The state at `now` (seconds of any clock that is never set). Requests without new tokens since the last reading are a stall, which began there."""
        state, requests, tokens = judged(reply)
        before = self.seen.get(name)
        same = before and before.state == state and (state == SILENT or before.tokens == tokens)
        since = before.since if before and same else now
        self.seen[name] = _Seen(state, since, tokens)
        stuck = state == SILENT or (state == STALLED and now > since)
        found = (
            State(state, now - since, requests) if stuck else State(OK if state == STALLED else state, 0.0, requests)
        )
        self.states[name] = found
        self._note(name, found, bool(before and tokens < before.tokens))
        return found

    def _note(self, name: str, found: State, restarted: bool) -> None:
        """Whether the engine works again: it was gone, silent or stuck before, or its counters began anew."""
        if restarted or found.state in (DOWN, SILENT) or found.seconds:
            self.returned[name] = PREFERRED
        elif name in self.returned:
            self.returned[name] -= 1
            if not self.returned[name]:
                del self.returned[name]

    def working_again(self) -> set[str]:
        """Engines that were gone, silent or stuck a few rounds ago, and are not now."""
        return {name for name in self.returned if self.states[name].state not in (DOWN, SILENT)}

    def forget(self) -> None:
        """Forget the earlier readings: nobody looked in a pause, so an engine that was silent before and after it need not have been silent in it."""
        self.seen.clear()
