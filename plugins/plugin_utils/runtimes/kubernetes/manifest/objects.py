# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server says of the fields of other objects than pods together, and the webhook of LeaderWorkerSet."""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ....description.findings import Finding
from . import pods
from .formats import is_network, single_values
from .pods import Value, told
from .walk import listed, mapping, mappings

LARGEST_MAP = 2**20  # bytes of all values of a ConfigMap


def look(name: str, value: Value, path: str) -> t.Iterator[Finding]:
    """What no schema says of a mapping of this definition; empty for an unnamed one."""
    yield from single_values(name, value, path)
    yield from pods.choice(name, value, path)
    yield from RULES[name](value, path) if name in RULES else ()


def deployment(spec: Value, path: str) -> t.Iterator[Finding]:
    """Selector, strategy and pods that run for ever."""
    template, strategy = mapping(spec.get("template")), mapping(spec.get("strategy"))
    labels = mapping(mapping(template.get("metadata")).get("labels"))
    wanted = mapping(mapping(spec.get("selector")).get("matchLabels"))
    if not spec.get("selector") or any(labels.get(key) != wanted[key] for key in wanted):
        text = "do not have what the selector asks for" if spec.get("selector") else "need a selector"
        yield told(f"{path}.template.metadata.labels", "K8S-TOGETHER", text, "Write the same labels.", dict(labels))
    pod = mapping(template.get("spec"))
    if pod.get("restartPolicy", "Always") != "Always":
        yield told(f"{path}.template.spec.restartPolicy", "K8S-VALUE", "must be Always", "", pod["restartPolicy"])
    if pod.get("activeDeadlineSeconds") is not None:
        yield told(
            f"{path}.template.spec.activeDeadlineSeconds", "K8S-TOGETHER", "is not for a Deployment", "Remove it."
        )
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        yield told(f"{path}.strategy.rollingUpdate", "K8S-TOGETHER", "is not for the strategy Recreate", "Remove it.")
    update = mapping(strategy.get("rollingUpdate"))
    if [str(update.get(key, 1)).rstrip("%") for key in ("maxSurge", "maxUnavailable")] == ["0", "0"]:
        text = "may not be 0 if maxSurge is 0: the update could never begin"
        yield told(f"{path}.strategy.rollingUpdate.maxUnavailable", "K8S-VALUE", text, "Raise one of them.", 0)
    ready, deadline = spec.get("minReadySeconds", 0), spec.get("progressDeadlineSeconds", 600)
    if isinstance(ready, int) and isinstance(deadline, int) and deadline <= max(ready, 0):
        yield told(f"{path}.progressDeadlineSeconds", "K8S-VALUE", "must be more than minReadySeconds", "", deadline)


def service(spec: Value, path: str) -> t.Iterator[Finding]:
    """Ports of a Service, and what only some types have."""
    kind, ports = spec.get("type") or "ClusterIP", mappings(spec.get("ports"))
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        yield told(f"{path}.ports", "K8S-REQUIRED", "needs a port", "Add one.")
    if kind == "ExternalName" and not spec.get("externalName"):
        yield told(f"{path}.externalName", "K8S-REQUIRED", "is needed by type ExternalName", "Set it.")
    if kind not in ("NodePort", "LoadBalancer") and spec.get("externalTrafficPolicy"):
        yield told(f"{path}.externalTrafficPolicy", "K8S-TOGETHER", f"is not for type {kind}", "Remove it.")
    marks: list[t.Any] = []
    for index, port in enumerate(ports):
        place, mark = f"{path}.ports[{index}]", (port.get("port"), port.get("protocol") or "TCP")
        if len(ports) > 1 and not port.get("name"):
            yield told(f"{place}.name", "K8S-REQUIRED", "is needed if there are several ports", "Set it.")
        if mark in marks or port.get("name") and port["name"] in [item.get("name") for item in ports[:index]]:
            yield told(place, "K8S-TWIN", "a previous port has this number or name", "", port.get("port"))
        marks.append(mark)
        if port.get("nodePort") and kind == "ClusterIP":
            text = "a Service of the type ClusterIP has no port on nodes"
            yield told(f"{place}.nodePort", "K8S-TOGETHER", text, "Set type NodePort.", port["nodePort"])


def budget(spec: Value, path: str) -> t.Iterator[Finding]:
    """One of two numbers."""
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield told(path, "K8S-TOGETHER", "minAvailable and maxUnavailable exclude each other", "Remove one of them.")


def peer(value: Value, path: str) -> t.Iterator[Finding]:
    """What a peer of a NetworkPolicy is: a network, or pods."""
    given = [key for key in value if value[key] is not None]
    if not given:
        yield told(path, "K8S-TOGETHER", f"{path.rpartition('.')[2]} is empty", "Set a selector or ipBlock.")
    if "ipBlock" in given and len(given) > 1:
        yield told(path, "K8S-TOGETHER", "a peer has either ipBlock or selectors", "", ", ".join(given))


def block(value: Value, path: str) -> t.Iterator[Finding]:
    """Exceptions lie in the network."""
    whole = str(value.get("cidr"))
    for index, text in enumerate(listed(value.get("except"))):
        if is_network(whole) and is_network(str(text)):
            inner, outer = ipaddress.ip_network(text, strict=False), ipaddress.ip_network(whole, strict=False)
            if inner.version != outer.version or not inner.subnet_of(outer) or inner == outer:  # type: ignore[arg-type]
                yield told(f"{path}.except[{index}]", "K8S-VALUE", f"is no part of {whole}", "", text)


def policy_port(value: Value, path: str) -> t.Iterator[Finding]:
    """A range of ports has a first number, which is not above the last."""
    first, last = value.get("port"), value.get("endPort")
    if isinstance(last, int) and not (isinstance(first, int) and first <= last):
        yield told(f"{path}.endPort", "K8S-TOGETHER", "must be at least port, which must be a number", "", last)


def config_map(value: Value, path: str) -> t.Iterator[Finding]:
    """Keys of a ConfigMap, and its size."""
    data, more = mapping(value.get("data")), mapping(value.get("binaryData"))
    for key in (*data, *more):
        if not re.fullmatch(r"[-.\w]{1,253}", str(key), re.ASCII) or key in (".", "..") or str(key).startswith(".."):
            yield told(f"{path}.data[{key}]", "K8S-NAME", "a key has letters, digits, '-', '_' and '.' only", "", key)
    for key in set(data) & set(more):
        yield told(f"{path}.binaryData[{key}]", "K8S-TWIN", "data has this key, too", "Rename it.", key)
    size = sum(len(str(text).encode()) for text in (*data.values(), *more.values()))
    if size > LARGEST_MAP:
        yield told(f"{path}.data", "K8S-LENGTH", f"has {size} bytes; the maximum is {LARGEST_MAP}", "Shorten it.")


RULES: dict[str, t.Callable[[Value, str], t.Iterator[Finding]]] = {
    "PodSpec": pods.pod_spec,
    "EnvVar": pods.env,
    "Toleration": pods.toleration,
    "LabelSelectorRequirement": pods.requirement,
    "NodeSelectorRequirement": pods.requirement,
    "SeccompProfile": pods.profile,
    "AppArmorProfile": pods.profile,
    "SecurityContext": pods.privileges,
    "DeploymentSpec": deployment,
    "ServiceSpec": service,
    "PodDisruptionBudgetSpec": budget,
    "NetworkPolicyPeer": peer,
    "IPBlock": block,
    "NetworkPolicyPort": policy_port,
    "ConfigMap": config_map,
}
