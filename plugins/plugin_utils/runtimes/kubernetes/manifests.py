# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as Kubernetes objects, in the order in which they are applied."""

from __future__ import annotations

import contextlib
import typing as t

from ....module_utils.kubernetes.names import is_pod
from ....module_utils.kubernetes.readiness import kept_groups, share
from ....module_utils.kubernetes.workloads import templates
from ...plan.deployment import Context
from ...plan.service import Service, listed
from .autoscaling import autoscaling_policies
from .config_map import config_map, config_maps, template_of
from .deployment import budgets, deployment, service_object
from .forwarding import headless
from .model_serving import model_serving, workloads
from .monitoring import pod_monitors
from .names import Manifest, object_name, secrets_name
from .network_policy import network_policies
from .routing import model_route, model_server


def objects(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """Every object of the deployment, in apply order: what pods read, Services, engines, routing."""
    alone = [service for service in services if service.kind in ("mooncake_master", "router") and is_pod(service.host)]
    found = config_maps(context, services)
    if any(service.kind == "router" for service in alone):
        found += headless(context, services)
    found += [service_object(context, service) for service in alone] + budgets(context, services)
    found += network_policies(context, services) + pod_monitors(context, services)
    is_native = context.description.kubernetes.is_native
    found += workloads(context, services) if is_native else [model_serving(context, services)]
    found += [deployment(context, services, service) for service in alone]
    if context.description.kubernetes.router.mode == "kthena_router":
        found += [model_server(context, services), model_route(context)]
    return [_spelled(item) for item in found + autoscaling_policies(context, services)]


def _spelled(thing: Manifest) -> Manifest:
    """The object with what a server would fill in inside of values that have one owner, such as the list of roles.

    With it left out, what another manager has applied from the same manifests differs from what we apply: a conflict.
    """
    with contextlib.suppress(AttributeError, KeyError, TypeError):  # of a wrong form, which a rule names
        for *dummy, template, count in templates(thing):
            for container in template["spec"].get("containers", []) if count else ():
                for port in container.get("ports", []):
                    port.setdefault("protocol", "TCP")
                for variable in container.get("env", []) if thing["kind"] == "Deployment" else ():
                    field = (variable.get("valueFrom") or {}).get("fieldRef")
                    if field:
                        field.setdefault("apiVersion", "v1")
    return thing


def cluster_part(
    context: Context, services: t.Sequence[Service], hosts: t.Sequence[dict[str, t.Any]]
) -> dict[str, t.Any]:
    """The plan's cluster section: the objects, and data to apply and monitor them.

    No host of the inventory is managed, except the router's: so ``hosts`` is empty, and the router's host is
    in ``kubernetes.router``.
    """
    settings, description = context.description.kubernetes, context.description
    spec = model_serving(context, services)["spec"]  # with the user's settings merged in
    roles = {role["name"]: role for role in spec["template"]["roles"]}
    router = next((service for service in services if service.kind == "router" and is_pod(service.host)), None)
    return {
        "hosts": [],
        "objects": listed(objects(context, services)),
        "kubernetes": {
            "namespace": settings.namespace,
            "kthena_version": settings.kthena_version,
            "resource": settings.resource,
            "scheduler": settings.scheduler_name,
            "name": description.deployment,
            "groups": settings.groups,
            "kept_groups": kept_groups(spec),
            "pod_monitor": settings.pod_monitor,
            "roles": {name: _role(context, services, name, roles[name]) for name in roles},
            "secrets": {
                "name": secrets_name(context),
                "existing": bool(settings.secrets.existing),
                "keys": sorted(
                    {key for service in services for key in service.secret_env.values() if is_pod(service.host)}
                ),
            },
            "router": {
                "mode": settings.router.mode,
                "url": settings.router.url,
                "service": object_name(context, router.name) if router else "",
                "port": router.port("api").first if router else 0,
                "hosts": [host for host in hosts if not is_pod(host["name"])],
            },
        },
    }


def _role(context: Context, services: t.Sequence[Service], name: str, role: Manifest) -> dict[str, t.Any]:
    template = role.get("entryTemplate", {})
    pods = template_of(services, name)
    return {
        "replicas": role["replicas"],
        "kept": share(role.get("partition") or 0, role["replicas"]),
        "autoscaled": name in context.description.kubernetes.autoscaling.roles,
        "pods": role["workerReplicas"] + 1,
        "devices": len(pods[0].devices) if pods else 0,
        "image": template["spec"]["containers"][0]["image"] if template else "",
        "config_map": config_map(context, services, pods[0])["metadata"]["name"] if pods else "",
    }
