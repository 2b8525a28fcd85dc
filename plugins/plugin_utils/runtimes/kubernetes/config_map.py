# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps with the start scripts: one for each role and each Deployment, immutable, named after its content.

A changed script is another ConfigMap, so the template of its pods changes, and pods of the old revision keep what they were
started with, also when their containers restart.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import typing as t

from ....module_utils.kubernetes.names import is_pod
from ...plan.deployment import Context
from ...plan.service import Service
from .forwarding import forwarded, loopbacks
from .identity import identified
from .liveness import program
from .names import Manifest, is_engine, manifest, object_name
from .script import script

ENGINE_VARIABLES = ("GROUP_NAME", "ROLE_ID", "START_ID")


def template_of(services: t.Iterable[Service], kind: str) -> list[Service]:
    """The processes of a role's first instance; all replicas are equal."""
    return [service for service in services if service.kind == kind and service.instance == 0]


def part_name(service: Service) -> str:
    """The name of a pod's process within the deployment: ``prefill``, ``prefill-1`` for its first worker."""
    if not is_engine(service):
        return service.name
    return service.kind if service.rank == 0 else f"{service.kind}-{service.rank}"


def paths(context: Context, services: t.Sequence[Service], service: Service) -> dict[str, tuple[str, str]]:
    """What one pod mounts: ``{key of the ConfigMap: (path, content)}``; its start script, and the files of its service."""
    part, entry, literal = part_name(service), "", {}
    if is_engine(service):
        entry = template_of(services, service.kind)[0].address if service.rank else ""
    if service.kind == "router":
        service, literal = forwarded(context, services, service), loopbacks(context, services)
    known = ENGINE_VARIABLES if is_engine(service) else ()
    text = script(identified(context, service), known, entry, literal)
    found = {f"{part}.sh": (posixpath.join(service.work_directory, f"{part}.sh"), text)}
    for file in service.files:
        found[f"{part}-{posixpath.basename(file.path)}"] = (file.path, file.content)
    return found


def config_map(context: Context, services: t.Sequence[Service], service: Service) -> Manifest:
    """The ConfigMap of the role or the Deployment that ``service`` belongs to."""
    part = service.kind if is_engine(service) else service.name
    data = {}
    for each in template_of(services, service.kind) if is_engine(service) else [service]:
        found = paths(context, services, each)
        data.update({key: found[key][1] for key in found})
    mark = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:10]
    return manifest(context, "ConfigMap", part, f"{object_name(context, part)}-{mark}", immutable=True, data=data)


def config_maps(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """All of them, and the one with the program of probes, which is none of these."""
    firsts = {service.kind if is_engine(service) else service.name: service for service in reversed(services)}
    pods = [firsts[part] for part in reversed(firsts) if is_pod(firsts[part].host)]
    found = [config_map(context, services, service) for service in pods]
    return found + (program(context) if any(map(is_engine, pods)) else [])
