# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pod templates: image, start script, addresses, devices, volumes, probes."""

from __future__ import annotations

import copy
import typing as t
from urllib.parse import urlsplit

from ....module_utils.kubernetes.names import (
    PART_OF,
    SERVING_GROUP,
    SERVING_ROLE_ID,
    own_labels,
)
from ...description.kubernetes import Mount
from ...description.values import merged
from ...plan.deployment import Context
from ...plan.service import Service
from .config_map import config_map, part_name, paths, template_of
from .liveness import leaving, mounted, watched
from .manifest.pods import HANDLERS
from .manifest.walk import listed, mapping
from .names import Manifest, chosen, is_engine, labels, role_labels, secrets_name
from .services import WORKSPACE

EXECUTABLE = 0o755  # decimal 493 in JSON
# As the engines of the runtime docker. The Pod Security Standard "baseline" allows it; root needs DAC_OVERRIDE to read files of other users.
CONFINED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"add": ["DAC_OVERRIDE"], "drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
FIRST_UNPRIVILEGED = 1024
PROBE_PERIOD = 10
DRIVER_FILES = (
    ("hccn-conf", "/etc/hccn.conf"),
    ("hccn-tool", "/usr/local/Ascend/driver/tools/hccn_tool"),
    ("ascend-install-info", "/etc/ascend_install.info"),
)


def engine_template(context: Context, services: t.Sequence[Service], service: Service) -> Manifest:
    """The pod template of one process of a role."""
    settings = context.description.kubernetes
    own = settings.of_role(service.kind)
    spec: Manifest = {}
    if settings.host_network:
        spec["hostNetwork"] = True
        if context.store or any(item.kind == service.kind and item.rank for item in services):
            spec["dnsPolicy"] = (
                "ClusterFirstWithHostNet"  # to resolve cluster names: a worker's entry, the store's master
            )
    spec["terminationGracePeriodSeconds"] = leaving(context, service) + service.stop.timeout
    mounts, volumes = _mounted(context, script_volume(context, services, service))
    box = _container(context, services, service, mounts)
    box.update(watched(context, service, template_of(services, service.kind)[0]))
    spec["containers"] = [merged(_given_way(box, own.container), own.container)]
    spec["volumes"] = volumes
    spec.update(_scheduling(context, service, own.node_selector))
    metadata: Manifest = {"annotations": dict(own.annotations)} if own.annotations else {}
    held = {
        **own_labels(context.description.deployment),
        **chosen(context, service.kind),
    }  # by which the pods are found
    metadata["labels"] = {**labels(context, service.kind), **own.labels, **held}
    return {"metadata": metadata, "spec": merged(spec, own.spec)}


def _container(context: Context, services: t.Sequence[Service], service: Service, mounts: list[Manifest]) -> Manifest:
    settings = context.description.kubernetes
    own = settings.of_role(service.kind)
    amount = {settings.resource: str(len(service.devices))} if service.devices else {}
    found = started(context, services, service, service.kind)
    found["resources"] = {"limits": {**own.limits, **amount}, "requests": {**own.requests, **amount}}
    found["securityContext"] = copy.deepcopy(CONFINED)
    if service.health and service.port("api").first < FIRST_UNPRIVILEGED:
        found["securityContext"]["capabilities"]["add"].append("NET_BIND_SERVICE")
    found["volumeMounts"] = [*mounts, *found["volumeMounts"], *mounted(context)[0]]
    if service.health:
        found["ports"] = [{"containerPort": service.port("api").first, "name": "server"}]
        found["startupProbe"] = {**asked(service), "failureThreshold": -(-service.health.timeout // PROBE_PERIOD)}
        found["readinessProbe"] = {**asked(service), "failureThreshold": 3}  # a busy engine may fail it; that ends none
    return found


def _given_way(box: Manifest, own: t.Mapping[str, t.Any]) -> Manifest:
    """The container without what excludes settings of the user: another handler of a probe, no new privileges beside all of them."""
    for path in (("livenessProbe",), ("readinessProbe",), ("startupProbe",), ("lifecycle", "preStop")):
        mine, theirs = box, own
        for key in path:
            mine, theirs = mine.get(key) or {}, mapping(theirs.get(key))
        if any(theirs.get(key) is not None for key in HANDLERS):
            for key in HANDLERS:
                mine.pop(key, None)
    wanted = mapping(own.get("securityContext"))
    added = listed(mapping(wanted.get("capabilities")).get("add"))
    if wanted.get("privileged") is True or "SYS_ADMIN" in added or "CAP_SYS_ADMIN" in added:
        box["securityContext"].pop("allowPrivilegeEscalation")
    return box


def started(context: Context, services: t.Sequence[Service], service: Service, name: str) -> Manifest:
    """The container of any service: its image, and its start script with what that needs."""
    policy = context.description.kubernetes.image_pull_policy
    mounted = paths(context, services, service)
    return {
        "name": name,
        "image": (service.container or {})["image"],
        **({"imagePullPolicy": policy} if policy else {}),
        "command": ["/bin/bash"],
        "args": ["-c", f"cd {WORKSPACE} && exec ./{part_name(service)}.sh"],
        "env": environment(context, service),
        "volumeMounts": [{"name": "config", "mountPath": mounted[key][0], "subPath": key} for key in mounted],
    }


def pulled(context: Context) -> Manifest:
    """The part of a pod's specification with the secrets for its images."""
    secrets = context.description.kubernetes.image_pull_secrets
    return {"imagePullSecrets": [{"name": name} for name in secrets]} if secrets else {}


def asked(service: Service) -> Manifest:
    """A probe of the service's health URL."""
    url = urlsplit(service.health.url)
    ask = {"path": url.path, "port": url.port, "scheme": "HTTP"}
    return {"httpGet": ask, "periodSeconds": PROBE_PERIOD, "timeoutSeconds": 2}


def environment(context: Context, service: Service) -> list[Manifest]:
    """Variables known only in the pod: its address, what its name begins with, and secrets."""
    found = [_field("POD_IP", "status.podIP")]
    if is_engine(service):
        is_native = context.description.kubernetes.is_native
        found += [
            _field("GROUP_NAME", f"metadata.labels['{PART_OF if is_native else SERVING_GROUP}']"),
            _field("ROLE_ID", "metadata.name" if is_native else f"metadata.labels['{SERVING_ROLE_ID}']"),
        ]
    for name in sorted(service.secret_env):
        reference = {"name": secrets_name(context), "key": service.secret_env[name]}
        found.append({"name": name, "valueFrom": {"secretKeyRef": reference}})
    return found


def _field(name: str, path: str) -> Manifest:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def script_volume(context: Context, services: t.Sequence[Service], service: Service) -> Manifest:
    """The volume with the start scripts, executable."""
    name = config_map(context, services, service)["metadata"]["name"]
    return {"name": "config", "configMap": {"name": name, "defaultMode": EXECUTABLE}}


def _mounted(context: Context, scripts: Manifest) -> tuple[list[Manifest], list[Manifest]]:
    """What an engine mounts besides its scripts, and the volumes of its pod with them."""
    settings = context.description.kubernetes
    root, claim = settings.model_root(context.description.model.path), settings.model_claim
    model = [Mount("model", root, claim=claim, type="" if claim else "Directory")] if root else []
    driver = [Mount(*item) for item in DRIVER_FILES] if settings.driver_mounts else []
    memory = {"medium": "Memory", **({"sizeLimit": settings.shared_memory} if settings.shared_memory else {})}
    shared = {"name": "dshm", "mountPath": "/dev/shm"}, {"name": "dshm", "emptyDir": memory}
    mounts = [*map(_mount, model), shared[0], *map(_mount, driver), *map(_mount, settings.mounts)]
    more = [*map(_volume, settings.mounts), *mounted(context)[1]]
    return mounts, [*map(_volume, model), shared[1], *map(_volume, driver), scripts, *more]


def _mount(item: Mount) -> Manifest:
    given = {"subPath": item.sub_path, "readOnly": item.read_only}
    return {"name": item.name, "mountPath": item.path, **{key: given[key] for key in given if given[key]}}


def _volume(volume: Mount) -> Manifest:
    for kind, key, value in (
        ("persistentVolumeClaim", "claimName", volume.claim),
        ("configMap", "name", volume.config_map),
        ("secret", "secretName", volume.secret),
    ):
        if value:
            return {"name": volume.name, kind: {key: value}}
    if volume.memory:
        return {"name": volume.name, "emptyDir": {"medium": "Memory", "sizeLimit": volume.memory}}
    source = {"path": volume.node_path, **({"type": volume.type} if volume.type else {})}
    return {"name": volume.name, "hostPath": source}


def _scheduling(context: Context, service: Service, node_selector: t.Mapping[str, str]) -> Manifest:
    settings = context.description.kubernetes
    found: Manifest = {}
    if settings.is_native and settings.scheduler_name:  # a ModelServing names it once
        found["schedulerName"] = settings.scheduler_name
    if node_selector:
        found["nodeSelector"] = dict(node_selector)
    found.update(pulled(context))
    if settings.service_account:
        found["serviceAccountName"] = settings.service_account
    others = [name for name in context.description.pools.present() if name != service.kind]
    if (settings.separate_roles or (settings.host_network and settings.router.mode == "kthena_router")) and others:
        found["affinity"] = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "labelSelector": {"matchLabels": role_labels(context, name)},
                        "topologyKey": "kubernetes.io/hostname",
                    }
                    for name in others
                ]
            }
        }
    return found
