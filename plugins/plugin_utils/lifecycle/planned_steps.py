# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps from one plan to another if all services of the first one run: what a change would do, before any host is asked."""

from __future__ import annotations

import typing as t

from ..description.values import natural
from ..plan.service import other_user
from .before import Plan, elsewhere, instances_of, old_instances
from .change import Pending, named
from .steps import steps

Keys = t.Mapping[str, t.Collection[str]]
NO_KEYS: Keys = {"rekeyed": (), "keyed": (), "outdated": ()}


def keys_of(runs: t.Iterable[t.Mapping[str, t.Any]], of: t.Container[str] = ("rekeyed", "keyed")) -> Keys:
    """{rekeyed, keyed, outdated}: names of services that run with other secrets than planned, with those, and that have to restart.

    ``runs``: what the module service_state returned; ``of``: the keys that count, the others are empty.
    """
    found = list(runs)
    return {key: [name for each in found for name in each.get(key) or () if key in of] for key in NO_KEYS}


def change(
    plan: Plan, deployed: Plan, runs: t.Mapping[str, Pending] | None = None, keys: Keys | None = None
) -> dict[str, t.Any]:
    """The steps from one plan to another, and ``new``, ``rest``, ``gone``: names of services.

    ``runs``: what runs, compared with ``plan``, as `steps` asks of each host; without it all services of ``deployed`` run.
    ``rest`` restart at once; ``gone`` includes those that move, with their old host. ``deployed`` is the whole deployed plan. ``keys``: see
    `keys_of`.
    """
    keys = keys or NO_KEYS
    before = {service["name"]: service for service in deployed["services"]}
    planned = {service["name"]: service for service in plan["services"]}
    new = [name for name in planned if name not in before or before[name]["host"] != planned[name]["host"]]
    every = other_user(plan, deployed)
    changed = [
        name
        for name in planned
        if name not in new
        and (
            every or before[name]["digest"] != planned[name]["digest"] or name in (*keys["rekeyed"], *keys["outdated"])
        )
    ]
    if runs is not None:
        changed = [name for name in planned if any(name in (found.get("outdated") or ()) for found in runs.values())]
    decided = steps(runs or {"": {**keys, "down": new, "outdated": changed}}, plan, deployed, allow_pause=True)
    rest = [name for name in changed if name not in decided["held"]]
    gone = [name for name in before if name not in planned]
    gone += [f"{name} on {before[name]['host']}" for name in new if name in before]
    return {**decided, "new": new, "rest": rest, "gone": gone}


def planned_steps(plan: Plan, deployed: Plan, keys: Keys | None = None) -> list[str]:
    """What deploy would do, as numbered lines, if all services of the deployed plan run; empty without changes or in a cluster.

    A change that needs a pause says why. ``deployed`` is the whole deployed plan; ``keys``: see `keys_of`.
    """
    if plan["runtime_facts"]["in_cluster"] or not deployed.get("services"):
        return []
    decided = change(plan, deployed, keys=keys)
    instances = instances_of(plan["services"])
    leaving = old_instances(plan, deployed, elsewhere(plan, deployed, {}), ())
    stopped = [*decided["vacate"].values(), *decided["orphaned"].values()]
    first = sorted({name for names in stopped for name in names}, key=natural)
    lines = _first_lines(first, decided, instances, leaving)
    again = [service["name"] for service in plan["services"] if service["name"] in {*decided["new"], *first}]
    rest = [name for name in decided["rest"] if name not in first]
    engines = {name for names in instances.values() for name in names} & set(again)
    lines += (
        [f"start {', '.join(again)}{', prove and add the engines to the router' if engines else ''}"] if again else []
    )
    lines += [f"restart at once: {', '.join(rest)}"] if rest else []
    serving = {*instances, *(key for key, names in leaving.items() if not names & set(first))}
    for step in decided["roll"]:
        if step["routers"]:
            others = len(named(plan, "router")) - len(step["routers"])
            names = ", ".join(step["routers"])
            lines.append(f"drain, restart and return {names}; routers that serve meanwhile: {others}")
            continue
        kinds = sorted({kind for kind, number in instances if instances[kind, number] & set(step["services"])})
        left = ", ".join(f"{sum(kind == found for found, _n in serving) - 1} of {kind}" for kind in kinds)
        lines.append(
            f"drain, restart, prove and return {', '.join(step['services'])}; instances that serve meanwhile: {left}"
        )
    gone = [name for name in decided["gone"] if name.split(" ")[0] not in first]
    lines += [f"drain and remove {', '.join(gone)}"] if gone else []
    lines = [f"  {number}. {line}" for number, line in enumerate(lines, 1)]
    pauses = [f"  {note}" for note in decided["notes"] if note.startswith("Pause")]
    return ["Steps of deploy, if all services run:", *lines, *pauses] if lines else []


def _first_lines(
    names: t.Sequence[str],
    decided: t.Mapping[str, t.Any],
    instances: t.Mapping[tuple[str, int], set[str]],
    leaving: t.Mapping[tuple[str, int], set[str]],
) -> list[str]:
    """The step of services that stop before others start, with the instances that serve meanwhile if it is no pause."""
    deregistered = decided["deregistered"]
    lines = []
    if deregistered and deregistered["pause"]:
        lines.append(f"remove {', '.join(engine['name'] for engine in deregistered['engines'])} from the router")
    if not names:
        return lines
    if not deregistered or deregistered["pause"]:
        return [*lines, f"stop {', '.join(names)}"]
    away = {*names, *decided["new"]}
    stay = {key for key, group in instances.items() if not group & away}
    stay |= {key for key, group in leaving.items() if not group & set(names)}
    kinds = sorted({kind for (kind, _n), group in {**instances, **leaving}.items() if group & set(names)})
    counts = ", ".join(f"{sum(kind == found for found, _n in stay)} of {kind}" for kind in kinds)
    return [*lines, f"drain and stop {', '.join(names)}; instances that serve meanwhile: {counts}"]
