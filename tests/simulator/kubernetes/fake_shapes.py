# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of kinds besides Kthena's; PodMonitor and LeaderWorkerSet are CRDs, with what the webhook of the last refuses."""

from __future__ import annotations

import re

import fake_pods

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
EITHER = {"x-kubernetes-int-or-string": True}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def record(required="", **fields):
    """An object with these fields only."""
    return {"type": "object", "properties": fields, "required": required.split()}


def several(shape, least=0):
    """A list."""
    return {"type": "array", "items": shape, "minItems": least}


EXPRESSION = record("key operator", key=TEXT, operator=TEXT, values=several(TEXT))
SELECTOR = record(matchLabels={"type": "object", "additionalProperties": TEXT}, matchExpressions=several(EXPRESSION))
PEER = record(
    ipBlock=record("cidr", cidr=TEXT, **{"except": several(TEXT)}),
    namespaceSelector=SELECTOR,
    podSelector=SELECTOR,
)
PORTS = several(record(port=EITHER, endPort=NUMBER, protocol={"type": "string", "enum": ["TCP", "UDP", "SCTP"]}))
RULE = record(ports=PORTS, **{"from": several(PEER)})
POLICY = record(
    "podSelector",
    podSelector=SELECTOR,
    ingress=several(RULE),
    egress=several(record(ports=PORTS, to=several(PEER))),
    policyTypes=several({"type": "string", "enum": ["Ingress", "Egress"]}),
)
ENDPOINT = record(port=TEXT, portNumber=NUMBER, path=TEXT, interval=TEXT, scheme=TEXT)
MONITOR = record(
    "selector podMetricsEndpoints",
    selector=SELECTOR,
    podMetricsEndpoints=several(ENDPOINT),
    namespaceSelector=FREE,
    jobLabel=TEXT,
)
ATTRIBUTES = record(namespace=TEXT, verb=TEXT, group=TEXT, resource=TEXT, name=TEXT, subresource=TEXT, version=TEXT)
BUILT_IN = {
    "NetworkPolicy": record("spec", spec=POLICY),
    "SelfSubjectAccessReview": record("spec", spec=record(resourceAttributes=ATTRIBUTES)),
}


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


TEMPLATE = record("spec", metadata=FREE, spec=FREE)
POLICIES = ["RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None", "Default"]
ROLLING = record(partition=NUMBER, maxSurge=EITHER, maxUnavailable=EITHER)
SET = record(
    "leaderWorkerTemplate",
    replicas=NUMBER,
    startupPolicy={"type": "string", "enum": ["LeaderCreated", "LeaderReady"]},
    rolloutStrategy=record(
        "type", type={"type": "string", "enum": ["RollingUpdate"]}, rollingUpdateConfiguration=ROLLING
    ),
    networkConfig=FREE,
    leaderWorkerTemplate=record(
        "workerTemplate",
        size=dict(NUMBER, minimum=1),
        restartPolicy={"type": "string", "enum": POLICIES},
        leaderTemplate=TEMPLATE,
        workerTemplate=TEMPLATE,
    ),
)
CRDS = [
    crd("monitoring.coreos.com", "podmonitors", "PodMonitor", MONITOR),
    crd("leaderworkerset.x-k8s.io", "leaderworkersets", "LeaderWorkerSet", SET),
]


def problems(thing):
    """What a server or a webhook refuses beyond the shape."""
    known = {"NetworkPolicy": policy_problems, "Deployment": deployment_problems, "LeaderWorkerSet": set_problems}
    return known[thing["kind"]](thing) if thing.get("kind") in known else []


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
