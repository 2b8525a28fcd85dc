# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NetworkPolicies from the plan's ports: one for the engines, and one for each service with a Deployment."""

from __future__ import annotations

import typing as t

from ....module_utils.kubernetes.names import PART_OF, is_pod
from ...plan.deployment import Context
from ...plan.service import Port, Service
from .forwarding import entries
from .names import Manifest, chosen, engine_selector, is_engine, manifest


def network_policies(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """The policies; none for pods in the network of their node, which no policy can tell from the node.

    For the same reason the store has none if the engines are there: they come from addresses that are not known.
    """
    settings = context.description.kubernetes
    if not settings.network.policies:
        return []
    found, reached_by_pods = [], not settings.host_network
    if reached_by_pods:
        ports = {service.port("api").first: service.port("api") for service in entries(services)}
        rules = [{"from": _own(context)}, _rule(ports.values(), settings.network.observers)]
        found.append(_policy(context, "engines", engine_selector(context), rules))
    for service in services:
        if is_engine(service) or not is_pod(service.host):
            continue
        selector = {"matchLabels": chosen(context, service.name)}
        if service.kind == "router" and not settings.router.host_network:
            shown = [port for port in service.ports if port.scope == "client"] or service.ports
            rules = [_rule(shown, settings.network.clients), *_metrics(service, shown, settings.network.observers)]
            found.append(_policy(context, service.name, selector, rules))
        elif service.kind != "router" and reached_by_pods:
            rules = [_rule(service.ports, _own(context)), *_metrics(service, [], settings.network.observers)]
            found.append(_policy(context, service.name, selector, rules))
    return found


def _metrics(service: Service, shown: t.Collection[Port], observers: t.Sequence[t.Any]) -> list[Manifest]:
    """The rule for the metrics of a service, unless they are shown anyway; a PodMonitor reads them."""
    found = [port for port in service.ports if port.name == "metrics" and port not in shown]
    return [_rule(found, observers)] if found else []


def _policy(context: Context, part: str, selector: Manifest, rules: list[Manifest]) -> Manifest:
    spec = {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": rules}
    return manifest(context, "NetworkPolicy", part, spec=spec)


def _rule(ports: t.Iterable[Port], peers: t.Sequence[t.Any]) -> Manifest:
    """Peers reach these ports; everybody does if there are no peers."""
    rule: Manifest = {"ports": []}
    for port in ports:
        rule["ports"].append({"protocol": "TCP", "port": port.first})
        if port.count > 1:
            rule["ports"][-1]["endPort"] = port.last
    return {**rule, "from": list(peers)} if peers else rule


def _own(context: Context) -> list[Manifest]:
    """All pods of the deployment; those that an older version of the collection deployed with Kthena have only its labels."""
    peers: list[Manifest] = [{"podSelector": {"matchLabels": {PART_OF: context.description.deployment}}}]
    return peers if context.description.kubernetes.is_native else [{"podSelector": engine_selector(context)}, *peers]
