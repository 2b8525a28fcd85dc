# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployment and Service of single-instance services: the proxy, and the store's master."""

from __future__ import annotations

import copy
import typing as t

from ....module_utils.kubernetes.names import is_pod
from ...plan.deployment import Context
from ...plan.service import Port, Service
from .names import Manifest, chosen, labels, manifest, role_labels
from .pod import asked, pulled, script_volume, started

NOBODY = 65534
RESOURCES = {"limits": {"cpu": "4", "memory": "8Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}}
FIRST_UNPRIVILEGED = 1024
LEAVING = 5  # seconds
ONE_BY_ONE = {"maxSurge": 0, "maxUnavailable": 1}  # a new pod gets the devices or ports of the old one


def deployment(context: Context, services: t.Sequence[Service], service: Service) -> Manifest:
    """The Deployment of one service."""
    router = context.description.kubernetes.router
    template = {"metadata": {"labels": labels(context, service.name)}, "spec": _pod(context, services, service)}
    spec = {
        "replicas": router.replicas if service.kind == "router" else 1,
        "selector": {"matchLabels": chosen(context, service.name)},
        "strategy": {"type": "RollingUpdate"},
        "template": template,
    }
    if template["spec"].get("hostNetwork"):  # a new pod gets the ports of the old one
        spec["strategy"]["rollingUpdate"] = dict(ONE_BY_ONE)
    return manifest(context, "Deployment", service.name, spec=spec)


def _pod(context: Context, services: t.Sequence[Service], service: Service) -> Manifest:
    settings = context.description.kubernetes
    container = {
        **started(context, services, service, service.name),
        "ports": [{"containerPort": port.first, "name": _port_name(port)} for port in service.ports],
        "securityContext": {"allowPrivilegeEscalation": False},
        **({"readinessProbe": asked(service)} if service.health else {}),
    }
    spec: Manifest = {
        "terminationGracePeriodSeconds": service.stop.timeout,
        "containers": [container],
        "volumes": [script_volume(context, services, service)],
        **pulled(context),
    }
    if service.kind == "router":
        _harden(spec, settings.router.run_as_root or service.port("api").first < FIRST_UNPRIVILEGED)
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": chosen(context, service.name)},
            }
        ]
        # Until all nodes know that it leaves, new connections still come.
        container["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", str(LEAVING)]}}}
        spec["terminationGracePeriodSeconds"] += LEAVING + settings.drain_timeout
        amounts = {"limits": dict(settings.router.limits), "requests": dict(settings.router.requests)}
        container["resources"] = {key: amounts[key] for key in amounts if amounts[key]} or copy.deepcopy(RESOURCES)
        if settings.router.node_selector:
            spec["nodeSelector"] = dict(settings.router.node_selector)
        if settings.router.host_network:
            spec["hostNetwork"] = True
            spec["dnsPolicy"] = "ClusterFirstWithHostNet"  # to resolve the engines' Services
    return spec


def _harden(spec: Manifest, is_root: bool) -> None:
    """The restricted Pod Security Standard: neither the proxy nor the forwarder needs any privilege."""
    (container,) = spec["containers"]
    if is_root:
        return
    spec["securityContext"] = {
        "runAsNonRoot": True,
        "runAsUser": NOBODY,
        "runAsGroup": NOBODY,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container["securityContext"]["capabilities"] = {"drop": ["ALL"]}
    container["env"].append({"name": "HOME", "value": "/tmp"})  # nobody has none
    container["volumeMounts"].append({"name": "tmp", "mountPath": "/tmp"})
    spec["volumes"].append({"name": "tmp", "emptyDir": {}})


def budgets(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """PodDisruptionBudgets: a drain takes one router, and one instance of a role, at a time. None where there is only one.

    One pod less is one instance less, as the controllers then replace all its pods; so it is one budget for entries and workers.
    """
    found, router = {}, context.description.kubernetes.router
    for service in services:
        if service.kind == "router" and is_pod(service.host) and router.replicas > 1:
            found[service.name] = _budget(chosen(context, service.name), maxUnavailable=1)
    for kind in context.description.pools.present():
        pods = [service for service in services if service.kind == kind]
        if (
            len([service for service in pods if service.health]) > 1
        ):  # maxUnavailable needs a controller that the server can scale
            found[kind] = _budget(role_labels(context, kind), minAvailable=len(pods) - 1)
    return [manifest(context, "PodDisruptionBudget", part, spec=found[part]) for part in found]


def _budget(selected: dict[str, str], **least: int) -> Manifest:
    """Pods that are not ready serve nobody: without AlwaysAllow a drain waits for ever for those that never become so."""
    return {**least, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": {"matchLabels": selected}}


def _port_name(port: Port) -> str:
    """RFC 6335."""
    return port.name.replace("_", "-")[:15]


def service_object(context: Context, service: Service) -> Manifest:
    """The Service of that Deployment; for the proxy only with the proxy's port."""
    router = context.description.kubernetes.router
    shown = [port for port in service.ports if port.scope == "client"] or list(service.ports)
    ports = [{"name": _port_name(item), "port": item.first, "targetPort": item.first} for item in shown]
    spec: Manifest = {"selector": chosen(context, service.name), "ports": ports, "type": "ClusterIP"}
    if service.kind == "router":
        spec["type"] = router.service_type
        if router.node_port:
            ports[0]["nodePort"] = router.node_port
    return manifest(context, "Service", service.name, spec=spec)
