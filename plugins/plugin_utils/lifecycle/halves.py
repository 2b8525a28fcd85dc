# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mode ``blue_green`` of an upgrade: one half of the instances of each pool changes while the other half serves, then the other way round.

Engines before and after such a change cannot exchange KV cache. So each half has routers of its own, which know the engines of that half and no
others, and the balancer moves requests from the routers of one half to those of the other. In between hosts have a *mixed plan*: services of
one half as they were deployed, those of the other as they are planned.

`rounds` decides from what runs, and not from what an earlier run meant to do, so a run that was interrupted goes on, or goes back.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.values import natural
from ..plan.linked import together
from ..plan.routers.base import RESTART
from .half_plan import limited, of_half
from .pauses import KEYS, LINKED, NO_API

Plan = t.Mapping[str, t.Any]
Service = t.Mapping[str, t.Any]
Found = t.Mapping[str, t.Any]
Round = dict[str, t.Any]

FIRST, SECOND = "first", "second"  # the half that changes first, and the one that serves meanwhile
OLD, NEW = "old", "new"  # the deployed plan, and the one that it becomes
OTHER_HALF = {FIRST: SECOND, SECOND: FIRST}
BESIDE = ("balancer", "frontend", "probe")  # belong to no half
PLACE = ("host", "address", "instance", "rank", "devices", "ports")
FRONT = "inference_router: {instances: 2, balancer: haproxy}"


def halves(plan: Plan) -> dict[str, list[str]]:
    """{first, second}: names of the engines and routers of each half, in the order of the plan.

    The first half gets the smaller part of each pool and of the routers, from the highest number down. All processes of an instance are in
    one half.
    """
    chosen: set[str] = set()
    for kind in (*ENGINE_KINDS, "router"):
        numbers = sorted({service["instance"] for service in plan["services"] if service["kind"] == kind})
        late = set(numbers[len(numbers) - len(numbers) // 2 :])
        chosen |= {
            service["name"] for service in plan["services"] if service["kind"] == kind and service["instance"] in late
        }
    found: dict[str, list[str]] = {FIRST: [], SECOND: []}
    for service in plan["services"]:
        if service["kind"] in (*ENGINE_KINDS, "router"):
            found[FIRST if service["name"] in chosen else SECOND].append(service["name"])
    return found


def half_obstacles(plan: Plan, running: Plan, rekeyed: t.Collection[str] = ()) -> list[str]:
    """Why ``running`` cannot become ``plan`` blue/green; empty if it can. Both are whole plans.

    ``rekeyed``: names of services that run with other secrets than planned. Where routers send the engines' key, each half has one key; where clients
    do, they would need those of both halves.
    """
    if not running.get("services"):
        return ["no plan is deployed"]
    found = [*_too_few(plan), *_shared(plan, running)]
    names, before = ({service["name"]: service for service in each["services"]} for each in (plan, running))
    moved = [
        name
        for name in sorted({*names, *before}, key=natural)
        if not (name in names and name in before) or any(names[name].get(key) != before[name].get(key) for key in PLACE)
    ]
    if moved:
        found.append(f"{', '.join(moved)}: new, removed, or on other hosts, NPUs or ports than deployed")
    single = [
        name
        for name in names
        if names[name]["kind"] in ("balancer", "frontend")
        and name in before
        and (names[name]["digest"] != before[name]["digest"] or name in rekeyed)
    ]
    if single:
        found.append(f"{', '.join(single)}: there is one of it, and its settings change")
    engines = any(names[name]["kind"] in (*ENGINE_KINDS, "router") for name in rekeyed if name in names)
    if engines and not all(each["secret_env"] for each in plan["services"] if each["kind"] == "router"):
        found.append(f"{KEYS}, and clients send this key, so that they would need that of each half")
    if (plan.get("model") or {}).get("name") != (running.get("model") or {}).get("name"):
        found.append("clients ask for the model by another name before the change than after it")
    return found


def _too_few(plan: Plan) -> list[str]:
    """What the hardware and the routers allow."""
    found = []
    if not plan.get("balancer"):
        found.append(f"no balancer can move requests from one half to the other ({FRONT} adds one)")
    members = plan.get("members") or {}
    without = any(service["kind"] == "router" and not service.get("members") for service in plan["services"])
    if not members or without or members["api"] == RESTART:
        found.append(NO_API)
    for kind in (*ENGINE_KINDS, "router"):
        numbers = {service["instance"] for service in plan["services"] if service["kind"] == kind}
        if len(numbers) == 1 and not (kind == "router" and not plan.get("balancer")):
            found.append(f"there is one {kind}{' instance' if kind != 'router' else ''}, and each half needs one")
    if together(plan):
        found.append(LINKED)
    return found


def _shared(plan: Plan, running: Plan) -> list[str]:
    """Services that both halves would use, and that would hand KV cache from one to the other."""
    known = {*ENGINE_KINDS, "router", *BESIDE} - {"encode"}
    every = [*plan["services"], *running["services"]]
    names = sorted({service["name"] for service in every if service["kind"] not in known}, key=natural)
    return [f"{', '.join(names)}: both halves would exchange KV cache or embeddings through it"] if names else []


def mixed(old: Plan, new: Plan, revisions: t.Mapping[str, str], target: str) -> dict[str, t.Any]:
    """The whole plan with each half of its revision: ``revisions`` = {first: old or new, second: ...}.

    ``target``: the revision that the change goes to, whose settings of hosts and software the plan has. Services that belong to no half are
    the old ones as long as a half is. With different revisions each router knows the engines of its half only. Nothing else differs from the two plans.
    """
    plans = {OLD: old, NEW: new}
    goal = plans[target]
    if set(revisions.values()) == {target}:
        return dict(goal)
    belongs = {name: half for half, names in halves(goal).items() for name in names}
    services = {
        revision: {service["name"]: service for service in plan["services"]} for revision, plan in plans.items()
    }
    apart = len(set(revisions.values())) > 1
    rows = []
    for planned in goal["services"]:
        half = belongs.get(planned["name"])
        service = services[revisions[half] if half else OLD][planned["name"]]
        if service["kind"] == "router" and half and apart:
            service = limited(service, [engine["url"] for engine in _engines(goal, halves(goal)[half])])
        rows.append(service)
    return {**goal, "services": rows}


def _engines(plan: Plan, names: t.Container[str]) -> list[dict[str, t.Any]]:
    """The APIs of engines as the routers have them: [{name, kind, url}]."""
    return [dict(engine) for engine in plan["members"]["engines"] if engine["name"] in names]


def seen(found: t.Mapping[str, Found]) -> dict[str, t.Any] | None:
    """What all hosts saw, as {old, new: see `runs_as`; asked: see `rounds`}; None if a host was not looked at.

    ``found``: {host: {old, new, servers, holds}} of `change.runs.seen_here`. Of two balancers the one whose host has the virtual address decides;
    if none or both have it, a router counts as asked if one of them asks it.
    """
    if not found or not all({OLD, NEW} <= set(runs) for runs in found.values()):
        return None
    holding = [runs for runs in found.values() if runs.get("holds")]
    rows = [
        row
        for runs in (holding if len(holding) == 1 else found.values())
        for row in (runs.get("servers") or {}).items()
    ]
    return {
        **{key: {host: runs[key] for host, runs in found.items()} for key in (OLD, NEW)},
        "asked": list(dict.fromkeys(name for name, row in rows if row["state"] == "ready" and row["weight"])),
    }


def runs_as(old: t.Mapping[str, Found], new: t.Mapping[str, Found], plan: Plan) -> dict[str, str]:
    """{half: the revision that all of its services run with, empty if they differ or one does not run}.

    ``old``, ``new``: {host: {down: [service], outdated: [service]}}, as each host compares what runs with either plan. Only the keys of the new one are
    known, so a half may run as both plans say if these differ in nothing else: while others have other keys, it has changed.
    """
    found = {}
    split = halves(plan)
    engines = {name for names in split.values() for name in names}  # keys of the probe or of clients change no half
    changing = any(engines & set(pending.get("rekeyed") or ()) for pending in new.values())
    order = ((NEW, new), (OLD, old)) if changing else ((OLD, old), (NEW, new))
    for half, names in split.items():
        fits = [
            revision
            for revision, pending in order
            if not set(names) & {name for host in pending.values() for name in (*host["down"], *host["outdated"])}
        ]
        found[half] = fits[0] if fits else ""
    return found


def answering(found: t.Mapping[str, Found], plan: Plan) -> list[str]:
    """The halves of which each service runs with a plan and answers now. ``found``: {host: {healthy: [service]}}, compared with that plan."""
    healthy = {name for host in found.values() for name in host.get("healthy") or ()}
    return [half for half, names in halves(plan).items() if set(names) <= healthy]


def rounds(
    old: Plan,
    new: Plan,
    runs: t.Mapping[str, str],
    asked: t.Container[str],
    target: str,
    answers: t.Container[str] = (),
) -> list[Round] | None:
    """The rounds from what runs to ``target``; None if no half is known to serve, so that everything has to stop.

    A half with the old revision is trusted, as its plan was verified. One with the new revision is trusted if the balancer sends it all requests,
    which it does only after a proof. If the balancer sends all requests to the other half, a way back may have just started the old one: then
    it comes last, and has to answer. ``runs``: the result of `runs_as`; ``asked``: names of the routers that get requests; ``answers``: the
    halves with the old revision that answer, see `answering`. A round is

    ``half``: that changes; ``revisions``: of both halves afterwards; ``target``: see `mixed`; ``services``, ``routers``, ``engines``: of that half;
    ``starts``: services that start or restart;
    ``serving``: ``{routers, engines}`` of the other; ``upstream``: URLs of its prefill engines; ``last``: whether both halves join afterwards;
    ``verify``: the section of a plan that proves the half alone, and ``shift``: {from, to: names of routers, routers: [{name, url}]}; both
    {} in the last round.
    """
    plans = {OLD: old, NEW: new}
    gets = _gets_requests(new, asked)
    old_ones = [half for half in (SECOND, FIRST) if runs[half] == OLD]
    asked_ones = [half for half in old_ones if gets[half] or not gets[OTHER_HALF[half]]]
    answering_ones = [half for half in old_ones if half in answers]
    trusted = next(iter(asked_ones), "") or _proven(new, runs, asked) or next(iter(answering_ones), "")
    if not trusted:
        return None
    revision = runs[trusted]
    other = OTHER_HALF[trusted]
    after = {other: target, trusted: revision}
    if revision == target:
        return [_round(plans, other, after, target, last=True)]
    last = {FIRST: target, SECOND: target}
    return [_round(plans, other, after, target), _round(plans, trusted, last, target, last=True)]


def way_back(mode: str, old: Plan, new: Plan, found: t.Mapping[str, t.Any] | None) -> dict[str, t.Any]:
    """How an upgrade that failed goes back: ``{mode, rounds}``. ``mode``: of the upgrade; ``old``, ``new``: whole plans; ``found``: of `seen`, now.

    A rolling change goes back as it came. After a blue/green one the half that serves goes on, if it is known; else everything has to stop.
    """
    if mode != "blue_green" or not found:
        return {"mode": mode if mode == "rolling" else "recreate", "rounds": []}
    runs = runs_as(found[OLD], found[NEW], new)
    planned = rounds(old, new, runs, found["asked"], OLD, answering(found[OLD], new))
    return {"mode": "blue_green" if planned else "recreate", "rounds": planned or []}


def _gets_requests(plan: Plan, asked: t.Container[str]) -> dict[str, bool]:
    """{half: whether the balancer sends requests to a router of it}."""
    routers = {service["name"] for service in plan["services"] if service["kind"] == "router"}
    return {half: any(name in asked for name in names if name in routers) for half, names in halves(plan).items()}


def _proven(new: Plan, runs: t.Mapping[str, str], asked: t.Container[str]) -> str:
    """A half with the new revision that gets requests, and no router with engines of another revision does; "" without.

    If both do, the first one: it has served alone. The second one may only just have started, behind a balancer that started anew without
    the states that it had.
    """
    routers = {service["name"] for service in new["services"] if service["kind"] == "router"}
    gets = {half: [name in asked for name in names if name in routers] for half, names in halves(new).items()}
    for half in (FIRST, SECOND):
        alone = runs[OTHER_HALF[half]] == NEW or not any(gets[OTHER_HALF[half]])
        if runs[half] == NEW and gets[half] and all(gets[half]) and alone:
            return half
    return ""


def _round(plans: t.Mapping[str, Plan], half: str, revisions: dict[str, str], target: str, last: bool = False) -> Round:
    plan = plans[target]
    split, routers = halves(plan), [service["name"] for service in plan["services"] if service["kind"] == "router"]
    here, there = split[half], split[OTHER_HALF[half]]
    moving, serving = _engines(plan, here), _engines(plan, there)
    to, origin = ([name for name in routers if name in names] for names in (here, there))
    return {
        "half": half,
        "target": target,
        "revisions": revisions,
        "services": here,
        "starts": [service["name"] for service in plan["services"] if service["name"] not in there] if last else here,
        "routers": to,
        "engines": moving,
        "serving": {"routers": origin, "engines": serving},
        "upstream": [engine["url"] for engine in serving if engine["kind"] == "prefill"],
        "last": last,
        "verify": {} if last else of_half(plan, here),
        "shift": {} if last else {"from": origin, "to": to, "routers": _reached(plan)},
    }


def _reached(plan: Plan) -> list[dict[str, str]]:
    return [{key: router[key] for key in ("name", "url")} for router in plan["verify"]["routers"]]


def cost_of_rounds(plan: Plan, planned: t.Sequence[Round]) -> str:
    """What these rounds cost, as one sentence for each fact. An interrupted run may have made the first one, or changed the halves the other way round."""
    found = planned[0]
    if not found["last"]:
        return cost_of_halves(plan, found["half"])
    routers = ", ".join(found["serving"]["routers"])
    return (
        f"Mode blue_green: no pause. {routers} and the engines behind it run with this plan and get all requests, while "
        f"{', '.join(found['services'])} change to it, are proven and join. Fewer instances serve meanwhile."
    )


def cost_of_halves(plan: Plan, begin: str = FIRST) -> str:
    """What the mode costs, as one sentence for each fact; ``begin``: the half that changes first."""
    split = halves(plan)
    kinds = {service["name"]: (service["kind"], service["instance"]) for service in plan["services"]}
    counts = []
    for kind in ENGINE_KINDS:
        every, serving = (
            len({kinds[name][1] for name in names if kinds[name][0] == kind})
            for names in ([*split[FIRST], *split[SECOND]], split[FIRST])
        )
        counts += [f"{serving} of {every} {kind}"] if every else []
    return (
        f"Mode blue_green: no pause. First {', '.join(split[begin])} change, are proven with a router of their own, and get 5, 50 and 100 percent of "
        f"the requests while failures and the time to the first token are compared; then {', '.join(split[OTHER_HALF[begin]])} change. Fewer instances serve "
        f"meanwhile, at least {', '.join(counts)}; prefix caches are empty afterwards."
    )
