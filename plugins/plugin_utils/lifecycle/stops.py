# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that stop before any starts: others get what they have, or engines before and after the change do not understand each other."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.values import natural
from ..plan.linked import together
from . import pauses
from .before import Key, by_host, engines_as_deployed, leftovers, orphaned, taken_from, torn, whole
from .change import Change
from .pauses import Result


def stop_first(result: Result, change: Change) -> set[str]:
    """Names of services that stop before any starts: others get their NPUs or ports, or other processes of their instance move to another host.

    Engines finish their requests before, if others of their pools serve.
    """
    taken = taken_from(change.plan, change.deployed, change.pending, change.down)
    given = {name for names in taken.values() for name in names}
    parted = torn(change.plan, change.outdated, change.elsewhere)
    names = whole(given | parted, change.deployed)
    if not names:
        return set()
    reason = pauses.why_unfinished(change) if change.unfinished else _cannot_leave(names, change)
    # The other processes of an instance wait for those that stop, and routers would go on to send requests to its API.
    vacate(result, names, change)
    if not reason:
        stay = {service["name"] for service in change.deployed["services"]} - names
        others = engines_as_deployed(stay, change.deployed)
        result["deregistered"] = {
            "engines": engines_as_deployed(names, change.deployed),
            "upstream": [engine["url"] for engine in others if engine["kind"] == "prefill"],
            "downstream": [engine["url"] for engine in others if engine["kind"] == "decode"],
            "pause": False,
        }
        why, listed = pauses.REASSIGNED if given else pauses.PARTED, ", ".join(sorted(names, key=natural))
        result["notes"].append(
            f"Without a pause, because {why}: stop before others start, after the last request: {listed}."
        )
        return names
    if given:
        pauses.stop_whole(result, change, names, taken, reason)
    if parted:
        pauses.restart_at_once(result, change, sorted(parted, key=natural), reason)
    return names


def _cannot_leave(names: set[str], change: Change) -> str:
    """Why these deployed services cannot stop while others serve; empty if they can."""
    deployed = change.deployed
    kinds = {service["name"]: service["kind"] for service in deployed["services"] if service["kind"] in ENGINE_KINDS}
    if not names <= set(kinds):
        return pauses.REASSIGNED
    if (change.linked | together(deployed)) & names:
        return pauses.LINKED
    if not change.members_can_change:
        return pauses.NO_API
    if change.keys_change:
        return pauses.why_keys(change)
    if change.incompatible:
        return pauses.why_apart(change)
    stay = {kind for (kind, _n), group in change.instances.items() if not group & (change.down | names)}
    stay |= {kind for (kind, _n), group in change.old.items() if not group & names}
    return "" if {kinds[name] for name in names} <= stay else pauses.ALONE


def end_leftovers(result: Result, change: Change, old: t.Mapping[Key, set[str]], stopping: set[str]) -> None:
    """Let processes end before any starts that were left of instances which no longer serve; routers may have them still.

    ``old``: instances that serve as deployed until the end; ``stopping``: the result of `stop_first`.
    """
    left = leftovers(change.plan, change.elsewhere, old)
    vacate(result, left - stopping, change)
    result["orphaned"] = orphaned(left | stopping, change.plan, change.elsewhere)
    if not result["deregistered"]:
        away = (left - stopping) | {name for names in result["orphaned"].values() for name in names}
        _take_out(result, away, change)


def stop_all(result: Result, names: set[str], change: Change) -> None:
    """Let engines of another revision stop before any starts; those on hosts that the plan does not have leave the routers."""
    vacate(result, names, change)
    away = orphaned(names, change.plan, change.elsewhere)
    _take_out(result, {name for found in away.values() for name in found}, change)


def vacate(result: Result, names: set[str], change: Change) -> None:
    """Let those of the services that run stop before any starts, besides others that do."""
    for host, found in by_host(names, change.plan, change.deployed, change.elsewhere, change.down).items():
        result["vacate"][host] = sorted({*result["vacate"].get(host, ()), *found})


def _take_out(result: Result, names: set[str], change: Change) -> None:
    """Let engines leave the routers at once, if those run and their members can be changed, besides others that do."""
    engines = engines_as_deployed(names, change.deployed)
    if engines and change.members_can_change:
        before = result["deregistered"].get("engines", ())
        result["deregistered"] = {"engines": [*before, *engines], "upstream": [], "downstream": [], "pause": True}
