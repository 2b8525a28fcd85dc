# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the router's pod reaches engines: a headless Service for each role, and the forwarder in front of the proxy."""

from __future__ import annotations

import dataclasses
import pathlib
import typing as t
import zlib

from ....module_utils.kubernetes.names import SERVING_ENTRY, WORKER_INDEX
from ...plan.deployment import Context
from ...plan.service import File, Service
from . import forwarder
from .hosts import service_name
from .names import Manifest, is_engine, manifest, role_labels
from .services import WORKSPACE

PROGRAM = f"{WORKSPACE}/forwarder.py"
IN_ROW = 250  # addresses of the last number


def entries(services: t.Iterable[Service]) -> list[Service]:
    """The process of each engine instance that has the API."""
    return [service for service in services if is_engine(service) and service.health]


def loopbacks(context: Context, services: t.Iterable[Service]) -> dict[str, str]:
    """The router's loopback address for each engine's address in the plan.

    They differ between deployments, as routers in the network of one node share its loopback interface.
    """
    deployment = f"{context.description.kubernetes.namespace}/{context.description.deployment}"
    first = 1 + zlib.crc32(deployment.encode()) % 254
    kinds = list(context.description.pools.present())
    found = {}
    for service in entries(services):
        row = 32 * kinds.index(service.kind) + service.instance // IN_ROW
        found[service.address] = f"127.{first}.{row}.{1 + service.instance % IN_ROW}"
    return found


def forwarded(context: Context, services: t.Sequence[Service], service: Service) -> Service:
    """The router's service with the forwarder in front of it."""
    found, options = loopbacks(context, services), []
    for engine in entries(services):
        count = len([other for other in entries(services) if other.kind == engine.kind])
        name = service_name(context.description, engine.kind)
        listen = f"{found[engine.address]}:{engine.port('api').first}"
        options += ["--engine", f"{listen}={name}/{engine.instance}/{count}"]
    program = File(PROGRAM, pathlib.Path(forwarder.__file__).read_text(encoding="utf-8"))
    argv = ("python3", PROGRAM, *options, "--", *service.argv)
    return dataclasses.replace(service, argv=argv, files=(*service.files, program))


def entry_labels(context: Context, services: t.Iterable[Service], kind: str) -> dict[str, str]:
    """Labels of a role's pods that have the API."""
    first: dict[str, str] = {}
    if not context.description.kubernetes.is_native:
        first = {SERVING_ENTRY: "true"}
    elif any(service.kind == kind and service.rank for service in services):
        first = {WORKER_INDEX: "0"}
    return {**role_labels(context, kind), **first}


def headless(context: Context, services: t.Sequence[Service]) -> list[Manifest]:
    """A Service for each role: its DNS name has the addresses of the pods that are ready."""
    found = []
    for kind, port in {service.kind: service.port("api").first for service in entries(services)}.items():
        selector = entry_labels(context, services, kind)
        spec = {"clusterIP": "None", "selector": selector, "ports": [{"name": "api", "port": port}]}
        found.append(manifest(context, "Service", kind, spec=spec))
    return found
