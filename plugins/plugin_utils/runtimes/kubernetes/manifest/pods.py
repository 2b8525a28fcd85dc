# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server says of a pod's fields together. Sizes of memory below 1Mi are a rule of our own.

Left to the server's dry run: what its admission plugins know (service accounts, classes, quotas), volumes of other storage than nodes, claims,
ConfigMaps and Secrets, Windows, ephemeral containers, and resources of the whole pod.
"""

from __future__ import annotations

import re
import typing as t

from .....module_utils.kubernetes.quantity import is_quantity, quantity
from ....description.findings import Finding
from .formats import RULE
from .walk import listed, mapping, mappings, violation

LEAST_MEMORY = 2**20  # bytes, below which no program starts
# Of devices and huge pages: IsQualifiedName, and IsExtendedResourceName, which asks for a domain
RESOURCE = re.compile(r"hugepages-\w+|[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
NATIVE = ("cpu", "memory", "ephemeral-storage")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
# How many of a definition's fields may be set: all fields but these, exactly one or at most one
CHOICES = {
    "Probe": (HANDLERS, True),
    "LifecycleHandler": (HANDLERS, True),
    "EnvVarSource": ((), True),
    "EnvFromSource": (("configMapRef", "secretRef"), True),
    "VolumeProjection": ((), True),
    "Volume": ((), False),
}
Value = t.Mapping[str, t.Any]


def told(path: str, rule: str, problem: str, fix: str = "", value: t.Any = "") -> Finding:
    """A violation that only the API server's validation knows."""
    return violation(path, rule, problem, fix, value, RULE)


def choice(name: str, value: Value, path: str) -> t.Iterator[Finding]:
    """One of several fields must be set, and no two."""
    fields, is_needed = CHOICES.get(name, ((), False))
    given = [key for key in value if value[key] is not None and (key in fields if fields else key != "name")]
    if name in CHOICES and (len(given) > 1 or is_needed and not given):
        what = ", ".join(given) or "none"
        known = f"Set one of: {', '.join(fields)}." if fields else "Keep one of them."
        yield told(path, "K8S-TOGETHER", f"needs exactly one of its kinds, and has {what}", known, what)


def _memory(size: t.Any, path: str) -> t.Iterator[Finding]:
    """A number without a unit counts bytes."""
    if size is not None and is_quantity(size) and 0 <= quantity(size) < LEAST_MEMORY:
        message = f"'{size}' means {float(quantity(size)):g} bytes, less than 1Mi"
        yield told(path, "POD-MEMORY", message, "Write a number with a unit, such as 64Gi.", size)


def env(value: Value, path: str) -> t.Iterator[Finding]:
    """A variable has a value or a source."""
    if value.get("value") and value.get("valueFrom"):
        yield told(f"{path}.valueFrom", "K8S-TOGETHER", "may not be set together with value", "Remove one of them.")


def toleration(value: Value, path: str) -> t.Iterator[Finding]:
    """Operator, value and effect of a toleration."""
    operator = value.get("operator") or "Equal"
    if operator == "Exists" and value.get("value"):
        yield told(f"{path}.value", "K8S-TOGETHER", "must be empty with operator Exists", "Remove it.", value["value"])
    if operator != "Exists" and not value.get("key"):
        yield told(f"{path}.operator", "K8S-TOGETHER", "must be Exists if there is no key", "Set the key.", operator)
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        yield told(
            f"{path}.effect", "K8S-TOGETHER", "must be NoExecute with tolerationSeconds", "", value.get("effect")
        )


def requirement(value: Value, path: str) -> t.Iterator[Finding]:
    """Operators of selectors and their values."""
    number = len(listed(value.get("values")))
    wanted = {"In": number > 0, "NotIn": number > 0, "Exists": not number, "DoesNotExist": not number}
    wanted.update(Gt=number == 1, Lt=number == 1)
    if not wanted.get(str(value.get("operator")), True):
        text = f"{value['operator']} does not fit {number} values"
        yield told(
            f"{path}.values", "K8S-TOGETHER", text, "In and NotIn need values, Exists and DoesNotExist have none."
        )


def profile(value: Value, path: str) -> t.Iterator[Finding]:
    """A profile of the node has a name, and others have none."""
    if (value.get("type") == "Localhost") != bool(value.get("localhostProfile")):
        yield told(f"{path}.localhostProfile", "K8S-TOGETHER", "must be set with type Localhost, and only then")


def privileges(value: Value, path: str) -> t.Iterator[Finding]:
    """A privileged container cannot be kept from more privileges."""
    admin = {"SYS_ADMIN", "CAP_SYS_ADMIN"} & set(map(str, listed(mapping(value.get("capabilities")).get("add"))))
    if value.get("allowPrivilegeEscalation") is False and (value.get("privileged") is True or admin):
        text = "cannot be false in a container that is privileged or has SYS_ADMIN"
        yield told(f"{path}.allowPrivilegeEscalation", "K8S-TOGETHER", text, "Remove one of them.")


def pod_spec(spec: Value, path: str) -> t.Iterator[Finding]:
    """All violations of what a pod's parts say together."""
    volumes = mappings(spec.get("volumes"))
    known, names, ports = {str(volume.get("name")) for volume in volumes}, set(), set()
    dns, servers = spec.get("dnsPolicy"), listed(mapping(spec.get("dnsConfig")).get("nameservers"))
    if (dns == "None" and not servers) or len(servers) > 3:
        yield told(
            f"{path}.dnsConfig.nameservers", "K8S-COUNT", "must have 1 to 3 items with dnsPolicy None, else at most 3"
        )
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        yield told(f"{path}.shareProcessNamespace", "K8S-TOGETHER", "excludes hostPID", "Remove one of them.")
    for index, volume in enumerate(volumes):
        yield from _memory(
            mapping(volume.get("emptyDir")).get("sizeLimit"), f"{path}.volumes[{index}].emptyDir.sizeLimit"
        )
    for group in ("initContainers", "containers"):
        for index, container in enumerate(mappings(spec.get(group))):
            place, name = f"{path}.{group}[{index}]", str(container.get("name"))
            if name in names and name not in [str(item.get("name")) for item in mappings(spec.get(group))[:index]]:
                yield told(f"{place}.name", "K8S-TWIN", "another container has this name", "Rename it.", name)
            names.add(name)
            yield from _container(container, known, place)
            for number, port in enumerate(mappings(container.get("ports"))):
                where = f"{place}.ports[{number}]"
                yield from _port(port, bool(spec.get("hostNetwork")), where)
                taken = port.get("containerPort") if spec.get("hostNetwork") else port.get("hostPort")
                mark = (str(taken), str(port.get("protocol") or "TCP"), str(port.get("hostIP") or ""))
                if taken and group == "containers" and mark in ports:
                    yield told(where, "K8S-TWIN", "another container takes this port of the node", "", taken)
                ports |= {mark} if group == "containers" else set()
            for number, claim in enumerate(mappings(mapping(container.get("resources")).get("claims"))):
                if claim.get("name") not in [item.get("name") for item in mappings(spec.get("resourceClaims"))]:
                    where = f"{place}.resources.claims[{number}].name"
                    yield told(where, "POD-RESOURCE", "is none of resourceClaims", "", claim.get("name"))


def _port(port: Value, host_network: bool, path: str) -> t.Iterator[Finding]:
    number, host = port.get("containerPort"), port.get("hostPort")
    if host_network and host and host != number:
        message = f"must be the containerPort ({number}): the pod has the node's network"
        yield told(f"{path}.hostPort", "POD-PORT", message, "Remove it.", host)


def _container(container: Value, volumes: t.Collection[str], path: str) -> t.Iterator[Finding]:
    yield from _resources(mapping(container.get("resources")), f"{path}.resources")
    for word in ("livenessProbe", "startupProbe"):
        successes = mapping(container.get(word)).get("successThreshold", 1)
        if isinstance(successes, int) and successes > 1:
            yield told(f"{path}.{word}.successThreshold", "K8S-VALUE", "must be 1", "Remove it.", successes)
    names: list[t.Any] = []
    for index, port in enumerate(mappings(container.get("ports"))):
        if port.get("name") and port["name"] in names:
            yield told(f"{path}.ports[{index}].name", "K8S-TWIN", "another port has this name", "", port["name"])
        names.append(port.get("name"))
    privileged = mapping(container.get("securityContext")).get("privileged") is True
    for index, mount in enumerate(mappings(container.get("volumeMounts"))):
        place, name = f"{path}.volumeMounts[{index}]", mount.get("name")
        if name and str(name) not in volumes:
            hint = f"Add it to volumes, or use one of: {', '.join(sorted(volumes))}."
            yield told(f"{place}.name", "POD-VOLUME", "the pod has no volume of this name", hint, name)
        if mount.get("subPath") and mount.get("subPathExpr"):
            yield told(f"{place}.subPathExpr", "K8S-TOGETHER", "excludes subPath", "Remove one of them.")
        if mount.get("mountPropagation") == "Bidirectional" and not privileged:
            yield told(f"{place}.mountPropagation", "K8S-TOGETHER", "is only for privileged containers")


def _resources(value: Value, path: str) -> t.Iterator[Finding]:
    """No request is above its limit; those of devices and huge pages are their limit."""
    limits, requests = mapping(value.get("limits")), mapping(value.get("requests"))
    for kind, amounts in (("limits", limits), ("requests", requests)):
        yield from _memory(amounts.get("memory"), f"{path}.{kind}[memory]")
        for name, amount in amounts.items():
            place, number = f"{path}.{kind}[{name}]", quantity(amount) if is_quantity(amount) else 0
            if name not in NATIVE and not RESOURCE.fullmatch(str(name)):
                message, fix = "no resource can have this name", "Write a name such as huawei.com/ascend-1980."
                yield told(place, "POD-RESOURCE", message, fix, name)
            elif number < 0 or name not in NATIVE and number % 1:
                yield told(place, "POD-RESOURCE", "must not be negative, and of devices a whole number", "", amount)
    huge = any(str(name).startswith("hugepages-") for name in (*limits, *requests))
    if huge and not {"cpu", "memory"} & {*limits, *requests}:
        yield told(path, "POD-RESOURCE", "huge pages need a limit or request of cpu or memory", "Set one.")
    for name in requests:
        asked, most, place = requests[name], limits.get(name), f"{path}.requests[{name}]"
        if not is_quantity(asked) or not is_quantity(limits.get(name, 0)):
            continue
        if name not in NATIVE and (most is None or quantity(asked) != quantity(most)):
            limit = "there is no limit" if most is None else f"the limit is {most}"
            message = f"{name} cannot be overcommitted: request and limit must be equal, but {limit}"
            yield told(place, "POD-RESOURCE", message, f"Set limits[{name}] to {asked}.", asked)
        elif most is not None and quantity(asked) > quantity(most):
            yield told(
                place,
                "POD-RESOURCE",
                f"is more than the limit of {most}",
                "Lower the request or raise the limit.",
                asked,
            )
