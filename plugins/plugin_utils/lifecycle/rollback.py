# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of the playbook rollback: whether the hosts have one verified plan in common, and how they go back to it."""

from __future__ import annotations

import typing as t

from ...module_utils.status.plan import PLAN_VERSION
from .halves import OLD, cost_of_return, half_obstacles, rounds, runs_as
from .upgrade import INTERRUPTED, cost, obstacles

Plan = t.Mapping[str, t.Any]
UNKNOWN = (
    "An upgrade was interrupted after it began to change one half of the instances, and {why}. A rollback would stop every service, and clients "
    "get errors until the models are loaded. Nothing was changed, and whatever serves goes on. Fix: run upgrade with the settings of the "
    "interrupted run, which goes on without a pause, then rollback. Or run rollback again with -e inference_allow_pause=true when a pause is "
    "acceptable."
)
NO_HALF = "neither half runs completely with the verified plan"
UNRELATED = "hosts are named that are not part of the verified plan"


def refusals(previous: t.Mapping[str, Plan], directory: str) -> list[str]:
    """Reasons why the rollback must not begin; empty if it may. ``previous``: {host: plan to go back to, or {}}."""
    plans = {host: plan for host, plan in previous.items() if plan}
    if not plans:
        return [
            f"No host has a verified plan to go back to in {directory}. Nothing was changed. "
            "Fix: correct the inventory and run site, which verifies what it deploys."
        ]
    found = [
        f"{host}: the plan to go back to is about {plan.get('directory')} and not about {directory}. Fix: see who changed its files."
        for host, plan in sorted(plans.items())
        if plan.get("directory") != directory
    ]
    found += [
        f"{host}: the verified plan was written by another version of this collection, which alone can start it. Nothing was changed. "
        "Fix: run rollback with that version, or run site."
        for host, plan in sorted(plans.items())
        if plan.get("plan_version") != PLAN_VERSION
    ]
    if len({plan.get("digest") for plan in plans.values()}) > 1:
        releases = ", ".join(f"{host} release {plan.get('release')}" for host, plan in sorted(plans.items()))
        found.append(
            f"The hosts have different verified plans ({releases}), and services of different plans do not work together. Nothing was "
            "changed. Fix: run site with the settings that you want."
        )
    else:
        found += _differing(next(iter(plans.values())), previous, plans)
    return found


def mode(
    previous: t.Mapping[str, Plan],
    running: Plan,
    phases: t.Iterable[str],
    seen: t.Mapping[str, t.Any] | None = None,
    half: bool = False,
    allow_pause: bool = False,
) -> dict[str, t.Any]:
    """How to go back: ``{mode, text, refusals, rounds}`` with the modes of an upgrade.

    ``previous`` as for `refusals`; ``running``: the plan that the hosts recorded last; ``phases``: the phase of each host's journal. After an
    interrupted change nobody knows which engines have which settings, so all stop. After an upgrade half by half (``half``) one half serves: if
    it runs with the verified plan, the other one goes back in ``rounds``; if not, nothing stops without ``allow_pause``. ``seen``: what all
    hosts saw, compared with the verified plan only (see `halves.seen`).
    """
    plan = next((plan for plan in previous.values() if plan), {})
    phases = list(phases)
    if half:
        why = UNRELATED if not all(previous.values()) else "; ".join(half_obstacles(plan, plan))
        planned = (
            None if why or not seen else rounds(plan, plan, runs_as(seen[OLD], seen[OLD], plan), seen["asked"], OLD)
        )
        if planned:
            return {"mode": "set", "text": cost_of_return(planned), "refusals": [], "rounds": planned}
        if not allow_pause:
            return {"mode": "", "text": "", "refusals": [UNKNOWN.format(why=why or NO_HALF)], "rounds": []}
    reasons = obstacles(plan, running) if phases and set(phases) <= {"deployed", "verified"} else [INTERRUPTED]
    chosen = "all" if reasons else "rolling"
    return {"mode": chosen, "text": cost(chosen, plan, running, reasons), "refusals": [], "rounds": []}


def _differing(plan: Plan, asked: t.Iterable[str], having: t.Container[str]) -> list[str]:
    hosts = sorted(host["name"] for host in plan.get("hosts", ()))
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
