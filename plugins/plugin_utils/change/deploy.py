# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a deploy, written before its files are: what stops first, starts, joins, restarts one after the other, and leaves at last."""

from __future__ import annotations

import typing as t

from ...module_utils.files.journal import UNKNOWN
from ...module_utils.kubernetes.names import is_pod
from ..lifecycle.recorded import (
    as_begun,
    as_listed,
    as_renamed,
    as_running,
    left_out,
    listed_by,
    renamed,
    without_silent,
)
from ..lifecycle.steps import Plan, differs, leaving_engines, no_steps, pending_of, steps
from ..plan.agreed import text_of_most
from ..plan.record import stored_plan
from ..views.service_states import service_states
from .phrases import Writer
from .script import Script

PENDING = ("down", "outdated", "other")  # what makes a host differ from the plan
Found = t.Mapping[str, t.Mapping[str, t.Any]]


class Decided(t.NamedTuple):
    """``steps``: the result of `steps`; ``deployed``: the recorded plan, {} without one or if nothing differs; ``text``: of it."""

    steps: dict[str, t.Any]
    deployed: Plan
    text: str


def decide(plan: Plan, found: Found, allow_pause: bool, early: bool, check: bool) -> Decided:
    """How services change that run with other settings, or that others replace. ``found``: {host: what `observe.known` returns}."""
    pending = {host: pending_of(here) for host, here in found.items()}
    differ: list[str] = []  # that the recorded plans differ, as a note
    text = text_of_most([here["content"] for here in found.values() if here["content"] is not None], differ.append)
    if not any(here[key] for here in pending.values() for key in PENDING):
        return Decided(no_steps(), {}, "")
    listed = listed_by(here["routers"] for here in found.values())
    halves = {here["half"] for here in found.values() if here["outdated"]} - {""}
    half = next(iter(sorted(halves - {UNKNOWN}) or sorted(halves)), "")
    revisions = [name for here in found.values() if here["outdated"] for name in here["revisions"]]
    recorded = _of_hosts(stored_plan(text))
    before = as_running(as_renamed(recorded, renamed(plan, recorded, found)), plan, pending)
    runs = without_silent(as_listed(before, plan, listed), plan, _silent(found))
    old = as_begun(runs, plan, dict.fromkeys(revisions))
    decided = steps(pending, plan, old, allow_pause, early, True, half, left_out(old, plan, listed), check)
    return Decided({**decided, "notes": [*differ, *decided["notes"]]}, old, text)


def _silent(found: Found) -> set[str]:
    """URLs where nobody answers any host whose router has them: one that is cut off from an engine does not make it one that has ended."""
    answers = [here["routers"] or {} for here in found.values()]
    reached = {url for here in answers for url in here.get("others", ()) if url not in here.get("silent", ())}
    return {url for here in answers for url in here.get("silent", ())} - reached


def deploy(
    plan: Plan,
    found: Found,
    allow_pause: bool,
    early: bool,
    check: bool,
    inventory: t.Container[str],
    settings: t.Mapping[str, t.Any],
    drain_timeout: int,
    join_timeout: int,
    **_options: t.Any,
) -> Script:
    """The script that brings services to the planned settings while they serve.

    ``plan``: the whole plan; ``found``: {host: what `observe.known` returns}; ``early``: before the lock, only the refusals;
    ``check``: whether in check mode; ``inventory``: names of all hosts that can be reached; ``settings``: those of the runtime that come from
    variables of the role; the timeouts are seconds. The other options are those of `recreate.recreate`.
    """
    plan = _of_hosts(plan)
    decided = decide(plan, found, allow_pause, early, check)
    if early:
        return Script([], [], decided.steps["refusals"])
    down = [name for here in found.values() for name in here["down"]]
    return _Deploy(Writer(plan, down, drain_timeout, join_timeout, dry=True), found, decided).script(
        inventory, settings
    )


def _of_hosts(plan: Plan) -> Plan:
    """The plan without pods, which the cluster has changed before their router on a host does."""
    return {**plan, "services": [each for each in plan["services"] if not is_pod(each["host"])]} if plan else plan


class _Deploy:
    """Writes the script."""

    def __init__(self, writer: Writer, found: Found, decided: Decided) -> None:
        self.writer, self.plan, self.found, self.decided = writer, writer.plan, found, decided.steps
        self.deployed, self.text = decided.deployed, decided.text
        self.engines = (self.plan.get("members") or {}).get("engines", ())
        self.differs = differs(found, self.plan)
        self.other = [host for host, here in found.items() if here["other"]]

    def script(self, inventory: t.Container[str], settings: t.Mapping[str, t.Any]) -> Script:
        """All phases, in order."""
        writer, decided = self.writer, self.decided
        if decided["deregistered"]:
            writer.deregister(**decided["deregistered"])
        for host, names in decided["orphaned"].items():
            if host in inventory:
                writer.stop_orphaned(host, names, self._orphaned(host, names, settings), next(iter(self.found)))
        self._vacate()
        self._start()
        asked = self._join()
        if writer.steps or not self._routers_ready():
            writer.return_routers()
        for step in decided["roll"]:
            if step["routers"]:
                writer.roll_router(step["services"][0], "started")
            else:
                writer.roll_engines(step, "started")
        self._leave(asked)
        writer.remove({host: self.found[host]["other"] for host in self.other})
        return Script(writer.steps, decided["notes"], decided["refusals"], self.text)

    def _orphaned(self, host: str, names: t.Container[str], settings: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """What one host recorded says of others, so each of these stops only services that its own plan of the deployment has."""
        services = [each for each in self.deployed["services"] if each["host"] == host and each["name"] in names]
        return {
            "state": "stopped",
            "own": self.plan["directory"],
            "own_hosts": [each["name"] for each in self.plan["hosts"]],
            "runtime": self.deployed["runtime"],
            "settings": {**self.deployed["runtime_settings"], **settings},
            "services": service_states(self.deployed, services),
        }

    def _vacate(self) -> None:
        """Services that get the NPUs or ports of others cannot start while those run. Others that are no longer planned serve until the end."""
        keep = {
            host: [
                each["unit"] for each in self.deployed["services"] if each["host"] == host and each["name"] not in names
            ]
            for host, names in self.decided["vacate"].items()
        }
        self.writer.vacate(self.decided["vacate"], keep)

    def _start(self) -> None:
        """Stage by stage, what is not known to run as planned. After something has stopped or started all others of a later stage are asked, too."""
        if not self.differs:
            return
        found = self.found.values()
        healthy = {name for here in found for name in here["healthy"]}
        due = {name for here in found for key in ("down", "outdated") for name in here[key]}
        stopped = {name for names in self.decided["vacate"].values() for name in names}
        for stage in self.plan.get("stages") or sorted({each["start"]["stage"] for each in self.plan["services"]}):
            names = [each["name"] for each in self.plan["services"] if each["start"]["stage"] == stage]
            names = [name for name in names if name not in self.decided["held"]]
            if not self.writer.steps:
                names = [name for name in names if name not in healthy or name in stopped]
            self.writer.start(names, [name for name in names if name in due | stopped])

    def _join(self) -> int:
        """The number of the step with the routers' answers, -1 if they have all engines that they should have by now."""
        wanted = [engine for engine in self.engines if engine["name"] not in self.decided["held"]]
        urls = {engine["url"] for engine in wanted}
        lacking = any(urls & set(here.get("added") or ()) or here.get("restart") for here in self._answers() if here)
        if self.writer.routers and (self.writer.steps or lacking or None in self._answers()):
            return self.writer.join(wanted)
        return -1

    def _leave(self, asked: int) -> None:
        """Engines that are no longer planned leave the routers; those of an interrupted run may not have finished their requests."""
        strangers = any(here.get("others") for here in self._answers() if here)
        restarts = self.writer.restarts and bool(self.writer.steps)
        unknown = None in self._answers() and bool(self.writer.running_routers())
        if self.other or strangers or restarts:
            asked = -1
        elif not unknown:
            return
        leaving = leaving_engines(self.plan, self.deployed) if self.other else []
        self.writer.purge(self.engines, leaving, asked, self.other)

    def _answers(self) -> list[t.Mapping[str, t.Any] | None]:
        """What the routers answered, by host; None where they did not, or do not run."""
        hosts = dict.fromkeys(router["host"] for router in self.writer.routers)
        return [self.found.get(host, {}).get("routers") for host in hosts]

    def _routers_ready(self) -> bool:
        """Whether all balancers send requests to all routers."""
        answers = [self.found.get(balancer["host"], {}).get("balancer") for balancer in self.writer.balancers]
        return all(answer and not answer.get("changed") for answer in answers)
