# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps: the start scripts, and the addresses for the proxy."""

from __future__ import annotations

import posixpath
import typing as t

from ....module_utils.kubernetes.names import is_pod
from ...plan.deployment import Context
from ...plan.service import Service
from .hosts import variable
from .identity import identified
from .names import Manifest, manifest, scripts_name, targets_name
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


def is_engine(service: Service) -> bool:
    """Whether a role of the ModelServing runs it."""
    return service.kind in ("prefill", "decode", "colocated", "encode")


def entries(services: t.Iterable[Service]) -> list[Service]:
    """The process of each engine instance that has the API."""
    return [service for service in services if is_engine(service) and service.health]


def files(context: Context, services: t.Sequence[Service], service: Service) -> dict[str, str]:
    """The ConfigMap's files for one pod: its start script, and the files of its service."""
    part, entry = part_name(service), ""
    if is_engine(service) and service.rank:
        entry = template_of(services, service.kind)[0].address
    known = ENGINE_VARIABLES if is_engine(service) else ()
    others = {} if is_engine(service) else {target.address: name for name, target in target_names(services).items()}
    found = {f"{part}.sh": script(identified(context, service), known, entry, others)}
    for file in service.files:
        found[f"{part}-{posixpath.basename(file.path)}"] = file.content
    return found


def target_names(services: t.Iterable[Service]) -> dict[str, Service]:
    """The variables that hold the engines' addresses, as the proxy's command line refers to them."""
    return {variable(entry.address): entry for entry in entries(services)}


def start_scripts(context: Context, services: t.Sequence[Service]) -> Manifest:
    """The ConfigMap with every start script."""
    data: dict[str, str] = {}
    for service in services:
        if is_pod(service.host) and (service.instance == 0 or not is_engine(service)):
            data.update(files(context, services, service))
    return manifest(context, "v1", "ConfigMap", scripts_name(context), "scripts", data=data)


def targets(context: Context, services: t.Sequence[Service]) -> Manifest:
    """The ConfigMap with the engines' addresses; empty until pods have them."""
    data = {name: "" for name in sorted(target_names(services))}
    return manifest(context, "v1", "ConfigMap", targets_name(context), "targets", data=data)
