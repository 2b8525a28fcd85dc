# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pending parts of the rollout of a ModelServing, its pods and a Deployment."""

from __future__ import annotations

import re

from .names import condition
from .workloads import role_of


def pending_engines(engines):
    """Pending parts of the rollout of all objects that make engines, ``{"KIND/NAME": object or None}``."""
    found = []
    for place in engines:
        lacks = (
            pending_serving(engines[place]) if place.startswith("ModelServing/") else pending_rollout(engines[place])
        )
        found += [f"{place}: {text}" if len(engines) > 1 else text for text in lacks]
    return found


def pending_serving(serving):
    """Pending parts of the ModelServing's rollout; empty if its controller reports completion.

    ``Available`` alone is not sufficient: right after a change it is still the old generation's, and during a role's rolling
    update it is true with no group updated (both observed on v1.0.0).
    """
    if not serving:
        return ["the ModelServing does not exist"]
    status, wanted = serving.get("status") or {}, serving["spec"].get("replicas", 1)
    kept = _kept(serving["spec"])
    generation, found = serving["metadata"].get("generation"), []
    if status.get("observedGeneration") != generation:
        found.append(
            "the controller has observed generation {} of {}".format(status.get("observedGeneration"), generation)
        )
    for key in ("updatedReplicas", "availableReplicas", "replicas"):
        if not wanted - (kept if key == "updatedReplicas" else 0) <= status.get(key, 0) <= wanted:
            found.append(f"{key} is {status.get(key, 0)} of {wanted}")
    if condition(serving, "Available").get("status") != "True":
        found.append("it is not Available" + _because(status.get("conditions") or []))
    return found


def _kept(spec):
    """How many groups may stay of an older revision; a group with one such role is."""
    if any(role.get("partition") for role in (spec.get("template") or {}).get("roles") or []):
        return spec.get("replicas", 1)
    return kept_groups(spec)


def kept_groups(spec):
    """How many groups of a ModelServing keep their revision in an update: a number, or a percentage that is rounded up."""
    rolling = (spec.get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
    return share(rolling.get("partition") or 0, spec.get("replicas", 1))


def share(value, whole):
    """A number, or a percentage of ``whole`` rounded up; 0 of other text, which a rule of manifests refuses."""
    if not isinstance(value, str):
        return value
    return -(-int(value[:-1]) * whole // 100) if re.fullmatch("[0-9]+%", value) else 0


def _because(conditions):
    true = [item for item in conditions if item.get("status") == "True"]
    shown = sorted("{}: {}".format(item.get("type"), item.get("reason", "")) for item in true)
    return " ({})".format("; ".join(shown)) if shown else ""


def pending_pods(plan, pods):
    """Roles without all pods ready with the planned image and configuration; empty if complete."""
    kubernetes, found = plan["kubernetes"], []
    for name, role in sorted(kubernetes["roles"].items()):
        mine = [item for item in alive(pods) if role_of(item) == name]
        wanted = planned_pods(plan, name)
        old = [item for item in mine if not is_current(plan, item)]
        ready = [item for item in mine if is_ready(item)]
        if len(mine) != wanted:
            found.append(f"{name}: {len(mine)} pods of {wanted}")
        elif len(old) > kept_pods(kubernetes, role):
            found.append(f"{name}: {len(old)} of {wanted} pods are of an older revision")
        elif len(ready) != wanted:
            found.append(f"{name}: {len(ready)} of {wanted} pods are ready")
    return found


def unplanned(plan, pods):
    """The same of roles that are not planned, whose pods hold devices until they go."""
    found = [role_of(item) for item in alive(pods) if role_of(item) not in plan["kubernetes"]["roles"]]
    names = [] if plan["kubernetes"].get("kept_groups") else sorted(set(found))
    return [f"{name}: {found.count(name)} pods of a role that is not planned" for name in names]


def planned_pods(plan, name):
    """The number of a role's pods."""
    role = plan["kubernetes"]["roles"][name]
    return role["replicas"] * role["pods"] * plan["kubernetes"]["groups"]


def incomplete(plan, pods):
    """Roles with fewer pods than planned."""
    found = [role_of(pod) for pod in alive(pods)]
    return [name for name in plan["kubernetes"]["roles"] if found.count(name) < planned_pods(plan, name)]


def kept_pods(kubernetes, role):
    """How many pods of a role may stay of an older revision in an update (partition)."""
    in_role = min(role.get("kept", 0), role["replicas"]) * kubernetes["groups"]
    return role["pods"] * (in_role + role["replicas"] * min(kubernetes.get("kept_groups", 0), kubernetes["groups"]))


def is_current(plan, pod):
    """Whether a pod has the planned image and start scripts."""
    role = plan["kubernetes"]["roles"].get(role_of(pod))
    if role is None:
        return False
    images = [container.get("image") for container in pod["spec"]["containers"]]
    return role["image"] in images and role["config_map"] in config_maps_of(pod)


def config_maps_of(pod):
    """The names of the ConfigMaps that a pod mounts."""
    return {(item.get("configMap") or {}).get("name", "") for item in pod["spec"].get("volumes") or []}


def alive(pods):
    """Pods that neither terminate nor have ended."""
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp") and not has_ended(pod)]


def has_ended(pod):
    """Whether a pod is only a record: evicted, or refused by its node. Its controller has made another one."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def is_ready(pod):
    """Whether the pod has the condition Ready."""
    return condition(pod, "Ready").get("status") == "True"


def pending_rollout(workload):
    """Pending parts of the rollout of a Deployment or a LeaderWorkerSet.

    Releases of LeaderWorkerSet before 2026 have no observedGeneration; the pods then show which revision they are of.
    """
    if not workload:
        return ["it does not exist"]
    is_set, generation = workload.get("kind") == "LeaderWorkerSet", workload["metadata"].get("generation", 1)
    status, wanted = workload.get("status") or {}, workload["spec"].get("replicas", 1)
    if status.get("observedGeneration", generation if is_set else 0) < generation:
        return ["no controller has observed it"]
    keys = ("updatedReplicas", "readyReplicas" if is_set else "availableReplicas", "replicas")
    found = [f"{key} is {status.get(key, 0)} of {wanted}" for key in keys if status.get(key, 0) != wanted]
    return found + refused_pods(workload) if found else []


def refused_pods(deployment):
    """The server's words about pods that it refuses to the controller of a Deployment."""
    failure = condition(deployment, "ReplicaFailure")
    return ["the server refuses pods: {}".format(failure.get("message"))] if failure.get("status") == "True" else []
