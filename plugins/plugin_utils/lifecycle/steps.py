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

from ..description.values import natural
from ..plan.linked import together
from ..plan.revision import KINDS, incompatible

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
) -> dict[str, t.Any]:
    """The change of all hosts, decided once.

    ``pending``: {host: {down: [service], outdated: [service], other: [unit], secrets: bool}} (the module service_state with state present;
    without ``other`` all deployed services run);
    ``plan``: the whole plan; ``deployed``: the plan that the hosts recorded last, {} without one;
    ``early``: before files are written; ``starts_first``: whether services that are down start before the steps, so that routers among them
    serve then; ``unfinished``: whether an upgrade half by half was interrupted: what runs is not what was recorded, so nothing restarts behind a
    router. Returns

    ``roll``: one entry after the other, ``{services: [name], hosts: [name], engines: [{name, kind, url}], upstream: [url], routers: [name]}``,
    engines first, then ``routers`` behind a balancer;
    ``held``: names of their services, which nothing else may restart; ``pauses``: {reason: [service]}; ``refusals``: texts why the change
    needs a pause; ``notes``: what to print; ``vacate``: {host: services that stop before any starts}.
    """
    instances = _instances(plan)
    down = {name for found in pending.values() for name in found.get("down") or ()}
    outdated = {name for found in pending.values() for name in found.get("outdated") or ()}
    entries = [
        service["name"] for service in plan["services"] if service["kind"] in ENTRIES and service["name"] in outdated
    ]
    result: dict[str, t.Any] = {"roll": [], "held": [], "pauses": {}, "refusals": [], "notes": [], "vacate": {}}
    taken = _taken(plan, deployed, pending, down)
    if taken:
        _vacate(result, taken, allow_pause, early)
    stopping = {name for names in taken.values() for name in names}
    gone = down | stopping
    due = {key: names for key, names in instances.items() if outdated & names and not gone & names}
    entries = [name for name in entries if name not in stopping]
    if unfinished:
        if outdated - gone:
            _at_once(result, sorted(outdated - gone, key=natural), allow_pause, early)
        return result
    if not (due or entries) or not _serves(plan, deployed, instances, down):
        return result
    away = set() if starts_first else down
    serving = {key for key, names in instances.items() if not names & away} | _leaving(plan, deployed)
    every = {*instances, *_leaving(plan, deployed)}
    reasons = {key: _reason(key, every, serving, instances[key], plan, deployed, pending) for key in due}
    paused = {key: reason for key, reason in reasons.items() if reason}
    routers = _routers_one_by_one(entries, plan, deployed, pending, gone)
    if not starts_first and len(_named(plan, "router") - down) < 2:
        routers = []  # the balancer would not drain the last one that runs
    entries = [name for name in entries if name not in routers]
    result["roll"] = _rolled({key: due[key] for key in due if key not in paused}, plan, deployed)
    result["roll"] += _rolled_routers(routers, plan)
    result["held"] = sorted(name for step in result["roll"] for name in step["services"])
    at_once = {name: _entry_reason(name, plan, deployed, pending, down) for name in entries}
    for reason in sorted({*paused.values(), *at_once.values()}):
        engines = {name for key in paused if paused[key] == reason for name in due[key] & outdated}
        found = sorted(engines) + [name for name in entries if at_once[name] == reason]
        result["pauses"][reason] = found
        names, more = ", ".join(found), _otherwise(reason, plan, deployed)
        if allow_pause:
            result["notes"].append(f"Pause: {names} restart at once, because {reason}.")
        else:
            state, duration = (
                EARLY if early else LATE,
                "as long as loading the model" if engines else "some seconds",
            )
            result["refusals"].append(
                PAUSE.format(names=names, reason=reason, duration=duration, state=state, else_=more)
            )
    for step in result["roll"]:
        result["notes"].append(f"Restart without a pause: {', '.join(step['services'])}.")
    return result


def _at_once(result: dict[str, t.Any], names: t.Sequence[str], allow_pause: bool, early: bool) -> None:
    result["pauses"][HALVED] = list(names)
    if allow_pause:
        result["notes"].append(f"Pause: {', '.join(names)} restart at once, because {HALVED}.")
        return
    result["refusals"].append(UNFINISHED.format(names=", ".join(names), state=EARLY if early else LATE))


HALVED = "an upgrade half by half was interrupted"
SINGLE = "all requests go through it, and there is one of it"
LAST = "no other router runs"
UNBALANCED = "the balancer in front of the routers does not run"
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


def _instances(plan: Plan) -> dict[tuple[str, int], set[str]]:
    found: dict[tuple[str, int], set[str]] = {}
    for service in plan["services"]:
        if service["kind"] in KINDS:
            found.setdefault((service["kind"], service["instance"]), set()).add(service["name"])
    return found


def _leaving(plan: Plan, deployed: Plan) -> set[tuple[str, int]]:
    """Instances that are deployed and no longer planned: they serve until all others have changed."""
    return set(_instances({"services": deployed.get("services", ())})) - set(_instances(plan))


def leaving_engines(plan: Plan, deployed: Plan) -> list[t.Mapping[str, t.Any]]:
    """The APIs of engines that are deployed and no longer planned, as the router has them: {name, kind, url}."""
    planned = {service["name"] for service in plan["services"]}
    found = (deployed.get("members") or {}).get("engines", ())
    return [engine for engine in found if engine["name"] not in planned]


def _serves(plan: Plan, deployed: Plan, instances: t.Mapping[tuple[str, int], set[str]], down: set[str]) -> bool:
    """Whether each pool has an instance that runs completely, and a router, the balancer and the frontend run if they are deployed."""
    kinds = {kind for kind, _number in instances}
    up = {kind for (kind, _number), names in instances.items() if not names & down}
    there = {service["kind"] for service in deployed.get("services", plan["services"])}
    entries = [_named(plan, kind) for kind in ENTRIES if kind in there]
    return kinds == up and all(not names or names - down for names in entries)


def serves(plan: Plan, down: t.Iterable[str]) -> bool:
    """Whether a deployed plan serves without these services: each pool and each kind of router has one that runs."""
    return _serves(plan, plan, _instances(plan), set(down))


def _named(plan: Plan, kind: str) -> set[str]:
    return {service["name"] for service in plan["services"] if service["kind"] == kind}


def _routers_one_by_one(
    outdated: t.Collection[str], plan: Plan, deployed: Plan, pending: t.Mapping[str, Pending], down: set[str]
) -> list[str]:
    """Those of the changed routers that restart one after the other: another one serves, and the engines suit routers of both settings."""
    routers = _named(plan, "router")
    balanced = _named(plan, "balancer")
    if len(routers) < 2 or not balanced or balanced & down:
        return []
    if any(found.get("secrets") for found in pending.values()) or incompatible(plan, deployed):
        return []
    return sorted(routers & set(outdated), key=natural)


def _entry_reason(
    name: str, plan: Plan, deployed: Plan, pending: t.Mapping[str, Pending], down: t.Collection[str]
) -> str:
    """Why a changed router, balancer or frontend restarts at once, with the others."""
    routers, balanced = _named(plan, "router"), _named(plan, "balancer")
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
        {"services": [name], "hosts": [hosts[name]], "engines": [], "upstream": [], "routers": [name]} for name in names
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


def _rolled(due: t.Mapping[tuple[str, int], set[str]], plan: Plan, deployed: Plan) -> list[Step]:
    """One instance of each pool at a time, so that prefill and decode keep their proportion."""
    rows: dict[int, set[str]] = {}
    for kind in KINDS:
        numbers = sorted(number for found, number in due if found == kind)
        for place, number in enumerate(numbers):
            rows.setdefault(place, set()).update(due[kind, number])
    hosts = {service["name"]: service["host"] for service in plan["services"]}
    engines = plan["members"]["engines"] if rows else []
    serving = [*engines, *leaving_engines(plan, deployed)]
    return [
        {
            "services": sorted(names),
            "hosts": sorted({hosts[name] for name in names}),
            "engines": [engine for engine in engines if engine["name"] in names],
            "upstream": [
                engine["url"] for engine in serving if engine["kind"] == "prefill" and engine["name"] not in names
            ],
            "routers": [],
        }
        for _place, names in sorted(rows.items())
    ]


def _taken(
    plan: Plan, deployed: Plan, pending: t.Mapping[str, Pending], down: set[str]
) -> dict[str, dict[str, set[str]]]:
    """{host: {running service: the other services that get its NPUs or ports}}."""
    takers: dict[tuple[str, str], set[str]] = {}
    for service in plan["services"]:
        for used in _used(service):
            takers.setdefault((service["host"], used), set()).add(service["name"])
    planned = {service["name"] for service in plan["services"]}
    found: dict[str, dict[str, set[str]]] = {}
    for service in deployed.get("services", ()):
        name, host = service["name"], service["host"]
        others = pending.get(host, {}).get("other")
        runs = name not in down if name in planned else others is None or service["unit"] in others
        new = {taker for used in _used(service) for taker in takers.get((host, used), ())} - {name}
        if runs and new:
            found.setdefault(host, {})[name] = new
    return found


def _used(service: Service) -> t.Iterator[str]:
    """What two services of a host cannot have at once: NPUs and ports."""
    for device in service["devices"]:
        yield f"npu {device}"
    for ports in service["ports"]:
        for port in range(ports["first"], ports["first"] + ports["count"]):
            yield f"port {port}"


def _vacate(
    result: dict[str, t.Any], taken: t.Mapping[str, t.Mapping[str, set[str]]], allow_pause: bool, early: bool
) -> None:
    names = sorted({name for found in taken.values() for name in found})
    takers = sorted({name for found in taken.values() for new in found.values() for name in new})
    result["vacate"] = {host: sorted(found) for host, found in sorted(taken.items())}
    result["pauses"][REASSIGNED] = names
    if allow_pause:
        result["notes"].append(f"Pause: {', '.join(names)} stop first, because {REASSIGNED}.")
        return
    given = {"names": ", ".join(names), "takers": ", ".join(takers)}
    result["refusals"].append(TAKEN.format(**given, state=EARLY if early else LATE))


def restart_steps(names: t.Collection[str], down: t.Collection[str], plan: Plan) -> dict[str, t.Any]:
    """The steps that restart services with the settings that they have; ``down``: those that do not run.

    An engine whose pool has another instance leaves the router first. All others restart at once: who names them wants the pause.
    """
    outdated = [name for name in names if name not in down]
    return steps({"": {"down": list(down), "outdated": outdated}}, plan, plan, allow_pause=True, starts_first=False)


def change(plan: Plan, deployed: Plan) -> dict[str, t.Any]:
    """The steps from one plan to another if all services of the first one run, and ``new``, ``rest``, ``gone``: names of services.

    ``rest`` restart at once; ``gone`` includes those that move, with their old host. ``deployed`` is the whole deployed plan.
    """
    before = {service["name"]: service for service in deployed["services"]}
    planned = {service["name"]: service for service in plan["services"]}
    new = [name for name in planned if name not in before or before[name]["host"] != planned[name]["host"]]
    changed = [name for name in planned if name not in new and before[name]["digest"] != planned[name]["digest"]]
    decided = steps({"": {"down": new, "outdated": changed}}, plan, deployed, allow_pause=True)
    rest = [name for name in changed if name not in decided["held"]]
    gone = [name for name in before if name not in planned]
    gone += [f"{name} on {before[name]['host']}" for name in new if name in before]
    return {**decided, "new": new, "rest": rest, "gone": gone}


def planned_steps(plan: Plan, deployed: Plan) -> list[str]:
    """What deploy would do, as numbered lines, if all services of the deployed plan run; empty without changes or in a cluster.

    A change that needs a pause says why. ``deployed`` is the whole deployed plan.
    """
    if plan["runtime_facts"]["in_cluster"] or not deployed.get("services"):
        return []
    decided = change(plan, deployed)
    instances, leaving = _instances(plan), _leaving(plan, deployed)
    lines = [f"start {', '.join(decided['new'])}, prove and add the engines to the router"] if decided["new"] else []
    lines += [f"restart at once: {', '.join(decided['rest'])}"] if decided["rest"] else []
    for step in decided["roll"]:
        if step["routers"]:
            others = len(_named(plan, "router")) - len(step["routers"])
            names = ", ".join(step["routers"])
            lines.append(f"drain, restart and return {names}; routers that serve meanwhile: {others}")
            continue
        kinds = sorted({kind for kind, number in instances if instances[kind, number] & set(step["services"])})
        left = ", ".join(
            f"{sum(kind == found for found, _n in {*instances, *leaving}) - 1} of {kind}" for kind in kinds
        )
        lines.append(
            f"drain, restart, prove and return {', '.join(step['services'])}; instances that serve meanwhile: {left}"
        )
    lines += [f"drain and remove {', '.join(decided['gone'])}"] if decided["gone"] else []
    lines = [f"  {number}. {line}" for number, line in enumerate(lines, 1)]
    pauses = [f"  {note}" for note in decided["notes"] if note.startswith("Pause")]
    return ["Steps of deploy, if all services run:", *lines, *pauses] if lines else []
