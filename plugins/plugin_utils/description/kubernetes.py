# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the kubernetes runtime: ``inference_kubernetes``."""

from __future__ import annotations

import posixpath
import typing as t
from dataclasses import dataclass, replace

from .loader import choice, documented, factory, mapping, number, typed


@dataclass(frozen=True)
class Mount:
    """An additional volume of the engines' pods: a path of the node, a claim, a ConfigMap, a Secret, or memory."""

    name: str = documented("Name of the volume.", example="name: data")
    path: str = documented("Path in the container.", example="path: /data")
    host_path: str = documented("Path on the node.", "")
    type: str = documented("Type of the path on the node, such as Directory.", "")
    claim: str = documented("Name of a PersistentVolumeClaim.", "")
    config_map: str = documented("Name of a ConfigMap.", "")
    secret: str = documented("Name of a Secret.", "")
    memory: str = documented("Size of a volume in memory.", "")
    sub_path: str = documented("Path inside the volume.", "")
    read_only: bool = documented("Mount the volume read-only.", False)

    @property
    def node_path(self) -> str:
        """The path of the node that it shows; empty for the other kinds."""
        return "" if self.claim or self.config_map or self.secret or self.memory else self.host_path or self.path


@dataclass(frozen=True)
class PodSettings:
    """Resources and metadata of the pods of one role or of all roles."""

    requests: dict[str, str] = documented("Resource requests of the containers.", factory(dict))
    limits: dict[str, str] = documented("Resource limits of the containers.", factory(dict))
    node_selector: dict[str, str] = documented("Labels that a node must have.", factory(dict))
    labels: dict[str, str] = documented("Labels of the pods.", factory(dict))
    annotations: dict[str, str] = documented("Annotations of the pods.", factory(dict))
    spec: dict[str, t.Any] = documented("Settings merged into the pod specification.", mapping())
    container: dict[str, t.Any] = documented("Settings merged into the engine's container.", mapping())


@dataclass(frozen=True)
class ClusterRouter:
    """How requests reach the engines: a proxy in the cluster or on a host, kthena-router, or no router.

    ``url`` is the clients' URL in the modes kthena_router and none; without it the verification sends no requests.
    """

    mode: str = documented(
        "deployment: the proxy in the cluster. host: the proxy on a host of the group router. kthena_router: ModelServer and ModelRoute. none: no router.",
        choice("deployment", "host", "kthena_router", "none"),
    )
    url: str = documented("URL for clients, with kthena_router or none; the verification uses it.", "")
    image: str = documented("Image of the proxy. Default: the image of the engines.", typed("image"))
    replicas: int = documented("Replicas of the proxy, on different nodes where possible.", number(2, 1))
    service_type: str = documented(
        "Type of the Service in front of the proxy.", choice("ClusterIP", "NodePort", "LoadBalancer")
    )
    node_port: int = documented("Port of the Service on every node. 0: assigned by the cluster.", number(0, 0, 65535))
    host_network: bool = documented("Run the proxy in the network of its node.", False)
    run_as_root: bool = documented(
        "Run the proxy as root. Otherwise as nobody, under the restricted Pod Security Standard; with ports below 1024 always as root.",
        False,
    )
    requests: dict[str, str] = documented(
        "Resource requests of the proxy. Default, if there are no limits either: cpu 1, memory 2Gi.", factory(dict)
    )
    limits: dict[str, str] = documented(
        "Resource limits of the proxy. Default, if there are no requests either: cpu 4, memory 8Gi.", factory(dict)
    )
    node_selector: dict[str, str] = documented("Labels that a node must have to run the proxy.", factory(dict))
    timeout: str = documented(
        "Timeout until the answer to a request through kthena-router begins, as a duration such as 300s. "
        "Kthena after v1.0.0 applies it; an answer that is not streamed begins when it is complete.",
        "3600s",
    )
    retries: int = documented("Retries of a request through kthena-router.", number(3, 0))


@dataclass(frozen=True)
class ClusterSecrets:
    """The Secret that pods read. Values are never part of manifests."""

    existing: str = documented(
        "Name of a Secret that is made elsewhere, with the keys of inference_secrets that are in use, such as api_key. "
        "inference_secrets still needs the values, for the verification. Default: the role writes a Secret.",
        typed("object"),
    )


@dataclass(frozen=True)
class ClusterNetwork:
    """NetworkPolicies. Pods in the network of their node have none: no policy can tell them from the node.

    Pods of the deployment reach each other at all ports, because libraries of the engines choose some at random.
    """

    policies: bool = documented(
        "Write NetworkPolicies: only pods of the deployment reach the ports between engines and of the store.", True
    )
    clients: tuple[t.Any, ...] = documented(
        "Peers, as in a NetworkPolicy, that may send requests to the router. Default: everybody.", ()
    )
    observers: tuple[t.Any, ...] = documented(
        "Peers that may reach APIs and metrics of engines and store: Prometheus, the machine that verifies, "
        "and a router that is no pod of the deployment, such as kthena-router. Default: everybody.",
        (),
    )


@dataclass(frozen=True)
class AutoscaledRole:
    """One role that Kthena scales: from its pool's instances, which are the fewest, up to ``max``."""

    max: int = documented("Most instances.", number(1, 1))
    metrics: dict[str, str] = documented(
        "Metrics of the engines and their targets for each instance, such as vllm:num_requests_waiting: 5.",
        factory(dict),
    )


@dataclass(frozen=True)
class Autoscaling:
    """An AutoscalingPolicy for roles of the ModelServing. The role kthena leaves the number of their instances as it is."""

    roles: dict[str, AutoscaledRole] = documented("The roles to scale, at most two; none: no policy.", factory(dict))
    policy: dict[str, t.Any] = documented(
        "Settings merged into the specification of the policy, such as behavior.", mapping()
    )


@dataclass(frozen=True)
class Kubernetes:
    """Settings of the engines in a cluster."""

    namespace: str = documented(
        "Namespace of all objects. The role creates it only with kthena_create_namespace.",
        typed("namespace", "default"),
    )
    kthena_version: str = documented(
        "Version of Kthena; v0.4.0 has no maxUnavailable per role, main (after v1.0.0) has a partition per role. Compared with the CRD of the cluster.",
        choice("v1.0.0", "v0.4.0", "main"),
    )
    workload: str = documented(
        "kthena: the engines are a ModelServing. native: a Deployment for each role, or a LeaderWorkerSet if its instances need several nodes.",
        choice("kthena", "native"),
    )
    scheduler: str = documented("Scheduler of the engines' pods. Default: volcano with kthena, else the cluster's.", "")
    resource: str = documented("Resource name under which the device plugin offers NPUs.", "huawei.com/ascend-1980")
    devices_per_node: int = documented(
        "NPUs of one node. 0: by hardware. Larger instances get worker pods.", number(0, 0)
    )
    groups: int = documented(
        "Number of serving groups (spec.replicas). The instances of a pool count within a group.", number(1, 1)
    )
    recovery_policy: str = documented(
        "What Kthena recreates after a pod fails.", choice("RoleRecreate", "ServingGroupRecreate", "None")
    )
    rollout: str = documented(
        "Strategy of updates. Default: role by role; group by group with several groups, or if the recovery policy recreates groups.",
        choice("", "RoleRollingUpdate", "ServingGroupRollingUpdate"),
    )
    partition: int = documented(
        "Instances of each role that keep their revision in an update, the ones with the lowest numbers; groups with a rollout group by group. "
        "Of roles only with kthena_version main.",
        number(0, 0),
    )
    autoscaling: Autoscaling = documented("Kthena's AutoscalingPolicy.", factory(Autoscaling))
    restart_grace_period: int = documented(
        "Seconds for which Kthena tolerates a failed pod before it acts.", number(60, 0)
    )
    stalled_after: int = documented(
        "Seconds without a computed token or step, while requests run, after which an engine's container restarts. 0: no liveness probe.",
        number(600, 0),
    )
    drain_timeout: int = documented(
        "Most seconds for which an engine's or a router's pod that ends finishes its requests. 0: engines end at once.",
        number(300, 0),
    )
    host_network: bool = documented("Run the engines in the network of their node.", True)
    separate_roles: bool = documented("Keep pods of different roles on different nodes.", False)
    requests: dict[str, str] = documented(
        "Resource requests of all engine containers, besides the NPUs.", factory(dict)
    )
    limits: dict[str, str] = documented("Resource limits of all engine containers, besides the NPUs.", factory(dict))
    node_selector: dict[str, str] = documented("Labels that a node must have to run engines.", factory(dict))
    labels: dict[str, str] = documented("Labels of all pods.", factory(dict))
    annotations: dict[str, str] = documented("Annotations of all pods.", factory(dict))
    image_pull_secrets: tuple[str, ...] = documented("Secrets for pulling images.", ())
    image_pull_policy: str = documented(
        "Pull policy of images. Default: the one of the cluster.", choice("", "IfNotPresent", "Always", "Never")
    )
    secrets: ClusterSecrets = documented("The Secret of the pods.", factory(ClusterSecrets))
    service_account: str = documented("Service account of the pods.", typed("object"))
    model_path: str = documented("Directory on the node that holds the model. Default: inference_model.path.", "")
    model_claim: str = documented("PersistentVolumeClaim that holds the model, instead of a directory on the node.", "")
    driver_mounts: bool = documented("Mount the driver's libraries and tools from the node.", True)
    shared_memory: str = documented("Limit of /dev/shm in the pods, such as 64Gi. Default: no limit.", "")
    mounts: tuple[Mount, ...] = documented("More volumes of the engines.", ())
    pods: dict[str, PodSettings] = documented(
        "Settings of one role's pods, by role; mappings are merged with the settings of all roles.",
        factory(dict),
    )
    router: ClusterRouter = documented("The router of the cluster.", factory(ClusterRouter))
    network: ClusterNetwork = documented("Who may reach the pods.", factory(ClusterNetwork))
    pod_monitor: str = documented(
        "auto: a PodMonitor is applied to a cluster that has this kind, and not written to files. always: also written to files. never: none.",
        choice("auto", "always", "never"),
    )
    serving: dict[str, t.Any] = documented("Settings merged into the specification of the ModelServing.", mapping())

    def of_role(self, role: str) -> PodSettings:
        """The settings of one role's pods, merged over those of all roles: keys of mappings are merged, values replaced."""
        own = self.pods.get(role, PodSettings())
        both = ("requests", "limits", "node_selector", "labels", "annotations")
        return replace(own, **{name: {**getattr(self, name), **getattr(own, name)} for name in both})

    def model_root(self, model: str) -> str:
        """The directory of the node or claim with the model; empty if the model is downloaded by name."""
        if self.model_path or not model.startswith("/"):
            return self.model_path
        folder = posixpath.dirname(model)
        return model if folder == "/" else folder

    @property
    def is_native(self) -> bool:
        """Whether the cluster's own workloads make the pods, and not Kthena."""
        return self.workload == "native"

    @property
    def scheduler_name(self) -> str:
        """The scheduler, empty for the cluster's."""
        return self.scheduler or ("" if self.is_native else "volcano")

    @property
    def rollout_type(self) -> str:
        """Rollout by role if single pods are recreated, else by group, as Kthena's webhook requires.

        By role all groups lose the same role at once (API of Kthena), so several groups are replaced one by one.
        """
        if self.rollout:
            return self.rollout
        by_group = self.groups > 1 or self.recovery_policy == "ServingGroupRecreate"
        return "ServingGroupRollingUpdate" if by_group else "RoleRollingUpdate"
