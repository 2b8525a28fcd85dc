# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PodMonitors of the Prometheus operator: metrics of engines and of the store's master."""

from __future__ import annotations

import typing as t

from ....module_utils.kubernetes.names import is_pod
from ...plan.deployment import Context
from ...plan.service import Service
from .names import Manifest, chosen, engine_selector, is_engine, manifest


def pod_monitors(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """One for the engines, and one for each other service with a port ``metrics``.

    Pods without the port are left out by the operator: workers of an instance have no API.
    """
    if context.description.kubernetes.pod_monitor == "never":
        return []
    found = [_monitor(context, "engines", "server", engine_selector(context))]
    for service in services:
        if is_pod(service.host) and not is_engine(service) and any(port.name == "metrics" for port in service.ports):
            found.append(_monitor(context, service.name, "metrics", {"matchLabels": chosen(context, service.name)}))
    return found


def _monitor(context: Context, part: str, port: str, selector: Manifest) -> Manifest:
    spec = {"selector": selector, "podMetricsEndpoints": [{"port": port, "path": "/metrics"}]}
    return manifest(context, "PodMonitor", part, spec=spec)
