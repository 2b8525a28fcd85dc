# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as Kubernetes objects, in the order in which they are applied."""

from __future__ import annotations

import typing as t

from ....module_utils.kubernetes.names import CONFIG_CHECKSUM, is_pod
from ...plan.deployment import Context
from ...plan.service import Service, listed
from .config_map import start_scripts, target_names, targets, template_of
from .deployment import deployment, object_name, service_object
from .model_serving import model_serving
from .names import Manifest, scripts_name, secrets_name, targets_name
from .routing import model_route, model_server


def stages(context: Context, services: t.Sequence[Service]) -> dict[str, list[Manifest]]:
    """The objects by stage: configuration of engines, engines, routing."""
    master = [service for service in services if service.kind == "mooncake_master"]
    before = [start_scripts(context, services)]
    for item in master:
        before += [service_object(context, item), deployment(context, services, item)]
    after: list[Manifest] = []
    for service in services:
        if service.kind == "router" and is_pod(service.host):
            after += [
                targets(context, services),
                service_object(context, service),
                deployment(context, services, service),
            ]
    if context.description.kubernetes.router.mode == "kthena_router":
        after += [model_server(context, services), model_route(context)]
    return {"before": before, "engines": [model_serving(context, services)], "after": after}


def objects(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """Every object of the deployment, in apply order."""
    found = stages(context, services)
    return [item for stage in ("before", "engines", "after") for item in found[stage]]


def cluster_part(
    context: Context, services: t.Sequence[Service], hosts: t.Sequence[dict[str, t.Any]]
) -> dict[str, t.Any]:
    """The plan's cluster section: the objects, and data to apply and monitor them.

    No host of the inventory is managed, except the router's: so ``hosts`` is empty, and the router's host is
    in ``kubernetes.router``.
    """
    settings, description = context.description.kubernetes, context.description
    found = stages(context, services)
    roles = {role["name"]: role for role in found["engines"][0]["spec"]["template"]["roles"]}
    router = next((service for service in services if service.kind == "router" and is_pod(service.host)), None)
    return {
        "hosts": [],
        "objects": listed(objects(context, services)),
        "kubernetes": {
            "namespace": settings.namespace,
            "kthena_version": settings.kthena_version,
            "resource": settings.resource,
            "scheduler": settings.scheduler,
            "name": description.deployment,
            "groups": settings.groups,
            "stages": {stage: [_address(item) for item in found[stage]] for stage in found},
            "roles": {name: _role(services, name, roles[name]) for name in roles},
            "scripts": scripts_name(context),
            "secrets": {
                "name": secrets_name(context),
                "keys": sorted(
                    {key for service in services for key in service.secret_env.values() if is_pod(service.host)}
                ),
            },
            "router": {
                "mode": settings.router.mode,
                "url": settings.router.url,
                "service": object_name(context, router) if router else "",
                "port": router.port("api").first if router else 0,
                "hosts": [host for host in hosts if not is_pod(host["name"])],
            },
            "targets": {
                "config_map": targets_name(context),
                "variables": {name: target.name for name, target in sorted(target_names(services).items())},
            },
        },
    }


def _address(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def _role(services: t.Sequence[Service], name: str, role: Manifest) -> dict[str, t.Any]:
    template = role.get("entryTemplate", {})
    pods = template_of(services, name)
    return {
        "replicas": role["replicas"],
        "pods": role["workerReplicas"] + 1,
        "devices": len(pods[0].devices) if pods else 0,
        "image": template["spec"]["containers"][0]["image"] if template else "",
        "checksum": template.get("metadata", {}).get("annotations", {}).get(CONFIG_CHECKSUM, ""),
    }
