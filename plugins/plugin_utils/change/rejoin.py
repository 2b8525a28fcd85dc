# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that returns engines to the routers which a killed run left out."""

from __future__ import annotations

import typing as t

from .phrases import Plan, Writer
from .script import Script


def rejoin(plan: Plan, found: t.Mapping[str, t.Mapping[str, t.Any]], drain_timeout: int, join_timeout: int) -> Script:
    """Prove and add the engines that run with the settings of the plan.

    ``plan``: the whole plan; ``found``: {host: what `observe.known` returns}; the timeouts are seconds.
    """
    down, outdated = ([name for here in found.values() for name in here[key]] for key in ("down", "outdated"))
    writer = Writer(plan, down, drain_timeout, join_timeout)
    engines = (plan.get("members") or {}).get("engines", ())
    writer.join([engine for engine in engines if engine["name"] not in (*down, *outdated)])
    return Script(writer.steps, [], [])
