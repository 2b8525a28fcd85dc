# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of pods beyond the types of fields.

The CRD of ModelServing does not check these in a role's template: server and webhook accept the object, and its pods
are never created, without an event (observed on Kubernetes 1.36 with Kthena v1.0.0). So the common ones are checked here; for
all others the role asks the server, in a dry run of a pod of each template.
"""

from __future__ import annotations

import typing as t

from ....description.findings import Finding
from . import container_rules, volume_rules
from .names import labels
from .parts import chosen, count, mapped
from .walk import SILENT, violation


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
    yield from count(spec, "terminationGracePeriodSeconds", 0, path)
    for index, entry in enumerate(mapped(spec.get("topologySpreadConstraints"))):
        yield from count(entry, "maxSkew", 1, f"{path}.topologySpreadConstraints[{index}]")
    for index, entry in enumerate(mapped(spec.get("tolerations"))):
        if entry.get("operator") == "Exists" and entry.get("value"):
            place, message = f"{path}.tolerations[{index}].value", "must be empty if the operator is Exists"
            yield violation(place, "POD-TOLERATION", message, "Remove it.", entry["value"], SILENT)


def _affinity(value: t.Any, path: str) -> t.Iterator[Finding]:
    for kind in ("podAffinity", "podAntiAffinity") if isinstance(value, t.Mapping) else ():
        both = value.get(kind)
        required = both.get("requiredDuringSchedulingIgnoredDuringExecution") if isinstance(both, t.Mapping) else None
        for index, term in enumerate(mapped(required)):
            if not term.get("topologyKey"):
                place = f"{path}.{kind}.requiredDuringSchedulingIgnoredDuringExecution[{index}].topologyKey"
                message, fix = "must not be empty", "E.g. kubernetes.io/hostname."
                yield violation(place, "POD-AFFINITY", message, fix, source=SILENT)
