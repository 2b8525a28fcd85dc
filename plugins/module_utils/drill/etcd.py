# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of etcd: which one leads, and whether the others would have a majority without it.

A member says in its metrics whether it leads. One that was paused says so for some time after it has lost its followers, so what counts is a member
whose /health is true as well: etcd reads through the leader and a majority for it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from ..tools import foreign_json
from ..tools.http_client import Reply, Target, ask
from ..verify.metrics import read_metrics
from .masters import TIMEOUT, Seen

LEADS = "etcd_server_is_leader"


def look(urls: dict[str, str], get: Callable[..., Reply] = ask) -> Seen:
    """The leader of the members ``{name: URL for clients}``, and in ``serving`` all that serve. Clients and keys of a store stay unknown."""
    names = sorted(urls)
    with ThreadPoolExecutor(len(names) or 1) as pool:  # those that are away must not delay the answer
        states = dict(zip(names, pool.map(lambda name: _state(urls[name], get), names)))
    leaders = [name for name in names if states[name] == "leads"]
    return Seen(leaders[0] if len(leaders) == 1 else "", serving=tuple(name for name in names if states[name]))


def majority(members: int) -> int:
    """How many of so many members have to run."""
    return members // 2 + 1


def without_majority(urls: dict[str, str], seen: Seen) -> str:
    """Why the members that serve besides the leader could elect no other one; "" if they could."""
    left = [name for name in seen.serving if name != seen.leader]
    wanted = majority(len(urls))
    if len(left) >= wanted:
        return ""
    return (
        f"{len(seen.serving)} of {len(urls)} members of etcd serve, {seen.leader} leads, and without it {len(left)} would be left; a majority is {wanted}. "
        "No client could write, and every master of the store would stop serving. Fix: run ascend.inference.status, and start the other members"
    )


def _state(url: str, get: Callable[..., Reply]) -> str:
    """``leads``, ``follows``, or "" for a member that does not serve."""
    health, metrics = (get(Target(url), path, None, TIMEOUT) for path in ("/health", "/metrics"))
    if not all(reply.status == 200 and not reply.error for reply in (health, metrics)) or not _healthy(health.body):
        return ""
    return "leads" if read_metrics(metrics.body).get(LEADS) == 1 else "follows"


def _healthy(body: str) -> bool:
    try:
        found: Any = foreign_json.loads(body)
        return str(found.get("health")).lower() == "true"
    except (ValueError, AttributeError):
        return False
