# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of the core Kubernetes kinds: Pod, ConfigMap, Service, Deployment."""

from __future__ import annotations

from .pod_shape import LABEL_SELECTOR, POD_SPEC
from .shapes import (
    ANY,
    ANY_OBJECT,
    BOOL,
    INT32,
    INT64,
    INT_OR_STR,
    STR,
    Struct,
    defaulted,
    mapping,
    sequence,
    struct,
    text,
)

METADATA = struct(
    annotations=mapping(STR),
    creationTimestamp=defaulted(STR, None),  # written as null by tools that print templates
    deletionGracePeriodSeconds=INT64,
    deletionTimestamp=STR,
    finalizers=sequence(STR),
    generateName=STR,
    generation=INT64,
    labels=mapping(STR),
    managedFields=ANY,
    name=STR,
    namespace=STR,
    ownerReferences=sequence(
        struct(
            apiVersion=STR,
            blockOwnerDeletion=BOOL,
            controller=BOOL,
            kind=STR,
            name=STR,
            uid=STR,
            required="apiVersion kind name uid",
        )
    ),
    resourceVersion=STR,
    selfLink=STR,
    uid=STR,
)


def _kind(required: str = "", **fields: object) -> Struct:
    known = {"apiVersion": STR, "kind": STR, "metadata": METADATA, **fields}
    return Struct(known, ("apiVersion", "kind", "metadata", *required.split()))


def pod(_version: str) -> Struct:
    """A bare pod."""
    return _kind("spec", spec=POD_SPEC, status=ANY_OBJECT)


def config_map(_version: str) -> Struct:
    """A ConfigMap."""
    return _kind(binaryData=mapping(STR), data=mapping(STR), immutable=BOOL)


def service(_version: str) -> Struct:
    """A Service; only the fields of selectors and ports are checked."""
    port = struct(
        appProtocol=STR,
        name=STR,
        nodePort=INT32,
        port=INT32,
        protocol=defaulted(STR, "TCP"),
        targetPort=INT_OR_STR,
        required="port",
    )
    spec = struct(
        allocateLoadBalancerNodePorts=BOOL,
        clusterIP=STR,
        clusterIPs=sequence(STR),
        externalIPs=sequence(STR),
        externalName=STR,
        externalTrafficPolicy=STR,
        healthCheckNodePort=INT32,
        internalTrafficPolicy=STR,
        ipFamilies=sequence(STR),
        ipFamilyPolicy=STR,
        loadBalancerClass=STR,
        loadBalancerIP=STR,
        loadBalancerSourceRanges=sequence(STR),
        ports=sequence(port, keys="port protocol"),
        publishNotReadyAddresses=BOOL,
        selector=mapping(STR),
        sessionAffinity=STR,
        sessionAffinityConfig=ANY_OBJECT,
        trafficDistribution=STR,
        type=text("ClusterIP NodePort LoadBalancer ExternalName"),
    )
    return _kind("spec", spec=spec, status=ANY_OBJECT)


def deployment(_version: str) -> Struct:
    """A Deployment."""
    rolling = struct(maxSurge=INT_OR_STR, maxUnavailable=INT_OR_STR)
    spec = struct(
        minReadySeconds=INT32,
        paused=BOOL,
        progressDeadlineSeconds=INT32,
        replicas=INT32,
        revisionHistoryLimit=INT32,
        selector=LABEL_SELECTOR,
        strategy=struct(rollingUpdate=rolling, type=text("Recreate RollingUpdate")),
        template=struct(metadata=METADATA, spec=POD_SPEC, required="spec"),
        required="selector template",
    )
    return _kind("spec", spec=spec, status=ANY_OBJECT)


def leader_worker_set(_version: str) -> Struct:
    """A LeaderWorkerSet, as far as it is written here."""
    template = struct(metadata=METADATA, spec=POD_SPEC, required="spec")
    rolling = struct(maxSurge=INT_OR_STR, maxUnavailable=INT_OR_STR, partition=INT32)
    spec = struct(
        leaderWorkerTemplate=struct(
            leaderTemplate=template, restartPolicy=STR, size=INT32, workerTemplate=template, required="workerTemplate"
        ),
        replicas=INT32,
        rolloutStrategy=struct(rollingUpdateConfiguration=rolling, type=STR, required="type"),
        startupPolicy=STR,
        required="leaderWorkerTemplate",
    )
    return _kind("spec", spec=spec, status=ANY_OBJECT)


def disruption_budget(_version: str) -> Struct:
    """A PodDisruptionBudget."""
    spec = struct(
        maxUnavailable=INT_OR_STR, minAvailable=INT_OR_STR, selector=LABEL_SELECTOR, unhealthyPodEvictionPolicy=STR
    )
    return _kind("spec", spec=spec, status=ANY_OBJECT)


def network_policy(_version: str) -> Struct:
    """A NetworkPolicy."""
    block = struct(required="cidr", cidr=STR, **{"except": sequence(STR)})
    peers = sequence(struct(ipBlock=block, namespaceSelector=LABEL_SELECTOR, podSelector=LABEL_SELECTOR))
    ports = sequence(struct(endPort=INT32, port=INT_OR_STR, protocol=text("TCP UDP SCTP")))
    spec = struct(
        required="podSelector",
        egress=sequence(struct(to=peers, ports=ports)),
        ingress=sequence(struct(ports=ports, **{"from": peers})),
        podSelector=LABEL_SELECTOR,
        policyTypes=sequence(text("Ingress Egress")),
    )
    return _kind("spec", spec=spec)


def pod_monitor(_version: str) -> Struct:
    """A PodMonitor; its settings are left to the operator."""
    return _kind("spec", spec=ANY_OBJECT)


SHAPES = {
    ("v1", "Pod"): pod,
    ("v1", "ConfigMap"): config_map,
    ("v1", "Service"): service,
    ("apps/v1", "Deployment"): deployment,
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): leader_worker_set,
    ("policy/v1", "PodDisruptionBudget"): disruption_budget,
    ("networking.k8s.io/v1", "NetworkPolicy"): network_policy,
    ("monitoring.coreos.com/v1", "PodMonitor"): pod_monitor,
}
