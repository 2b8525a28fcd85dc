# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of kinds besides Kthena's, of the published fields; PodMonitor and LeaderWorkerSet are CRDs, with what the webhook of the last refuses."""

from __future__ import annotations

import json
import pathlib
import re

import fake_pods

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIELDS = json.loads((ROOT / "plugins/plugin_utils/runtimes/kubernetes/manifest/schema.json").read_text("utf-8"))
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
EITHER = {"x-kubernetes-int-or-string": True}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
WORDS = {
    "string": TEXT,
    "int": {"type": "number"},
    "bool": {"type": "boolean"},
    "int or string": EITHER,
    "quantity": EITHER,
}


def record(required="", **fields):
    """An object with these fields only."""
    return {"type": "object", "properties": fields, "required": required.split()}


def opened(shape, whole=False):
    """A part of the collection's file of published fields as a schema of OpenAPI; of an API that judges the pods of its templates ``whole``."""
    if isinstance(shape, str):
        word, dummy, span = shape.partition(" ") if ".." in shape else (shape, "", "")
        if word[:1] == "=":
            return dict(TEXT, enum=word[1:].split("|"))
        if word[:1].isupper():
            return FREE if word == "ObjectMeta" or (word == "PodSpec" and not whole) else opened(FIELDS[word], whole)
        least, most = (int(end) if end else None for end in (span.split("..") if span else ("", "")))
        ends = {name: end for name, end in (("minimum", least), ("maximum", most)) if end is not None}
        if whole and word == "quantity":
            return {}  # resource.Quantity reads fractions too
        return dict(WORDS.get(word, {}), **(ends if word == "int" else {}))
    if "list" in shape:
        keys = {"x-kubernetes-list-map-keys": shape["key"].split()} if "key" in shape and whole else {}
        return {"type": "array", "items": opened(shape["list"], whole), "minItems": shape.get("least", 0), **keys}
    if "*" in shape:
        return {"type": "object", "additionalProperties": opened(shape["*"], whole)}
    needed = " ".join(name.rstrip("!") for name in shape if name.endswith("!"))
    return record(needed, **{name.rstrip("!"): opened(shape[name], whole) for name in shape})


ENDPOINT = record(port=TEXT, portNumber=NUMBER, path=TEXT, interval=TEXT, scheme=TEXT)
MONITOR = record(
    "selector podMetricsEndpoints",
    selector=opened("LabelSelector"),
    podMetricsEndpoints={"type": "array", "items": ENDPOINT},
    namespaceSelector=FREE,
    jobLabel=TEXT,
)
ATTRIBUTES = record(namespace=TEXT, verb=TEXT, group=TEXT, resource=TEXT, name=TEXT, subresource=TEXT, version=TEXT)
BUDGET, POLICY = opened("PodDisruptionBudgetSpec"), opened("NetworkPolicySpec")
POD = opened("PodSpec", True)
STRINGS = opened({"*": "string"})
BUILT_IN = {
    "Deployment": record("spec", spec=opened("DeploymentSpec", True), status=FREE),
    "Service": record("spec", spec=opened("ServiceSpec", True), status=FREE),
    "ConfigMap": record(data=STRINGS, binaryData=STRINGS, immutable={"type": "boolean"}),
    "Secret": record(data=STRINGS, stringData=STRINGS, immutable={"type": "boolean"}, type=TEXT),
    "PodDisruptionBudget": record("spec", spec=BUDGET),
    "NetworkPolicy": record("spec", spec=POLICY),
    "SelfSubjectAccessReview": record("spec", spec=record(resourceAttributes=ATTRIBUTES)),
}


def known_to(minor, kind):
    """The shape of a kind in an old server, which does not know a field; None where that does not matter."""
    if kind != "PodDisruptionBudget" or minor >= 26:
        return None
    fields = {name: shape for name, shape in BUDGET["properties"].items() if name != "unhealthyPodEvictionPolicy"}
    return record("spec", spec=record(**fields))


def crd(group, plural, kind, spec, version="v1"):
    """A CRD with this specification."""
    schema = {"openAPIV3Schema": record("spec", spec=spec, status=FREE)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": kind + "List"},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


CRDS = [
    crd("monitoring.coreos.com", "podmonitors", "PodMonitor", MONITOR),
    crd("leaderworkerset.x-k8s.io", "leaderworkersets", "LeaderWorkerSet", opened(FIELDS["LeaderWorkerSet"]["spec!"])),
]


def problems(thing):
    """What a server or a webhook refuses beyond the shape."""
    known = {"NetworkPolicy": policy_problems, "Deployment": deployment_problems, "LeaderWorkerSet": set_problems}
    known.update(PodDisruptionBudget=budget_problems, Service=service_problems)
    return known[thing["kind"]](thing) if thing.get("kind") in known else []


def budget_problems(thing):
    """Both numbers at once."""
    both = {"minAvailable", "maxUnavailable"} <= set(thing["spec"])
    return ["spec: Invalid value: minAvailable and maxUnavailable cannot be both set"] if both else []


def service_problems(thing):
    """A port of nodes without such a Service, and no port."""
    spec, found = thing["spec"], []
    if not spec.get("ports") and spec.get("clusterIP") != "None":
        found.append("spec.ports: Required value")
    for number, port in enumerate(spec.get("ports", [])):
        if port.get("nodePort") and spec.get("type") == "ClusterIP":
            found.append(f"spec.ports[{number}].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'")
    return found


def frozen(thing, old):
    """What a change of an object may not change."""
    spec, was, kind = thing.get("spec") or {}, old.get("spec") or {}, thing.get("kind")
    if kind == "Deployment" and was and spec.get("selector") != was.get("selector"):
        return [f"spec.selector: Invalid value: {spec.get('selector')}: field is immutable"]
    if kind == "Service" and was.get("clusterIP") and spec.get("clusterIP", was["clusterIP"]) != was["clusterIP"]:
        return ["spec.clusterIPs[0]: Invalid value: may not change once set"]
    if kind in ("ConfigMap", "Secret") and old.get("immutable"):
        keys = [key for key in ("immutable", "data", "binaryData") if thing.get(key) != old.get(key)]
        return [f"{key}: Forbidden: field is immutable when `immutable` is set" for key in keys]
    return []


PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
CONTAINER = {"resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
POD_DEFAULTS = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}
POD_DEFAULTS.update(schedulerName="default-scheduler", securityContext={})
ROLLING_UPDATE = {"maxSurge": "25%", "maxUnavailable": "25%"}


def default(thing):
    """Fields that a server fills in; they belong to no manager, and an apply without them leaves them."""
    spec = thing.get("spec") or {}
    if thing.get("kind") == "Deployment":
        fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600, strategy={})
        fill(spec["strategy"], type="RollingUpdate")
        if spec["strategy"]["type"] == "RollingUpdate":
            fill(spec["strategy"], rollingUpdate={})
            fill(spec["strategy"]["rollingUpdate"], **ROLLING_UPDATE)
        default_pod(spec.get("template", {}).get("spec", {}))
    if thing.get("kind") == "NetworkPolicy":  # ingress is one value for its owners
        fill(spec, policyTypes=["Ingress"])
        for port in [port for rule in spec.get("ingress", []) for port in rule.get("ports", [])]:
            fill(port, protocol="TCP")
    if thing.get("kind") == "Service":
        fill(spec, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
        for port in spec.get("ports", []):
            fill(port, protocol="TCP", targetPort=port.get("port"))


def default_pod(spec):
    """The same of a pod."""
    fill(spec, **POD_DEFAULTS)
    for container in spec.get("containers", []):
        tag = str(container.get("image", "")).rpartition("/")[2].partition(":")[2]
        fill(container, imagePullPolicy="IfNotPresent" if tag not in ("", "latest") else "Always", **CONTAINER)
        for port in container.get("ports", []):
            fill(port, protocol="TCP")
        for variable in container.get("env", []):  # inside a mapping that is one value for its owners
            if "fieldRef" in variable.get("valueFrom", {}):
                fill(variable["valueFrom"]["fieldRef"], apiVersion="v1")
        for name in ("readinessProbe", "livenessProbe", "startupProbe"):
            if name in container:
                fill(container[name], **PROBE)
    for volume in spec.get("volumes", []):
        if "hostPath" in volume:
            fill(volume["hostPath"], type="")
        for kind in ("configMap", "secret"):
            if kind in volume:
                fill(volume[kind], defaultMode=420)


def fill(record_, **values):
    """Set what is not set."""
    for name, value in values.items():
        if record_.get(name) is None:
            record_[name] = dict(value) if isinstance(value, dict) else value


def deployment_problems(thing):
    """The template's pods, the selector, and an update that could never begin."""
    spec = thing.get("spec", {})
    template, strategy = spec.get("template", {}), spec.get("strategy") or {}
    found = ["spec.template." + text for text in fake_pods.problems(template.get("spec", {}))]
    labels = (template.get("metadata") or {}).get("labels") or {}
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    if not wanted or not wanted.items() <= labels.items():
        found.append("spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`")
    if strategy.get("type") == "Recreate" and "rollingUpdate" in strategy:
        found.append("spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'")
    return found + stands_still(strategy.get("rollingUpdate"), "spec.strategy.rollingUpdate")


def set_problems(thing):
    """An update that could never begin, and a name that its Service cannot have."""
    rollout = thing.get("spec", {}).get("rolloutStrategy") or {}
    found = stands_still(rollout.get("rollingUpdateConfiguration"), "spec.rolloutStrategy.rollingUpdateConfiguration")
    if thing["spec"]["leaderWorkerTemplate"].get("size", 1) < 1:
        found.append("spec.leaderWorkerTemplate.size: Invalid value: size must be equal or greater than 1")
    if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", thing["metadata"]["name"]):
        found.append("metadata.name: Invalid value: a DNS-1035 label")
    return found


def stands_still(given, path):
    """An update that may neither make a pod nor end one."""
    numbers = [(given or {}).get(key, 1) for key in ("maxSurge", "maxUnavailable")]
    return [f"{path}.maxUnavailable: Invalid value: 0: cannot be 0 when maxSurge is 0"] if numbers == [0, 0] else []


def policy_problems(thing):
    """Peers and ports of a NetworkPolicy."""
    found = []
    for number, rule in enumerate(thing.get("spec", {}).get("ingress", [])):
        for place, peer in enumerate(rule.get("from", [])):
            where = f"spec.ingress[{number}].from[{place}]"
            if not peer:
                found.append(f"{where}: Required value: must specify a peer")
            if "ipBlock" in peer and len(peer) > 1:
                found.append(f"{where}: Forbidden: may not specify both ipBlock and another peer")
        for place, port in enumerate(rule.get("ports", [])):
            if isinstance(port.get("port"), int) and not 1 <= port["port"] <= 65535:
                found.append(f"spec.ingress[{number}].ports[{place}].port: must be between 1 and 65535, inclusive")
    return found
