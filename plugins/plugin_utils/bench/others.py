# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services beside the engines whose counters belong to a measurement: routers, and masters of the store."""

from __future__ import annotations

import typing as t

from ..plan.service import bracketed

Record = t.Mapping[str, t.Any]
KINDS = {"router": "router", "mooncake_master": "store"}  # if they have a port for metrics


def other_services(plan: Record) -> list[dict[str, str]]:
    """``[{name, kind, url}]`` of the services that export metrics; the proxies of vLLM-Ascend do not."""
    found = []
    for service in plan["services"]:
        port = next((port["first"] for port in service["ports"] if port["name"] == "metrics"), None)
        if service["kind"] in KINDS and port is not None:
            url = f"http://{bracketed(service['address'])}:{port}"
            found.append({"name": service["name"], "kind": KINDS[service["kind"]], "url": url})
    return found
