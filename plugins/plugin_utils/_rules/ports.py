# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of ports: no two meet, none lies where something else binds."""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._rules._base import Case, Found, Rule
from ansible_collections.ascend.inference.plugins.plugin_utils._service import Port, Service


def _by_host(case: Case) -> dict[str, list[tuple[Service, Port]]]:
    found: dict[str, list[tuple[Service, Port]]] = {}
    for service in case.services:
        for port in service.ports:
            found.setdefault(service.host, []).append((service, port))
    return found


def overlaps(case: Case) -> t.Iterator[Found]:
    """Two services of a host with a port in common; neighbours in order of their first port suffice to see it."""
    for host, planned in sorted(_by_host(case).items()):
        planned.sort(key=lambda one: (one[1].first, one[1].last, one[0].name, one[1].name))
        reach: tuple[Service, Port] | None = None
        for service, port in planned:
            if reach and port.first <= reach[1].last:
                yield Found(
                    f"{host}.{service.name}.ports.{port.name}",
                    f"{port.first}-{port.last}",
                    f"shares ports with {reach[0].name} ({reach[1].name} {reach[1].first}-{reach[1].last})",
                )
            if not reach or port.last > reach[1].last:
                reach = (service, port)


def outside(case: Case) -> t.Iterator[Found]:
    """Ports that do not exist."""
    for service in case.services:
        for port in service.ports:
            if port.first < 1 or port.last > 65535:
                yield Found(f"{service.host}.{service.name}.ports.{port.name}", f"{port.first}-{port.last}")


RULES = (
    Rule(
        "PORT-OVERLAP",
        "error",
        "Two services of a host may not bind the same port.",
        "Leave the ports to the planner, or choose first ports that lie further apart.",
        "vllm-ascend #4725, #10019",
        overlaps,
    ),
    Rule(
        "PORT-RANGE",
        "error",
        "A port is a number from 1 to 65535.",
        "Choose a lower first port.",
        "TCP",
        outside,
    ),
)
