# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kthena's AutoscalingPolicy: between the planned number of instances and a largest one, by metrics of the engines."""

from __future__ import annotations

import typing as t

from ....module_utils.kubernetes.names import SERVING_ENTRY
from ...description.values import merged
from ...plan.deployment import Context
from ...plan.service import Service
from .forwarding import entries
from .names import Manifest, manifest


def autoscaling_policies(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """The policy as a list of one; of none if no role is scaled."""
    settings, name = context.description.kubernetes.autoscaling, context.description.deployment
    ports = {service.kind: service.port("api").first for service in entries(services)}
    pools = context.description.pools.present()
    roles = {}
    for role in settings.roles:
        if role in ports:
            count = pools[role].instances // context.description.kubernetes.groups
            roles[role] = _role(settings.roles[role].max, count, settings.roles[role].metrics, ports[role])
    if not roles:
        return []
    spec = {"disaggregatedTarget": {"targetRef": {"kind": "ModelServing", "name": name}, "roles": roles}}
    return [manifest(context, "AutoscalingPolicy", "autoscaling", name, spec=merged(spec, settings.policy))]


def _role(most: int, least: int, metrics: t.Mapping[str, str], port: int) -> Manifest:
    selector = {"matchLabels": {SERVING_ENTRY: "true"}}  # workers have no API
    source = {"uri": "/metrics", "port": port, "labelSelector": selector}
    role: Manifest = {"minReplicas": least, "maxReplicas": most}
    if metrics:
        role["metrics"] = [{"name": name, "targetValue": str(metrics[name])} for name in metrics]
        role["metricSources"] = {name: {"pod": {"name": name, **source}} for name in metrics}
    return role
