# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets of Prometheus: one for each process that exports metrics, in the format of file_sd."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..plan.service import bracketed
from .settings import Monitoring

Record = t.Mapping[str, t.Any]
# kind of a service -> (its job, the port with its metrics)
JOBS = {
    **{kind: ("inference-engine", "api") for kind in ENGINE_KINDS},
    "router": ("inference-router", "metrics"),
    "mooncake_master": ("inference-store", "metrics"),
    "probe": ("inference-probe", "metrics"),
}


def targets(plan: Record, settings: Monitoring) -> list[dict[str, t.Any]]:
    """``[{targets: [ADDRESS:PORT], labels: {...}}, ...]``. Services without a port for metrics are not in it."""
    found = [group for service in plan["services"] if (group := _of_service(plan, service))]
    for host in plan["hosts"]:
        if settings.node_exporter:
            found.append(_of_host(host, "inference-host", settings.node_exporter_port))
        if settings.npu == "npu_exporter" and host["devices"]:
            found.append(_of_host(host, "inference-npu", settings.npu_exporter_port))
    return found


def _of_service(plan: Record, service: Record) -> dict[str, t.Any] | None:
    job, name = JOBS.get(service["kind"], ("", ""))
    port = next((port["first"] for port in service["ports"] if port["name"] == name), None)
    if not job or port is None:
        return None
    labels = {
        "job": job,
        "deployment": plan["deployment"],
        "release": plan["release"],
        "revision": plan["digest"][:12],
        "host": service["host"],
        "role": service["kind"],
        "service": service["name"],
        "instance": f"{service['kind']}-{service['instance']}",
        "rank": str(service["rank"]),
    }
    return {"targets": [f"{bracketed(service['address'])}:{port}"], "labels": labels}


def _of_host(host: Record, job: str, port: int) -> dict[str, t.Any]:
    # Without the deployment, release and revision: a host that several deployments use has one target then, and the label
    # deployment of the probe's metrics stays.
    labels = {"job": job, "host": host["name"], "instance": host["name"]}
    return {"targets": [f"{bracketed(host['address'])}:{port}"], "labels": labels}
