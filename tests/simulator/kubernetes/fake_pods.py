# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates pods for the errors that tests plant in templates; independent of the collection's rules."""

from __future__ import annotations

import re

from fake_store import Refused

PORT_NAME = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
HANDLERS = {"exec", "httpGet", "tcpSocket", "grpc"}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
SUFFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "m": 0.001, "k": 1e3, "M": 1e6, "G": 1e9}
PRIORITIES = ("system-cluster-critical", "system-node-critical")  # which every cluster has


def _container(container, where):
    """What the fields say that descriptions of deployments rarely change."""
    for place, port in enumerate(container.get("ports", [])):
        if not PORT_NAME.fullmatch(port.get("name", "x")):
            yield f"{where}.ports[{place}].name: Invalid value: must be no more than 15 characters"
    for place, mount in enumerate(container.get("volumeMounts", [])):
        if ".." in mount.get("subPath", "").split("/"):
            yield f"{where}.volumeMounts[{place}].subPath: Invalid value: must not contain '..'"
    for place, variable in enumerate(container.get("env", [])):
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "status.podIP")
        if field.startswith("status.") and field not in ("status.podIP", "status.hostIP"):
            yield f'{where}.env[{place}].valueFrom.fieldRef.fieldPath: Unsupported value: "{field}"'
    for probe in PROBES:
        if (
            probe in container
            and len(HANDLERS & {key for key in container[probe] if container[probe][key] is not None}) != 1
        ):
            yield f"{where}.{probe}: Required value: must specify a handler type"
    paths = [mount.get("mountPath") for mount in container.get("volumeMounts", [])]
    for place, path in enumerate(paths):
        if path in paths[:place]:
            yield f'{where}.volumeMounts[{place}].mountPath: Invalid value: "{path}": must be unique'


def admitted(store, namespace, pod):
    """What admission plugins do with a new pod: Refused in their words if its service account or priority class is not there."""
    start, spec = f'pods "{pod["metadata"]["name"]}" is forbidden: ', pod["spec"]
    account = spec.setdefault("serviceAccountName", "default")
    known = [item["metadata"]["name"] for item in store.list("serviceaccounts", namespace)]
    if namespace not in store.fresh:  # else its controller has not made the first one yet
        known.append("default")
    if account not in known:
        text = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        raise Refused(403, "Forbidden", start + text)
    name = spec.get("priorityClassName", "")
    known = [item["metadata"]["name"] for item in store.list("priorityclasses")]
    if name and name not in [*PRIORITIES, *known]:
        raise Refused(403, "Forbidden", f"{start}no PriorityClass with name {name} was found")
    within_standard(store, namespace, pod)
    within_quota(store, namespace, pod)


RESTRICTED = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


def within_standard(store, namespace, pod):
    """Pod Security admission, in its words: Refused if the pod breaks what the namespace's label enforces."""
    try:
        space = store.get("namespaces", "", namespace)
    except Refused:
        return
    level = (space["metadata"].get("labels") or {}).get("pod-security.kubernetes.io/enforce", "privileged")
    found = [] if level == "privileged" else list(_above_baseline(pod["spec"]))
    found += list(_above_restricted(pod["spec"])) if level == "restricted" else []
    if found:
        text = f'violates PodSecurity "{level}:latest": {", ".join(found)}'
        raise Refused(403, "Forbidden", f'pods "{pod["metadata"]["name"]}" is forbidden: {text}')


HARMLESS = {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"}
HARMLESS |= {"SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}


def _boxes(spec):
    return [*(spec.get("initContainers") or []), *spec["containers"]]


def _above_baseline(spec):
    host = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    if host:
        yield f"host namespaces ({', '.join(host)})"
    paths = [f'"{item["name"]}"' for item in spec.get("volumes", []) if "hostPath" in item]
    if paths:
        yield f"hostPath volumes (volumes {', '.join(paths)})"
    pod = spec.get("securityContext") or {}
    if pod.get("sysctls"):
        yield f"forbidden sysctls ({', '.join(item['name'] for item in pod['sysctls'])})"
    for box in _boxes(spec):
        own = box.get("securityContext") or {}
        added = sorted(set((own.get("capabilities") or {}).get("add") or []) - HARMLESS)
        if added:
            yield f'non-default capabilities (container "{box["name"]}" must not include {added} in securityContext.capabilities.add)'
        if own.get("procMount", "Default") != "Default":
            yield f'procMount (container "{box["name"]}" must not set securityContext.procMount to "{own["procMount"]}")'
        if (own.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type") == "Unconfined":
            yield f'seccompProfile (container "{box["name"]}" must not set securityContext.seccompProfile.type to "Unconfined")'
        ports = [str(port["hostPort"]) for port in box.get("ports", []) if port.get("hostPort")]
        if ports:
            yield f'hostPort (container "{box["name"]}" uses hostPorts {", ".join(ports)})'
        if own.get("privileged"):
            yield f'privileged (container "{box["name"]}" must not set securityContext.privileged=true)'


def _above_restricted(spec):
    pod = spec.get("securityContext") or {}
    kinds = [item["name"] for item in spec.get("volumes", []) if not any(kind in item for kind in RESTRICTED)]
    if kinds:
        yield f"restricted volume types (volumes {kinds})"
    for box in _boxes(spec):
        own, name = box.get("securityContext") or {}, f'container "{box["name"]}" must set securityContext.'
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"allowPrivilegeEscalation != false ({name}allowPrivilegeEscalation=false)"
        capabilities = own.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or []) or set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}:
            yield f'unrestricted capabilities ({name}capabilities.drop=["ALL"])'
        if not own.get("runAsNonRoot", pod.get("runAsNonRoot")):
            yield f"runAsNonRoot != true ({name}runAsNonRoot=true)"
        if own.get("runAsUser", pod.get("runAsUser")) == 0:
            yield f"runAsUser=0 ({name}runAsUser must not be 0)"
        if (own.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type") not in (
            "RuntimeDefault",
            "Localhost",
        ):
            yield f'seccompProfile ({name}seccompProfile.type to "RuntimeDefault" or "Localhost")'


def problems(spec):
    """All violations in a pod's specification."""
    found = []
    if spec.get("restartPolicy", "Always") not in ("Always", "OnFailure", "Never"):
        found.append(f'spec.restartPolicy: Unsupported value: "{spec["restartPolicy"]}"')
    for number, item in enumerate(spec.get("tolerations", [])):
        if item.get("operator") == "Exists" and item.get("value"):
            found.append(f"spec.tolerations[{number}].operator: value must be empty when `operator` is 'Exists'")
    volumes = [volume.get("name") for volume in spec.get("volumes", [])]
    for number, volume in enumerate(spec.get("volumes", [])):
        mode = (volume.get("configMap") or {}).get("defaultMode", 0)
        if not 0 <= mode <= 511:
            where = f"spec.volumes[{number}].configMap.defaultMode"
            found.append(f"{where}: Invalid value: {mode}: must be a number between 0 and 0777 (octal)")
    for number, container in enumerate(spec.get("containers", [])):
        where = f"spec.containers[{number}]"
        found += _container(container, where)
        if not container.get("image"):
            found.append(where + ".image: Required value")
        for place, port in enumerate(container.get("ports", [])):
            found += _port(port, f"{where}.ports[{place}]", spec.get("hostNetwork", False))
        for place, mount in enumerate(container.get("volumeMounts", [])):
            if mount.get("name") not in volumes:
                found.append(f'{where}.volumeMounts[{place}].name: Not found: "{mount.get("name")}"')
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        for name, asked in (resources.get("requests") or {}).items():
            if "/" in name and str(asked) != str(limits.get(name)):
                found.append(f"{where}.resources.requests: must be equal to {name} limit of {limits.get(name)}")
            elif name in limits and amount(asked) > amount(limits[name]):
                found.append(
                    f"{where}.resources.requests: must be less than or equal to {name} limit of {limits[name]}"
                )
    if not spec.get("containers"):
        found.append("spec.containers: Required value")
    return found


def _port(port, where, host_network):
    number, found = port.get("containerPort"), []
    if not isinstance(number, int) or not 1 <= number <= 65535:
        found.append(f"{where}.containerPort: Invalid value: {number}: must be between 1 and 65535")
    if host_network and port.get("hostPort", number) != number:
        found.append(f"{where}.hostPort: must match `containerPort` when `hostNetwork` is true")
    return found


def amount(text):
    """The number of a quantity."""
    for suffix, factor in SUFFIXES.items():
        if str(text).endswith(suffix):
            return float(str(text)[: -len(suffix)]) * factor
    return float(text)


def devices(spec):
    """``{resource: number}`` of the devices of a pod's containers."""
    found = {}
    for container in spec.get("containers", []):
        for name, value in ((container.get("resources") or {}).get("limits") or {}).items():
            if "/" in name:
                found[name] = found.get(name, 0) + amount(value)
    return found


def node_ports(spec):
    """Ports of its node that a pod takes."""
    ports = [port for container in spec.get("containers", []) for port in container.get("ports", [])]
    key = "containerPort" if spec.get("hostNetwork") else "hostPort"
    return {port[key] for port in ports if port.get(key)}


def avoid(one, other):
    """Whether either of two pods has a required anti-affinity against the other, on one node."""
    for pod, target in ((one, other), (other, one)):
        affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
            if term["labelSelector"]["matchLabels"].items() <= (target["metadata"].get("labels") or {}).items():
                return True
    return False


def unmounted(store, pod):
    """The ConfigMaps and Secrets that a pod mounts or reads, and that are not there: its containers do not start."""
    space, wanted = pod["metadata"]["namespace"], []
    for volume in pod["spec"].get("volumes", []):
        wanted += [("configmaps", volume["configMap"]["name"])] if "configMap" in volume else []
        wanted += [("secrets", volume["secret"]["secretName"])] if "secret" in volume else []
    for container in pod["spec"].get("containers", []):
        for variable in container.get("env", []):
            key = (variable.get("valueFrom") or {}).get("secretKeyRef")
            wanted += [("secrets", key["name"])] if key else []
    have = {(kind, item["metadata"]["name"]) for kind in ("configmaps", "secrets") for item in store.list(kind, space)}
    return sorted({f"{kind[:-1]} {name!r} not found" for kind, name in wanted if (kind, name) not in have})


def uses(pod):
    """What a pod counts for in a quota: ``{"requests.cpu": 4.0}``."""
    found = {"pods": 1.0, "count/pods": 1.0}
    for container in pod["spec"].get("containers", []):
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        for kind, amounts in (("limits.", limits), ("requests.", {**limits, **(resources.get("requests") or {})})):
            for name, value in amounts.items():
                found[kind + name] = found.get(kind + name, 0) + amount(value)
    found.update({name: found[f"requests.{name}"] for name in ("cpu", "memory") if f"requests.{name}" in found})
    return found


def has_ended(pod):
    """Whether it is evicted, or refused by its node: it stays as a record."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def counted(store, namespace):
    """What the pods of a namespace count for, each; those that have ended do not."""
    return [uses(item) for item in store.list("pods", namespace) if not has_ended(item)]


def within_counts(store, namespace, plural, version, name):
    """The same of a new object of any kind: Refused if a ResourceQuota has no room for one more."""
    group = f".{version.split('/')[0]}" if "/" in version else ""
    for quota in store.list("resourcequotas", namespace):
        for key in {f"count/{plural}{group}", plural} & set(quota["spec"]["hard"]) if plural != "pods" else ():
            used, hard = len(store.list(plural, namespace)), quota["spec"]["hard"][key]
            if used + 1 > amount(hard):
                text = f"exceeded quota: {quota['metadata']['name']}, requested: {key}=1, used: {key}={used}, limited: {key}={hard}"
                raise Refused(403, "Forbidden", f'{plural} "{name}" is forbidden: {text}')


def within_quota(store, namespace, pod):
    """Refused in the words of a server if a ResourceQuota does not have what the pod needs, or if the pod does not say it."""
    wanted = uses(pod)
    running = counted(store, namespace)
    for quota in store.list("resourcequotas", namespace):
        name, hard = quota["metadata"]["name"], quota["spec"]["hard"]
        start = f'pods "{pod["metadata"]["name"]}" is forbidden: '
        missing = [key for key in sorted(hard) if key not in wanted and key.startswith(("requests.", "limits."))]
        if missing:
            raise Refused(403, "Forbidden", f"{start}failed quota: {name}: must specify {','.join(missing)}")
        for key in sorted(hard):
            used = sum(item.get(key, 0) for item in running)
            if used + wanted.get(key, 0) > amount(hard[key]):
                text = f"requested: {key}={wanted[key]:g}, used: {key}={used:g}, limited: {key}={hard[key]}"
                raise Refused(403, "Forbidden", f"{start}exceeded quota: {name}, {text}")
