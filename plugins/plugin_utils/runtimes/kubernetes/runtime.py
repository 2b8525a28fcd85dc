# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of a Kubernetes cluster that has Kthena."""

from __future__ import annotations

import dataclasses
import typing as t

from ....module_utils.kubernetes.names import is_pod
from ...description.variables import Description, Host
from ...plan.deployment import Context
from ...plan.rules.base import Rule
from ...plan.service import Service
from .. import registry
from ..base import Runtime
from .agreeing import RULES as AGREEING
from .hosts import on_cluster
from .manifests import cluster_part
from .rules import RULES
from .services import in_pod

ON_HOST = "docker"  # runtime of a router on a host of the inventory


class Kubernetes(Runtime):
    """Engines are pods of a ModelServing; a router may be a container on a host."""

    name = "kubernetes"
    contained = True
    in_cluster = True

    def log_of(self, unit: str, path: str) -> dict[str, str]:
        return {"kind": "none"}

    def rules(self) -> t.Iterable[Rule]:
        return (*RULES, *AGREEING)

    def hosts(self, description: Description, hosts: dict[str, Host]) -> tuple[Description, dict[str, Host]]:
        return on_cluster(description, hosts)

    def finish(self, context: Context, services: t.Sequence[Service]) -> list[Service]:
        return [
            in_pod(context, service) if is_pod(service.host) else self._on_host(context, service)
            for service in services
        ]

    def _on_host(self, context: Context, service: Service) -> Service:
        """A service on a host of the inventory; its log is not read, because a cluster is verified from the controller."""
        return dataclasses.replace(registry.runtime(ON_HOST).named(context, service), log={"kind": "none"})

    def section(
        self, context: Context, services: t.Sequence[Service], hosts: t.Sequence[dict[str, t.Any]]
    ) -> dict[str, t.Any]:
        on_host = registry.runtime(ON_HOST)
        part = cluster_part(context, services, hosts)
        part["kubernetes"]["router"]["on_host"] = {
            "runtime": on_host.name,
            "runtime_facts": on_host.facts(),
            "runtime_settings": on_host.settings(context),
            "hosts": part["kubernetes"]["router"]["hosts"],
        }
        return part


RUNTIME = Kubernetes()
