# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is decided before an upgrade, its way back or a rollback: the plan to go back to, on which most hosts agree, and the mode.

``known`` is ``{host: {locked, previous, content, runs, variables}}``: the answer of deployment_run; the plan to go back to, whole or {}; the text of
the recorded plan; what `runs.seen_here` returns, {} if it is not known; and variables with addresses.
"""

from __future__ import annotations

import json
import typing as t

from ..lifecycle import halves, rollback, upgrade
from ..lifecycle.destinations import own_addresses
from ..lifecycle.removal import removal_plan
from ..plan.agreed import agreed, part_for, text_of_most
from ..plan.record import stored_plan

Plan = t.Mapping[str, t.Any]
Known = t.Mapping[str, t.Mapping[str, t.Any]]
Mode = dict[str, t.Any]
OTHER = "{host}: {why}. It is not used. Find out who changed files of this host."
GIVEN = "{host}: {why}. Find out who removed files of this host."


class Agreed(t.NamedTuple):
    """``plans``: {host: its part of the plan to go back to, or {}}; ``given``: {host: its programs}, hosts that recorded none; ``notes``: to print."""

    plans: dict[str, Plan]
    given: dict[str, list[str]]
    notes: list[str]


def agree(locked: Known, goal: str) -> Agreed:
    """Each host goes back to its part of the plan that most hosts have, also one that has another.

    What one host wrote into its record would otherwise start services and get requests with secrets elsewhere. ``locked``: {host: the answer of
    deployment_run}; ``goal``: upgrade or rollback. A host that was installed anew has neither record nor programs: nothing stops for a plan that
    it cannot start, so ``given`` has the programs to look for.
    """
    late = rollback.unreached(locked) if goal == "rollback" else []
    stored = {host: dict(found.get("last" if host in late else "previous") or {}) for host, found in locked.items()}
    chosen = agreed(stored)
    most = stored.get(chosen["host"], {})
    plans = {host: part_for(plan, most, host, chosen["given"]) for host, plan in stored.items()}
    notes = [OTHER.format(host=host, why=why) for host, why in sorted(chosen["others"].items())]
    notes += [GIVEN.format(host=host, why=why) for host, why in sorted(chosen["given"].items())]
    return Agreed(plans, {host: _programs(plans[host], host) for host in chosen["given"]}, notes)


def _programs(plan: Plan, host: str) -> list[str]:
    if (plan.get("runtime_facts") or {}).get("contained", True):
        return []
    return list(dict.fromkeys(each["argv"][0] for each in plan["services"] if each["host"] == host))


def recorded_plan(text: str, directory: str, previous: Plan) -> Plan:
    """The plan that a host recorded, by the ``text`` of plan.json. The verified one stands for one that cannot be used: it is no veto."""
    try:
        return removal_plan(text, directory, dict(previous))
    except (ValueError, RecursionError):
        return previous


def choose(
    goal: str,
    known: Known,
    plan: Plan,
    directory: str,
    options: t.Mapping[str, t.Any],
    warn: t.Callable[[str], object],
) -> Mode:
    """``{mode, text, refusals, rounds}`` of a change, see `upgrade.mode`.

    ``goal``: upgrade, rollback, or back, the way back of an upgrade; ``plan``: that of the inventory, {} if it cannot be made; ``options``: what the
    function of the goal needs; ``warn`` is told what is strange and ends nothing.
    """
    if goal == "upgrade":
        return upgrade_mode(known, plan, options)
    if goal == "back":
        return way_back(known, plan, options["mode"])
    refusals = rollback_refusals(known, directory, plan)
    none: Mode = {"mode": "", "text": "", "refusals": refusals, "rounds": []}
    return none if refusals else rollback_mode(known, options, warn)


def upgrade_mode(known: Known, plan: Plan, options: t.Mapping[str, t.Any]) -> Mode:
    """The result of `upgrade.mode`, also with the refusals of an upgrade that could not go back.

    ``options``: ``asked``, a value of upgrade.MODES or ""; ``cann``, whether this collection installs CANN. What runs is known with a balancer, and
    without one after an interruption. Where every change has ended, it is the recorded plan.
    """
    locked = [here["locked"] for here in known.values()]
    deployed = {host: here["previous"] for host, here in known.items()}
    interrupted = [str(found.get("interrupted", "")) for found in locked]
    # After a change of one half each router knows its own half only, whatever the revisions are.
    halved = any(found.get("half") for found in locked)
    revisions = {str(name) for found in locked for name in found.get("revisions") or () if not halved}
    running = stored_plan(json.dumps(next((found["unverified"] for found in locked if found.get("unverified")), {})))
    mode = upgrade.mode(deployed, plan, options["asked"], interrupted, _seen(known), revisions, running)
    own_cann = options["cann"] and not plan["runtime_facts"]["contained"]
    return {**mode, "refusals": [*upgrade.refusals(deployed, plan, own_cann), *mode["refusals"]]}


def rollback_refusals(known: Known, directory: str, todays: Plan) -> list[str]:
    """Why a rollback must not begin; empty if it may. ``todays``: the plan of the inventory, {} if it cannot be made."""
    previous = {host: here["previous"] for host, here in known.items()}
    own = own_addresses([here["variables"] for here in known.values()], todays)
    return rollback.refusals(previous, directory, own, todays)


def rollback_mode(known: Known, options: t.Mapping[str, t.Any], warn: t.Callable[[str], object]) -> Mode:
    """The result of `rollback.mode`. ``options``: ``asked`` and ``allow_pause``; ``warn`` is told if hosts recorded different plans."""
    previous = {host: here["previous"] for host, here in known.items()}
    here = {host: known[host] for host, plan in previous.items() if plan}  # one that came with the change has no plan
    locked = [found["locked"] for found in here.values()]
    return rollback.mode(
        previous,
        stored_plan(text_of_most([found["content"] for found in here.values()], warn)),
        [found.get("phase", "") for found in locked],
        _seen(here),
        rollback.halved([str(found.get("half") or "") for found in locked], previous),
        options["allow_pause"],
        options["asked"],
        {str(name) for found in locked for name in found.get("revisions") or ()},
    )


def way_back(known: Known, plan: Plan, mode: str) -> Mode:
    """The result of `halves.way_back`; ``plan``: the new one; ``mode``: that of the upgrade."""
    old = next(here["previous"] for here in known.values())
    return {**halves.way_back(mode, old, plan, _seen(known)), "text": "", "refusals": []}


def _seen(known: Known) -> t.Mapping[str, t.Any] | None:
    return halves.seen({host: here["runs"] for host, here in known.items()})
