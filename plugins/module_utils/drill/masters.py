# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several masters of the store: which one leads, and how long a failover takes, also of etcd (see etcd.py)."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple, Sequence

from ..tools.http_client import Reply, Target, ask
from ..verify.leader import serves
from ..verify.metrics import read_metrics

POLL = 0.2
TIMEOUT = 2.0  # seconds of one answer; a paused master accepts connections and says nothing


class Seen(NamedTuple):
    """The leader at one moment; "" if none or several serve. A counter is None if the leader did not give it. ``serving``: members of etcd."""

    leader: str
    clients: float | None = None
    stored_keys: float | None = None
    serving: tuple[str, ...] = ()


def look(urls: dict[str, str], get: Callable[..., Reply] = ask) -> Seen:
    """The leader of the masters ``{name: URL of the metrics port}``."""
    leaders = []
    for name in sorted(urls):
        reply = get(Target(urls[name]), "/health", None, TIMEOUT)
        if reply.status == 200 and not reply.error and serves(reply.body):
            leaders.append(name)
    if len(leaders) != 1:
        return Seen("")
    reply = get(Target(urls[leaders[0]]), "/metrics", None, TIMEOUT)
    samples = read_metrics(reply.body) if reply.status == 200 and not reply.error else {}
    return Seen(leaders[0], samples.get("master_active_clients"), samples.get("master_key_count"))


def follow(
    urls: dict[str, str],
    before: Seen,
    timeout: float,
    see: Callable[[dict[str, str]], Seen] = look,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Wait until the leader is gone, another election is over, and as many clients as before are back, at most ``timeout`` seconds.

    Returns ``{leader, leaderless, clients_after, clients, stored_keys}``: the new leader, the seconds in which none served and those until its
    clients were back (None if that did not happen or cannot be known), and its counters at the end (None if it did not give them). Both times are
    counted from the last answer of the old leader.
    """
    begin = last = clock()
    gone, leaderless, clients_after, seen = False, None, None, before
    while clients_after is None and clock() - begin < timeout:
        seen = see(urls)
        now = clock()
        if seen.leader == before.leader and not gone:
            last = now
        elif seen.leader:
            gone = True
            leaderless = round(now - last, 1) if leaderless is None else leaderless
            if before.clients is None:
                break
            if seen.clients is not None and seen.clients >= before.clients:
                clients_after = round(now - last, 1)
        else:
            gone = True
        sleep(POLL)
    return {
        "leader": seen.leader,
        "leaderless": leaderless,
        "clients_after": clients_after,
        "clients": seen.clients,
        "stored_keys": seen.stored_keys,
    }


def named(masters: Sequence[dict[str, str]]) -> dict[str, str]:
    """``{name: url}`` of the module's option."""
    return {master["name"]: master["url"].rstrip("/") for master in masters}
