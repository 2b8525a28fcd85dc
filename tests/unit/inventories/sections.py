# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a plan and of what follows from it, by names that a person knows: what a deployment changes shows in some of them."""

from __future__ import annotations

import json

from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import (
    halves,
    planned_steps,
    rollback,
    upgrade,
    watchdog,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.linked import linked
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import plan_files
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_diff import plan_diff
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_page import plan_page
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table

ENGINES = ("encode", "prefill", "decode", "colocated")
SHOWN = ("argv", "env", "files", "ports", "start", "stop", "health")
LEFT_OUT = ("release_facts", "digest", "revision", "services")
APART = ("hosts", "verify", "findings", "placement", "software", "members", "balancer", "firewall", "objects")


def outcome(words, inventory, deployed=None):
    """The plan and no findings, or no plan and the findings that refuse it."""
    try:
        return launch_plan(words, inventory, deployed=deployed), []
    except PlanError as error:
        return None, [finding.as_dict() for finding in error.findings]


def sections(plan):
    """Each part as text."""
    found = {}
    for service in plan["services"]:
        kind = "engine" if service["kind"] in ENGINES else service["kind"]
        for name, value in service.items():
            part = f"{kind}.{name}" if name in SHOWN else f"{kind}.rest"
            found.setdefault(part, []).append([service["name"], name, value])
    for name, value in plan.items():
        if name not in LEFT_OUT:
            found.setdefault(name if name in APART else "rest", []).append([name, value])
    return {name: json.dumps(value, sort_keys=True) for name, value in found.items()}


def views(plan):
    """What people and hosts get of a plan."""
    return {
        "table": [plan_table(plan, show) for show in ("table", "commands")],
        "page": plan_page(plan),
        "parts": [
            [name, {key: part.get(key) for key in ("question", "stages", "members")}] for name, part in parts(plan)
        ],
        "watched": watchdog.watched(plan),
        "linked": linked(plan),
        "cost": halves.cost_of_halves(plan) if len(plan["services"]) < 60 else "",
    }


def changes(plan, before):
    """What a change between two plans does, both ways."""
    found = {
        "diff": [plan_diff(plan, before), plan_diff(before, plan)],
        "steps": [planned_steps.planned_steps(plan, before), planned_steps.planned_steps(before, plan)],
        "modes": [
            upgrade.planned_mode(plan, before),
            upgrade.mode({"node1": before}, plan, ""),
            upgrade.refusals({"node1": before}, plan, True),
        ],
        "obstacles": [
            upgrade.obstacles(plan, before),
            halves.half_obstacles(plan, before),
            halves.half_obstacles(before, plan),
        ],
        "back": [
            rollback.mode({"node1": before}, plan, ["deployed"]),
            rollback.refusals({"node1": before, "node9": {}}, plan["directory"]),
            rollback.refusals({"node1": before, "node2": plan}, before["directory"]),
        ],
    }
    if not found["obstacles"][1] and plan.get("balancer"):
        runs = {"first": "new", "second": "old"}
        found["rounds"] = [halves.rounds(before, plan, runs, [], "new"), halves.mixed(before, plan, runs, "new")]
    return found


def stored(plan):
    """The files that a host keeps."""
    return plan_files(plan, {})
