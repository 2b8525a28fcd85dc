# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is decided before an upgrade, its way back or a rollback: the plan to go back to, on which most hosts agree, and the mode.

``known`` is ``{host: {locked, previous, content, runs, variables}}``: the answer of deployment_run; the plan to go back to, whole or {}; the text of
the recorded plan; what `runs.seen_here` returns, {} if it is not known; and variables with addresses.
"""

from __future__ import annotations

import collections
import json
import typing as t

from ..hosts.readable import WRONG_FORM
from ..lifecycle import halves, rollback, upgrade
from ..lifecycle.destinations import own_addresses
from ..lifecycle.removal import removal_plan
from ..plan.agreed import agreed, part_for, text_of_most
from ..plan.record import stored_plan
from .player import Refused
from .script import some

Plan = t.Mapping[str, t.Any]
Known = t.Mapping[str, t.Mapping[str, t.Any]]
Mode = dict[str, t.Any]
T = t.TypeVar("T")
# What deployment_run answers, by its documentation; null is absent.
FORMS: dict[str, t.Callable[[], t.Any]] = {
    **dict.fromkeys(("previous", "last", "unverified"), dict),
    **dict.fromkeys(("phase", "half", "interrupted"), str),
    "revisions": list,
}
FORM = (
    "{hosts}: {what}, so it is not known what runs and what to go back to. Nothing was changed. Fix: if another version of this collection deployed it, use "
    "that version; if not, find out who changed files of this host or what runs as Python there; site records the plan again."
)
OTHER = "{host}: {why}. It is not used. Find out who changed files of this host."
CLAIMED = (
    "{hosts}: {says}, and most hosts of the deployment do not say so. If it is so, engines may run that cannot exchange KV cache with "
    "those of this plan, and {costs}. Nothing was changed, and whatever serves goes on. "
    "Fix: {fix}. Or{asked}."
)
SAYS = {
    False: {
        "says": "says that a change was interrupted",
        "fix": "run the interrupted playbook again with its settings, which goes on from there; if nobody interrupted one, find out who changed files of this "
        "host",
    },
    True: {
        "says": "journal.json is damaged, so it may be that a change was interrupted",
        "fix": "if one was, run its playbook again with its settings, which goes on from there; if not, run deploy, which writes the file again, and "
        "names what has to restart at once",
    },
}
# By the mode that the claim would choose
COSTS = {
    "recreate": {
        "costs": "every service would have to stop; what few hosts say stops nothing",
        "asked": ", when a pause is acceptable, run upgrade again with -e inference_upgrade_mode=recreate, which stops every service",
    },
    "blue_green": {
        "costs": "half of the instances would have to serve alone while the others change; what few hosts say takes none out of service",
        "asked": " run upgrade again with -e inference_upgrade_mode=blue_green, which has no pause, and is right whatever runs",
    },
}
OTHER_KEYS = (
    "{hosts}: says that engines or routers run there with other keys than inference_secrets has, and most hosts that have some do not. If it is so, every "
    "service would have to stop; what few hosts say stops nothing. Nothing was changed, and whatever serves goes on. Fix: run status; when the keys "
    "differ there, run deploy with -e inference_allow_pause=true, which gives all services those of the inventory; if not, find out who changed files of "
    "this host. Or, when a pause is acceptable, run upgrade again with -e inference_upgrade_mode=recreate, which stops every service."
)
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
    it cannot start, so ``given`` has the programs to look for. Raises ``Refused`` for an answer in a wrong form.
    """
    for host, found in locked.items():
        for key in [key for key, form in FORMS.items() if not isinstance(found.get(key) or form(), form)]:
            raise Refused(FORM.format(hosts=host, what=f"its lock answered {key} as {repr(found[key])[:40]}"))
    return _judged(locked, lambda: _agree(locked, goal))


def _judged(hosts: t.Iterable[str], judge: t.Callable[[], T]) -> T:
    """What ``judge`` makes of what hosts recorded. Raises ``Refused`` if it cannot read that."""
    try:
        return judge()
    except WRONG_FORM as error:
        what = f"the recorded plan has a wrong form ({type(error).__name__}: {str(error)[:120]})"
        raise Refused(FORM.format(hosts=some([*hosts]), what=what)) from error


def _agree(locked: Known, goal: str) -> Agreed:
    late = rollback.unreached(locked) if goal == "rollback" else []
    stored = {host: found.get("last" if host in late else "previous") or {} for host, found in locked.items()}
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
    except WRONG_FORM:
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
    function of the goal needs; ``warn`` is told what is strange and ends nothing. Raises ``Refused`` if recorded plans have a wrong form.
    """
    recording = [host for host, here in known.items() if here["previous"] or here["content"]]
    return _judged(recording, lambda: _choose(goal, known, plan, directory, options, warn))


def _choose(
    goal: str,
    known: Known,
    plan: Plan,
    directory: str,
    options: t.Mapping[str, t.Any],
    warn: t.Callable[[str], object],
) -> Mode:
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
    deployed = {host: here["previous"] for host, here in known.items()}
    locked = {host: here["locked"] for host, here in known.items()}
    running = stored_plan(json.dumps(_unverified(locked)))
    own_cann = options["cann"] and not plan["runtime_facts"]["contained"]

    def by(said: _Said, seen: t.Mapping[str, t.Any] | None) -> Mode:
        return upgrade.mode(deployed, plan, options["asked"], said.interrupted, seen, said.revisions, running)

    seen, every, most = _seen(known), _said(locked.values(), 0), _said(locked.values(), len(locked) / 2)

    def claimed_by_few(chosen: str, few: t.Iterable[str] = ()) -> Mode:
        claiming = [host for host, found in locked.items() if found.get("interrupted") or found.get("half")]
        damaged = bool(claiming) and all(locked[host].get("half") == rollback.UNKNOWN_RECORD for host in claiming)
        return _refused(
            CLAIMED.format(hosts=some([*dict.fromkeys([*claiming, *few])]), **SAYS[damaged], **COSTS[chosen])
        )

    mode = by(every, seen)
    if mode["mode"] == "recreate" and not options["asked"]:
        few = _rekeyed_by_few(seen, plan)
        claimed = _without_keys(seen, few) if few else seen
        if by(every, claimed)["mode"] != "recreate":
            mode = _refused(OTHER_KEYS.format(hosts=some(few)))
        elif by(most, claimed)["mode"] != "recreate":
            mode = claimed_by_few("recreate", few)
    # Other keys may be those of few hosts without a claim: a killed change of keys leaves them, and goes on by halves.
    elif mode["mode"] == "blue_green" and not options["asked"] and by(most, seen)["mode"] == "rolling":
        mode = claimed_by_few("blue_green")
    return {**mode, "refusals": [*upgrade.refusals(deployed, plan, own_cann), *mode["refusals"]]}


def _refused(text: str) -> Mode:
    return {"mode": "", "text": "", "refusals": [text], "rounds": []}


def _rekeyed_by_few(seen: t.Mapping[str, t.Any] | None, plan: Plan) -> list[str]:
    """The hosts that say that they run with other keys, if they are half or fewer of those with services that have keys."""
    having = {service["host"] for service in plan["services"] if service["secret_env"]}
    found = [host for host, here in (seen or {"new": {}})["new"].items() if here.get("rekeyed")]
    return [] if 2 * len(found) > len(having) else found


def _without_keys(seen: t.Mapping[str, t.Any] | None, hosts: t.Container[str]) -> t.Mapping[str, t.Any] | None:
    """What all saw, without what these hosts say of their keys."""
    if not seen:
        return seen
    return {
        **seen,
        "new": {host: {**here, "rekeyed": []} if host in hosts else here for host, here in seen["new"].items()},
    }


class _Said(t.NamedTuple):
    """What hosts say of a change that has not ended: the digests of its plan, and revisions that engines may have."""

    interrupted: list[str]
    revisions: set[str]


def _said(locked: t.Collection[t.Mapping[str, t.Any]], more_than: float) -> _Said:
    """What more than so many hosts say. After a change of one half each router knows its own half only, whatever the revisions are."""

    def of(names: t.Iterable[str]) -> list[str]:
        return [name for name, count in collections.Counter(names).items() if name and count > more_than]

    halved = of("half" if found.get("half") else "" for found in locked)
    revisions = of(name for found in locked for name in set(map(str, found.get("revisions") or ())))
    return _Said(of(str(found.get("interrupted") or "") for found in locked), set() if halved else set(revisions))


def _unverified(locked: t.Mapping[str, t.Mapping[str, t.Any]]) -> Plan:
    """The plan that runs and was not verified, as more than half of the hosts recorded it; {} without one."""
    stored = {host: found.get("unverified") or {} for host, found in locked.items()}
    chosen = agreed(stored)
    having = [host for host, plan in stored.items() if plan and host not in chosen["others"]]
    return stored[chosen["host"]] if 2 * len(having) > len(stored) and chosen["host"] else {}


def rollback_refusals(known: Known, directory: str, todays: Plan) -> list[str]:
    """Why a rollback must not begin; empty if it may. ``todays``: the plan of the inventory, {} if it cannot be made."""
    previous = {host: here["previous"] for host, here in known.items()}
    own = own_addresses([here["variables"] for here in known.values()], todays)
    having = [host for host, stored in previous.items() if stored]
    return _judged(having, lambda: rollback.refusals(previous, directory, own, todays))


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
