# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployment and Service of single-instance services: the proxy, and the store's master."""

from __future__ import annotations

import typing as t

from ....module_utils.kubernetes.names import CONFIG_CHECKSUM, TARGETS_CHECKSUM
from ...plan.deployment import Context
from ...plan.service import Service
from .config_map import files
from .names import Manifest, checksum, labels, manifest, targets_name
from .pod import PROBE_PERIOD, environment, script_mounts, script_volume
from .services import WORKSPACE


def object_name(context: Context, service: Service) -> str:
    """The name of its Deployment and Service."""
    return f"{context.description.deployment}-{service.name}"


def deployment(context: Context, services: t.Sequence[Service], service: Service) -> Manifest:
    """The Deployment of one service."""
    router = context.description.kubernetes.router
    own = labels(context, service.name)
    template = {
        "metadata": {"labels": own, "annotations": _annotations(context, services, service)},
        "spec": _pod(context, services, service),
    }
    spec = {
        "replicas": router.replicas if service.kind == "router" else 1,
        "selector": {"matchLabels": own},
        "strategy": {"type": "Recreate"} if template["spec"].get("hostNetwork") else {"type": "RollingUpdate"},
        "template": template,
    }
    return manifest(context, "apps/v1", "Deployment", object_name(context, service), service.name, spec=spec)


def _annotations(context: Context, services: t.Sequence[Service], service: Service) -> dict[str, str]:
    found = {CONFIG_CHECKSUM: checksum(*files(context, services, service).values())}
    if service.kind == "router":
        found[TARGETS_CHECKSUM] = ""  # set when the pods have addresses
    return found


def _pod(context: Context, services: t.Sequence[Service], service: Service) -> Manifest:
    settings = context.description.kubernetes
    container: Manifest = {
        "name": service.name,
        "image": (service.container or {})["image"],
        "command": ["/bin/bash"],
        "args": ["-c", f"cd {WORKSPACE} && exec ./{service.name}.sh"],
        "env": environment(context, service),
        "ports": [{"containerPort": port.first, "name": port.name.replace("_", "-")[:15]} for port in service.ports],
        "securityContext": {"allowPrivilegeEscalation": False},
        "volumeMounts": script_mounts(context, services, service),
        **_probe(service),
    }
    spec: Manifest = {
        "terminationGracePeriodSeconds": service.stop.timeout,
        "containers": [container],
        "volumes": [script_volume(context)],
    }
    if settings.image_pull_policy:
        container["imagePullPolicy"] = settings.image_pull_policy
    if settings.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    if service.kind == "router":
        container["envFrom"] = [{"configMapRef": {"name": targets_name(context)}}]
        amounts = {"limits": dict(settings.router.limits), "requests": dict(settings.router.requests)}
        container["resources"] = {key: amounts[key] for key in amounts if amounts[key]}
        if settings.router.node_selector:
            spec["nodeSelector"] = dict(settings.router.node_selector)
        if settings.router.host_network:
            spec["hostNetwork"] = True
    return spec


def _probe(service: Service) -> Manifest:
    if not service.health:
        return {}
    address, dummy, path = service.health.url.split("//", 1)[1].partition("/")
    ask = {"path": f"/{path}", "port": int(address.rsplit(":", 1)[1]), "scheme": "HTTP"}
    return {"readinessProbe": {"httpGet": ask, "periodSeconds": PROBE_PERIOD, "timeoutSeconds": 2}}


def service_object(context: Context, service: Service) -> Manifest:
    """The Service of that Deployment; for the proxy only with the proxy's port."""
    router = context.description.kubernetes.router
    shown = [port for port in service.ports if port.scope == "client"] or list(service.ports)
    ports = [{"name": item.name.replace("_", "-")[:15], "port": item.first, "targetPort": item.first} for item in shown]
    spec: Manifest = {"selector": labels(context, service.name), "ports": ports, "type": "ClusterIP"}
    if service.kind == "router":
        spec["type"] = router.service_type
        if router.node_port:
            ports[0]["nodePort"] = router.node_port
    return manifest(context, "v1", "Service", object_name(context, service), service.name, spec=spec)
