# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines that have to be restarted together.

LLMDataDist links clusters once and keeps the link by the cluster's id (linked_cluster of the connector in vLLM-Ascend): an engine that
was started anew is not linked again, and every transfer from or to it fails until its peers are restarted as well.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS

Plan = t.Mapping[str, t.Any]
PORT = "llmdatadist"  # only engines with this connector have such a port


def linked(plan: Plan, names: t.Iterable[str] = ()) -> list[str]:
    """``names`` with the services that have to be restarted together with them, in the plan's order; without names all services.

    The processes of an instance start together: they look for each other once.
    ``ValueError`` for a name that the plan does not have.
    """
    every = [service["name"] for service in plan["services"]]
    wanted = set(names) or set(every)
    unknown = sorted(wanted - set(every))
    if unknown:
        raise ValueError(
            f"inference_services names {', '.join(unknown)}, and no service of the deployment is named so. Nothing was restarted. Fix: correct "
            f"inference_services; the services are {', '.join(every)[:1000]}"
        )
    instances = {_instance(service) for service in plan["services"] if service["name"] in wanted} - {None}
    wanted |= {service["name"] for service in plan["services"] if _instance(service) in instances}
    group = together(plan)
    return [name for name in every if name in wanted or (name in group and wanted & group)]


def _instance(service: t.Mapping[str, t.Any]) -> tuple[str, int] | None:
    """Kind and number of the instance of an engine; None for another service."""
    return (service["kind"], service["instance"]) if service["kind"] in ENGINE_KINDS else None


def together(plan: Plan) -> set[str]:
    """Names of the engines that are linked with each other."""
    return {
        service["name"]
        for service in plan["services"]
        if any(port["name"] == PORT for port in service.get("ports", ()))
    }
