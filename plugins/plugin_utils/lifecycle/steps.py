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
from ..plan.linked import together
from ..plan.revision import incompatible
from .before import (
    beyond,
    by_host,
    elsewhere,
    engines_as_deployed,
    instances_of,
    leftovers,
    moved_entry,
    old_instances,
    taken_from,
    torn,
    whole,
)

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]
Pending = t.Mapping[str, t.Any]
Step = dict[str, t.Any]

ENTRIES = ("router", "balancer", "frontend")
PAUSE = (
    "{names} must restart, and no other instance serves in the meantime: {reason}. Clients get errors until it is ready again, which takes "
    "{duration}. {state}"
    "Fix: run again with -e inference_allow_pause=true when a pause is acceptable{else_}."
)
UNFINISHED = (
    "An upgrade was interrupted after it began to change one half of the instances, so engines run that cannot exchange KV cache, and {names} "
    "do not run with the settings of this plan. This playbook would restart them at once, and clients get errors until the models are loaded. "
    "{state}Fix: run upgrade. With the settings of the interrupted run it continues, with the previous ones it rolls back, both without a pause. Or "
    "run again with -e inference_allow_pause=true when a pause is acceptable."
)
TAKEN = (
    "The plan gives NPUs or ports of {names} to {takers}, so the former must stop before the latter start. Clients may get errors until then, "
    "and until the models are loaded. {state}"
    "Fix: run again with -e inference_allow_pause=true when a pause is acceptable, or plan other devices."
)
MOVES = (
    "{name} moves from {before} to {after}, so clients have to use another address, and those that use the one before get errors when it is "
    "removed. {state}Fix: run again with -e inference_allow_pause=true when that is acceptable, or keep {before} in the group."
)
EARLY = "Nothing was changed. "
LATE = (
    "Nothing was restarted; the service goes on with its old settings, but its files are written, so an engine that exits starts with the "
    "new ones. "
)


def steps(
    pending: t.Mapping[str, Pending],
    plan: Plan,
    deployed: Plan,
    allow_pause: bool = False,
    early: bool = False,
    starts_first: bool = True,
    unfinished: bool = False,
    out: t.Container[str] = (),
) -> dict[str, t.Any]:
    """The change of all hosts, decided once.

    ``pending``: {host: {down: [service], outdated: [service], other: [unit], secrets: bool}} (the module service_state with state present;
    without ``other`` all deployed services run);
    ``plan``: the whole plan; ``deployed``: the plan that the hosts recorded last, {} without one;
    ``early``: before files are written; ``starts_first``: whether services that are down start before the steps, so that routers among them
    serve then; ``unfinished``: whether an upgrade half by half was interrupted: what runs is not what was recorded, so nothing restarts behind a
    router; ``out``: names of engines that the routers do not have, which restart before others leave. Returns

    ``roll``: one entry after the other, ``{services: [name], hosts: [name], engines: [{name, kind, url}], leaving, upstream: [url],
    routers: [name]}``, engines first, then ``routers`` behind a balancer;
    ``held``: names of their services, which nothing else may restart; ``pauses``: {reason: [service]}; ``refusals``: texts why the change
    needs a pause; ``notes``: what to print; ``vacate``: {host: services that stop before any starts}; ``withdrawn``: before they stop,
    ``{engines, upstream, pause}``: engines with the URLs that the routers have, which leave the routers and, without ``pause``, finish. A step's
    ``leaving`` are its engines with these URLs; ``beyond``: as ``vacate``, on hosts that the plan does not have.
    """
    instances = instances_of(plan["services"])
    down = {name for found in pending.values() for name in found.get("down") or ()}
    outdated = {name for found in pending.values() for name in found.get("outdated") or ()}
    entries = [
        service["name"] for service in plan["services"] if service["kind"] in ENTRIES and service["name"] in outdated
    ]
    result = _nothing()
    away_now = elsewhere(plan, deployed, pending)
    old = old_instances(plan, deployed, away_now, down)
    serves_now = _serves(plan, deployed, instances, down, old, away_now)
    stopping = _stop_first(result, plan, deployed, pending, old, outdated, unfinished, allow_pause, early)
    gone = down | stopping
    due = {key: names for key, names in instances.items() if outdated & names and not gone & names}
    entries = [name for name in entries if name not in stopping]
    old = {key: names for key, names in old.items() if not names & stopping}
    _end_leftovers(result, leftovers(plan, away_now, old), stopping, plan, deployed, away_now, down)
    if unfinished:
        if outdated - gone:
            _at_once(result, sorted(outdated - gone, key=natural), allow_pause, early)
        return result
    ends = {name for names in old.values() for name in names} | {
        name for names in due.values() for name in names & outdated
    }
    apart = _exchanged(plan) and incompatible(plan, deployed)
    if not serves_now:
        if apart:
            _stop_all(result, ends, plan, deployed, away_now, down)
        return result
    moved, known = moved_entry(plan, deployed, pending)
    if moved:
        _moves(result, moved, known, plan, deployed, allow_pause, early)
    # Old engines beside new ones, which the routers would pair.
    mixed = {name for names in old.values() for name in names} if apart else set()
    mixed = mixed if due or down & {name for names in instances.values() for name in names} else set()
    if not (due or entries or mixed):
        return result
    away = set() if starts_first else down
    serving = {key for key, names in instances.items() if not names & away} | set(old)
    every = {*instances, *old}
    reasons = {
        key: MOVED if moved and known else _reason(key, every, serving, instances[key], plan, deployed, pending)
        for key in due
    }
    paused = {key: reason for key, reason in reasons.items() if reason}
    routers = _routers_one_by_one(entries, plan, deployed, pending, gone)
    if not starts_first and len(named(plan, "router") - down) < 2:
        routers = []  # the balancer would not drain the last one that runs
    entries = [name for name in entries if name not in routers]
    result["roll"] = _rolled({key: due[key] for key in due if key not in paused}, plan, deployed, away_now, out)
    result["roll"] += _rolled_routers(routers, plan)
    result["held"] = sorted(name for step in result["roll"] for name in step["services"])
    at_once = {name: _entry_reason(name, plan, deployed, pending, down) for name in entries}
    stopped = {key: (paused[key], due[key] & outdated) for key in paused}
    _start_whole({name for key in paused for name in due[key] - outdated}, result, plan, deployed, away_now, down)
    for reason, found, engines in _by_reason(stopped, at_once, mixed):
        duration = "as long as loading the model" if engines else "some seconds"
        _refuse(result, found, reason, plan, deployed, allow_pause, early, duration)
    if apart and (paused or mixed):
        _stop_all(result, ends, plan, deployed, away_now, down)
    for step in result["roll"]:
        result["notes"].append(f"Restart without a pause: {', '.join(step['services'])}.")
    return result


def _nothing() -> dict[str, t.Any]:
    """The result of ``steps`` for a change that needs none."""
    return {
        "roll": [],
        "held": [],
        "pauses": {},
        "refusals": [],
        "notes": [],
        "vacate": {},
        "withdrawn": {},
        "beyond": {},
    }


def _by_reason(
    paused: t.Mapping[tuple[str, int], tuple[str, set[str]]], at_once: t.Mapping[str, str], mixed: set[str]
) -> t.Iterator[tuple[str, list[str], set[str]]]:
    """Each reason for a pause, with all services that stop for it and the engines among them.

    ``paused``: the reason and the engines of an instance; ``at_once``: the reason of an entry; ``mixed``: engines that the new ones do not understand.
    """
    reasons = {reason for reason, _names in paused.values()} | {*at_once.values()} | ({OTHER} if mixed else set())
    for reason in sorted(reasons):
        engines = {name for found, names in paused.values() if found == reason for name in names}
        engines |= mixed if reason == OTHER else set()
        yield reason, sorted(engines) + [name for name in at_once if at_once[name] == reason], engines


def _at_once(result: dict[str, t.Any], names: t.Sequence[str], allow_pause: bool, early: bool) -> None:
    result["pauses"][HALVED] = list(names)
    if allow_pause:
        result["notes"].append(f"Pause: {', '.join(names)} restart at once, because {HALVED}.")
        return
    result["refusals"].append(UNFINISHED.format(names=", ".join(names), state=EARLY if early else LATE))


def _stop_first(
    result: dict[str, t.Any],
    plan: Plan,
    deployed: Plan,
    pending: t.Mapping[str, Pending],
    old: t.Mapping[tuple[str, int], set[str]],
    outdated: set[str],
    unfinished: bool,
    allow_pause: bool,
    early: bool,
) -> set[str]:
    """Names of services that stop before any starts: others get their NPUs or ports, or other processes of their instance move to another host.

    Engines finish their requests before, if others of their pools serve.
    """
    down = {name for found in pending.values() for name in found.get("down") or ()}
    taken = taken_from(plan, deployed, pending, down)
    given = {name for names in taken.values() for name in names}
    away_now = elsewhere(plan, deployed, pending)
    parted = torn(plan, outdated, away_now)
    names = whole(given | parted, deployed)
    if not names:
        return set()
    reason = HALVED if unfinished else _cannot_leave(names, plan, deployed, pending, old, down)
    # The other processes of an instance wait for those that stop, and routers would go on to send requests to its API.
    result["vacate"] = by_host(names, plan, deployed, away_now, down)
    if not reason:
        before = engines_as_deployed({service["name"] for service in deployed["services"]} - names, deployed)
        result["withdrawn"] = {
            "engines": engines_as_deployed(names, deployed),
            "upstream": [engine["url"] for engine in before if engine["kind"] == "prefill"],
            "pause": False,
        }
        why = REASSIGNED if given else PARTED
        result["notes"].append(
            f"Without a pause, because {why}: stop before others start, after the last request: {_listed(names)}."
        )
        return names
    if given:
        _vacate(result, names, taken, allow_pause, early)
    if parted:
        _refuse(result, sorted(parted, key=natural), reason, plan, deployed, allow_pause, early)
    return names


def _end_leftovers(
    result: dict[str, t.Any],
    left: set[str],
    stopping: set[str],
    plan: Plan,
    deployed: Plan,
    gone: t.Mapping[str, Service],
    down: set[str],
) -> None:
    """Let processes end before any starts that were left of instances which no longer serve; routers may have them still."""
    for host, names in by_host(left - stopping, plan, deployed, gone, ()).items():
        result["vacate"][host] = sorted({*result["vacate"].get(host, ()), *names})
    result["beyond"] = beyond(left | stopping, plan, gone)
    if not result["withdrawn"]:
        away = (left - stopping) | {name for names in result["beyond"].values() for name in names}
        _take_out(result, engines_as_deployed(away, deployed), plan, deployed, down)


def _listed(names: t.Iterable[str]) -> str:
    return ", ".join(sorted(names, key=natural))


def _cannot_leave(
    names: set[str],
    plan: Plan,
    deployed: Plan,
    pending: t.Mapping[str, Pending],
    old: t.Mapping[tuple[str, int], set[str]],
    down: set[str],
) -> str:
    """Why these deployed services cannot stop while others serve; empty if they can."""
    kinds = {service["name"]: service["kind"] for service in deployed["services"] if service["kind"] in ENGINE_KINDS}
    if not names <= set(kinds):
        return REASSIGNED
    if (together(plan) | together(deployed)) & names:
        return LINKED
    if not plan.get("members") or _routers(plan) != _routers(deployed) or named(plan, "router") & down:
        return NO_API
    if any(found.get("secrets") for found in pending.values()):
        return KEYS
    if incompatible(plan, deployed):
        return OTHER
    stay = {kind for (kind, _n), group in instances_of(plan["services"]).items() if not group & (down | names)}
    stay |= {kind for (kind, _n), group in old.items() if not group & names}
    return "" if {kinds[name] for name in names} <= stay else ALONE


def _routers(plan: Plan) -> tuple[t.Any, list[str]]:
    """How and where the members of the routers are changed."""
    section = plan.get("members") or {}
    return section.get("api"), [router["url"] for router in (section, *section.get("more", ())) if router]


def _exchanged(plan: Plan) -> bool:
    """Whether engines exchange KV cache: between pools, or through a store."""
    kinds = {service["kind"] for service in plan["services"]}
    return "prefill" in kinds or bool(kinds - {*ENGINE_KINDS, *ENTRIES, "probe"})


def _stop_all(
    result: dict[str, t.Any],
    names: set[str],
    plan: Plan,
    deployed: Plan,
    gone: t.Mapping[str, Service],
    down: set[str],
) -> None:
    """Let engines of another revision stop before any starts; those on hosts that the plan does not have leave the routers."""
    stopped = by_host(names, plan, deployed, gone, down)
    for host, found in stopped.items():
        result["vacate"][host] = sorted({*result["vacate"].get(host, ()), *found})
    away = {name for found in beyond(names, plan, gone).values() for name in found}
    _take_out(result, engines_as_deployed(away, deployed), plan, deployed, down)


def _start_whole(
    rest: set[str],
    result: dict[str, t.Any],
    plan: Plan,
    deployed: Plan,
    gone: t.Mapping[str, Service],
    down: set[str],
) -> None:
    """Let the other processes (``rest``) of instances that restart at once stop first: they would look for a process that is gone."""
    for host, names in by_host(rest, plan, deployed, gone, down).items():
        result["vacate"][host] = sorted({*result["vacate"].get(host, ()), *names})


def _take_out(
    result: dict[str, t.Any], engines: t.Sequence[Step], plan: Plan, deployed: Plan, down: t.Collection[str]
) -> None:
    """Let engines leave the routers at once, if those run and their members can be changed, besides others that do."""
    if engines and plan.get("members") and _routers(plan) == _routers(deployed) and not named(plan, "router") & {*down}:
        before = result["withdrawn"].get("engines", ())
        result["withdrawn"] = {"engines": [*before, *engines], "upstream": [], "pause": True}


def _moves(
    result: dict[str, t.Any],
    name: str,
    known: bool | None,
    plan: Plan,
    deployed: Plan,
    allow_pause: bool,
    early: bool,
) -> None:
    """Announce that the clients' entry moves; refused only if it is known to run where it is deployed."""
    before, after = (
        next(service["host"] for service in each["services"] if service["name"] == name) for each in (deployed, plan)
    )
    result["pauses"][MOVED] = [name]
    if known and not allow_pause:
        result["refusals"].append(MOVES.format(name=name, before=before, after=after, state=EARLY if early else LATE))
    else:
        result["notes"].append(f"Pause: {name} moves from {before} to {after}, so clients have to use another address.")


def _refuse(
    result: dict[str, t.Any],
    names: t.Sequence[str],
    reason: str,
    plan: Plan,
    deployed: Plan,
    allow_pause: bool,
    early: bool,
    duration: str = "as long as loading the model",
) -> None:
    """Record that services restart at once, as a note if that is allowed, else as a refusal."""
    result["pauses"][reason] = [*result["pauses"].get(reason, ()), *names]
    listed, more = ", ".join(names), _otherwise(reason, plan, deployed)
    if allow_pause:
        result["notes"].append(f"Pause: {listed} restart at once, because {reason}.")
        return
    state = EARLY if early else LATE
    result["refusals"].append(PAUSE.format(names=listed, reason=reason, duration=duration, state=state, else_=more))


HALVED = "an upgrade half by half was interrupted"
SINGLE = "all requests go through it, and there is one of it"
LAST = "no other router runs"
UNBALANCED = "the balancer in front of the routers does not run"
MOVED = "the clients' entry moves to another host"
PARTED = "other processes of the same instance move to another host"
REASSIGNED = "their NPUs or ports are given to others"
ALONE = "its pool has no other instance"
AWAY = "no other instance of its pool runs"
NO_API = "the engines of this router cannot be changed while it runs"
LINKED = "engines with LLMDataDist have to be restarted together"
OTHER = "engines before and after this change cannot exchange KV cache"
KEYS = "the keys between the router and the engines change"


def pending_of(registered: Pending, secrets: t.Mapping[str, t.Any]) -> Pending:
    """What `steps` asks of a host: of the results of the modules service_state and, for the ``secrets``, service_files; empty ones are nothing."""
    found = {key: registered.get(key) or [] for key in ("down", "outdated", "other")}
    return {**found, "secrets": bool(secrets.get("changed"))}


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


def _otherwise(reason: str, plan: Plan, deployed: Plan) -> str:
    """What else than a pause helps against a reason, as the end of a sentence."""
    if reason == OTHER and plan.get("balancer") and deployed.get("plan_version") == plan["plan_version"]:
        return ", or run upgrade, which changes half by half without one where two instances of each pool allow it"
    return ", or add an instance first" if reason == ALONE else ""


def leaving_engines(plan: Plan, deployed: Plan) -> list[t.Mapping[str, t.Any]]:
    """The APIs of engines that are deployed and no longer planned, as the router has them: {name, kind, url}.

    One whose address another engine gets has stopped before that started.
    """
    planned = {service["name"] for service in plan["services"]}
    taken = {engine["url"] for engine in (plan.get("members") or {}).get("engines", ())}
    found = (deployed.get("members") or {}).get("engines", ())
    return [engine for engine in found if engine["name"] not in planned and engine["url"] not in taken]


def _serves(
    plan: Plan,
    deployed: Plan,
    instances: t.Mapping[tuple[str, int], set[str]],
    down: set[str],
    old: t.Collection[tuple[str, int]] = (),
    gone: t.Mapping[str, Service] | None = None,
) -> bool:
    """Whether each deployed pool has an instance that runs completely, and a router, the balancer and the frontend run if they are deployed.

    ``old``, ``gone``: instances and services that run as deployed, and not where they are planned.
    """
    before = deployed.get("services") or plan["services"]
    planned = {kind for kind, _number in instances}
    kinds = {kind for kind, _number in instances_of(before)}
    up = {kind for (kind, _number), names in instances.items() if not names & down} | {kind for kind, _number in old}
    there = {service["kind"] for service in before}
    moved = {service["kind"] for service in (gone or {}).values()}
    entries = {kind: named(plan, kind) for kind in ENTRIES if kind in there}
    return (kinds & planned or kinds) <= up and all(
        not names or names - down or kind in moved for kind, names in entries.items()
    )


def serves(plan: Plan, down: t.Iterable[str]) -> bool:
    """Whether a deployed plan serves without these services: each pool and each kind of router has one that runs."""
    return _serves(plan, plan, instances_of(plan["services"]), set(down))


def named(plan: Plan, kind: str) -> set[str]:
    return {service["name"] for service in plan["services"] if service["kind"] == kind}


def _routers_one_by_one(
    outdated: t.Collection[str], plan: Plan, deployed: Plan, pending: t.Mapping[str, Pending], down: set[str]
) -> list[str]:
    """Those of the changed routers that restart one after the other: another one serves, and the engines suit routers of both settings."""
    routers = named(plan, "router")
    balanced = named(plan, "balancer")
    if len(routers) < 2 or not balanced or balanced & down:
        return []
    if any(found.get("secrets") for found in pending.values()) or incompatible(plan, deployed):
        return []
    return sorted(routers & set(outdated), key=natural)


def _entry_reason(
    name: str, plan: Plan, deployed: Plan, pending: t.Mapping[str, Pending], down: t.Collection[str]
) -> str:
    """Why a changed router, balancer or frontend restarts at once, with the others."""
    routers, balanced = named(plan, "router"), named(plan, "balancer")
    if name not in routers or len(routers) < 2:
        return SINGLE
    if not balanced or balanced & set(down):
        return UNBALANCED
    if any(found.get("secrets") for found in pending.values()):
        return KEYS
    return OTHER if incompatible(plan, deployed) else LAST


def _rolled_routers(names: t.Iterable[str], plan: Plan) -> list[Step]:
    hosts = {service["name"]: service["host"] for service in plan["services"]}
    return [
        {"services": [name], "hosts": [hosts[name]], "engines": [], "leaving": [], "upstream": [], "routers": [name]}
        for name in names
    ]


def _reason(
    key: tuple[str, int],
    every: t.Collection[tuple[str, int]],
    serving: t.Collection[tuple[str, int]],
    names: t.Collection[str],
    plan: Plan,
    deployed: Plan,
    pending: t.Mapping[str, Pending],
) -> str:
    """Why an instance with these ``names`` cannot be restarted while others of its pool serve; empty if it can be."""
    if sum(kind == key[0] for kind, _number in every) < 2:
        return ALONE
    if sum(kind == key[0] for kind, _number in serving) < 2:
        return AWAY
    if together(plan) & set(names):
        return LINKED
    if not plan.get("members"):
        return NO_API
    if any(found.get("secrets") for found in pending.values()):
        return KEYS
    if incompatible(plan, deployed):
        return OTHER
    return ""


def _rolled(
    due: t.Mapping[tuple[str, int], set[str]],
    plan: Plan,
    deployed: Plan,
    gone: t.Collection[str],
    out: t.Container[str],
) -> list[Step]:
    """One instance of each pool at a time, so that prefill and decode keep their proportion. ``gone``: names of `elsewhere`.

    Those that a killed run left out of the routers come first: without them, the last one that serves would have to leave.
    """
    rows: dict[int, set[str]] = {}
    for kind in ENGINE_KINDS:
        numbers = [number for found, number in due if found == kind]
        numbers.sort(key=lambda number: (not any(name in out for name in due[kind, number]), number))
        for place, number in enumerate(numbers):
            rows.setdefault(place, set()).update(due[kind, number])
    hosts = {service["name"]: service["host"] for service in plan["services"]}
    engines = plan["members"]["engines"] if rows else []
    # The routers have an engine with the URL as deployed until its step, and those that leave or move until the end.
    changing = {name for names in rows.values() for name in names}
    before = {engine["name"]: engine for engine in engines_as_deployed(changing, deployed)}
    listed = {engine["name"]: before.get(engine["name"], engine) for engine in engines}
    ending = engines_as_deployed(gone, deployed)
    found = []
    for _place, names in sorted(rows.items()):
        serving = [*listed.values(), *ending]
        found.append(
            {
                "services": sorted(names),
                "hosts": sorted({hosts[name] for name in names}),
                "engines": [engine for engine in engines if engine["name"] in names],
                "leaving": [listed[engine["name"]] for engine in engines if engine["name"] in names],
                "upstream": [
                    engine["url"] for engine in serving if engine["kind"] == "prefill" and engine["name"] not in names
                ],
                "routers": [],
            }
        )
        listed.update({engine["name"]: engine for engine in engines if engine["name"] in names})
    return found


def _vacate(
    result: dict[str, t.Any],
    whole_names: t.Collection[str],
    taken: t.Mapping[str, t.Mapping[str, set[str]]],
    allow_pause: bool,
    early: bool,
) -> None:
    """Add the pause of the instances that stop whole, or its refusal, which names the processes whose NPUs are taken."""
    names = sorted(whole_names if allow_pause else {name for found in taken.values() for name in found})
    takers = sorted({name for found in taken.values() for new in found.values() for name in new})
    result["pauses"][REASSIGNED] = names
    if allow_pause:
        result["notes"].append(f"Pause: {', '.join(names)} stop first, because {REASSIGNED}.")
        return
    given = {"names": ", ".join(names), "takers": ", ".join(takers)}
    result["refusals"].append(TAKEN.format(**given, state=EARLY if early else LATE))


def restart_steps(
    names: t.Collection[str], down: t.Collection[str], plan: Plan, allow_pause: bool = False
) -> dict[str, t.Any]:
    """The steps that restart services with the settings that they have; ``down``: those that do not run.

    An engine whose pool has another instance leaves the router first. All others restart at once, which is refused without ``allow_pause`` as in
    a change.
    """
    outdated = [name for name in names if name not in down]
    pending = {"": {"down": list(down), "outdated": outdated}}
    return steps(pending, plan, plan, allow_pause, early=True, starts_first=False)
