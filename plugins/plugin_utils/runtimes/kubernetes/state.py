# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a deployment in a cluster: readiness, causes of failures, addresses of pods."""

from __future__ import annotations

import copy
import hashlib
import json
import typing as t

from ....module_utils.status.plan import PLAN_VERSION
from ...description.findings import Finding
from ...description.values import natural
from .hosts import address_of, is_pod
from .manifest.quantity import is_quantity, quantity
from .names import (
    CONFIG_CHECKSUM,
    MANAGED_BY,
    MANAGER,
    PART_OF,
    SERVING_ENTRY,
    SERVING_GROUP,
    SERVING_NAME,
    SERVING_ROLE,
    SERVING_ROLE_ID,
    TARGETS_CHECKSUM,
)

Record = t.Mapping[str, t.Any]
PLAN_DIGEST = "ascend.inference/plan-sha256"


def staged(plan: Record, stage: str) -> list[dict[str, t.Any]]:
    """The plan's objects of one stage: ``before``, ``engines`` or ``after``."""
    wanted = plan["kubernetes"]["stages"][stage]
    by_name = {_address(item): item for item in plan["objects"]}
    return [_marked(plan, by_name[name]) for name in wanted]


def _marked(plan: Record, manifest: Record) -> dict[str, t.Any]:
    """The object; the start scripts, which are applied first, get the plan's digest to identify the last applied plan."""
    result = copy.deepcopy(dict(manifest))
    if _address(manifest) == f"ConfigMap/{plan['kubernetes']['scripts']}":
        result["metadata"].setdefault("annotations", {})[PLAN_DIGEST] = plan["digest"]
    return result


def plan_digest(scripts: t.Sequence[Record]) -> str:
    """The digest of the plan that was applied last, from the start scripts' ConfigMap; empty if there is none."""
    annotations = (scripts[0]["metadata"].get("annotations") or {}) if scripts else {}
    return str(annotations.get(PLAN_DIGEST, ""))


def _address(manifest: Record) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def pods_of_roles(plan: Record) -> list[dict[str, t.Any]]:
    """A pod for each template of each role, as the controller creates it: for a dry run."""
    kubernetes, found = plan["kubernetes"], []
    for serving in staged(plan, "engines"):
        for role in serving["spec"]["template"]["roles"]:
            for key in ("entryTemplate", "workerTemplate"):
                if key in role:
                    name = f"{kubernetes['name']}-{role['name']}-{key[:-8].lower()}-check"
                    found.append(_pod(kubernetes, role, role[key], name[:63]))
    return found


def _pod(kubernetes: Record, role: Record, template: Record, name: str) -> dict[str, t.Any]:
    own = template.get("metadata", {})
    labels = {
        SERVING_NAME: kubernetes["name"],
        SERVING_ROLE: role["name"],
        SERVING_GROUP: f"{kubernetes['name']}-0",
        SERVING_ROLE_ID: f"{role['name']}-0",
        **own.get("labels", {}),
    }
    head = {"name": name, "namespace": kubernetes["namespace"], "labels": labels}
    head["annotations"] = dict(own.get("annotations", {}))
    spec = {"schedulerName": kubernetes["scheduler"], **copy.deepcopy(template["spec"])}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec}


def pending_serving(plan: Record, serving: t.Sequence[Record]) -> list[str]:
    """Pending parts of the ModelServing's rollout; empty if its controller reports completion.

    ``Available`` alone is not sufficient: right after a change it is still the old generation's, and during a role's rolling
    update it is true with no group updated (both observed on v1.0.0).
    """
    if not serving:
        return ["the ModelServing does not exist"]
    status, wanted = serving[0].get("status") or {}, serving[0]["spec"].get("replicas", 1)
    generation = serving[0]["metadata"].get("generation")
    found = []
    if status.get("observedGeneration") != generation:
        found.append(f"the controller has observed generation {status.get('observedGeneration')} of {generation}")
    for key in ("updatedReplicas", "availableReplicas", "replicas"):
        if status.get(key, 0) != wanted:
            found.append(f"{key} is {status.get(key, 0)} of {wanted}")
    conditions = {condition.get("type"): condition for condition in status.get("conditions") or []}
    if (conditions.get("Available") or {}).get("status") != "True":
        found.append("it is not Available" + _because(conditions))
    return found


def _because(conditions: t.Mapping[str, Record]) -> str:
    shown = [f"{name}: {one.get('reason', '')}" for name, one in sorted(conditions.items()) if one["status"] == "True"]
    return f" ({'; '.join(shown)})" if shown else ""


def pending_pods(plan: Record, pods: t.Sequence[Record]) -> list[str]:
    """Roles without all pods ready with the planned image and configuration; empty if complete."""
    kubernetes, found = plan["kubernetes"], []
    for name, role in sorted(kubernetes["roles"].items()):
        mine = [item for item in _alive(pods) if _label(item, SERVING_ROLE) == name]
        wanted = role["replicas"] * role["pods"] * kubernetes["groups"]
        current = [item for item in mine if _is_current(item, role)]
        ready = [item for item in current if _is_ready(item)]
        if len(mine) != wanted:
            found.append(f"{name}: {len(mine)} pods of {wanted}")
        elif len(current) != wanted:
            found.append(f"{name}: {wanted - len(current)} of {wanted} pods are of an older revision")
        elif len(ready) != wanted:
            found.append(f"{name}: {len(ready)} of {wanted} pods are ready")
    return found


def _is_current(pod: Record, role: Record) -> bool:
    entry = _label(pod, SERVING_ENTRY) == "true"
    annotations = pod["metadata"].get("annotations") or {}
    if entry and role["checksum"] and annotations.get(CONFIG_CHECKSUM) != role["checksum"]:
        return False
    return role["image"] in [container.get("image") for container in pod["spec"]["containers"]]


def _alive(pods: t.Sequence[Record]) -> list[Record]:
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def _label(pod: Record, name: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(name, ""))


def _is_ready(pod: Record) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)


def diagnosis(plan: Record, serving: t.Sequence[Record], pods: t.Sequence[Record], events: t.Sequence[Record]) -> str:
    """Diagnosis of a deployment that does not become ready: status, pods, waiting reasons, events."""
    kubernetes = plan["kubernetes"]
    lines = [f"ModelServing {kubernetes['namespace']}/{kubernetes['name']} did not become ready."]
    lines += [f"  {item}" for item in pending_serving(plan, serving) + pending_pods(plan, pods)]
    if not pods:
        lines += [
            "The controller has created no pods. It reports no event if a pod's template is refused; check its log:",
            "  kubectl -n kthena-system logs deploy/kthena-controller-manager --since 1h",
        ]
    for pod in sorted(pods, key=lambda pod: natural(pod["metadata"]["name"])):
        if not _is_ready(pod) or pod["metadata"].get("deletionTimestamp"):
            lines.append(f"  pod {pod['metadata']['name']}: {_state_of(pod)}")
    names = {pod["metadata"]["name"] for pod in pods} | {kubernetes["name"]}
    relevant = [
        event for event in events if _concerns(event, names, kubernetes["name"]) and event.get("type") != "Normal"
    ]
    for item in relevant[-10:]:
        about = item.get("involvedObject", {})
        lines.append(f"  event {about.get('kind')}/{about.get('name')}: {item.get('reason')}: {item.get('message')}")
    return "\n".join(lines)


def _concerns(event: Record, names: t.Collection[str], name: str) -> bool:
    about = event.get("involvedObject", {})
    is_group = about.get("kind") == "PodGroup" and str(about.get("name", "")).startswith(f"{name}-")
    return about.get("name") in names or is_group


def _state_of(pod: Record) -> str:
    status = pod.get("status") or {}
    words = [str(status.get("phase", "unknown"))]
    if pod["metadata"].get("deletionTimestamp"):
        words.append("terminating")
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            words.append(f"{condition.get('reason')}: {condition.get('message')}")
    for initcontainerstatuse in [
        *(status.get("initContainerStatuses") or []),
        *(status.get("containerStatuses") or []),
    ]:
        state = initcontainerstatuse.get("state") or {}
        waiting, ended = (
            state.get("waiting"),
            state.get("terminated") or (initcontainerstatuse.get("lastState") or {}).get("terminated"),
        )
        if waiting:
            words.append(
                f"{initcontainerstatuse['name']} waits: {waiting.get('reason')} {waiting.get('message', '')}".rstrip()
            )
        if ended:
            words.append(f"{initcontainerstatuse['name']} exited with {ended.get('exitCode')} ({ended.get('reason')})")
        if not waiting and not ended and not initcontainerstatuse.get("ready"):
            words.append(f"{initcontainerstatuse['name']} runs but is not ready (its readiness probe fails)")
    return ", ".join(words)


def addresses(plan: Record, pods: t.Sequence[Record]) -> dict[str, str]:
    """The plan's variables with the pods' addresses: ``{"PREFILL_0": "10.0.0.1"}``.

    Pods are identified by labels, never by name: ordinals in names change in rolling updates. A role's entry pods are
    numbered in the order of their groups, then of their role id.
    """
    found = {}
    for role in plan["kubernetes"]["roles"]:
        mine = [
            item
            for item in _alive(pods)
            if _label(item, SERVING_ROLE) == role and _label(item, SERVING_ENTRY) == "true"
        ]
        mine.sort(key=lambda item: (natural(_label(item, SERVING_GROUP)), natural(_label(item, SERVING_ROLE_ID))))
        known = sorted((name for name in _variables(plan) if name.startswith(f"{role.upper()}_")), key=natural)
        for name, pod in zip(known, mine, strict=False):
            found[name] = str((pod.get("status") or {}).get("podIP", ""))
    return found


def _variables(plan: Record) -> t.Mapping[str, str]:
    variables: t.Mapping[str, str] = plan["kubernetes"]["targets"]["variables"]
    return variables


def endpoint(plan: Record, services: t.Sequence[Record], pods: t.Sequence[Record]) -> str:
    """``HOST:PORT`` of the router in the cluster for access from outside of pods; empty if there is none.

    The load balancer's address, a node's address with the node port, or the cluster IP, which is reachable from nodes.
    """
    if not services:
        return ""
    spec, port = services[0]["spec"], plan["kubernetes"]["router"]["port"]
    ingress = ((services[0].get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    if ingress:
        return f"{ingress[0].get('ip') or ingress[0].get('hostname')}:{port}"
    node = next((item["status"]["hostIP"] for item in _alive(pods) if (item.get("status") or {}).get("hostIP")), "")
    if spec.get("type") in ("NodePort", "LoadBalancer") and spec["ports"][0].get("nodePort") and node:
        return f"{node}:{spec['ports'][0]['nodePort']}"
    return f"{spec['clusterIP']}:{port}" if spec.get("clusterIP") not in (None, "", "None") else ""


def resolved(plan: Record, pods: t.Sequence[Record], services: t.Sequence[Record] = ()) -> dict[str, t.Any]:
    """The plan with the pods' addresses: in services, the verify section and the proxy's configuration.

    ``services`` is the router's Service, as a list of one or none: verification uses its address.
    """
    known = addresses(plan, pods)
    result: dict[str, t.Any] = copy.deepcopy(dict(plan))
    result["verify"] = _delegated_to_controller(result.get("verify", {}))
    for part in ("services", "verify"):
        if part in result:
            result[part] = _filled(result[part], {address_of(_variables(plan)[name]): known[name] for name in known})
    own, reached = plan["kubernetes"]["router"], endpoint(plan, services, pods)
    if reached and own["service"]:
        name = f"{own['service']}.{plan['kubernetes']['namespace']}.svc:{own['port']}"
        result["verify"] = _replaced(result.get("verify", {}), name, reached)
    data = {name: known.get(name, "") for name in sorted(_variables(plan))}
    mark = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
    for item in result["objects"]:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] == plan["kubernetes"]["targets"]["config_map"]:
            item["data"] = data
        annotations = item.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {})
        if TARGETS_CHECKSUM in annotations:
            annotations[TARGETS_CHECKSUM] = mark
    return result


def _delegated_to_controller(value: t.Any) -> t.Any:
    """Requests to pods are sent from the controller, because no task can be delegated to a pod."""
    if isinstance(value, t.Mapping):
        here = {"host": "localhost"} if is_pod(str(value.get("host", ""))) else {}
        return {**{key: _delegated_to_controller(value[key]) for key in value}, **here}
    return [_delegated_to_controller(item) for item in value] if isinstance(value, list) else value


def _filled(value: t.Any, known: t.Mapping[str, str]) -> t.Any:
    for name in known:
        if known[name]:
            value = _replaced(value, name, known[name])
    return value


def _replaced(value: t.Any, old: str, new: str) -> t.Any:
    if isinstance(value, t.Mapping):
        return {key: _replaced(value[key], old, new) for key in value}
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    return value.replace(old, new) if isinstance(value, str) else value


def crd_version(crd: Record) -> str:
    """The version of Kthena of a ModelServing CRD, recognised by its fields; empty if it is older."""
    versions = [version for version in crd["spec"]["versions"] if version.get("served", True)]
    spec = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    role = spec["template"]["properties"]["roles"]["items"]["properties"]
    if "maxUnavailable" in role:
        return "v1.0.0"
    rollout = spec.get("rolloutStrategy", {}).get("properties", {}).get("type", {})
    return "v0.4.0" if "RoleRollingUpdate" in rollout.get("enum", []) else ""


def node_shortage(plan: Record, nodes: t.Sequence[Record]) -> list[Finding]:
    """Why the planned pods can never be scheduled onto these nodes; empty if they can, or if nodes cannot be listed."""
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
        seen = f"they offer {', '.join(others)}" if others else "they offer no devices"
        problem = f"none of the {len(nodes)} nodes offers {resource}; {seen}"
        fix = "Set inference_kubernetes.resource to a resource of the nodes, or install Ascend's device plugin."
        return [_unschedulable("inference_kubernetes.resource", resource, problem, fix)]
    free = sorted(sizes, reverse=True)
    for amount, name in sorted(requested, reverse=True):
        place = next((index for index, size in enumerate(free) if size >= amount), None)
        if place is None:
            total = f"{len([size for size in sizes if size])} nodes with {sum(sizes)} x {resource}"
            problem = f"a pod of {name} needs {amount} on one node; the cluster has {total}, too few for all {len(requested)} pods"
            return [_unschedulable(f"role {name}", amount, problem, "Plan fewer or smaller instances, or add nodes.")]
        free[place] -= amount
    return []


def _unschedulable(path: str, value: t.Any, problem: str, fix: str) -> Finding:
    why = "The pods would stay Pending, and the deployment would wait until its timeout."
    return Finding(path, "K8S-NODES", problem, fix, value=str(value), why=why)


def _resources(node: Record) -> Record:
    status = node.get("status") or {}
    resources: Record = status.get("allocatable") or {}
    return resources


def _allocatable(node: Record, resource: str) -> int:
    amount = _resources(node).get(resource, 0)
    if (node.get("spec") or {}).get("unschedulable") or not is_quantity(amount):
        return 0
    return int(quantity(amount))


def stale(plan: Record, live: t.Sequence[Record], keep: bool = True) -> list[dict[str, t.Any]]:
    """Objects of the deployment that are not in the plan, in the order in which to delete them.

    Only objects with our labels. Without ``keep`` all objects of the deployment, ConfigMaps last.
    """
    order = ("ModelRoute", "ModelServer", "Deployment", "Service", "ModelServing", "Secret", "ConfigMap")
    planned = {_address(item) for item in plan["objects"]} if keep else set()
    if keep:
        kubernetes = plan["kubernetes"]
        planned |= {f"ConfigMap/{kubernetes['name']}-verified", f"Secret/{kubernetes['secrets']['name']}"}
    mine = [item for item in live if _is_managed(plan, item) and _address(item) not in planned]
    mine = [item for item in mine if item["kind"] in order]
    mine.sort(key=lambda item: (order.index(item["kind"]), natural(item["metadata"]["name"])))
    return [
        {
            "apiVersion": item["apiVersion"],
            "kind": item["kind"],
            "metadata": {"name": item["metadata"]["name"], "namespace": item["metadata"].get("namespace", "")},
        }
        for item in mine
    ]


def _is_managed(plan: Record, one: Record) -> bool:
    labels = one["metadata"].get("labels") or {}
    return labels.get(MANAGED_BY) == MANAGER and labels.get(PART_OF) == plan["deployment"]


def foreign(plan: Record, live: t.Sequence[Record]) -> list[Finding]:
    """Objects with planned names that this collection does not manage."""
    planned = {_address(item) for item in plan["objects"]}
    theirs = sorted(_address(item) for item in live if _address(item) in planned and not _is_managed(plan, item))
    problem = f"the object exists in {plan['kubernetes']['namespace']} and was not made by this role"
    fix = "Choose another inference_deployment, or set kthena_adopt to take the objects over."
    why = "Applying the plan would overwrite it."
    return [Finding(name, "K8S-FOREIGN", problem, fix, why=why) for name in theirs]


def rollback_plan(records: t.Sequence[Record], scripts: t.Sequence[Record]) -> dict[str, t.Any]:
    """The plan for a rollback: the last verified one other than the last applied one.

    ``records`` is the ConfigMap of verified plans, ``scripts`` that of the start scripts, each as a list of one or no
    object. ``ValueError`` where there is no such plan, or it was written by another version of this collection.
    """
    data = (records[0].get("data") or {}) if records else {}
    digest = plan_digest(scripts)
    for key in ("verified.json", "previous.json"):
        if data.get(key):
            plan: dict[str, t.Any] = json.loads(data[key])
            if plan.get("digest") == digest:
                continue
            if plan.get("plan_version") != PLAN_VERSION:
                raise ValueError(
                    f"the last verified plan has version {plan.get('plan_version', 'none')}, this collection applies version "
                    f"{PLAN_VERSION}. Fix: run kubernetes_rollback with the version of the collection that deployed it; or set "
                    f"inference_release {plan.get('release')} and run site"
                )
            return plan
    raise ValueError("no verified revision other than the running one exists: a rollback is not possible")


def record_verified(records: t.Sequence[Record], plan: Record) -> dict[str, str]:
    """The ConfigMap's new ``data`` after ``plan`` is verified: it, and the previously verified one."""
    data = dict(records[0].get("data") or {}) if records else {}
    before = json.loads(data["verified.json"]).get("digest") if data.get("verified.json") else None
    if before == plan["digest"]:
        return data
    fresh = {"verified.json": json.dumps(plan, sort_keys=True, separators=(",", ":"))}
    if before:
        fresh["previous.json"] = data["verified.json"]
    return fresh
