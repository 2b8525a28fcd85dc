# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plan the removal goes by on one host."""

from __future__ import annotations

import json
import posixpath
import typing as t

from ...module_utils.status.plan import PLAN_VERSION

Plan = dict[str, t.Any]


def removal_plan(text: str, directory: str, todays: Plan) -> Plan:
    """The deployed plan if there is one that belongs into ``directory``, else the inventory's; ``{}`` if there is neither.

    ``text``: that of plan.json, empty without one. ``ValueError`` for a plan that another folder has, and for one that cannot be read and that
    the inventory's plan cannot stand for: one of another version of the collection has to have the same runtime, which then finds all services.
    """
    plan = _decoded(text)
    if not plan:
        if text and not todays:
            raise ValueError(
                f"{directory}/plan.json is damaged, and the inventory has no plan for this host, so it is unknown what runs here. Nothing was "
                "removed. Fix: run remove with an inventory that plans the deployment on this host."
            )
        return todays
    if plan.get("plan_version") != PLAN_VERSION:
        if todays and todays.get("runtime") == plan.get("runtime"):
            return todays
        have = f"has the runtime {todays.get('runtime')}" if todays else "has no plan for this host"
        raise ValueError(
            f"{directory}/plan.json was written by another version of this collection, and the inventory {have}: the services of the runtime "
            f"{plan.get('runtime')} would stay. Nothing was removed. Fix: run remove with that version, or with an inventory that plans the "
            "deployment on this host with that runtime."
        )
    place = posixpath.join(str(plan.get("root")), "deployments", str(plan.get("deployment")))
    if directory not in (place, plan.get("directory")) or place != plan.get("directory"):
        raise ValueError(
            f"{directory}/plan.json is about {plan.get('directory')}, so it does not say what was made here. Nothing was removed. "
            "Fix: move the file away and run deploy or remove again."
        )
    return plan


TAKEN = (
    " If one of them had a balancer, its keepalived does not know today's hosts, and takes the virtual address {address} too when it returns: clients would "
    "reach its old services. Before it returns to the network, run there: systemctl disable --now ascend-inference-address-{deployment}"
)


def _decoded(text: str) -> Plan:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def left_text(lost: t.Sequence[str], renamed: t.Sequence[str], plan: Plan) -> str:
    """What to do about hosts that left the inventory with services.

    ``renamed``: hosts whose machine had another name when the plan was recorded; ``plan``: today's, {} if there is none.
    """
    virtual = plan.get("virtual_address")
    taken = TAKEN.format(address=virtual["address"], deployment=plan["deployment"]) if virtual else ""
    begin = f"{', '.join(lost)}: had services of this deployment and left the inventory, so nothing was removed there. "
    if renamed:
        have = (
            "has a placement of this deployment that does not name it"
            if len(renamed) == 1
            else "have a placement that does not name them"
        )
        return (
            f"{begin}But {', '.join(renamed)} {have}, so it is probably the same machine with another name, whose services go on under that name. Fix: "
            "compare /etc/machine-id and addresses. If it is the same machine, nothing is to be done. Do not run the playbook remove for the old name: it "
            f"would remove what serves now{taken}"
        )
    fix = "Fix: run the playbook remove with an inventory that has only these hosts."
    return f"{begin}If the services still run, they hold devices and memory. {fix}{taken}"
