# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of Kthena's kinds, by its version; as in the CRDs of v0.4.0, v1.0.0 and its main branch (3cc05728)."""

from __future__ import annotations

import typing as t

from .walk import INT, INT_OR_STR, STR, Mapping, Sequence, Struct, struct, text

# ``pods.py`` judges the specification.
POD_TEMPLATE = struct("spec", metadata=struct(annotations=Mapping(STR), labels=Mapping(STR)))
NEWER_FIELDS: dict[str, dict[str, t.Any]] = {
    "v0.4.0": {},
    "v1.0.0": {"maxUnavailable": INT_OR_STR},
    "main": {"maxUnavailable": INT_OR_STR, "partition": INT_OR_STR},
}
VERSIONS = tuple(NEWER_FIELDS)
TIER = struct(left="highestTierAllowed highestTierName mode")
ROLLOUT = struct(
    rollingUpdateConfiguration=struct(maxUnavailable=INT_OR_STR, partition=INT_OR_STR),
    type=text("ServingGroupRollingUpdate RoleRollingUpdate"),
)


def _kind(spec: Struct) -> Struct:
    return struct("apiVersion kind metadata spec", "status", spec=spec)


def model_serving(version: str) -> Struct:
    """ModelServing: groups of roles, each role an entry pod and its workers."""
    role = struct(
        "name entryTemplate workerReplicas",
        entryTemplate=POD_TEMPLATE,
        name=text(longest=12),
        replicas=INT,
        workerReplicas=INT,
        workerTemplate=POD_TEMPLATE,
        **NEWER_FIELDS[version],
    )
    template = struct(
        "roles",
        "restartGracePeriodSeconds",
        gangPolicy=struct(minRoleReplicas=Mapping(INT)),
        networkTopology=struct(groupPolicy=TIER, rolePolicy=TIER),
        roles=Sequence(role, least=1, most=4),
    )
    spec = struct(
        "template",
        "plugins",
        recoveryPolicy=text("ServingGroupRecreate RoleRecreate None"),
        replicas=INT,
        rolloutStrategy=ROLLOUT,
        schedulerName=STR,
        template=template,
    )
    return _kind(spec)


def model_server(version: str) -> Struct:
    """ModelServer: the pods of a model, and kthena-router's connection to them."""
    port = " workloadPort" if version == "main" else ""
    spec = struct(
        f"inferenceEngine workloadSelector{port}",
        "model trafficPolicy workloadPort",
        inferenceEngine=text("vLLM SGLang"),
        kvConnector=struct(type=text("http lmcache nixl mooncake")),
        workloadSelector=struct(left="matchLabels", pdGroup=struct("decodeLabels groupKey prefillLabels")),
    )
    return _kind(spec)


def model_route(version: str) -> Struct:
    """ModelRoute: routing of requests to ModelServers."""
    target = struct("modelServerName", "weight")
    if version == "main":
        target = struct(left="externalModelProviderName modelServerName weight")
    rule = struct("targetModels", "modelMatch name", targetModels=Sequence(target, least=1, most=16))
    return _kind(struct("rules", "loraAdapters modelName parentRefs rateLimit", rules=Sequence(rule, most=16)))


SHAPES = {"ModelServing": model_serving, "ModelServer": model_server, "ModelRoute": model_route}
