# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring servers of a balancer to a state, read back, and wait: for the end of their requests, or until they answer."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple, Sequence

from .admin import Balancer, BalancerProblem, Server

INTERVAL = 0.5  # seconds between two readings


class Outcome(NamedTuple):
    """Servers before and after; ``seconds`` waited; ``busy``: requests that are left in each drained server."""

    before: dict[str, Server]
    after: dict[str, Server]
    seconds: float
    busy: dict[str, int]


def bring(
    balancer: Balancer,
    names: Sequence[str],
    state: str,
    weight: int | None = None,
    allow_last: bool = False,
    check: bool = False,
    timeout: float = 300.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Any] = time.sleep,
) -> Outcome:
    """Set ``names`` to ``state`` (ready, drain), and their weight if one is given.

    ``drain`` waits until they have no request, at most ``timeout`` seconds; what is left is in ``busy``. ``ready`` waits until the balancer's
    health checks find them. Raises BalancerProblem: a name is unknown, no other server would get requests (without ``allow_last``), a change is
    not read back, or a server is not up in time.
    """
    before = balancer.servers()
    _require(balancer, before, names, last=state == "drain" and not allow_last)
    due = [name for name in names if before[name].state != state]
    heavier = [name for name in names if weight is not None and before[name].weight != weight]
    if check:
        return Outcome(before, _predicted(before, due, state, heavier, weight), 0.0, {})
    for name in heavier:  # first: a router that is returned gets no more than its share at any moment
        balancer.set_weight(name, int(weight or 0))
    for name in due:
        balancer.set_state(name, state)
    begin = clock()
    after, left = _read_back(balancer, names, state)
    while left and clock() - begin < timeout:
        sleep(INTERVAL)
        after, left = _read_back(balancer, names, state)
    if left and state == "ready":
        raise BalancerProblem(
            f"{', '.join(left)} does not pass the balancer's health check within {timeout:.0f} s and gets no requests. "
            "Fix: look into the log of the router, and check that the balancer's host reaches it"
        )
    return Outcome(before, after, round(clock() - begin, 1), {name: after[name].requests for name in left})


def _require(balancer: Balancer, known: dict[str, Server], names: Sequence[str], last: bool) -> None:
    """Raise BalancerProblem for unknown names and, if ``last``, when no other server would get requests."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BalancerProblem(
            f"the balancer at {balancer.path} has no {', '.join(unknown)}; it has {', '.join(known) or 'none'}. Fix: run site, which gives it "
            "the planned routers"
        )
    others = (server for server in known.values() if server.name not in names)
    if last and not any(server.up and server.state == "ready" and server.weight for server in others):
        raise BalancerProblem(
            f"no other router than {', '.join(names)} gets requests from the balancer, so all requests would fail. "
            "Fix: start another router first"
        )


def _read_back(balancer: Balancer, names: Sequence[str], state: str) -> tuple[dict[str, Server], list[str]]:
    """The servers as they are, and those of ``names`` that still have requests (drain) or are not up yet (ready)."""
    after = balancer.servers()
    wrong = [name for name in names if name not in after or after[name].state != state]
    if wrong:
        raise BalancerProblem(
            f"the balancer at {balancer.path} accepted the change, and {', '.join(wrong)} is not {state}. Fix: run again"
        )
    return after, [name for name in names if (after[name].requests if state == "drain" else not after[name].up)]


def _predicted(
    before: dict[str, Server], due: Sequence[str], state: str, heavier: Sequence[str], weight: int | None
) -> dict[str, Server]:
    """The servers as a change would leave them."""
    after = dict(before)
    for name in due:
        after[name] = after[name]._replace(state=state)
    for name in heavier:
        after[name] = after[name]._replace(weight=int(weight or 0))
    return after


def shown(servers: dict[str, Server]) -> dict[str, dict[str, Any]]:
    """{name: {state, up, weight, requests}}."""
    return {
        server.name: {"state": server.state, "up": server.up, "weight": server.weight, "requests": server.requests}
        for server in servers.values()
    }


def lines(servers: dict[str, Server]) -> str:
    """One line for each server, for a diff."""
    return "".join(f"{server.name} {server.state} weight {server.weight}\n" for server in servers.values())
