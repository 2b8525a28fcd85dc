# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests, right and wrong: one thing is wrong in each, and the finding names its place."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.quantity import (
    is_quantity,
    quantity,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.check import check_manifest
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.walk import NO_PODS, REFUSED

CONTAINER = {
    "name": "engine",
    "image": "example.com/engine:1",
    "ports": [{"containerPort": 9000, "name": "http"}],
    "env": [{"name": "A", "value": "1"}],
    "volumeMounts": [{"name": "code", "mountPath": "/code"}],
    "resources": {
        "limits": {"cpu": "4", "example.com/npu": "2"},
        "requests": {"cpu": "500m", "example.com/npu": "2"},
    },
}
POD = {
    "hostNetwork": True,
    "containers": [CONTAINER],
    "volumes": [{"name": "code", "configMap": {"name": "code", "defaultMode": 420}}],
}
SERVING = {
    "apiVersion": "workload.serving.volcano.sh/v1alpha1",
    "kind": "ModelServing",
    "metadata": {"name": "x", "namespace": "n"},
    "spec": {
        "replicas": 2,
        "template": {"roles": [{"name": "a", "replicas": 2, "workerReplicas": 0, "entryTemplate": {"spec": POD}}]},
    },
}
SERVER = {
    "apiVersion": "networking.serving.volcano.sh/v1alpha1",
    "kind": "ModelServer",
    "metadata": {"name": "x"},
    "spec": {
        "inferenceEngine": "vLLM",
        "workloadPort": {"port": 9000},
        "workloadSelector": {"matchLabels": {"a": "b"}},
    },
}
ROUTE = {
    "apiVersion": "networking.serving.volcano.sh/v1alpha1",
    "kind": "ModelRoute",
    "metadata": {"name": "x"},
    "spec": {"modelName": "m", "rules": [{"targetModels": [{"modelServerName": "x"}]}]},
}
ROLE = "spec.template.roles.0"
SPEC = f"{ROLE}.entryTemplate.spec"
BOX = f"{SPEC}.containers.0"


def changed(base, path, value):
    """``base`` with the value at a dotted path; a list grows by ``+``, ``...`` takes away."""
    result = copy.deepcopy(base)
    owner, steps = result, path.split(".")
    for step in steps[:-1]:
        owner = owner[int(step)] if isinstance(owner, list) else owner.setdefault(step.replace("|", "."), {})
    last = steps[-1].replace("|", ".")
    if last == "+":
        owner.append(value)
    elif value is ...:
        del owner[int(last) if isinstance(owner, list) else last]
    else:
        owner[int(last) if isinstance(owner, list) else last] = value
    return result


ROLE_TWO = {"name": "b", "workerReplicas": 0, "entryTemplate": {"spec": POD}}
WRONG = [
    (SERVING, f"{ROLE}.entryTemplat", {}, "K8S-FIELD", "roles[0].entryTemplat"),
    (SERVING, f"{BOX}.imagePulPolicy", "Always", "K8S-FIELD", "imagePulPolicy"),
    (SERVING, "spec.recoveryPolicy", "Never", "K8S-CHOICE", "spec.recoveryPolicy"),
    (SERVING, "spec.replicas", "2", "K8S-TYPE", "spec.replicas"),
    (SERVING, f"{ROLE}.name", "thirteen-char", "K8S-LENGTH", "roles[0].name"),
    (SERVING, f"{ROLE}.name", "A", "KTHENA-NAME", "roles[0].name"),
    (SERVING, f"{ROLE}.workerReplicas", ..., "K8S-REQUIRED", "workerReplicas"),
    (SERVING, f"{ROLE}.workerReplicas", 1, "KTHENA-WORKER", "workerTemplate"),
    (SERVING, "spec.template.roles", [], "K8S-COUNT", "spec.template.roles"),
    (SERVING, "spec.template.roles.+", dict(ROLE_TWO, name="a"), "K8S-TWIN", "roles[1].name"),
    (SERVING, "spec.template.gangPolicy", {"minRoleReplicas": {"a": 3}}, "KTHENA-GANG", "minRoleReplicas[a]"),
    (SERVING, "spec.rolloutStrategy", {"type": "Recreate"}, "K8S-CHOICE", "rolloutStrategy.type"),
    (SERVING, "metadata.name", "Upper", "K8S-NAME", "metadata.name"),
    (SERVING, "metadata.name", "n" * 60, "KTHENA-NAME", "metadata.name"),
    (SERVING, f"{BOX}.name", ..., "K8S-REQUIRED", "containers[0].name"),
    (SERVING, f"{BOX}.image", "a b", "POD-IMAGE", "image"),
    (SERVING, f"{BOX}.env.+", {"name": "A"}, "K8S-TWIN", "env[1]"),
    (SERVING, f"{BOX}.resources.limits.cpu", "4cores", "K8S-TYPE", "limits[cpu]"),
    (SERVING, f"{BOX}.resources.limits.memory", 64, "POD-MEMORY", "limits[memory]"),
    (SERVING, f"{BOX}.resources.requests.memory", "64m", "POD-MEMORY", "requests[memory]"),
    (SERVING, f"{SPEC}.volumes.0", {"name": "code", "emptyDir": {"sizeLimit": "1023Ki"}}, "POD-MEMORY", "sizeLimit"),
    (SERVING, f"{BOX}.resources.requests.cpu", "5", "POD-RESOURCE", "requests[cpu]"),
    (SERVING, f"{BOX}.resources.requests.example|com/npu", "1", "POD-RESOURCE", "requests[example.com/npu]"),
    (SERVING, f"{BOX}.resources.limits.example|com/npu", ..., "POD-RESOURCE", "requests[example.com/npu]"),
    (SERVING, f"{BOX}.ports.0.containerPort", 65536, "POD-PORT", "containerPort"),
    (SERVING, f"{BOX}.ports.0.hostPort", 9001, "POD-PORT", "hostPort"),
    (SERVING, f"{BOX}.volumeMounts.0.name", "other", "POD-VOLUME", "volumeMounts[0].name"),
    (SERVING, f"{SPEC}.volumes.0.configMap.defaultMode", 755, "POD-MODE", "defaultMode"),
    (SERVER, "spec.inferenceEngine", "vllm", "K8S-CHOICE", "inferenceEngine"),
    (SERVER, "spec.kvConnector", {"type": "Mooncake"}, "K8S-CHOICE", "kvConnector.type"),
    (SERVER, "spec.workloadSelector.pdGroup", {"groupKey": "k"}, "K8S-REQUIRED", "pdGroup.decodeLabels"),
    (ROUTE, "spec.modelName", ..., "KTHENA-ROUTE", "modelName"),
    (ROUTE, "spec.rules.0.targetModels", [], "K8S-COUNT", "targetModels"),
]


@pytest.mark.parametrize(
    ("base", "path", "value", "rule", "place"), WRONG, ids=[f"{item[1]}-{item[3]}" for item in WRONG]
)
def test_one_wrong_thing_is_named(base, path, value, rule, place):
    found = check_manifest(changed(base, path, value))
    assert [item for item in found if item.id == rule and item.path.endswith(place)], [item.text() for item in found]


RIGHT = [
    (SERVING, f"{ROLE}.replicas", 0),
    (SERVING, "spec.replicas", 0),
    (SERVING, f"{SPEC}.volumes.0.configMap.defaultMode", 0o777),
    (SERVING, f"{SPEC}.volumes.0", {"name": "code"}),
    (SERVING, f"{BOX}.resources.requests.example|com/npu", ...),
    (SERVING, f"{BOX}.ports.0.hostPort", 9000),
    (SERVING, f"{SPEC}.volumes.0", {"name": "code", "emptyDir": {"sizeLimit": "1Mi"}}),
    (SERVING, f"{BOX}.readinessProbe", {"exec": {"command": ["true"]}}),
    (SERVING, "spec.template.networkTopology", {"groupPolicy": {"mode": "soft", "highestTierAllowed": 2}}),
    (SERVING, "spec.plugins", [{"name": "p", "config": {"any": ["thing"]}}]),
    (SERVING, "spec.template.roles.+", ROLE_TWO),
    (SERVING, "status", {"replicas": 1}),
    (SERVER, "spec.trafficPolicy", {"timeout": "1h30m", "retry": {"attempts": 2, "retryInterval": "1.5s"}}),
    (SERVER, "spec.trafficPolicy", {"timeout": "5 minutes"}),  # the server takes any string
    (SERVER, "spec.workloadPort", ...),  # and no port at all
    (ROUTE, "spec.rateLimit", {"unit": "minute", "global": {"redis": {"address": "r:6379"}}}),
]


@pytest.mark.parametrize(("base", "path", "value"), RIGHT, ids=[item[1] for item in RIGHT])
def test_what_is_right_is_left_alone(base, path, value):
    assert [item.text() for item in check_manifest(changed(base, path, value))] == []


def test_versions_differ():
    rolling = changed(SERVING, "spec.rolloutStrategy", {"type": "RoleRollingUpdate"})
    newer = changed(rolling, f"{ROLE}.maxUnavailable", "50%")
    assert check_manifest(newer, "v1.0.0") == []
    assert [item.id for item in check_manifest(newer, "v0.4.0")] == ["K8S-FIELD"]
    assert [item.id for item in check_manifest(SERVING, "v9")] == ["KTHENA-VERSION"]


BY_ROLE = changed(SERVING, "spec.rolloutStrategy", {"type": "RoleRollingUpdate"})
OTHER_PROVIDER = {"externalModelProviderName": "p"}
BETWEEN = [  # manifest, what v1.0.0 says, what main says
    (changed(BY_ROLE, f"{ROLE}.partition", 1), ["K8S-FIELD"], []),
    (changed(SERVER, "spec.workloadPort", ...), [], ["K8S-REQUIRED"]),
    (changed(ROUTE, "spec.rules.0.targetModels.0", OTHER_PROVIDER), ["K8S-FIELD", "K8S-REQUIRED"], []),
    (changed(ROUTE, "spec.rules.0.targetModels.0.modelServerName", ...), ["K8S-REQUIRED"], []),  # a CEL rule there
]


@pytest.mark.parametrize(("manifest", "release", "main"), BETWEEN, ids=range(len(BETWEEN)))
def test_main_differs_from_the_release(manifest, release, main):
    assert sorted(item.id for item in check_manifest(manifest, "v1.0.0")) == release
    assert sorted(item.id for item in check_manifest(manifest, "main")) == main


def test_all_complaints_at_once_in_a_stable_order():
    broken = changed(changed(SERVING, "spec.replicas", "x"), f"{BOX}.ports.0.containerPort", 65536)
    assert [item.id for item in check_manifest(broken)] == ["K8S-TYPE", "POD-PORT"]
    assert [item.why for item in check_manifest(broken)] == [REFUSED, NO_PODS]
    assert [item.id for item in check_manifest({"kind": "Job", "apiVersion": "batch/v1"})] == ["K8S-KIND"]
    assert [item.id for item in check_manifest("text")] == ["K8S-TYPE"]


@pytest.mark.parametrize(("text", "number"), [("8", 8), ("500m", 0.5), ("1Ki", 1024), ("2e3", 2000), ("1.5k", 1500)])
def test_quantities(text, number):
    assert float(quantity(text)) == number


@pytest.mark.parametrize("text", ["", "1 Gi", "Gi", "1GiB", "--1", True, None, "1ee3"])
def test_what_is_no_quantity(text):
    assert not is_quantity(text)
