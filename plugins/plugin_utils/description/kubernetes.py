# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's words for the kubernetes runtime: ``inference_kubernetes``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .loader import choice, number, words


@dataclass(frozen=True)
class Mount:
    """One more volume of the engines' pods: a path of the node, a claim, a ConfigMap, a Secret, or memory."""

    name: str
    path: str
    host_path: str = ""
    type: str = ""
    claim: str = ""
    config_map: str = ""
    secret: str = ""
    memory: str = ""
    sub_path: str = ""
    read_only: bool = False


@dataclass(frozen=True)
class PodWords:
    """What the pods of one role, or of all roles, ask for and look like."""

    requests: dict[str, str] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    spec: dict[str, t.Any] = words()
    container: dict[str, t.Any] = words()


@dataclass(frozen=True)
class ClusterRouter:
    """How requests come to the engines: our proxy in the cluster or on a host, kthena-router, or nothing of ours.

    ``url`` is where clients ask when it is not our proxy; the verification asks there, and nowhere without it.
    """

    mode: str = choice("deployment", "host", "kthena_router", "none")
    url: str = ""
    image: str = ""
    replicas: int = number(1, 1)
    service_type: str = choice("ClusterIP", "NodePort", "LoadBalancer")
    node_port: int = number(0, 0, 65535)
    host_network: bool = False
    requests: dict[str, str] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    timeout: str = "300s"
    retries: int = number(3, 0)


@dataclass(frozen=True)
class Kubernetes:
    """Where and how a ModelServing runs."""

    namespace: str = "default"
    kthena_version: str = choice("v1.0.0", "v0.4.0")
    scheduler: str = "volcano"
    resource: str = "huawei.com/ascend-1980"
    devices_per_node: int = number(0, 0)
    groups: int = number(1, 1)
    recovery_policy: str = choice("RoleRecreate", "ServingGroupRecreate", "None")
    rollout: str = choice("", "RoleRollingUpdate", "ServingGroupRollingUpdate")
    restart_grace_period: int = number(60, 0)
    host_network: bool = True
    separate_roles: bool = False
    requests: dict[str, str] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    image_pull_secrets: tuple[str, ...] = ()
    image_pull_policy: str = choice("", "IfNotPresent", "Always", "Never")
    service_account: str = ""
    model_path: str = ""
    model_claim: str = ""
    driver_mounts: bool = True
    shared_memory: str = ""
    mounts: tuple[Mount, ...] = ()
    pods: dict[str, PodWords] = field(default_factory=dict)
    router: ClusterRouter = field(default_factory=ClusterRouter)
    serving: dict[str, t.Any] = words()

    def of_role(self, role: str) -> PodWords:
        """The words of one role's pods, over those of all roles; a mapping's keys are merged, its values replaced."""
        own = self.pods.get(role, PodWords())
        return PodWords(
            requests={**self.requests, **own.requests},
            limits={**self.limits, **own.limits},
            node_selector={**self.node_selector, **own.node_selector},
            labels={**self.labels, **own.labels},
            annotations={**self.annotations, **own.annotations},
            spec=own.spec,
            container=own.container,
        )

    @property
    def rollout_type(self) -> str:
        """Role by role where a failed pod is replaced alone, else the whole group, as the webhook wants it."""
        if self.rollout:
            return self.rollout
        return "ServingGroupRollingUpdate" if self.recovery_policy == "ServingGroupRecreate" else "RoleRollingUpdate"
