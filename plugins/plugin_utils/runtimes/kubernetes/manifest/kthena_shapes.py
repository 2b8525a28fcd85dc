# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of Kthena's kinds, by its version; as in the CRDs of v0.4.0, v1.0.0 and its main branch (3cc05728)."""

from __future__ import annotations

from .core_shapes import METADATA
from .pod_shape import POD_SPEC
from .shapes import (
    ANY,
    ANY_OBJECT,
    INT32,
    INT64,
    INT_OR_STR,
    QUANTITY,
    STR,
    Struct,
    defaulted,
    extended,
    integer,
    mapping,
    sequence,
    struct,
    text,
)

WORKLOAD = "workload.serving.volcano.sh/v1alpha1"
NETWORKING = "networking.serving.volcano.sh/v1alpha1"
VERSIONS = ("v0.4.0", "v1.0.0", "main")

POD_TEMPLATE = struct(
    metadata=struct(annotations=mapping(STR), labels=mapping(STR)),
    spec=POD_SPEC,
)
ROLE = struct(
    entryTemplate=POD_TEMPLATE,
    name=text(longest=12, pattern=r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?"),
    replicas=defaulted(INT32, 1),
    workerReplicas=INT32,
    workerTemplate=POD_TEMPLATE,
    required="name entryTemplate workerReplicas",
)
NEWER_ROLE = extended(ROLE, maxUnavailable=INT_OR_STR)
ROLES = {
    "v0.4.0": ROLE,
    "v1.0.0": NEWER_ROLE,
    "main": extended(NEWER_ROLE, maxUnavailable=defaulted(INT_OR_STR, 1), partition=INT_OR_STR),
}
TIER = struct(
    highestTierAllowed=integer(0, 2**63 - 1),
    highestTierName=text(longest=253),
    mode=defaulted(text("hard soft"), "hard"),
)
PLUGIN = struct(
    config=ANY,
    name=STR,
    scope=struct(roles=sequence(STR), target=STR),
    type=defaulted(text("BuiltIn"), "BuiltIn"),
    required="name type",
)
ROLLOUT = struct(
    rollingUpdateConfiguration=struct(maxUnavailable=defaulted(INT_OR_STR, 1), partition=INT_OR_STR),
    type=defaulted(text("ServingGroupRollingUpdate RoleRollingUpdate"), "ServingGroupRollingUpdate"),
    required="type",
)


def _kind(required: str = "spec", **fields: Struct) -> Struct:
    return struct(
        required=f"apiVersion kind metadata {required}",
        apiVersion=STR,
        kind=STR,
        metadata=METADATA,
        status=ANY_OBJECT,
        **fields,
    )


def model_serving(version: str) -> Struct:
    """ModelServing: groups of roles, each role an entry pod and its workers."""
    template = struct(
        gangPolicy=struct(minRoleReplicas=mapping(INT32)),
        networkTopology=struct(groupPolicy=TIER, rolePolicy=TIER),
        restartGracePeriodSeconds=defaulted(INT64, 0),
        roles=sequence(ROLES[version], least=1, most=4),
        required="roles",
    )
    return _kind(
        spec=struct(
            plugins=sequence(PLUGIN),
            recoveryPolicy=defaulted(text("ServingGroupRecreate RoleRecreate None"), "RoleRecreate"),
            replicas=defaulted(INT32, 1),
            rolloutStrategy=ROLLOUT,
            schedulerName=defaulted(STR, "volcano"),
            template=template,
            required="template",
        )
    )


def autoscaling_policy(_version: str) -> Struct:
    """AutoscalingPolicy for roles of one ModelServing; metrics' sources and the pace are left to the server."""
    metric = struct(name=text(shortest=1), targetValue=QUANTITY, required="name targetValue")
    role = struct(
        maxReplicas=integer(1, 1000000),
        metricSources=mapping(ANY_OBJECT),
        metrics=sequence(metric, least=1),
        minReplicas=integer(0, 1000000),
        required="maxReplicas minReplicas",
    )
    ratio = struct(
        denominatorRole=STR,
        maxRatio=QUANTITY,
        minRatio=QUANTITY,
        numeratorRole=STR,
        required="denominatorRole maxRatio minRatio numeratorRole",
    )
    target = struct(ratioConstraint=ratio, roles=mapping(role), targetRef=ANY_OBJECT, required="roles targetRef")
    return _kind(
        spec=struct(
            behavior=ANY_OBJECT,
            disaggregatedTarget=target,
            heterogeneousTarget=ANY_OBJECT,
            homogeneousTarget=ANY_OBJECT,
            metrics=sequence(metric),
            tolerancePercent=integer(0, 100),
        )
    )


def model_server(version: str) -> Struct:
    """ModelServer: the pods of a model, and kthena-router's connection to them."""
    retry = struct(attempts=INT32, retryInterval=defaulted(STR, "100ms"))
    groups = struct(
        decodeLabels=mapping(STR),
        groupKey=STR,
        prefillLabels=mapping(STR),
        required="decodeLabels groupKey prefillLabels",
    )
    return _kind(
        spec=struct(
            inferenceEngine=text("vLLM SGLang"),
            kvConnector=struct(type=defaulted(text("http lmcache nixl mooncake"), "http")),
            model=text(longest=256),
            trafficPolicy=struct(retry=retry, timeout=STR),
            workloadPort=struct(
                port=integer(1, 65535), protocol=defaulted(text("http https"), "http"), required="port"
            ),
            workloadSelector=struct(matchLabels=mapping(STR), pdGroup=groups),
            required="inferenceEngine workloadSelector" + (" workloadPort" if version == "main" else ""),
        )
    )


def model_route(version: str) -> Struct:
    """ModelRoute: routing of requests to ModelServers."""
    match = struct(exact=STR, prefix=STR, regex=STR)
    target = struct(modelServerName=STR, weight=defaulted(integer(0, 100), 100), required="modelServerName")
    if version == "main":  # either of them: a CEL rule
        target = struct(**{**target.fields, "externalModelProviderName": STR})
    rule = struct(
        modelMatch=struct(body=struct(model=STR), headers=mapping(match), uri=match),
        name=STR,
        targetModels=sequence(target, least=1, most=16),
        required="targetModels",
    )
    return _kind(
        spec=struct(
            loraAdapters=sequence(STR, most=10),
            modelName=STR,
            parentRefs=sequence(ANY_OBJECT),
            rateLimit=ANY_OBJECT,
            rules=sequence(rule, most=16),
            required="rules",
        )
    )


SHAPES = {
    (WORKLOAD, "ModelServing"): model_serving,
    (WORKLOAD, "AutoscalingPolicy"): autoscaling_policy,
    (NETWORKING, "ModelServer"): model_server,
    (NETWORKING, "ModelRoute"): model_route,
}
