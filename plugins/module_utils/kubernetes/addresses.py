# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of pods and router, and the plan with them, for verification."""

from __future__ import annotations

import copy

from .names import COMPONENT, is_pod, label, natural
from .readiness import alive
from .workloads import instance_of, is_entry, role_of


def pods_by_service(plan, pods):
    """``{service: pods}`` of the plan's services in pods; an engine has at most one.

    Pods are identified by labels, never by name: ordinals in names change in rolling updates. A role's instances are numbered in
    the order of their groups, then of their role id; those of a Deployment by name.
    """
    roles, found = {role: {} for role in plan["kubernetes"]["roles"]}, {}
    for pod in sorted(pods, key=lambda item: natural(item["metadata"]["name"])):
        roles.setdefault(role_of(pod), {}).setdefault(str(instance_of(pod)), []).append(pod)
    instances = {role: sorted(roles[role].values(), key=lambda mine: instance_of(mine[0])) for role in roles}
    for service in plan["services"]:
        if is_pod(service["host"]) and service["kind"] in plan["kubernetes"]["roles"]:
            number, rank = service["instance"], service["rank"]
            mine = (instances[service["kind"]][number:] or [[]])[0]
            ranked = [pod for pod in mine if is_entry(pod) == (rank == 0)]  # the first may just be replaced
            found[service["name"]] = ranked[max(0, rank - 1) :][:1]
        elif is_pod(service["host"]):
            found[service["name"]] = [pod for pod in pods if label(pod, COMPONENT) == service["name"]]
    return found


def addresses(plan, pods):
    """The placeholders of the plan and the addresses of the engines' first pods: ``{"prefill-0.pod": "10.0.0.1"}``."""
    mine = pods_by_service(plan, alive(pods))
    entries = [item for item in plan["services"] if item["kind"] in plan["kubernetes"]["roles"] and item["rank"] == 0]
    found = {item["address"]: mine[item["name"]] for item in entries}
    return {name: str((found[name][0].get("status") or {}).get("podIP", "")) for name in found if found[name]}


def endpoint(plan, service, pods):
    """``HOST:PORT`` of the router in the cluster for access from outside of pods; empty if there is none.

    The load balancer's address, a node's address with the node port, or the cluster IP, which is reachable from nodes.
    """
    if not service:
        return ""
    spec, port = service["spec"], plan["kubernetes"]["router"]["port"]
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    if ingress:
        return "{}:{}".format(ingress[0].get("ip") or ingress[0].get("hostname"), port)
    node = next((item["status"]["hostIP"] for item in alive(pods) if (item.get("status") or {}).get("hostIP")), "")
    if spec.get("type") in ("NodePort", "LoadBalancer") and spec["ports"][0].get("nodePort") and node:
        return "{}:{}".format(node, spec["ports"][0]["nodePort"])
    return "{}:{}".format(spec["clusterIP"], port) if spec.get("clusterIP") not in (None, "", "None") else ""


def resolved(plan, pods, service=None):
    """The plan with the pods' addresses in it: in the services and in the verify section.

    ``service`` is the router's Service: verification uses its address.
    """
    known = addresses(plan, pods)
    result = copy.deepcopy(plan)
    result["verify"] = _delegated_to_controller(result.get("verify", {}))
    for name in known:
        if known[name]:
            for part in ("services", "verify"):
                if part in result:
                    result[part] = _replaced(result[part], name, known[name])
    own, reached = plan["kubernetes"]["router"], endpoint(plan, service, pods)
    if reached and own["service"]:
        name = "{}.{}.svc:{}".format(own["service"], plan["kubernetes"]["namespace"], own["port"])
        result["verify"] = _replaced(result["verify"], name, reached)
    return result


def _delegated_to_controller(value):
    """Requests to pods are sent from the controller, because no task can be delegated to a pod."""
    if isinstance(value, dict):
        here = {"host": "localhost"} if is_pod(str(value.get("host", ""))) else {}
        return dict({key: _delegated_to_controller(value[key]) for key in value}, **here)
    return [_delegated_to_controller(item) for item in value] if isinstance(value, list) else value


def _replaced(value, old, new):
    if isinstance(value, dict):
        return {key: _replaced(value[key], old, new) for key in value}
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    return value.replace(old, new) if isinstance(value, str) else value
