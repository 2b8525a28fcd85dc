# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers: ports, environment, mounts, probes, resources."""

from __future__ import annotations

import re
import typing as t

from .....module_utils.kubernetes.quantity import is_quantity, quantity
from ....description.findings import Finding
from .names import is_label, is_qualified
from .parts import chosen, count, listed, mapped, port
from .walk import SILENT, violation

FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
KEYED_FIELD = re.compile(r"metadata\.(labels|annotations)\['[^']+'\]")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
NATIVE = ("cpu", "memory", "ephemeral-storage")


def container(
    value: t.Mapping[str, t.Any], path: str, volumes: t.Collection[t.Any], host_network: bool
) -> t.Iterator[Finding]:
    """All violations in one container; ``volumes`` are the pod's volume names."""
    name, image = value.get("name"), value.get("image")
    if isinstance(name, str) and not is_label(name):
        fix = "Use at most 63 lower-case letters, digits and '-'."
        yield violation(f"{path}.name", "K8S-NAME", "is not a DNS label (RFC 1123)", fix, name, SILENT)
    if not image:
        yield violation(f"{path}.image", "POD-IMAGE", "the container has no image", "Set an image.", source=SILENT)
    elif isinstance(image, str) and re.search(r"\s", image):
        message = "the image's name contains spaces"
        yield violation(f"{path}.image", "POD-IMAGE", message, "Correct the name.", image, "Kthena's webhook")
    yield from chosen(value, "imagePullPolicy", ("Always", "IfNotPresent", "Never"), path)
    yield from _ports(value, path, host_network)
    for index, entry in enumerate(mapped(value.get("env"))):
        yield from _variable(entry, f"{path}.env[{index}]")
    for index, entry in enumerate(mapped(value.get("volumeMounts"))):
        yield from _mount(entry, f"{path}.volumeMounts[{index}]", volumes)
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(value.get(kind), t.Mapping):
            yield from _probe(value[kind], f"{path}.{kind}", kind)
    yield from _resources(value.get("resources"), f"{path}.resources")
    yield from _security(value.get("securityContext"), f"{path}.securityContext")


def _ports(value: t.Mapping[str, t.Any], path: str, host_network: bool) -> t.Iterator[Finding]:
    names: set[str] = set()
    for index, entry in enumerate(mapped(value.get("ports"))):
        place = f"{path}.ports[{index}]"
        yield from port(entry, "containerPort", place)
        yield from port(entry, "hostPort", place, 0)
        yield from chosen(entry, "protocol", ("TCP", "UDP", "SCTP"), place)
        host = entry.get("hostPort")
        if host_network and host and host != entry.get("containerPort"):
            message = f"must be the containerPort ({entry.get('containerPort')}): the pod has the node's network"
            yield violation(f"{place}.hostPort", "POD-PORT", message, "Remove it.", host, SILENT)
        name = entry.get("name")
        if isinstance(name, str) and name:
            yield from _port_name(name, f"{place}.name")
            if name in names:
                yield violation(f"{place}.name", "K8S-TWIN", "another port has this name", "Rename it.", name, SILENT)
            names.add(name)


def _port_name(name: str, path: str) -> t.Iterator[Finding]:
    good = re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?", name) and re.search("[a-z]", name) and "--" not in name
    if not good:
        fix = "Use at most 15 lower-case letters, digits and single '-', one letter at least."
        yield violation(path, "POD-PORT", "is not a port name (RFC 6335)", fix, name, SILENT)


def _variable(entry: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    name, source = entry.get("name"), entry.get("valueFrom")
    if name == "" or (isinstance(name, str) and re.search(r"[=\x00-\x1f\x7f]", name)):
        yield violation(f"{path}.name", "POD-ENV", "is not a valid environment variable name", "", name, SILENT)
    if not isinstance(source, t.Mapping):
        return
    if entry.get("value"):
        yield violation(path, "POD-ENV", "has both value and valueFrom", "Keep one of them.", name, SILENT)
    kinds = [key for key in source if source[key] is not None]
    if len(kinds) != 1:
        message = f"must have exactly one source, but has {', '.join(kinds) or 'none'}"
        yield violation(f"{path}.valueFrom", "POD-ENV", message, source=SILENT)
    field = source.get("fieldRef")
    word = field.get("fieldPath") if isinstance(field, t.Mapping) else None
    if isinstance(word, str) and word not in FIELDS and not KEYED_FIELD.fullmatch(word):
        fix = f"Allowed: {', '.join(FIELDS)}, metadata.labels['KEY'], metadata.annotations['KEY']."
        yield violation(f"{path}.valueFrom.fieldRef.fieldPath", "POD-ENV", "is not supported", fix, word, SILENT)


def _mount(entry: t.Mapping[str, t.Any], path: str, volumes: t.Collection[t.Any]) -> t.Iterator[Finding]:
    name = entry.get("name")
    if name and name not in volumes:
        known = f"Add it to volumes, or use one of: {', '.join(sorted(str(each) for each in volumes))}."
        yield violation(f"{path}.name", "POD-VOLUME", "the pod has no volume of this name", known, name, SILENT)
    inside = str(entry.get("subPath") or "")
    if inside.startswith("/") or ".." in inside.split("/"):
        message = "must be a relative path without '..'"
        yield violation(f"{path}.subPath", "POD-VOLUME", message, "", inside, SILENT)


def _probe(probe: t.Mapping[str, t.Any], path: str, kind: str) -> t.Iterator[Finding]:
    for key in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        yield from count(probe, key, 0, path)
    good = probe.get("successThreshold")
    if kind != "readinessProbe" and isinstance(good, int) and good not in (0, 1):
        yield violation(f"{path}.successThreshold", "POD-PROBE", "must be 1 in this probe", "", good, SILENT)
    kinds = [key for key in HANDLERS if probe.get(key) is not None]
    if len(kinds) != 1:
        message = f"has exactly one handler; this one has {', '.join(kinds) or 'none'}"
        yield violation(path, "POD-PROBE", message, "Keep one of exec, httpGet, tcpSocket, grpc.", source=SILENT)
    for kind in ("httpGet", "tcpSocket", "grpc"):
        if isinstance(probe.get(kind), t.Mapping):
            yield from port(probe[kind], "port", f"{path}.{kind}")


def _resources(value: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(value, t.Mapping):
        return
    sides = {side: value[side] for side in ("limits", "requests") if isinstance(value.get(side), t.Mapping)}
    for side, amounts in sides.items():
        for name in amounts:
            yield from _amount(str(name), amounts[name], f"{path}.{side}[{name}]")
    limits, requests = sides.get("limits", {}), sides.get("requests", {})
    for name in requests:
        asked, most = requests[name], limits.get(name)
        if not is_quantity(asked) or (most is not None and not is_quantity(most)):
            continue
        place, whole = f"{path}.requests[{name}]", _is_whole(str(name))
        if most is None and whole:
            message = f"{name} cannot be overcommitted: request and limit must be equal, but there is no limit"
            yield violation(place, "POD-RESOURCE", message, f"Set limits[{name}] to {asked}.", asked, SILENT)
        elif most is not None and whole and quantity(asked) != quantity(most):
            message = f"{name} cannot be overcommitted: request and limit must be equal, but the limit is {most}"
            yield violation(place, "POD-RESOURCE", message, f"Set the request to {most}, or remove it.", asked, SILENT)
        elif most is not None and quantity(asked) > quantity(most):
            message = f"is more than the limit of {most}"
            yield violation(place, "POD-RESOURCE", message, "Lower the request or raise the limit.", asked, SILENT)


def _is_whole(name: str) -> bool:
    """Extended resources and huge pages: whole numbers, request equal to limit."""
    return name.startswith("hugepages-") or ("/" in name and not name.startswith("kubernetes.io/"))


def _amount(name: str, value: t.Any, path: str) -> t.Iterator[Finding]:
    if not is_qualified(name) or ("/" not in name and name not in NATIVE and not name.startswith("hugepages-")):
        fix = "Use cpu, memory, ephemeral-storage, hugepages-SIZE, or a device plugin's name such as DOMAIN/NAME."
        yield violation(path, "POD-RESOURCE", "is not a resource of containers", fix, name, SILENT)
    if not is_quantity(value):
        return
    if quantity(value) < 0:
        yield violation(path, "POD-RESOURCE", "must not be negative", "", value, SILENT)
    if _is_whole(name) and quantity(value).denominator != 1:
        yield violation(path, "POD-RESOURCE", "must be a whole number", "", value, SILENT)


def _security(value: t.Any, path: str) -> t.Iterator[Finding]:
    if not isinstance(value, t.Mapping):
        return
    for key in ("runAsUser", "runAsGroup"):
        yield from count(value, key, 0, path)
    added = value.get("capabilities")
    strong = value.get("privileged") or (
        isinstance(added, t.Mapping)
        and {"SYS_ADMIN", "CAP_SYS_ADMIN"} & {str(item) for item in listed(added.get("add"))}
    )
    if strong and value.get("allowPrivilegeEscalation") is False:
        message = "may not be false in a container that is privileged or has SYS_ADMIN"
        yield violation(f"{path}.allowPrivilegeEscalation", "POD-FIELD", message, "Remove it.", source=SILENT)
