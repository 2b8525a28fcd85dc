# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Move the requests of clients from routers to others in steps of their weight, and compare both meanwhile.

The balancer's counters tell which requests of clients failed. They do not tell an empty answer with status 200, nor the time to the first token,
so each router is also asked directly, with prompts that nobody sent before. If the new routers do worse, or one of them is not known to do
well, the old ones get all requests again at once. So they do if the balancer starts anew meanwhile: its counters are lost then, and routers
have other weights than those that were watched.
"""

from __future__ import annotations

import statistics
import threading
import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ..drill.load import Load, Request, Service
from .admin import Balancer, BalancerProblem, Counters, Server
from .servers import bring

SHARES = (5, 50, 100)  # percent of the requests for the new routers
RATE = 1.0  # direct requests per second and router
INTERVAL = 0.5  # seconds between two looks
FLOOR = 0.2  # seconds of difference to the first token that are none
LATE = 30.0  # most seconds to wait for the last direct answers of a step
RETURN = 30.0  # most seconds to wait for a balancer that starts anew, to give the requests back


class Seen(NamedTuple):
    """What one side did in one step. ``requests``, ``failures``: of clients; ``first``: median seconds to the first text of direct requests, -1 without.

    ``problems``: of direct requests, each once.
    """

    requests: int
    failures: int
    asked: int
    first: float
    problems: tuple[str, ...]


class Step(NamedTuple):
    """One step: percent of the requests, how long it was watched, the old and the new side."""

    share: int
    seconds: float
    origin: Seen
    to: Seen


class Outcome(NamedTuple):
    """``problem``: why the old routers serve again; empty if the new ones serve."""

    steps: list[Step]
    problem: str


class Watch:
    """Direct requests to routers, and the balancer's counters, from now on."""

    def __init__(self, balancer: Balancer, services: dict[str, Service]) -> None:
        self.balancer, self.before = balancer, balancer.counters()
        self.uptime = balancer.uptime()
        self.answers: dict[str, list[Request]] = {name: [] for name in services}
        self.lock = threading.Lock()
        self.services = services
        self.loads = [Load(service, 1, RATE, self._keep(name)) for name, service in services.items()]
        for load in self.loads:
            load.start()

    def _keep(self, name: str) -> Callable[[Request], None]:
        def keep(request: Request) -> None:
            with self.lock:
                self.answers[name].append(request)

        return keep

    def seen(self, names: Sequence[str]) -> Seen:
        """What these routers did so far."""
        now, none = self.balancer.counters(), Counters(0, 0)
        with self.lock:
            answers = [request for name in names for request in self.answers[name]]
        first = [request.first for request in answers if not request.problem]
        return Seen(
            sum(now.get(name, none).requests - self.before.get(name, none).requests for name in names),
            sum(now.get(name, none).failures - self.before.get(name, none).failures for name in names),
            len(answers),
            round(statistics.median(first), 3) if first else -1.0,
            tuple(sorted({request.problem for request in answers if request.problem})),
        )

    def check(self, weights: Mapping[str, int]) -> dict[str, Server]:
        """The servers. Raises BalancerProblem if it is not known what they did: HAProxy started anew, or they have not these ``weights``."""
        before, self.uptime = self.uptime, self.balancer.uptime()
        if self.uptime < before:
            raise BalancerProblem(
                "the balancer restarted while the routers were compared, so it is not known how many requests failed. "
                "Fix: look into its log for the reason, then run again"
            )
        servers = self.balancer.servers()
        for name, weight in weights.items():
            server = servers.get(name)
            if not server or server.state != "ready" or server.weight != weight:
                now = f"is {server.state} with weight {server.weight}" if server else "is not there"
                raise BalancerProblem(
                    f"{name} {now}, and was set to ready with weight {weight}: another process changes the balancer, so the comparison is worth "
                    "nothing. Fix: run again when none does"
                )
        return servers

    def silent(self, names: Sequence[str]) -> list[str]:
        """Routers that have not answered once, or that still owe an answer after `stop`."""
        owing = {name for name, load in zip(self.services, self.loads) if any(each.is_alive() for each in load.threads)}
        with self.lock:
            return [name for name in names if name in owing or not self.answers[name]]

    def stop(self) -> None:
        """Send nothing more, and wait for the answers that are due."""
        for load in self.loads:
            load.ended.set()
        end = time.monotonic() + LATE
        for load in self.loads:
            load.stop(max(0.0, end - time.monotonic()))


def failing(origin: Seen, to: Seen) -> str:
    """Why the new side fails more often than the old one; empty if it does not."""
    if to.problems:
        return f"direct requests failed: {'; '.join(to.problems)}"
    if to.failures and to.failures * max(origin.requests, 1) > origin.failures * max(to.requests, 1):
        return f"{to.failures} of {to.requests} requests of clients failed, and {origin.failures} of {origin.requests} at the routers before"
    return ""


def worse(origin: Seen, to: Seen, slower: float) -> str:
    """Why the new side does worse than the old one; empty if it does not."""
    if not failing(origin, to) and to.first >= 0 <= origin.first and to.first > origin.first * slower + FLOOR:
        return f"the first token comes after {to.first} s, and after {origin.first} s at the routers before"
    return failing(origin, to)


def shift(
    balancer: Balancer,
    origin: Sequence[str],
    services: dict[str, Service],
    to: Sequence[str],
    seconds: float = 60.0,
    slower: float = 2.0,
    timeout: float = 60.0,
    shares: Sequence[int] = SHARES,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Any] = time.sleep,
) -> Outcome:
    """Move the requests from the routers ``origin`` to the routers ``to``, each step for ``seconds``.

    ``services``: {router: whom to ask directly}; ``slower``: how many times later the first token may come. Raises BalancerProblem if the balancer
    does not do what it is asked; the old routers have been given all requests again then, as far as it answered.
    """
    steps: list[Step] = []
    done = False
    try:
        _not_used(balancer, to)
        for share in shares:
            bring(balancer, list(to), "ready", share, timeout=timeout)
            for name in origin:
                balancer.set_weight(name, 100 - share)
            step, problem = _watched(balancer, share, list(origin), list(to), services, seconds, slower, clock, sleep)
            steps.append(step)
            if problem:
                return Outcome(steps, f"at {share} percent of the requests {problem}")
        done = True
    finally:
        if not done:
            _given_back(balancer, origin, to, clock, sleep)
    return Outcome(steps, "")


def _not_used(balancer: Balancer, names: Sequence[str]) -> None:
    """Raise BalancerProblem if one of these routers gets requests already: HAProxy has started anew since it was drained."""
    servers = balancer.servers()
    used = [name for name in names if name in servers and servers[name].state == "ready" and servers[name].weight]
    if used:
        raise BalancerProblem(
            f"{', '.join(used)} got requests of clients before it was proven: the balancer has restarted since, or another process has changed "
            "it, so it is not known how these requests were answered. Fix: look into the balancer's log for the reason, then run again"
        )


def _given_back(
    balancer: Balancer,
    origin: Sequence[str],
    to: Sequence[str],
    clock: Callable[[], float],
    sleep: Callable[[float], Any],
) -> None:
    """`give_back`, also to a balancer that is just starting."""
    end = clock() + RETURN
    while True:
        try:
            return give_back(balancer, origin, to)
        except BalancerProblem:
            if clock() >= end:
                raise
        sleep(INTERVAL)


def _watched(
    balancer: Balancer,
    share: int,
    origin: list[str],
    to: list[str],
    services: dict[str, Service],
    seconds: float,
    slower: float,
    clock: Callable[[], float],
    sleep: Callable[[float], Any],
) -> tuple[Step, str]:
    """One step, and why it is the last one. A failure ends it at once; times are compared at its end, when there are enough of them."""
    watch, begin = Watch(balancer, services), clock()
    weights = {**dict.fromkeys(origin, 100 - share), **dict.fromkeys(to, share)}
    try:
        while clock() - begin < seconds:
            sleep(INTERVAL)
            step = _step(watch, share, clock() - begin, origin, to)
            servers = watch.check(weights)  # behind the counters, so that they are those of one process
            if failing(step.origin, step.to):
                return step, failing(step.origin, step.to)
            down = [name for name, server in servers.items() if name in to and not server.up]
            if down:
                return step, f"{', '.join(down)} failed its health check"
        watch.stop()
        step = _step(watch, share, clock() - begin, origin, to)
        watch.check(weights)
        problem, silent = worse(step.origin, step.to, slower), watch.silent(to)
        if silent and not problem:
            problem = f"{', '.join(silent)} did not answer the last direct request within {LATE:.0f} s"
        return step, problem
    finally:
        for load in watch.loads:
            load.ended.set()


def _step(watch: Watch, share: int, seconds: float, origin: list[str], to: list[str]) -> Step:
    return Step(share, round(seconds, 1), watch.seen(origin), watch.seen(to))


def give_back(balancer: Balancer, origin: Sequence[str], to: Sequence[str]) -> None:
    """The old routers get all requests, and the new ones none. First the former, so that at each moment one gets them.

    If none of the old ones answers any more, they get the requests when one does, and the new ones keep them until then.
    """
    problems = []
    if not any(server.up for name, server in balancer.servers().items() if name in origin):
        to = ()
    for names, state, weight in ((origin, "ready", 100), (to, "drain", 0)):
        for name in names:
            try:
                balancer.set_weight(name, weight)
                balancer.set_state(name, state)
            except BalancerProblem as error:
                problems.append(str(error))
    if problems:
        raise BalancerProblem("; ".join(problems))
