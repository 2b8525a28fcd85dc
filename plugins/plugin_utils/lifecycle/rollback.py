# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of the playbook rollback: whether the hosts have one verified plan in common, and how they go back to it."""

from __future__ import annotations

import typing as t

from ...module_utils.status.plan import PLAN_VERSION
from ..description.values import natural
from ..plan.record import whole_plan
from .change import Change
from .destinations import foreign
from .halves import NEW, OLD, answering, cost_of_rounds, half_obstacles, rounds, runs_as
from .pauses import HALVED
from .planned_steps import NO_KEYS, keys_of
from .recorded import renamed
from .steps import serves
from .upgrade import (
    INTERRUPTED,
    MODES,
    OTHER_VERSION,
    UNKNOWN_HALF,
    cost,
    not_by_halves,
    not_rolling,
    obstacles,
    one_revision,
    unknown_mode,
)

Plan = t.Mapping[str, t.Any]
UNKNOWN_RECORD = "unknown"  # in place of a half, by module_utils/files/journal.py
CHANGING, AT_REST = "changing", "verified"  # phases of module_utils/files/journal.py
UNKNOWN = (
    "An upgrade was interrupted after it began to change one half of the instances, and {why}. A rollback would stop every service, and clients "
    "get errors until the models are loaded. Nothing was changed, and whatever serves goes on. Fix: run upgrade with the settings of the "
    "interrupted run, which goes on without a pause, then rollback. Or run rollback again with -e inference_allow_pause=true when a pause is "
    "acceptable."
)
REKEYED = (
    "{names} run with other keys than inference_secrets has now, with which the rollback would start the verified plan: all services restart at once, and "
    "clients get errors until the models are loaded. Nothing was changed. Fix: {back}run it "
    "with -e inference_allow_pause=true when a pause is acceptable."
)
PUT_BACK = "put the former keys back into inference_secrets and run rollback again; or "  # which helps only if all services run with them
UNSEEN = (
    "A blue/green rollback, without a pause, is possible, but {why}. Nothing was changed, and whatever serves goes on. Fix: run status; when the "
    "services run as they did, run rollback again. When a pause is acceptable, run it with -e inference_allow_pause=true, which stops every service."
)
UNKNOWN_RUN = (
    "Whether the verified plan can return without a pause is not known: {why}. A rollback would stop every service, and clients get errors until the "
    "models are loaded. Nothing was changed, and whatever serves goes on. Fix: {fix}. Or, when a pause is acceptable, run rollback again with "
    "-e inference_allow_pause=true."
)
RENAMED = (
    "{names} (same address), and the verified plan has the former name, under which no host could be reached. Nothing was changed. Fix: give these hosts "
    "their former names in the inventory for the rollback, or run site, which restarts nothing for a name and verifies what it deploys."
)
GO_ON = "run the playbook that changed it last again with its settings, which goes on from there; rollback then needs no pause where the hardware allows it"
RECORD = "run site with the settings of what runs, which records its plan again, then rollback"
NO_HALF = "neither half runs completely with the verified plan and gets requests, or answers"
NOBODY = "nothing serves that could go on meanwhile"
UNRECORDED = "it is not known with which plan the services run, because plan.json is missing or damaged"
UNRELATED = "hosts are named that are not part of the verified plan"


def refusals(
    previous: t.Mapping[str, Plan], directory: str, own: t.Container[str] | None = None, todays: Plan | None = None
) -> list[str]:
    """Reasons why the rollback must not begin; empty if it may. ``previous``: {host: plan to go back to, or {}}.

    ``own``: addresses of the inventory; ``todays``: its plan, empty if it cannot be made.
    """
    plans = {host: plan for host, plan in previous.items() if plan}
    if not plans:
        return [
            f"In {directory} no host has a plan that was verified before the deployed one, so there is none to go back to; keys are part of no plan. "
            "Nothing was changed. Fix: for former keys, set them in inference_secrets and run upgrade; else correct the inventory and run site, which "
            "verifies what it deploys."
        ]
    found = [
        f"{host}: the plan for the rollback is about {plan.get('directory')} and not about {directory}. Fix: see who changed its files."
        for host, plan in sorted(plans.items())
        if plan.get("directory") != directory
    ]
    found += [
        f"{host}: the verified plan was written by another version of this collection, which alone can start it. Nothing was changed. "
        "Fix: run rollback with that version, or run site."
        for host, plan in sorted(plans.items())
        if plan.get("plan_version") != PLAN_VERSION
    ]
    if len({str(plan.get("digest")) for plan in plans.values()}) > 1:
        releases = ", ".join(f"{host} release {plan.get('release')}" for host, plan in sorted(plans.items()))
        found.append(
            f"The hosts have different verified plans ({releases}), and services of different plans do not work together. Nothing was "
            "changed. Fix: run site with the intended settings."
        )
    else:
        plan = next(iter(plans.values()))
        found += _differing(plan, previous, plans, renamed(todays, plan, {}) if todays else {})
        found += foreign(plan, own, todays or {}) if own is not None else []
    return found


def unreached(locked: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    """The hosts at rest that an interrupted change did not reach, because no file of theirs differs, or because it failed before.

    Such a host names the plan before the verified one, and those that the change reached the verified one: all go back to that. So does a host whose
    journal is damaged. ``locked``: {host: {previous: plan to go back to or {}, phase, half: of its journal}}.
    """
    going = [
        dict(found.get("previous") or {})
        for found in locked.values()
        if found.get("phase") == CHANGING or found.get("half") == UNKNOWN_RECORD
    ]
    digests = {str(plan["digest"]) for plan in going if plan.get("digest")}
    names = {name for plan in going for name in _hosts_of(plan)}
    return [
        host
        for host, found in locked.items()
        if host in names
        and found.get("phase") == AT_REST
        and str((found.get("previous") or {}).get("digest")) not in digests
    ]


def _hosts_of(plan: Plan) -> set[str]:
    """Names of the hosts of a recorded plan; none for one that somebody changed: none of them ends a rollback."""
    try:
        return {str(host["name"]) for host in whole_plan(plan).get("hosts", ())}
    except (AttributeError, KeyError, TypeError, ValueError):
        return set()


def halved(halves: t.Iterable[str], previous: t.Mapping[str, Plan]) -> bool:
    """Whether engines of a blue/green upgrade may run: a host names the half, or its journal is damaged and the plan could change blue/green.

    ``halves``: the half of each host's journal; ``previous`` as for `refusals`.
    """
    named = set(halves) - {""}
    plan = next((plan for plan in previous.values() if plan), {})
    return bool(named - {UNKNOWN_RECORD} or (named and plan and not half_obstacles(plan, plan)))


def mode(
    previous: t.Mapping[str, Plan],
    running: Plan,
    phases: t.Iterable[str],
    seen: t.Mapping[str, t.Any] | None = None,
    half: bool = False,
    allow_pause: bool = False,
    asked: str = "",
    revisions: t.Collection[str] = (),
) -> dict[str, t.Any]:
    """How to go back: ``{mode, text, refusals, rounds}`` with the modes of an upgrade.

    ``previous`` as for `refusals`; ``running``: the plan that the hosts recorded last; ``phases``: the phase of each host's journal. After a
    blue/green change (``half``) one half serves: if it is known which, the other one goes back in ``rounds``; if not, nothing stops without
    ``allow_pause``. After another interrupted change the engines return one after the other if all have the revision of the verified plan
    (``revisions``, see `one_revision`); if nobody knows, what serves stops only with ``allow_pause``. ``seen``: what all hosts saw, compared with
    the recorded plan (old) and the verified one (new), see `halves.seen`.
    ``asked``: a value of MODES, "" for the gentlest one that is possible; no other one is taken instead. With ``recreate`` a pause was asked for.
    """
    if asked and asked not in MODES:
        return _refused(unknown_mode(asked))
    plan = next((plan for plan in previous.values() if plan), {})
    phases, stop = list(phases), asked == "recreate"
    keys = keys_of(seen[NEW].values()) if seen else NO_KEYS
    rekeyed = sorted(Change({"": keys}, plan, running).keys_change, key=natural) if plan else []
    if rekeyed and not (allow_pause or stop) and _may_serve(plan, seen):
        return _refused(
            REKEYED.format(
                names=", ".join(rekeyed), back="" if Change({"": keys}, plan, running).keys_mixed else PUT_BACK
            )
        )
    if half and asked == "rolling":
        return _refused(not_rolling([HALVED]))
    if half and not (stop or rekeyed):
        found = _beside_a_half(plan, running, previous, seen, allow_pause)
        if found:
            return found
    rests = bool(phases) and set(phases) <= {"deployed", "verified"}
    settled = not half and seen is not None and one_revision(plan, revisions, seen[NEW])
    runs = seen[NEW] if seen and settled and not rests else None
    unknown = [] if running and (rests or runs is not None) else [UNRECORDED if rests or settled else INTERRUPTED]
    if unknown and not (allow_pause or stop) and _may_serve(plan, seen):
        fix = GO_ON if unknown == [INTERRUPTED] else RECORD
        return _refused(UNKNOWN_RUN.format(why=unknown[0], fix=fix))
    reasons = unknown or obstacles(plan, running, runs, keys)
    if asked == "rolling" and reasons:
        return _refused(not_rolling(reasons))
    by_halves = (reasons or asked == "blue_green") and rests and not (unknown or stop)
    halves, planned = _by_halves(plan, running, seen, previous) if by_halves else ([], [])
    if halves == [UNKNOWN_HALF] and not allow_pause:
        return _refused(UNSEEN.format(why=UNKNOWN_HALF))
    if asked == "blue_green" and not planned:
        return _refused(not_by_halves(halves or reasons))
    chosen = asked or ("blue_green" if planned else "recreate" if reasons else "rolling")
    text = cost_of_rounds(plan, planned) if planned else cost(chosen, plan, running, reasons, halves, runs, keys)
    return {"mode": chosen, "text": text, "refusals": [], "rounds": planned}


def _refused(text: str) -> dict[str, t.Any]:
    return {"mode": "", "text": "", "refusals": [text], "rounds": []}


def _may_serve(plan: Plan, seen: t.Mapping[str, t.Any] | None) -> bool:
    """Whether a pause would be noticed; without an answer of all hosts it may be."""
    return not seen or serves(plan, {name for host in seen[NEW].values() for name in host.get("down") or ()})


def _beside_a_half(
    plan: Plan, running: Plan, previous: t.Mapping[str, Plan], seen: t.Mapping[str, t.Any] | None, allow_pause: bool
) -> dict[str, t.Any] | None:
    """How to go back after a blue/green change was interrupted; None if everything stops."""
    why = UNRELATED if not all(previous.values()) else "; ".join(half_obstacles(plan, plan))
    planned = None if why or not seen else _from_half(plan, running, seen)
    if planned:
        return {"mode": "blue_green", "text": cost_of_rounds(plan, planned), "refusals": [], "rounds": planned}
    if allow_pause:
        return None
    began = running.get("digest") in (None, plan.get("digest"))  # with the verified plan
    return _refused(UNKNOWN.format(why=why or NO_HALF) if why or began else UNSEEN.format(why=UNKNOWN_HALF))


def _from_half(plan: Plan, running: Plan, seen: t.Mapping[str, t.Any]) -> list[t.Any] | None:
    """The rounds after a blue/green change was interrupted; None if no half is known to serve.

    An upgrade began with the verified plan, so a half that runs with it served before. A rollback may begin with a recorded plan that was never
    verified: then a half with the verified plan was started by it, and has to be proven. Without a readable record, one that gets requests serves.
    """
    recorded = running.get("digest")
    if recorded == plan["digest"] or (not recorded and seen["asked"]):
        answers = answering(seen[NEW], plan) if recorded else ()
        return rounds(plan, plan, runs_as(seen[NEW], seen[NEW], plan), seen["asked"], OLD, answers)
    if running.get("plan_version") != plan["plan_version"] or half_obstacles(plan, running):
        return None
    return rounds(running, plan, runs_as(seen[OLD], seen[NEW], plan), seen["asked"], NEW)


def _by_halves(
    plan: Plan, running: Plan, seen: t.Mapping[str, t.Any] | None, previous: t.Mapping[str, Plan]
) -> tuple[list[str], list[t.Any]]:
    """Why ``running`` cannot become ``plan`` blue/green, and the rounds if it can."""
    if running and running.get("plan_version") != plan.get("plan_version"):
        return [OTHER_VERSION], []
    rekeyed = keys_of(seen[NEW].values())["rekeyed"] if seen else ()
    found = half_obstacles(plan, running, rekeyed) + ([] if all(previous.values()) else [UNRELATED])
    if found or not seen:
        return found or [UNKNOWN_HALF], []
    if not serves(running, {name for host in seen[OLD].values() for name in host["down"]}):
        return [NOBODY], []
    planned = rounds(running, plan, runs_as(seen[OLD], seen[NEW], plan), seen["asked"], NEW)
    return ([], planned) if planned else ([UNKNOWN_HALF], [])


def _differing(plan: Plan, asked: t.Iterable[str], having: t.Container[str], names: t.Mapping[str, str]) -> list[str]:
    """``names``: {name in the plan: name in the inventory} of hosts with another name."""
    hosts = sorted(host["name"] for host in plan.get("hosts", ()))
    if any(host in names for host in hosts):
        return [RENAMED.format(names=", ".join(f"{old} is called {new} now" for old, new in names.items()))]
    lacking = [host for host in hosts if host not in having]
    more = [host for host in sorted(asked) if host not in hosts and host in having]
    found = []
    if lacking:
        found.append(
            f"{', '.join(lacking)}: part of the verified plan, and without it or not in the inventory. Nothing was changed. "
            "Fix: name these hosts in the inventory, or run site."
        )
    if more:
        found.append(
            f"{', '.join(more)}: not part of the verified plan that it has. Fix: run remove --limit for it first."
        )
    return found
