# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decision of the playbook rollback: whether the hosts have one verified plan in common."""

from __future__ import annotations

import typing as t

from ...module_utils.status.plan import PLAN_VERSION
from .upgrade import INTERRUPTED, cost, obstacles

Plan = t.Mapping[str, t.Any]


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


def mode(previous: t.Mapping[str, Plan], running: Plan, phases: t.Iterable[str]) -> dict[str, t.Any]:
    """How to go back: ``{mode, text}`` with the modes of an upgrade.

    ``previous`` as for `refusals`; ``running``: the plan that the hosts recorded last; ``phases``: the phase of each host's journal. After an
    interrupted change nobody knows which engines have which settings, so all stop.
    """
    plan = next((plan for plan in previous.values() if plan), {})
    phases = list(phases)
    reasons = obstacles(plan, running) if phases and set(phases) <= {"deployed", "verified"} else [INTERRUPTED]
    chosen = "all" if reasons else "rolling"
    return {"mode": chosen, "text": cost(chosen, plan, running, reasons)}


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
