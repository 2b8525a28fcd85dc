# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of pods beyond the types of fields.

The CRD of ModelServing does not check these in a role's template: server and webhook accept the object, and its pods
are never created, without an event (observed on Kubernetes 1.36 with Kthena v1.0.0). So they are checked here.
"""

from __future__ import annotations

import typing as t

from ....description.findings import Finding
from . import container_rules, volume_rules
from .names import is_label, is_qualified, is_subdomain, labels
from .parts import chosen, count, listed, mapped
from .walk import SILENT, violation

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def pod_spec(spec: t.Any, path: str) -> t.Iterator[Finding]:
    """All violations in a pod's specification."""
    if not isinstance(spec, t.Mapping):
        return
    volumes = mapped(spec.get("volumes"))
    names = {volume.get("name") for volume in volumes}
    for index, volume in enumerate(volumes):
        yield from volume_rules.volume(volume, f"{path}.volumes[{index}]")
    if isinstance(spec.get("containers"), list) and not spec["containers"]:
        yield violation(f"{path}.containers", "POD-CONTAINER", "the pod has no container", "Add one.", source=SILENT)
    seen: set[str] = set()
    for group in ("initContainers", "containers"):
        for index, container in enumerate(mapped(spec.get(group))):
            place = f"{path}.{group}[{index}]"
            if container.get("name") in seen:
                message = "another container of the pod has this name"
                yield violation(f"{place}.name", "K8S-TWIN", message, "Rename it.", container["name"], SILENT)
            seen.add(str(container.get("name")))
            yield from container_rules.container(container, place, names, bool(spec.get("hostNetwork")))
    yield from _host_ports(spec, path)
    yield from _fields(spec, path)
    yield from labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    for index, entry in enumerate(mapped(spec.get("tolerations"))):
        yield from _toleration(entry, f"{path}.tolerations[{index}]")
    yield from _affinity(spec.get("affinity"), f"{path}.affinity")


def _host_ports(spec: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """Two containers of a pod must not use the same port of the node."""
    owner: dict[tuple[t.Any, ...], str] = {}
    for index, container in enumerate(mapped(spec.get("containers"))):
        for number, port in enumerate(mapped(container.get("ports"))):
            place = f"{path}.containers[{index}].ports[{number}]"
            bound = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") else None)
            key = (bound, port.get("protocol") or "TCP", port.get("hostIP") or "")
            if bound and key in owner:
                message = f"{owner[key]} already uses this port of the node"
                yield violation(place, "POD-PORT", message, "Choose another port.", bound, SILENT)
            owner.setdefault(key, place)


def _fields(spec: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    yield from chosen(spec, "restartPolicy", ("Always", "OnFailure", "Never"), path)
    yield from chosen(spec, "dnsPolicy", ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"), path)
    yield from chosen(spec, "preemptionPolicy", ("PreemptLowerPriority", "Never"), path)
    yield from count(spec, "terminationGracePeriodSeconds", 0, path)
    yield from count(spec, "activeDeadlineSeconds", 1, path)
    for key in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        word = spec.get(key)
        if isinstance(word, str) and word and not is_subdomain(word):
            yield violation(f"{path}.{key}", "K8S-NAME", "is not a DNS subdomain (RFC 1123)", "", word, SILENT)
    for key in ("hostname", "subdomain"):
        word = spec.get(key)
        if isinstance(word, str) and word and not is_label(word):
            yield violation(f"{path}.{key}", "K8S-NAME", "is not a DNS label (RFC 1123)", "", word, SILENT)
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        message = "must not be set together with hostPID"
        yield violation(f"{path}.shareProcessNamespace", "POD-FIELD", message, "Remove one of them.", source=SILENT)
    if spec.get("hostUsers") is False and any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")):
        message = "must not be false when the pod uses the node's network, processes or IPC"
        yield violation(f"{path}.hostUsers", "POD-FIELD", message, "Remove it.", source=SILENT)
    dns = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None" and not (isinstance(dns, t.Mapping) and dns.get("nameservers")):
        message = "needs a name server when dnsPolicy is None"
        yield violation(f"{path}.dnsConfig.nameservers", "POD-FIELD", message, "Add one.", source=SILENT)
    for index, entry in enumerate(listed(spec.get("topologySpreadConstraints"))):
        place = f"{path}.topologySpreadConstraints[{index}]"
        if isinstance(entry, t.Mapping):
            yield from chosen(entry, "whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"), place)
            yield from count(entry, "maxSkew", 1, place)
    for index, entry in enumerate(mapped(spec.get("imagePullSecrets"))):
        if not entry.get("name"):
            place = f"{path}.imagePullSecrets[{index}].name"
            yield violation(place, "K8S-REQUIRED", "this field is required", "Set the secret's name.", source=SILENT)


def _toleration(entry: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    operator = entry.get("operator") or "Equal"
    yield from chosen(entry, "operator", ("Equal", "Exists", "Lt", "Gt"), path)
    yield from chosen(entry, "effect", EFFECTS, path)
    if entry.get("key") and not is_qualified(str(entry["key"])):
        yield violation(f"{path}.key", "K8S-NAME", "is not a qualified name", value=entry["key"], source=SILENT)
    if not entry.get("key") and operator != "Exists":
        message = "must be Exists if there is no key"
        yield violation(f"{path}.operator", "POD-TOLERATION", message, "", operator, SILENT)
    if operator == "Exists" and entry.get("value"):
        message = "must be empty if the operator is Exists"
        yield violation(f"{path}.value", "POD-TOLERATION", message, "Remove it.", entry["value"], SILENT)
    if entry.get("tolerationSeconds") is not None and entry.get("effect") != "NoExecute":
        message = "is valid only for the effect NoExecute"
        yield violation(f"{path}.tolerationSeconds", "POD-TOLERATION", message, "Remove it.", source=SILENT)


def _affinity(value: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(value, t.Mapping):
        return
    for kind in ("podAffinity", "podAntiAffinity"):
        both = value.get(kind)
        if not isinstance(both, t.Mapping):
            continue
        for index, term in enumerate(mapped(both.get("requiredDuringSchedulingIgnoredDuringExecution"))):
            place = f"{path}.{kind}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
            yield from _term(term, place)
        for index, weighted in enumerate(mapped(both.get("preferredDuringSchedulingIgnoredDuringExecution"))):
            place = f"{path}.{kind}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            yield from count(weighted, "weight", 1, place, 100)
            yield from _term(weighted.get("podAffinityTerm"), f"{place}.podAffinityTerm")
    yield from _node_affinity(value.get("nodeAffinity"), f"{path}.nodeAffinity")


def _term(term: t.Any, path: str) -> t.Iterator[Finding]:
    if isinstance(term, t.Mapping) and not term.get("topologyKey"):
        message = "must not be empty"
        yield violation(f"{path}.topologyKey", "POD-AFFINITY", message, "E.g. kubernetes.io/hostname.", source=SILENT)


def _node_affinity(value: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(value, t.Mapping):
        return
    required = value.get("requiredDuringSchedulingIgnoredDuringExecution")
    place = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
    if isinstance(required, t.Mapping):
        if not required.get("nodeSelectorTerms"):
            message = "needs a term"
            yield violation(f"{place}.nodeSelectorTerms", "POD-AFFINITY", message, "Add one.", source=SILENT)
        for index, term in enumerate(mapped(required.get("nodeSelectorTerms"))):
            yield from _expressions(term, f"{place}.nodeSelectorTerms[{index}]")
    for index, weighted in enumerate(mapped(value.get("preferredDuringSchedulingIgnoredDuringExecution"))):
        spot = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        yield from count(weighted, "weight", 1, spot, 100)
        yield from _expressions(weighted.get("preference"), f"{spot}.preference")


def _expressions(term: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(term, t.Mapping):
        return
    for index, entry in enumerate(mapped(term.get("matchExpressions"))):
        place = f"{path}.matchExpressions[{index}]"
        yield from chosen(entry, "operator", ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"), place)
        if entry.get("operator") in ("In", "NotIn") and not entry.get("values"):
            yield violation(f"{place}.values", "POD-AFFINITY", "needs a value", "Add one.", source=SILENT)
        if entry.get("operator") in ("Exists", "DoesNotExist") and entry.get("values"):
            yield violation(f"{place}.values", "POD-AFFINITY", "must be empty", "Remove it.", source=SILENT)
