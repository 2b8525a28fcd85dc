# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that stops all services before the first one starts, for changes after which old and new ones could not exchange KV cache."""

from __future__ import annotations

import typing as t

from ..plan.agreed import text_of_most
from .phrases import Plan, Writer
from .script import Script, Step

Found = t.Mapping[str, t.Mapping[str, t.Any]]
STOPPED = "Services that have stopped are not started beside those of another revision, with which they would exchange KV cache."


def recreate(
    plan: Plan,
    found: Found,
    drain_timeout: int,
    join_timeout: int,
    leaving: t.Mapping[str, t.Sequence[str]] | None = None,
    settings: t.Mapping[str, t.Any] | None = None,
    **_options: t.Any,
) -> Script:
    """All services stop, and start stage by stage.

    What can start starts: hosts that are lost or fail have no further step, and those that are not in ``found`` have none. But nothing starts if a
    host answers that it cannot stop services of another revision, with which new ones would exchange KV cache. ``plan``: the whole plan;
    ``found``: {host: what `observe.known` returns}; the timeouts are seconds; ``leaving``: {hosts: those that had services of the deployment and have
    none in the plan; ours: those of the deployment, of which a host's own record names one}; ``settings``: those of the runtime that come from
    variables of the role. The other options are those of a deploy, and none matters here.
    """
    down = [name for here in found.values() for name in here["down"]]
    writer = Writer(plan, down, drain_timeout, join_timeout, dry=True)
    services = [each for each in plan["services"] if each["host"] in found]
    writer.stop([each["name"] for each in services])
    for stage in plan.get("stages") or sorted({each["start"]["stage"] for each in services}):
        writer.start_anew([each["name"] for each in services if each["start"]["stage"] == stage])
    writer.return_routers()  # a run that was interrupted may have drained some, and a balancer that starts anew keeps that
    text = text_of_most([here["content"] for here in found.values() if here["content"] is not None], [].append)
    steps = [step for each in [*_forgotten(services), *writer.steps] for step in _of(each, found)]
    return Script([*_stopped(plan, found, leaving or {}, settings or {}), *steps], [], [], text, serving=STOPPED)


def _stopped(
    plan: Plan, found: Found, leaving: t.Mapping[str, t.Sequence[str]], settings: t.Mapping[str, t.Any]
) -> t.Iterator[Step]:
    """They would hold NPUs and look for their peers. No plan is needed: the runtime finds the services.

    A host that does not answer may be why it was replaced, and one that cannot stop them is reported when they are removed, after the change.
    """
    arguments = {
        "state": "absent",
        "own": plan["directory"],
        "own_hosts": leaving.get("ours", []),
        "runtime": plan["runtime"],
        "settings": {**plan["runtime_settings"], **settings},
    }
    for host in leaving.get("hosts", ()) if found else ():
        asked, *_others = found
        title = f"Stop the services of {host}, which the plan does not have"
        yield Step(title, "orphaned", {asked: arguments}, check=True, orphaned=host, may_fail=True)


def _forgotten(services: t.Iterable[t.Mapping[str, t.Any]]) -> t.Iterator[Step]:
    """A run that was interrupted may have left engines out of the routers, which keep to these lists when they start."""
    for service in services:
        away = (service.get("members") or {}).get("away")
        if away:
            title = f"Remove the list of engines that are out of {service['name']}"
            yield Step(title, "forget", {service["host"]: {"path": away}}, check=True)


def _of(step: Step, found: Found) -> list[Step]:
    at = {host: arguments for host, arguments in step.at.items() if host in found}
    stops = step.verb == "state" and all(given["state"] == "stopped" for given in at.values())
    needed = sorted(host for host in at if found[host]["outdated"]) if stops else []
    return [step._replace(at=at, alone=True, needed=needed)] if at else []
