# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests, right and wrong: one thing is wrong in each, and the finding names its place."""

from __future__ import annotations

import copy
import pathlib

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.check import (
    NO_PODS,
    check_manifest,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.formats import BY_PLACE
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.objects import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.pods import CHOICES
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.walk import (
    KINDS,
    REFUSED,
    fields,
)

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
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
SET = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}}
POLICY = {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 9000}]}]}


def thing(kind, version, **fields):
    """An object with a name."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields}


BASES = {
    "ModelServing": SERVING,
    "ModelServer": SERVER,
    "ModelRoute": ROUTE,
    "Deployment": thing("Deployment", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}),
    "Service": thing("Service", "v1", spec={"selector": {"a": "b"}, "ports": [{"name": "http", "port": 80}]}),
    "PodDisruptionBudget": thing("PodDisruptionBudget", "policy/v1", spec={"minAvailable": 1, "selector": {}}),
    "NetworkPolicy": thing("NetworkPolicy", "networking.k8s.io/v1", spec=POLICY),
    "ConfigMap": thing("ConfigMap", "v1", data={"a": "b"}),
    "LeaderWorkerSet": thing("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", spec=SET),
}
ROLE = "spec.template.roles.0"
SPEC = f"{ROLE}.entryTemplate.spec"
BOX = f"{SPEC}.containers.0"
PARTS = {"role": f"{ROLE}.", "pod": f"{SPEC}.", "container": f"{BOX}."}
ROLE_TWO = {"name": "b", "workerReplicas": 0, "entryTemplate": {"spec": POD}}
WORDS = {"LONG": "x" * 64, "HUGE": "x" * 2**21, "TWIN": dict(ROLE_TWO, name="a"), "...": ...}


def changed(base, path, value):
    """``base`` with the value at a dotted path; a list grows by ``+``, ``...`` takes away."""
    result = copy.deepcopy(base)
    owner, steps = result, path.split(".")
    for step, following in zip(steps[:-1], steps[1:], strict=True):
        empty = [] if following == "+" else {}
        owner = owner[int(step)] if isinstance(owner, list) else owner.setdefault(step.replace("|", "."), empty)
    last = steps[-1].replace("|", ".")
    if last == "+":
        owner.append(value)
    elif value is ...:
        del owner[int(last) if isinstance(owner, list) else last]
    else:
        owner[int(last) if isinstance(owner, list) else last] = value
    return result


def spelled(value):
    """A value of the table with its words in capitals replaced, also below keys."""
    if isinstance(value, dict):
        return {key: spelled(value[key]) for key in value}
    return WORDS.get(value, value) if isinstance(value, str) else value


FILE = pathlib.Path(__file__).with_name("kubernetes_wrong.yml")
WRONG = [(group, *row) for group, rows in yaml.safe_load(FILE.read_text(encoding="utf-8")).items() for row in rows]


@pytest.mark.parametrize(
    ("group", "path", "value", "rule", "place"), WRONG, ids=[f"{item[0]}-{item[1]}-{item[3]}" for item in WRONG]
)
def test_one_wrong_thing_is_named(group, path, value, rule, place):
    wrong = changed(BASES.get(group, SERVING), PARTS.get(group, "") + path, spelled(value))
    found = check_manifest(wrong)
    assert [item for item in found if item.id == rule and place in item.path], [item.text() for item in found]


@pytest.mark.parametrize("kind", BASES)
def test_what_they_are_made_of_is_right(kind):
    assert [item.text() for item in check_manifest(BASES[kind])] == []


def test_rules_are_about_fields_that_the_schema_has():
    places = [place.rpartition(".") for place in BY_PLACE]
    assert [
        f"{owner}.{field}" for owner, dot, field in places if dot and field not in fields(KINDS[owner], "main")
    ] == []
    assert {*RULES, *CHOICES} - set(KINDS) == set()


RIGHT = [
    (SERVING, f"{ROLE}.replicas", 0),
    (SERVING, "spec.replicas", 0),
    (SERVING, "spec.rolloutStrategy", {"rollingUpdateConfiguration": {"partition": "50%", "maxUnavailable": "50%"}}),
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
    (SERVING, f"{BOX}.resources.limits.hugepages-2Mi", "1Gi"),
    (SERVING, f"{BOX}.livenessProbe", {"grpc": {"port": 9000}, "timeoutSeconds": 0, "successThreshold": 1}),
    (SERVING, f"{BOX}.lifecycle", {"preStop": {"httpGet": {"port": "http", "path": "/drain"}}}),
    (SERVING, f"{BOX}.envFrom", [{"prefix": "A.B-", "configMapRef": {"name": "c", "optional": True}}]),
    (SERVING, f"{BOX}.env.+", {"name": "3-b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}}),
    (SERVING, f"{BOX}.ports.+", {"containerPort": 9000, "protocol": "UDP"}),
    (SERVING, f"{SPEC}.initContainers", [{"name": "first", "image": "x:1", "ports": [{"containerPort": 9000}]}]),
    (
        SERVING,
        f"{SPEC}.tolerations",
        [{"operator": "Exists"}, {"key": "a", "effect": "NoExecute", "tolerationSeconds": 5}],
    ),
    (SERVING, f"{SPEC}.volumes.+", {"name": "all", "projected": {"sources": [{"secret": {"name": "s"}}]}}),
    (SERVING, f"{SPEC}.nodeSelector", {"example.com/pool": ""}),
    (SERVING, f"{ROLE}.workerTemplate", {"spec": {"containers": []}}),  # of no worker
    (BASES["Deployment"], "spec.strategy", {"rollingUpdate": {"maxSurge": "150%", "maxUnavailable": "100%"}}),
    (BASES["Deployment"], "spec.template.spec.containers.0.resources.limits.cpu", 4.5),
    (BASES["Service"], "spec.clusterIP", "None"),
    (BASES["Service"], "spec", {"type": "ExternalName", "externalName": "a.example.com"}),
    (BASES["NetworkPolicy"], "spec.egress", [{"to": [{"ipBlock": {"cidr": "fd00::/8", "except": ["fd01::/16"]}}]}]),
    (ROUTE, "spec.rateLimit", {"unit": "minute", "global": {"redis": {"address": "r:6379"}}}),
]


@pytest.mark.parametrize(("base", "path", "value"), RIGHT, ids=[item[1] for item in RIGHT])
def test_what_is_right_is_left_alone(base, path, value):
    assert [item.text() for item in check_manifest(changed(base, path, value))] == []


def test_mounts_of_claims_are_right_in_a_group_of_workers():
    mount = "spec.leaderWorkerTemplate.workerTemplate.spec.containers.0.volumeMounts.+"
    wrong = changed(BASES["LeaderWorkerSet"], mount, {"name": "data", "mountPath": "/data"})
    assert [item.id for item in check_manifest(wrong)] == ["POD-VOLUME"]
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    assert check_manifest(changed(wrong, "spec.leaderWorkerTemplate.volumeClaimTemplates", claims)) == []


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
    (changed(SERVING, f"{ROLE}.maxUnavailable", 1), ["KTHENA-ROLLOUT"], []),
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
