# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a change while the service serves: which engines are restarted one after the other, and which change needs a pause.

An instance is the unit of change: it leaves the router, finishes its requests, restarts and returns. That needs another instance of its pool
that serves meanwhile, a router whose members can be changed, and engines that may exchange KV cache before and after the change. Engines of
different settings are never paired: a decode engine would read the blocks of prefill with another layout, or of another model.

Routers behind a balancer restart one after the other, too: each gets no new requests, finishes those that it has, restarts and returns.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.values import natural
from . import pauses, rolls, stops
from .before import Key, Plan, entry_urls, instances_of, lost_address, moved_entry, removed_entry
from .change import Change, Pending
from .pauses import Result

ENTRIES = ("router", "balancer", "frontend")


class Rest(t.NamedTuple):
    """What is left to change after the services that stop first.

    ``gone``: names of services that do not run, or stop first; ``due``: those of each instance that has to restart; ``entries``: routers, balancer
    and frontend that have to; ``old``: instances that serve as deployed until the end.
    """

    gone: set[str]
    due: dict[Key, set[str]]
    entries: list[str]
    old: dict[Key, set[str]]


def steps(
    pending: Pending,
    plan: Plan,
    deployed: Plan,
    allow_pause: bool = False,
    early: bool = False,
    starts_first: bool = True,
    unfinished: str = "",
    out: t.Container[str] = (),
    check: bool = False,
) -> Result:
    """The change of all hosts, decided once.

    ``pending``: {host: {down: [service], outdated: [service], other: [unit], rekeyed: [service], keyed: [service]}} (the module service_state
    with state present; without ``other`` all deployed services run);
    ``plan``: the whole plan; ``deployed``: the plan that the hosts recorded last, {} without one;
    ``early``: before the lock; ``starts_first``: whether services that are down start before the steps, so that routers among them
    serve then; ``unfinished``: the half that an interrupted blue/green upgrade was changing, "" if none was, journal.UNKNOWN if nobody knows: what
    runs is not what was recorded, so nothing restarts behind a router; ``out``: names of engines that the routers do not have, which restart before
    others leave; ``check``: whether nothing is written (check mode). Returns

    ``roll``: one entry after the other, ``{services: [name], hosts: [name], engines: [{name, kind, url}], leaving, upstream: [url],
    downstream: [url], routers: [name]}``, engines first, then ``routers`` behind a balancer;
    ``held``: names of their services, which nothing else may restart; ``pauses``: {reason: [service]}; ``refusals``: texts why the change
    needs a pause; ``notes``: what to print; ``vacate``: {host: services that stop before any starts}; ``deregistered``: before they stop,
    ``{engines, upstream, downstream, pause}``: engines with the URLs that the routers have, which leave the routers and, without ``pause``, finish. A step's
    ``leaving`` are its engines with these URLs; ``orphaned``: as ``vacate``, on hosts that the plan does not have.
    """
    change = Change(pending, plan, deployed, allow_pause, early, starts_first, unfinished, out, check)
    result = no_steps()
    stopping = stops.stop_first(result, change)
    rest = _rest(change, stopping)
    stops.end_leftovers(result, change, rest.old, stopping)
    if unfinished:
        if change.outdated - rest.gone:
            pauses.restart_unfinished(result, change, sorted(change.outdated - rest.gone, key=natural))
    elif _serves(change):
        _while_serving(result, change, rest)
    elif _other_exchange(change):
        stops.stop_all(result, _ends(change, rest), change)
    stops.vacate(result, _peers(change) - set(result["held"]), change)
    return result


def _peers(change: Change) -> set[str]:
    """Names of processes that run as planned, of instances of which others start anew: they would look for those that are gone."""
    due = change.outdated | change.down
    return {name for names in change.instances.values() if names & change.outdated for name in names - due}


def no_steps() -> Result:
    """The result of ``steps`` for a change that needs none."""
    return {
        "roll": [],
        "held": [],
        "pauses": {},
        "refusals": [],
        "notes": [],
        "vacate": {},
        "deregistered": {},
        "orphaned": {},
    }


def _rest(change: Change, stopping: set[str]) -> Rest:
    gone, outdated = change.down | stopping, change.outdated
    return Rest(
        gone=gone,
        due={key: names for key, names in change.instances.items() if outdated & names and not gone & names},
        entries=[
            service["name"]
            for service in change.plan["services"]
            if service["kind"] in ENTRIES and service["name"] in outdated - stopping
        ],
        old={key: names for key, names in change.old.items() if not names & stopping},
    )


def _while_serving(result: Result, change: Change, rest: Rest) -> None:
    """Add what restarts one after the other, and what needs a pause."""
    moved, known = moved_entry(change.plan, change.deployed, change.pending)
    if moved:
        pauses.move_entry(result, change, moved, known)
    removed, runs = removed_entry(change.plan, change.deployed, change.pending)
    if removed and removed not in rest.gone:  # else the one that gets its port stops it first
        pauses.remove_entry(result, change, removed, runs)
    lost = lost_address(change.plan, change.deployed)
    if lost and entry_urls(change.plan, change.deployed)[0] not in rest.entries:  # else its restart says so
        pauses.lose_address(result, change, lost)
    mixed = _mixed(change, rest)
    if not (rest.due or rest.entries or mixed):
        return
    away = set() if change.starts_first else change.down
    # An interrupted run may have taken instances that go out of the routers already. Nothing gives those back.
    in_rotation = {key for key, names in rest.old.items() if not any(name in change.out for name in names)}
    serving = {key for key, names in change.instances.items() if not names & away} | in_rotation
    every = {*change.instances, *rest.old}
    reasons = {key: pauses.MOVED if moved and known else rolls.why_not(change, key, every, serving) for key in rest.due}
    paused = {key: reason for key, reason in reasons.items() if reason}
    routers = rolls.routers_one_by_one(change, rest.entries, rest.gone)
    result["roll"] = rolls.engine_steps(change, {key: rest.due[key] for key in rest.due if key not in paused})
    result["roll"] += rolls.router_steps(change, routers)
    result["held"] = sorted(name for step in result["roll"] for name in step["services"])
    _with_a_pause(result, change, rest, paused, [name for name in rest.entries if name not in routers], mixed)
    for step in result["roll"]:
        result["notes"].append(f"Restart without a pause: {', '.join(step['services'])}.")


def _with_a_pause(
    result: Result,
    change: Change,
    rest: Rest,
    paused: t.Mapping[Key, str],
    entries: t.Sequence[str],
    mixed: set[str],
) -> None:
    """Add what restarts at once. ``paused``: the reasons of instances; ``mixed``: engines that the new ones do not understand."""
    whole = {name for key in paused for name in rest.due[key]}
    # Processes that do not restart would look for those that do.
    stops.vacate(result, whole - change.outdated, change)
    at_once = {name: rolls.why_entry_not(change, name) for name in entries}
    for reason in sorted({*paused.values(), *at_once.values(), *([pauses.why_apart(change)] if mixed else [])}):
        engines = {name for key, why in paused.items() if why == reason for name in rest.due[key] & change.outdated}
        engines |= mixed if reason == pauses.why_apart(change) else set()
        names = sorted(engines) + [name for name in entries if at_once[name] == reason]
        duration = "as long as loading the model" if engines else "some seconds"
        pauses.restart_at_once(result, change, names, reason, duration)
    if _other_exchange(change) and (paused or mixed):
        stops.stop_all(result, _ends(change, rest), change)


def _mixed(change: Change, rest: Rest) -> set[str]:
    """Old engines beside new ones, which the routers would pair and which cannot exchange KV cache."""
    engines = {name for names in change.instances.values() for name in names}
    if not _other_exchange(change) or not (rest.due or change.down & engines):
        return set()
    return {name for names in rest.old.values() for name in names}


def _ends(change: Change, rest: Rest) -> set[str]:
    """Names of engines that run as deployed and end with the change."""
    restart = {name for names in rest.due.values() for name in names & change.outdated}
    return restart | {name for names in rest.old.values() for name in names}


def _other_exchange(change: Change) -> bool:
    """Whether engines exchange KV cache, between pools or through a store, and those before and after the change cannot."""
    kinds = {service["kind"] for service in change.plan["services"]}
    return bool(change.incompatible) and ("prefill" in kinds or bool(kinds - {*ENGINE_KINDS, *ENTRIES, "probe"}))


def pending_of(registered: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What `steps` asks of a host: of the result of the module service_state; an empty one is nothing."""
    return {key: registered.get(key) or [] for key in ("down", "outdated", "other", "rekeyed", "keyed")}


def differs(registered: t.Mapping[str, t.Any], plan: Plan) -> bool:
    """Whether a service of these hosts has to be started, restarted or removed, or its state is not known.

    ``registered``: {host: what the module service_state returned with the state present, or None}.
    """
    for host, found in registered.items():
        if not found or found.get("outdated") or found.get("other"):
            return True
        planned = {service["name"] for service in plan["services"] if service["host"] == host}
        if not planned <= set(found.get("healthy") or ()):
            return True
    return False


def leaving_engines(plan: Plan, deployed: Plan) -> list[t.Mapping[str, t.Any]]:
    """The APIs of engines that are deployed and no longer planned, as the router has them: {name, kind, url}.

    One whose address another engine gets has stopped before that started.
    """
    planned = {service["name"] for service in plan["services"]}
    taken = {engine["url"] for engine in (plan.get("members") or {}).get("engines", ())}
    found = (deployed.get("members") or {}).get("engines", ())
    return [engine for engine in found if engine["name"] not in planned and engine["url"] not in taken]


def serves(plan: Plan, down: t.Iterable[str]) -> bool:
    """Whether a deployed plan serves without these services: each pool and each kind of router has one that runs."""
    return _serves(Change({"": {"down": list(down)}}, plan, plan))


def _serves(change: Change) -> bool:
    """Whether each deployed pool has an instance that runs completely, and a router, the balancer and the frontend run if they are deployed."""
    before = change.deployed.get("services") or change.plan["services"]
    planned = {kind for kind, _number in change.instances}
    kinds = {kind for kind, _number in instances_of(before)}
    up = {kind for (kind, _number), names in change.instances.items() if not names & change.down}
    up |= {kind for kind, _number in change.old}
    there = {service["kind"] for service in before}
    moved = {service["kind"] for service in change.elsewhere.values()}
    entries = {kind: change.named(kind) for kind in ENTRIES if kind in there}
    return (kinds & planned or kinds) <= up and all(
        not names or names - change.down or kind in moved for kind, names in entries.items()
    )


def restart_steps(
    names: t.Collection[str],
    down: t.Collection[str],
    plan: Plan,
    allow_pause: bool = False,
    rekeyed: t.Collection[str] = (),
) -> Result:
    """The steps that restart services with the settings that they have; ``down``: those that do not run.

    An engine whose pool has another instance leaves the router first. All others restart at once, which is refused without ``allow_pause`` as in
    a change. ``rekeyed``: services that run with other secrets than planned: a restart writes none, so it could neither end that nor prove engines.
    """
    if rekeyed:
        return {**no_steps(), "refusals": [pauses.REKEYED.format(names=", ".join(sorted(rekeyed, key=natural)))]}
    outdated = [name for name in names if name not in down]
    pending = {"": {"down": list(down), "outdated": outdated}}
    return steps(pending, plan, plan, allow_pause, early=True, starts_first=False)
