# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes the engines' pods: Kthena's ModelServing, or a Deployment or LeaderWorkerSet for each role."""

from __future__ import annotations

import copy

from .names import (
    COMPONENT,
    GROUP_INDEX,
    SERVING_ENTRY,
    SERVING_GROUP,
    SERVING_ROLE,
    SERVING_ROLE_ID,
    WORKER_INDEX,
    address,
    label,
    natural,
)

CUSTOM = ("ModelServing", "LeaderWorkerSet")


def makes_engines(plan, thing):
    """Whether an object of the deployment makes pods of engines."""
    is_role = label(thing, COMPONENT) in plan["kubernetes"]["roles"]
    return thing["kind"] in CUSTOM or (thing["kind"] == "Deployment" and is_role)


def engine_objects(plan):
    """``KIND/NAME`` of the plan's objects that make pods of engines."""
    return [address(item) for item in plan["objects"] if makes_engines(plan, item)]


def templates(thing):
    """``(role, part, template, number of pods)`` of each pod template of an object; part is entry, worker or empty."""
    spec, role = thing.get("spec") or {}, label(thing, COMPONENT)
    if thing["kind"] == "Deployment":
        return [(role, "", spec["template"], spec["replicas"])]
    if thing["kind"] == "LeaderWorkerSet":
        inner, count = spec["leaderWorkerTemplate"], spec["replicas"]
        workers = (role, "worker", inner["workerTemplate"], count * (inner["size"] - 1))
        return [(role, "entry", inner["leaderTemplate"], count), workers]
    found = []
    for item in spec["template"]["roles"] if thing["kind"] == "ModelServing" else ():
        count = spec["replicas"] * item["replicas"]
        found.append((item["name"], "entry", item["entryTemplate"], count))
        if "workerTemplate" in item:
            found.append((item["name"], "worker", item["workerTemplate"], count * item["workerReplicas"]))
    return found


def planned_templates(plan):
    """The same of all objects of the plan."""
    return [each for item in plan["objects"] for each in templates(item)]


def is_autoscaled(plan):
    """Whether Kthena scales a role."""
    return any(role.get("autoscaled") for role in plan["kubernetes"]["roles"].values())


def scaled(plan, engines):
    """The plan with the instances that the cluster has now of roles that Kthena scales; the planned ones if it has fewer, or nothing."""
    if not is_autoscaled(plan):
        return plan
    roles = plan["kubernetes"]["roles"]
    result = copy.deepcopy(plan)
    for item in result["objects"]:
        live = engines.get("{}/{}".format(item["kind"], item["metadata"]["name"]))
        if item["kind"] != "ModelServing" or not live:
            continue
        counts = {role["name"]: role.get("replicas", 1) for role in live["spec"]["template"]["roles"]}
        for role in item["spec"]["template"]["roles"]:
            if roles.get(role["name"], {}).get("autoscaled"):
                role["replicas"] = max(role["replicas"], counts.get(role["name"], 0))
                result["kubernetes"]["roles"][role["name"]]["replicas"] = role["replicas"]
    return result


def role_of(pod):
    """The role of an engine's pod; the name of the service for other pods."""
    return label(pod, SERVING_ROLE) or label(pod, COMPONENT)


def is_entry(pod):
    """Whether a pod runs the first rank of its instance."""
    if label(pod, SERVING_ROLE):
        return label(pod, SERVING_ENTRY) == "true"
    return label(pod, WORKER_INDEX) in ("", "0")


def instance_of(pod):
    """What the pods of an instance have in common, as a sort key; pods of Deployments are instances of their own."""
    if label(pod, SERVING_ROLE):
        return natural(label(pod, SERVING_GROUP)), natural(label(pod, SERVING_ROLE_ID))
    return natural(label(pod, GROUP_INDEX) or pod["metadata"]["name"]), []
