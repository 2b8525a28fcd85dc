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
from .walk import ANY, BOOL, INT, QUANTITY, SILENT, STR, Mapping, Sequence, mapping, mappings, struct, violation, walk

PORT = struct("containerPort", "hostIP name protocol", containerPort=INT, hostPort=INT)
CONTAINER = struct(
    "name",
    "args command envFrom image imagePullPolicy lifecycle livenessProbe readinessProbe resizePolicy restartPolicy restartPolicyRules "
    "securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices workingDir",
    env=Sequence(struct("name", "valueFrom", name=STR, value=STR), "name"),
    ports=Sequence(PORT),
    resources=struct(left="claims", limits=Mapping(QUANTITY), requests=Mapping(QUANTITY)),
    volumeMounts=Sequence(
        struct("mountPath name", "mountPropagation readOnly recursiveReadOnly subPath subPathExpr"), "mountPath"
    ),
)
POD_SPEC = struct(
    "containers",
    "activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases hostIPC "
    "hostPID hostUsers hostname hostnameOverride imagePullSecrets nodeName os overhead preemptionPolicy priority priorityClassName "
    "readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates securityContext serviceAccount "
    "serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints",
    containers=Sequence(CONTAINER, "name"),
    hostNetwork=BOOL,
    initContainers=Sequence(CONTAINER, "name"),
    nodeSelector=Mapping(STR),
    volumes=Sequence(Mapping(ANY), "name"),
)
WITH_MODE = ("configMap", "secret", "downwardAPI", "projected")
NATIVE = ("cpu", "memory", "ephemeral-storage")


def pod_spec(spec: t.Any, path: str) -> t.Iterator[Finding]:
    """All violations in a pod's specification."""
    yield from walk(POD_SPEC, spec, path)
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
    sources = [key for key in volume if key != "name" and volume[key] is not None]
    if len(sources) > 1:  # without a source it is an emptyDir
        message = f"a volume must have one source, but this one has {', '.join(sources)}"
        yield violation(path, "POD-VOLUME", message, "Keep one of them.", source=SILENT)
    for kind in WITH_MODE:
        mode = mapping(volume.get(kind)).get("defaultMode")
        if isinstance(mode, int) and not 0 <= mode <= 0o777:
            message = "a file mode must be a number from 0 to 511 (0777 in octal)"
            fix = "JSON and YAML 1.2 have no octal 0777: write 511 (0777), 493 (0755) or 420 (0644)."
            yield violation(f"{path}.{kind}.defaultMode", "POD-MODE", message, fix, mode, SILENT)


def _image(image: t.Any, path: str) -> t.Iterator[Finding]:
    if not image:
        yield violation(path, "POD-IMAGE", "the container has no image", "Set an image.", source=SILENT)
    elif re.search(r"\s", str(image)):
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
    limits, requests = mapping(value.get("limits")), mapping(value.get("requests"))
    for side, amounts in (("limits", limits), ("requests", requests)):
        for name in amounts:
            if "/" not in name and name not in NATIVE and not name.startswith("hugepages-"):
                fix = (
                    "Use cpu, memory, ephemeral-storage, hugepages-SIZE, or a device plugin's name such as DOMAIN/NAME."
                )
                place, message = f"{path}.{side}[{name}]", "is not a resource of containers"
                yield violation(place, "POD-RESOURCE", message, fix, name, SILENT)
    for name in requests:
        if is_quantity(requests[name]) and is_quantity(limits.get(name, 0)):
            yield from _request(name, requests[name], limits.get(name), f"{path}.requests[{name}]")


def _request(name: str, asked: t.Any, most: t.Any, path: str) -> t.Iterator[Finding]:
    is_whole = name not in NATIVE  # devices and huge pages
    if is_whole and (most is None or quantity(asked) != quantity(most)):
        limit = "there is no limit" if most is None else f"the limit is {most}"
        message = f"{name} cannot be overcommitted: request and limit must be equal, but {limit}"
        yield violation(path, "POD-RESOURCE", message, f"Set limits[{name}] to {asked}.", asked, SILENT)
    elif most is not None and quantity(asked) > quantity(most):
        message = f"is more than the limit of {most}"
        yield violation(path, "POD-RESOURCE", message, "Lower the request or raise the limit.", asked, SILENT)
