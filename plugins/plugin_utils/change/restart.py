# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a restart: engines with another instance in their pool, and routers behind a balancer, one after the other; then all others at once.

And the script that returns engines to the routers which a killed run left out.
"""

from __future__ import annotations

import typing as t

from ..lifecycle.steps import restart_steps
from .phrases import Writer
from .script import Script

Plan = t.Mapping[str, t.Any]


def restart(
    plan: Plan,
    found: t.Mapping[str, t.Mapping[str, t.Any]],
    names: t.Collection[str],
    allow_pause: bool,
    drain_timeout: int,
    join_timeout: int,
) -> Script:
    """The script that restarts services with the settings that they have.

    ``plan``: the whole plan; ``found``: {host: what service_state found there, with down and rekeyed}; ``names``: of services, empty for all;
    ``allow_pause``: whether those that are alone may restart; the timeouts are seconds.
    """
    every = [service["name"] for service in plan["services"]]
    chosen = [name for name in every if not names or name in names]
    down, rekeyed = ([name for here in found.values() for name in here.get(key) or ()] for key in ("down", "rekeyed"))
    decided = restart_steps(chosen, down, plan, allow_pause, rekeyed)
    writer = Writer(plan, down, drain_timeout, join_timeout)
    for step in decided["roll"]:
        if step["routers"]:
            writer.roll_router(step["services"][0])
        else:
            writer.roll_engines(step)
    writer.restart([name for name in chosen if name not in decided["held"]])
    writer.join((plan.get("members") or {}).get("engines", ()))
    writer.return_routers()
    hosts = tuple(host["name"] for host in plan["hosts"])
    return Script(writer.steps, decided["notes"], decided["refusals"], hosts=hosts)


def rejoin(plan: Plan, found: t.Mapping[str, t.Mapping[str, t.Any]], drain_timeout: int, join_timeout: int) -> Script:
    """Prove and add the engines that run with the settings of the plan.

    ``plan``: the whole plan; ``found``: {host: what `observe.known` returns}; the timeouts are seconds.
    """
    down, outdated = ([name for here in found.values() for name in here[key]] for key in ("down", "outdated"))
    writer = Writer(plan, down, drain_timeout, join_timeout)
    engines = (plan.get("members") or {}).get("engines", ())
    writer.join([engine for engine in engines if engine["name"] not in (*down, *outdated)])
    return Script(writer.steps, [], [])
