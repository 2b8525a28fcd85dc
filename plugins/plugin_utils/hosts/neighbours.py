# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of several deployments on one host: no device and no port is planned twice, also while the other one is stopped."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding, spans
from ..plan.rules.base import Rules
from .observed import Observed, Record, place

RULES = Rules()
SOURCE = "design of the planner: a plan knows one deployment; each host keeps the plans of all"


@RULES.rule(
    "DEPLOYMENT-DEVICES",
    "Give the deployments different devices (a list of ids in inference_devices of the host, or devices of the pools), or remove the "
    "other deployment.",
    SOURCE,
)
def devices(case: Observed) -> t.Iterator[Finding]:
    """Another deployment of the host has the same devices.

    The engines that start second fail, or both run out of device memory.
    """
    for host, other in _others(case):
        own = case.planned_devices(host["name"])
        shared = sorted({device for service in other["services"] for device in service["devices"]} & set(own))
        if shared:
            names = ", ".join(sorted({own[device] for device in shared}))
            text = f"deployment {other['deployment']} has device {spans(shared)}, planned for {names}"
            yield Finding.at(f"{place(host)} deployment {other['deployment']}", spans(shared), text)


@RULES.rule(
    "DEPLOYMENT-PORTS",
    "Set other first ports: inference_pools.<pool>.ports, inference_router.port, inference_mooncake_master.port and metrics_port; or remove "
    "the other deployment.",
    SOURCE,
)
def ports(case: Observed) -> t.Iterator[Finding]:
    """Another deployment of the host has the same ports.

    The services that start second cannot bind them.
    """
    for host, other in _others(case):
        taken = {
            number
            for service in other["services"]
            for first, count in service["ports"]
            for number in range(first, first + count)
        }
        shared: dict[str, set[int]] = {}
        for service in case.services(host["name"]):
            for port in service["ports"]:
                both = taken & set(range(port["first"], port["first"] + port["count"]))
                if both:
                    shared.setdefault(f"{port['name']} of {service['name']}", set()).update(both)
        if shared:
            numbers = sorted(set().union(*shared.values()))
            names = [f"{name} ({spans(sorted(shared[name]))})" for name in sorted(shared)]
            text = f"deployment {other['deployment']} has the ports of {', '.join(names[:6])}{' and others' if len(names) > 6 else ''}"
            yield Finding.at(f"{place(host)} deployment {other['deployment']}", spans(numbers), text)


def _others(case: Observed) -> t.Iterator[tuple[Record, Record]]:
    for host, facts in case.gathered("host"):
        for other in facts.get("neighbours") or []:
            yield host, other
