# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of several routers: the first one has the balancer and the frontend beside it, the others spread over the group."""

from __future__ import annotations

import typing as t

from ..description.variables import Host
from .placement_kept import kept_host


def further_routers(
    count: int, first: Host | None, members: t.Sequence[Host], stay: t.Sequence[Host], deployed: t.Sequence[str]
) -> tuple[Host, ...]:
    """Hosts of the routers behind the first one: where they are deployed, else where the fewest routers are.

    ``count``: all routers; ``members``: hosts that may run one, in order, possibly repeated; ``stay``: those that may keep one; ``deployed``: names
    of the hosts of the deployed ones behind the first.
    """
    if first is None:
        return ()
    found = [first]
    candidates = list(dict.fromkeys(members))
    for number in range(count - 1):
        kept = kept_host(deployed[number], stay) if number < len(deployed) else None
        found.append(kept or min(candidates, key=found.count))
    return tuple(found[1:])
