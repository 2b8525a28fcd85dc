# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates of pods: what server and webhook accept in a ModelServing although its pods are never created, without an event.

Observed on Kubernetes 1.36 with Kthena v1.0.0. The fields that descriptions of deployments usually change are judged here; the content of
all others is left to the server, which the role asks in a dry run of a pod of each template.
"""

from __future__ import annotations

import re
import typing as t

from .....module_utils.kubernetes.quantity import is_quantity, quantity
from ....description.findings import Finding
from .walk import FIELDS, SILENT, mapping, mappings, violation, walk

LEAST_MEMORY = 2**20  # bytes, below which no program starts
WITH_MODE = ("configMap", "secret", "downwardAPI", "projected")
NATIVE = ("cpu", "memory", "ephemeral-storage")
# Of devices and huge pages: IsQualifiedName, and IsExtendedResourceName, which asks for a domain
RESOURCE = re.compile(r"hugepages-\w+|[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)


def pod_spec(spec: t.Any, path: str) -> t.Iterator[Finding]:
    """All violations in a pod's specification."""
    yield from walk(FIELDS["PodSpec"], spec, path)
    spec = mapping(spec)
    volumes = mappings(spec.get("volumes"))
    for index, volume in enumerate(volumes):
        yield from _volume(volume, f"{path}.volumes[{index}]")
    names = {str(volume.get("name")) for volume in volumes}
    for group in ("initContainers", "containers"):
        for index, container in enumerate(mappings(spec.get(group))):
            place = f"{path}.{group}[{index}]"
            yield from _image(container.get("image"), f"{place}.image")
            for number, port in enumerate(mappings(container.get("ports"))):
                yield from _port(port, bool(spec.get("hostNetwork")), f"{place}.ports[{number}]")
            for number, mount in enumerate(mappings(container.get("volumeMounts"))):
                yield from _mount(mount.get("name"), names, f"{place}.volumeMounts[{number}].name")
            yield from _resources(mapping(container.get("resources")), f"{place}.resources")


def _volume(volume: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    for kind in WITH_MODE:
        mode = mapping(volume.get(kind)).get("defaultMode")
        if isinstance(mode, int) and not 0 <= mode <= 0o777:
            message = "a file mode must be a number from 0 to 511 (0777 in octal)"
            fix = "JSON and YAML 1.2 have no octal 0777: write 511 (0777), 493 (0755) or 420 (0644)."
            yield violation(f"{path}.{kind}.defaultMode", "POD-MODE", message, fix, mode, SILENT)

    size = mapping(volume.get("emptyDir")).get("sizeLimit")
    if size is not None and not is_quantity(size):
        fix = "Write a quantity such as 64Gi or 512M."
        yield violation(f"{path}.emptyDir.sizeLimit", "POD-VOLUME", f"'{size}' is not a quantity", fix, size, SILENT)
    yield from _memory(size, f"{path}.emptyDir.sizeLimit")


def _memory(size: t.Any, path: str) -> t.Iterator[Finding]:
    """A number without a unit counts bytes."""
    if size is not None and is_quantity(size) and quantity(size) < LEAST_MEMORY:
        message = f"'{size}' means {float(quantity(size)):g} bytes, less than 1Mi"
        yield violation(path, "POD-MEMORY", message, "Write a number with a unit, such as 64Gi.", size, SILENT)


def _image(image: t.Any, path: str) -> t.Iterator[Finding]:
    if re.search(r"\s", str(image)):
        message = "the image's name contains spaces"
        yield violation(path, "POD-IMAGE", message, "Correct the name.", image, "Kthena's webhook")


def _port(port: t.Mapping[str, t.Any], host_network: bool, path: str) -> t.Iterator[Finding]:
    number, host = port.get("containerPort"), port.get("hostPort")
    for key in ("containerPort", "hostPort"):
        if isinstance(port.get(key), int) and not (key == "containerPort") <= port[key] <= 65535:
            message = "a port must be a number from 1 to 65535"
            yield violation(f"{path}.{key}", "POD-PORT", message, "Choose a port in that range.", port[key], SILENT)
    if host_network and host and host != number:
        message = f"must be the containerPort ({number}): the pod has the node's network"
        yield violation(f"{path}.hostPort", "POD-PORT", message, "Remove it.", host, SILENT)


def _mount(name: t.Any, volumes: t.Collection[str], path: str) -> t.Iterator[Finding]:
    if name and name not in volumes:
        known = f"Add it to volumes, or use one of: {', '.join(sorted(volumes))}."
        yield violation(path, "POD-VOLUME", "the pod has no volume of this name", known, name, SILENT)


def _resources(value: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """No request is above its limit; those of devices and huge pages are their limit."""
    limits, requests = mapping(value.get("limits")), mapping(value.get("requests"))
    for name in dict.fromkeys((*limits, *requests)):
        if name not in NATIVE and not RESOURCE.fullmatch(str(name)):
            message, fix = "no resource can have this name", "Write a name such as huawei.com/ascend-1980."
            yield violation(f"{path}[{name}]", "POD-RESOURCE", message, fix, name, SILENT)
    for kind in ("limits", "requests"):
        yield from _memory(mapping(value.get(kind)).get("memory"), f"{path}.{kind}[memory]")
    for name in requests:
        asked, most, place = requests[name], limits.get(name), f"{path}.requests[{name}]"
        if not is_quantity(asked) or not is_quantity(limits.get(name, 0)):
            continue
        if name not in NATIVE and (most is None or quantity(asked) != quantity(most)):
            limit = "there is no limit" if most is None else f"the limit is {most}"
            message = f"{name} cannot be overcommitted: request and limit must be equal, but {limit}"
            yield violation(place, "POD-RESOURCE", message, f"Set limits[{name}] to {asked}.", asked, SILENT)
        elif most is not None and quantity(asked) > quantity(most):
            message = f"is more than the limit of {most}"
            yield violation(place, "POD-RESOURCE", message, "Lower the request or raise the limit.", asked, SILENT)
