# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section ``firewall`` of a plan: which addresses may connect to the ports that ``hosts[].firewall`` lists."""

from __future__ import annotations

import typing as t

from ..deployment import Context
from ..service import Service


def firewall_section(context: Context, services: t.Iterable[Service]) -> dict[str, t.Any]:
    """The section as plain data; empty unless the inventory asks for it.

    ``sources`` maps each source of ``hosts[].firewall`` to addresses; no client means everyone.
    """
    given = context.description.firewall
    if given.state == "unmanaged" or context.runtime.in_cluster:
        return {}
    hosts = {service.host for service in services}
    addresses = sorted({context.hosts[name].address for name in hosts})
    return {
        "firewall": {
            "state": given.state,
            "backend": given.backend,
            "sources": {
                "cluster": [*addresses, *given.cluster],
                "monitoring": list(given.monitoring),
                "client": list(given.clients),
            },
            "spared": list(given.spared),
        }
    }
