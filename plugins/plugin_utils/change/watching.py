# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of the watchdog under the lock: the probe's host chooses one engine, and each other host counts the restart."""

from __future__ import annotations

import typing as t

from .script import Arguments, Step
from .store import Store


def steps(watch: t.Mapping[str, t.Any], hosts: t.Iterable[str], directory: str, number: int) -> list[Step]:
    """``watch``: ``host`` of the probe, and options of engine_watchdog; ``hosts``: of the deployment; ``number``: of the first step, from 0."""
    asked = {"directory": directory, **{key: watch[key] for key in ("url", "engines", "per_hour")}}
    host, title = watch["host"], "Choose and record the engine, unless another run restarted it meanwhile"
    found = [Step(title, "watch", {host: {**asked, "mode": watch["mode"]}}, brief=True, given=watch["engines"])]
    others = {name: asked for name in hosts if name != host}
    if others:
        title = "Count the restart on the other hosts"
        found.append(Step(title, "watch", others, brief=True, fill="counting", asked=number))
    return found


def chosen(store: Store) -> Arguments | None:
    """What was chosen under the lock: ``engine``, empty for none, ``names`` of its instance by the plan, ``at``; None if nothing was to be chosen."""
    for number in range(store.count()):
        step = store.step(number)
        if step.verb == "watch" and not step.fill:
            answer = next(filter(None, (store.answer(number, host) for host in step.at)), {})
            engine, at = str(answer.get("engine") or ""), answer.get("at")
            known = isinstance(at, (int, float))
            return {"engine": engine, "names": step.given.get(engine, []), "at": at if known else 0.0}
    return None
