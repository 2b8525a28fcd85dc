# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of the playbook upgrade before it changes anything: preconditions, the mode, messages. What follows is in `outcome`."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.how_many import how_many
from ..plan.revision import only_names_differ, other_software
from ..plan.service import other_user
from .halves import FRONT, NEW, answering, cost_of_halves, cost_of_rounds, half_obstacles, rounds, runs_as
from .pauses import OTHER, OTHER_NAME
from .planned_steps import NO_KEYS, Keys, change, keys_of
from .recorded import as_renamed, renamed
from .steps import ENTRIES

Plan = t.Mapping[str, t.Any]
MODES = ("rolling", "blue_green", "recreate")
UNKNOWN_HALF = (
    "it is not known which half of the instances serves, because services run that neither plan has, or some do not run"
)
UNKNOWN_ALL = (
    "Mode rolling is not possible: {why}. Mode blue_green is, but {unknown}. Nothing was changed, and whatever serves goes on. Fix: run status; when the "
    "services run as they did, run again. When a pause is acceptable, run again with -e inference_upgrade_mode=recreate, which stops every service."
)
UNVERIFIED = (
    "The plan that is deployed was never verified, and its engines cannot exchange KV cache with those of the last verified plan, which an upgrade that "
    "fails starts again: every service would stop, without anybody having asked for it. Nothing was changed, and whatever serves goes on. Fix: run "
    "verify with the settings that are deployed, which makes them the plan to go back to, then run upgrade again if settings differ. If they do not "
    "work, run rollback. When a pause is acceptable, run again with -e inference_upgrade_mode=recreate, which stops every service."
)
NOTHING = "Nothing changes: the services have the settings of this plan. Those that do not run start, and the deployment is verified."
BALANCER_DOWN = (
    "{names}: does not run, and a blue/green change moves the requests at each balancer. Nothing was changed. Fix: start it, {start}, or see its log; "
    "then run upgrade again."
)
BY_RESTART = "by the playbook restart with inference_services: [{names}]"
BY_RUNTIME = "with {runtime} on its host ({units}): restart refuses while a change by halves has not ended"
EMPTIED = "{name} restarts at once: engines mount their memory again by themselves; what the store has is lost, and prompts are computed again."
RENAMED = (
    "{names} (same address), and the plan to go back to has the former name, under which no host could be reached. Nothing was changed. Fix: run site "
    "with the settings that are deployed, which restarts nothing for a name, and records and verifies it; then run upgrade."
)
OTHER_VERSION = "another version of this collection wrote the plan that runs"
INTERRUPTED = "it is not recorded that the last change has ended, so engines may run that cannot exchange KV cache"


def refusals(deployed: t.Mapping[str, Plan], plan: Plan, cann_installed: bool) -> list[str]:
    """Reasons against starting this upgrade; empty if it may start.

    ``deployed`` maps each planned host to the plan that is deployed there (empty if there is none).
    ``cann_installed`` is false where the hosts bring their own CANN or an image does.
    """
    unreadable = _other_version(plan, deployed)
    if unreadable:
        return unreadable
    found = []
    previous = _common(deployed)
    names = renamed(plan, previous, {}) if previous else {}
    if names and _same_place(plan, as_renamed(previous, names)):
        listed = ", ".join(f"{old} is called {new} now" for old, new in names.items())
        found.append(RENAMED.format(names=listed))
    elif previous is None or not _same_place(plan, previous):
        found.append(_nothing_to_go_back_to(plan, deployed))
    elif cann_installed:
        found += _shared_cann(plan, previous)
    return found


def _other_version(plan: Plan, deployed: t.Mapping[str, Plan]) -> list[str]:
    """A refusal if a host has a plan of another format: roles read keys of it that the other format does not have."""
    hosts = {
        host: previous.get("plan_version", "none")
        for host, previous in sorted(deployed.items())
        if previous and previous.get("plan_version") != plan["plan_version"]
    }
    if not hosts:
        return []
    versions = ", ".join(f"{host} has version {version}" for host, version in hosts.items())
    return [
        f"The deployed plan ({plan['directory']}/plan.json) was written by another version of this collection: {versions}, this "
        f"collection writes {plan['plan_version']}. If the new release did not work, the old plan could not be started again. "
        f"Fix: run upgrade with the version of the collection that deployed it; or run site, which starts the new release "
        f"without the possibility of a rollback."
    ]


def _common(deployed: t.Mapping[str, Plan]) -> Plan | None:
    """The plan that is deployed on all hosts, or None."""
    plans = list(deployed.values())
    return plans[0] if plans and plans[0] and all(plan == plans[0] for plan in plans) else None


def _host_names(plan: Plan) -> list[str]:
    return sorted(host["name"] for host in plan.get("hosts", ()))


def _same_place(plan: Plan, previous: Plan) -> bool:
    return previous.get("runtime") == plan["runtime"] and _host_names(previous) == _host_names(plan)


def _nothing_to_go_back_to(plan: Plan, deployed: t.Mapping[str, Plan]) -> str:
    lines = []
    for host, previous in sorted(deployed.items()):
        if previous:
            names = ", ".join(_host_names(previous))
            lines.append(f"{host} has release {previous['release']} on {names} with runtime {previous['runtime']}")
        else:
            lines.append(f"{host} has none")
    return (
        f"The deployed plans ({plan['directory']}/plan.json) do not match: {'; '.join(lines)}. An upgrade replaces a running "
        f"deployment and needs it for a rollback: the same plan on all of {', '.join(_host_names(plan))}, with runtime "
        f"{plan['runtime']}. Fix: use the playbook site for a first deployment, for other hosts and for another runtime."
    )


def _shared_cann(plan: Plan, previous: Plan) -> list[str]:
    old, new = (each["software"].get("cann") or {} for each in (previous, plan))
    if not old or not new or old["version"] == new["version"] or old["path"] != new["path"]:
        return []
    return [
        f"{previous['release']} runs on CANN {old['version']} and {plan['release']} needs {new['version']}, both in "
        f"{new['path']}. CANN's installers point the links there to the newest version, so the running engines would break "
        f"or use the wrong one. Fix: use a separate folder for each release, for example inference_cann_path: "
        f"{plan['root']}/cann-{plan['release']}, also for later runs."
    ]


def mode(
    deployed: t.Mapping[str, Plan],
    plan: Plan,
    asked: str,
    interrupted: t.Iterable[str] = (),
    seen: t.Mapping[str, t.Any] | None = None,
    revisions: t.Collection[str] = (),
    unverified: Plan | None = None,
) -> dict[str, t.Any]:
    """How to upgrade: ``{mode, text, refusals, rounds}``. ``deployed`` as for `refusals`; ``asked``: a value of MODES, "" for the gentlest possible.

    ``rolling``: one instance of each pool at a time, behind the router. ``blue_green``: one half of the instances after the other, in ``rounds``.
    ``recreate``: every service stops, then the new ones start; chosen where the gentler ones are impossible, but not because nobody knows what serves.
    ``text`` says which and what it costs. ``interrupted``: digests of plans of which a
    change has not ended. If this one is another, engines of three plans could meet: that is safe if they have one revision (``revisions``, see
    `one_revision`). ``seen``: {old, new, asked}, as for `runs_as` and `rounds`. ``unverified``: the plan that runs, if another one was verified
    last: the mode is that of a change of what runs, and going back to the verified plan must not need a pause that nobody asked for.
    """
    if asked and asked not in MODES:
        return {"mode": "", "text": "", "refusals": [unknown_mode(asked)], "rounds": []}
    previous = _common(deployed) or {}
    running = unverified or previous
    if unverified and asked != "recreate" and not _may_return(unverified, previous):
        return {"mode": "", "text": "", "refusals": [UNVERIFIED], "rounds": []}
    other = bool(set(interrupted) - {"", plan.get("digest")})
    runs = seen["new"] if other and seen and one_revision(plan, revisions, seen["new"]) else None
    keys = keys_of(seen["new"].values()) if seen else NO_KEYS
    reasons = [INTERRUPTED] if other and runs is None else obstacles(plan, running, runs, keys)
    halves, planned = _by_halves(plan, previous, seen) if reasons or asked == "blue_green" else ([], [])
    if asked == "rolling" and reasons:
        return {"mode": "", "text": "", "refusals": [not_rolling(reasons)], "rounds": []}
    if asked == "blue_green" and halves:
        return {"mode": "", "text": "", "refusals": [not_by_halves(halves)], "rounds": []}
    if not asked and reasons and halves == [UNKNOWN_HALF]:
        refusal = UNKNOWN_ALL.format(why="; ".join(reasons), unknown=UNKNOWN_HALF)
        return {"mode": "", "text": "", "refusals": [refusal], "rounds": []}
    chosen = asked or ("rolling" if not reasons else "recreate" if halves else "blue_green")
    goes_by_halves = chosen == "blue_green"
    refusal = _balancers_down(plan, seen, bool(set(interrupted) - {""})) if goes_by_halves else ""
    if refusal:
        return {"mode": "", "text": "", "refusals": [refusal], "rounds": []}
    return {
        "mode": chosen,
        "text": cost_of_rounds(plan, planned)
        if goes_by_halves
        else cost(chosen, plan, running, reasons, halves, runs, keys),
        "refusals": [],
        "rounds": planned if goes_by_halves else [],
    }


def _balancers_down(plan: Plan, seen: t.Mapping[str, t.Any] | None, interrupted: bool) -> str:
    """The refusal if of several balancers one does not run. The change would fail where it takes a half out of each, and so would its way back."""
    balancers = [service for service in plan["services"] if service["kind"] == "balancer"]
    down = {name for found in (seen or {}).get("old", {}).values() for name in found.get("down") or ()}
    silent = [service for service in balancers if service["name"] in down] if len(balancers) > 1 else []
    names, units = (", ".join(service[key] for service in silent) for key in ("name", "unit"))
    start = (BY_RUNTIME if interrupted else BY_RESTART).format(names=names, units=units, runtime=plan["runtime"])
    return BALANCER_DOWN.format(names=names, start=start) if silent else ""


def _may_return(unverified: Plan, previous: Plan) -> bool:
    """Whether the engines of the plan that runs can exchange KV cache with those of the verified one."""
    return all(unverified.get(key) == previous.get(key) for key in ("revision", "plan_version"))


def _by_halves(plan: Plan, previous: Plan, seen: t.Mapping[str, t.Any] | None) -> tuple[list[str], list[t.Any]]:
    """Why the plan cannot be changed blue/green, and the rounds if it can."""
    if previous and previous.get("plan_version") != plan["plan_version"]:
        return [OTHER_VERSION], []
    found = half_obstacles(plan, previous, keys_of(seen["new"].values())["rekeyed"] if seen else ())
    if found or not seen:
        return found or [UNKNOWN_HALF], []
    runs = runs_as(seen["old"], seen["new"], plan)
    planned = rounds(previous, plan, runs, seen["asked"], NEW, answering(seen["old"], plan))
    return ([], planned) if planned else ([UNKNOWN_HALF], [])


def unknown_mode(asked: str) -> str:
    """The refusal of a mode that does not exist."""
    return (
        f"inference_upgrade_mode is {asked!r}, and there are {', '.join(MODES[:-1])} and {MODES[-1]}. Nothing was changed. "
        "Fix: correct it, or leave it out for the gentlest one that is possible."
    )


def not_rolling(reasons: t.Sequence[str]) -> str:
    """The refusal of mode rolling, which was asked for and is not possible."""
    return (
        f"inference_upgrade_mode is rolling, which is not possible: {'; '.join(reasons)}. Nothing was changed. "
        "Fix: leave it out for the gentlest mode that is possible, which is printed."
    )


def not_by_halves(reasons: t.Sequence[str]) -> str:
    """The refusal of mode blue_green, which was asked for and is not possible."""
    return (
        f"inference_upgrade_mode is blue_green, which is not possible: {'; '.join(reasons)}. Nothing was changed. Fix: two instances of each pool and "
        f"{FRONT}, deployed before the upgrade; or inference_upgrade_mode recreate when a pause is acceptable."
    )


def one_revision(plan: Plan, revisions: t.Collection[str], runs: t.Mapping[str, t.Any]) -> bool:
    """Whether all engines that run have the revision of ``plan``, although a change was interrupted.

    ``revisions``: see `before.as_begun`; ``runs``: what runs, compared with ``plan``, as `steps` asks of each host.
    """
    differs = any(found.get("outdated") or found.get("other") for found in runs.values())
    return set(revisions) == {plan.get("revision")} or (bool(revisions) and not differs)


def obstacles(plan: Plan, running: Plan, runs: t.Mapping[str, t.Any] | None = None, keys: Keys = NO_KEYS) -> list[str]:
    """Why ``running`` cannot become ``plan`` instance by instance while it serves; empty if it can. Both are whole plans.

    ``runs``, ``keys``: as for `change`.
    """
    if not running or other_software(plan, running):
        return [OTHER_NAME if running and only_names_differ(plan, running) else OTHER]
    steps = change(plan, running, runs, keys)
    kinds = {service["name"]: service["kind"] for service in plan["services"]}
    # No client asks the probe, and engines go on while the master of their store restarts.
    spared = _masters(plan, running, steps["rest"])
    rest = [
        name for name in steps["rest"] if kinds[name] not in (*ENGINE_KINDS, *ENTRIES, "probe") and name not in spared
    ]
    several = [name for name in rest if list(kinds.values()).count(kinds[name]) > 1]
    single = [name for name in rest if name not in several]
    found = [f"{', '.join(names)}: {reason}" for reason, names in sorted(steps["pauses"].items())]
    found += [f"{', '.join(several)}: their settings change, and all restart at once"] if several else []
    return found + ([f"{', '.join(single)}: there is one of it, and its settings change"] if single else [])


def _masters(plan: Plan, running: Plan, names: t.Iterable[str]) -> list[str]:
    """Those of the services that are the only master of Mooncake's store, to which engines give their memory again by themselves after its restart.

    One that also keeps the addresses of the engines' memory (its port http_metadata) would lose these: they are given once, at their start.
    """
    found = [
        service for each in (plan, running) for service in each["services"] if service["kind"] == "mooncake_master"
    ]
    alone = len({service["name"] for service in found}) == 1
    holds = any(port["name"] == "http_metadata" for service in found for port in service["ports"])
    return [name for name in names if alone and not holds and name == found[0]["name"]]


def cost(
    chosen: str,
    plan: Plan,
    running: Plan,
    reasons: t.Sequence[str],
    halves: t.Sequence[str] = (),
    runs: t.Mapping[str, t.Any] | None = None,
    keys: Keys = NO_KEYS,
) -> str:
    """What a change costs the clients, as one sentence for each fact.

    ``reasons``: against ``rolling``; ``halves``: against ``blue_green``; ``runs``, ``keys`` as for `change`.
    """
    if chosen == "blue_green":
        return cost_of_halves(plan)
    if chosen == "recreate":
        why = f" Why: {'; '.join(reasons)}." if reasons else ""
        why += f" Mode blue_green, without a pause, is not possible: {'; '.join(halves)}." if halves else ""
        return f"Mode recreate: every service stops, then the new ones start. Clients get errors until they have loaded the model.{why}"
    found = change(plan, running, runs, keys)
    routers = [name for step in found["roll"] for name in step["routers"]]
    count = len(found["roll"]) - len(routers)
    lines = [
        f"{how_many(count, 'step')}; in each, one instance of each pool that changes finishes its requests, restarts, is proven and returns."
    ]
    lines = lines if count else []
    lines += (
        [f"One after the other finish their requests, restart and return: {', '.join(routers)}."] if routers else []
    )
    if not found["roll"]:
        others = any(found[key] for key in ("new", "rest", "gone"))
        lines = ["No instance and no router that serves restarts." if others else NOTHING]
    lines += [EMPTIED.format(name=name) for name in _masters(plan, running, found["rest"])]
    return f"Mode rolling: no pause. {' '.join(lines)}"


def planned_mode(plan: Plan, running: Plan, keys: Keys = NO_KEYS) -> list[str]:
    """Which mode the playbook upgrade would choose, or why it would refuse, if all services of the deployed plan run, where deploy would need a pause.

    No line where it would not, if nothing changes, and in a cluster.
    """
    digests = [{service["name"]: service["digest"] for service in each.get("services", ())} for each in (plan, running)]
    same = digests[0] == digests[1] and not other_user(plan, running) and not (keys["rekeyed"] or keys["outdated"])
    if same or plan["runtime_facts"]["in_cluster"] or not digests[1]:
        return []
    reasons = obstacles(plan, running, keys=keys)
    if not reasons:
        return []
    if running.get("plan_version") != plan["plan_version"]:
        return [
            "The playbook upgrade would refuse: the deployed plan was written by another version of this collection, so no rollback would be possible."
        ]
    if not _same_place(plan, running):
        return [
            "The playbook upgrade would refuse, because the hosts or the runtime of the deployed plan are others, and a rollback needs the same ones; "
            "site changes them."
        ]
    halves = half_obstacles(plan, running, keys["rekeyed"])
    text = cost("recreate" if halves else "blue_green", plan, running, reasons, halves)
    shared = [] if plan["runtime_facts"]["contained"] else _shared_cann(plan, running)
    lines = [f"The playbook upgrade would refuse, unless cann_method is none: {refusal}" for refusal in shared]
    return [*lines, f"The playbook upgrade would {'then ' if shared else ''}choose {text[0].lower()}{text[1:]}"]
