# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster offers: the version of Kthena by its CRD, the devices of its nodes."""

from __future__ import annotations

from ..tools.finding import Finding
from .quantity import is_quantity, quantity
from .readiness import alive


def crd_version(crd):
    """The version of Kthena that a ModelServing CRD is of, by the fields that came with it; empty if it is older."""
    versions = [version for version in crd["spec"]["versions"] if version.get("served", True)]
    spec = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    role = spec["template"]["properties"]["roles"]["items"]["properties"]
    if "partition" in role:
        return "main"
    if "maxUnavailable" in role:
        return "v1.0.0"
    rollout = spec.get("rolloutStrategy", {}).get("properties", {}).get("type", {})
    return "v0.4.0" if "RoleRollingUpdate" in rollout.get("enum", []) else ""


def held(pods, own, resource):
    """``{node: devices}`` that other pods hold; ``own`` are the deployment's, which are replaced or counted as planned."""
    mine, found = {pod["metadata"].get("uid") for pod in own}, {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and alive([pod]) and pod["metadata"].get("uid") not in mine:
            for container in pod["spec"]["containers"]:
                amount = ((container.get("resources") or {}).get("limits") or {}).get(resource, 0)
                found[node] = found.get(node, 0) + int(quantity(amount))
    return {node: found[node] for node in found if found[node]}


def node_shortage(plan, nodes, taken=None):
    """Findings if the planned pods cannot be scheduled onto these nodes, of which others hold ``taken``; none if they can, or without nodes."""
    kubernetes = plan["kubernetes"]
    resource, roles = kubernetes["resource"], kubernetes["roles"]
    sizes = [_allocatable(node, resource) for node in nodes]
    requested = [
        (role["devices"], name)
        for name, role in sorted(roles.items())
        for dummy in range(role["replicas"] * role["pods"] * kubernetes["groups"])
        if role["devices"]
    ]
    if not nodes or not requested:
        return []
    if not any(sizes):
        others = sorted({key for node in nodes for key in _resources(node) if "/" in key})
        seen = "they offer {}".format(", ".join(others)) if others else "they offer no devices"
        problem = f"none of the {len(nodes)} nodes offers {resource}; {seen}"
        fix = "Set inference_kubernetes.resource to a resource of the nodes, or install Ascend's device plugin."
        return [_unschedulable("inference_kubernetes.resource", resource, problem, fix)]
    left = [size - taken.get(node["metadata"]["name"], 0) for node, size in zip(nodes, sizes)] if taken else sizes
    free = sorted(left, reverse=True)
    for amount, name in sorted(requested, reverse=True):
        place = next((index for index, size in enumerate(free) if size >= amount), None)
        if place is None:
            total = f"{len([size for size in sizes if size])} nodes with {sum(sizes)} x {resource}"
            total += f", of which other pods hold {sum(taken.values())}" if taken else ""
            problem = f"a pod of {name} needs {amount} on one node; the cluster has {total}, too few for all {len(requested)} pods"
            return [_unschedulable(f"role {name}", amount, problem, "Plan fewer or smaller instances, or add nodes.")]
        free[place] -= amount
    return []


def _unschedulable(path, value, problem, fix):
    why = "The pods would stay Pending, and the deployment would wait until its timeout."
    return Finding(path, "K8S-NODES", problem, fix, value=str(value), why=why)


def _resources(node):
    return (node.get("status") or {}).get("allocatable") or {}


def _allocatable(node, resource):
    amount = _resources(node).get(resource, 0)
    if (node.get("spec") or {}).get("unschedulable") or not is_quantity(amount):
        return 0
    return int(quantity(amount))
