# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of kinds besides Kthena's: NetworkPolicies, and the Prometheus operator's PodMonitor as a CRD."""

from __future__ import annotations

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


CRDS = [crd("monitoring.coreos.com", "podmonitors", "PodMonitor", MONITOR)]


def problems(thing):
    """What a server refuses beyond the shape of a NetworkPolicy."""
    if thing.get("kind") != "NetworkPolicy":
        return []
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
