# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster offers: the versions of Kthena and Volcano by their CRDs, the devices of its nodes."""

from __future__ import annotations

import itertools

from ..tools.finding import Finding
from ..tools.how_many import how_many
from .names import COMPONENT, SERVING_ROLE, condition
from .quantity import is_quantity, quantity
from .readiness import alive, is_ready
from .workloads import planned_templates


def crd_version(crd):
    """The version of Kthena that a ModelServing CRD is of, by the fields that came with it; empty if it is older or does not describe them."""
    versions = [version for version in crd["spec"]["versions"] if version.get("served", True)] or [{}]
    spec = _at(versions[0], "schema", "openAPIV3Schema", "properties", "spec", "properties")
    role = _at(spec, "template", "properties", "roles", "items", "properties")
    if "partition" in role:
        return "main"
    if "maxUnavailable" in role:
        return "v1.0.0"
    rollout = _at(spec, "rolloutStrategy", "properties", "type")
    return "v0.4.0" if "RoleRollingUpdate" in (rollout.get("enum") or []) else ""


def _at(schema, *keys):
    """The part of a schema at these keys; empty if a part on the way is missing or null."""
    for key in keys:
        schema = schema.get(key) or {}
    return schema


def volcano_version(crd):
    """The newest version of Volcano whose fields a PodGroup CRD has; empty if it is older, or if the CRD does not describe its fields."""
    found = _at(crd["spec"]["versions"][0], "schema", "openAPIV3Schema", "properties", "spec", "properties")
    versions = (("subGroupPolicy", "v1.14.0"), ("networkTopology", "v1.11.0"))
    return next((f"{version} or later" for field, version in versions if field in found), "")


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
    alone, apart = _with_ports_of_the_node(plan), _apart(plan)
    requested = [
        (role["devices"], role["replicas"], name, apart[name] | ({name} if name in alone and rank == 0 else set()))
        for name, role in roles.items()
        for dummy in range(role["replicas"] * kubernetes["groups"])
        for rank in range(role["pods"])
        if role["devices"]
    ]
    if not nodes or not requested:
        return []
    out = _out_of_service(nodes, resource)
    if not any(sizes):
        others = sorted({key for node in nodes for key in _resources(node) if "/" in key})
        seen = out or ("they offer {}".format(", ".join(others)) if others else "they offer no devices")
        problem = f"no node offers {resource}, of {how_many(len(nodes), 'node')}; {seen}"
        fix = "Set inference_kubernetes.resource to a resource of the nodes, or install Ascend's device plugin."
        fix = "Bring the nodes back." if out else fix
        return [_unschedulable("inference_kubernetes.resource", resource, problem, fix)]
    left = [size - taken.get(node["metadata"]["name"], 0) for node, size in zip(nodes, sizes)] if taken else sizes
    lacking = _lacking(requested, left)
    if not lacking:
        return []
    amount, name, there = lacking
    total = f"{how_many(len([size for size in sizes if size]), 'node')} with {sum(sizes)} x {resource}"
    total += f" ({out})" if out else ""
    total += f", of which other pods hold {sum(taken.values())}" if taken else ""
    problem = (
        f"a pod of {name} needs {amount} on one node; the cluster has {total}, too few for all {len(requested)} pods"
    )
    if name in there:
        problem += ", as the ports of a role's pods are the same and each needs a node of its own"
    if there - {name}:
        problem += ", as it shares no node with a pod of {}".format(", ".join(sorted(there - {name})))
    return [_unschedulable(f"role {name}", amount, problem, "Plan fewer or smaller instances, or add nodes.")]


def _lacking(requested, left):
    """``(devices, role, roles on the nodes that have them)`` of a pod that finds no place; None if all do.

    Roles that share no node may fit in one order of roles and nodes only, so all are tried.
    """
    failed, roles = [], sorted({name for dummy, count, name, avoided in requested if avoided - {name}})
    for order in itertools.permutations(roles):
        pods = sorted(
            requested, key=lambda pod: (pod[2] in order and -order.index(pod[2]), *pod[:3], len(pod[3])), reverse=True
        )
        for is_reversed in (True, False)[: 1 + bool(roles)]:
            failed.append(_unplaced(pods, sorted(left, reverse=is_reversed)))
            if not failed[-1]:
                return None
    return failed[0]


def _unplaced(pods, free):
    """The first of the pods for which the nodes have no place."""
    holds = [set() for dummy in free]
    for amount, dummy, name, avoided in pods:
        fitting = [index for index, size in enumerate(free) if size >= amount]
        place = next((index for index in fitting if not holds[index] & avoided), None)
        if place is None:
            return amount, name, {other for index in fitting for other in holds[index] & avoided}
        free[place] -= amount
        holds[place].add(name)
    return None


def _apart(plan):
    """``{role: roles with which its pods share no node}``; a required anti-affinity holds in both directions."""
    found = {name: set() for name in plan["kubernetes"]["roles"]}
    for role, _part, template, _count in planned_templates(plan):
        affinity = (template["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
            labels = (term.get("labelSelector") or {}).get("matchLabels") or {}
            other = labels.get(SERVING_ROLE) or labels.get(COMPONENT)
            if role in found and other in found and term.get("topologyKey") == "kubernetes.io/hostname":
                found[role].add(other)
                found[other].add(role)
    return found


def _with_ports_of_the_node(plan):
    """Roles whose instances are in the network of their node: the scheduler puts no two with the same ports on one."""
    return {role for role, dummy, template, count in planned_templates(plan) if template["spec"].get("hostNetwork")}


def _unschedulable(path, value, problem, fix):
    why = "The pods would stay Pending, and the deployment would wait until its timeout."
    return Finding(path, "K8S-NODES", problem, fix, value=str(value), why=why)


def _resources(node):
    return (node.get("status") or {}).get("allocatable") or {}


def _allocatable(node, resource):
    amount = _resources(node).get(resource, 0)
    return int(quantity(amount)) if is_quantity(amount) and not _problem(node) else 0


def _problem(node):
    """Why a node takes no pods; empty if it does."""
    if (node.get("spec") or {}).get("unschedulable"):
        return "cordoned"
    if not condition(node, "Ready"):  # its kubelet has not reported yet: Kubernetes taints such a node as not ready
        return "not known to be ready"
    return "" if is_ready(node) else "not ready"


def _out_of_service(nodes, resource):
    """The nodes with the resource that take no pods, such as ``cordoned: n1, n2``."""
    found = {}
    for node in nodes:
        if resource in _resources(node) and _problem(node):
            found.setdefault(_problem(node), []).append(node["metadata"]["name"])
    return "; ".join("{}: {}".format(problem, ", ".join(sorted(found[problem]))) for problem in sorted(found))
