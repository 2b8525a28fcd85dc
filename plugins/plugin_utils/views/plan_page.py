# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as one self-contained HTML page: findings, the path of requests and KV cache, then all hosts with their devices.

What is shown depends only on the plan, but for the run that its head names.
"""

from __future__ import annotations

import typing as t

from ..description.findings import CALM, Finding, grouped, spans
from ..pages.render import counted, findings_of, origin, page, verdict_of
from .picture import Plan, picture
from .plan_table import count, entry_url


def plan_page(plan: Plan, run: t.Mapping[str, t.Any] | None = None) -> str:
    """The page's text. ``run``: ``date``, ``inventory`` and ``changes``, the lines of ``plan_diff``: no plan knows them."""
    found = sorted(plan["findings"], key=lambda finding: CALM.get(finding["severity"], 0))
    facts = [
        ("Model", plan["model"]["name"] or plan["model"]["path"]),
        ("Clients", entry_url(plan)),
        ("Release", f"{plan['release']}, {plan['engine']} on {plan['runtime']}"),
        ("Hosts", f"{count(plan['hosts'], 'host')}, {count(plan['services'], 'service')}"),
        ("Plan", plan["digest"]),
        *origin(run),
    ]
    return page(
        "plan",
        f"Plan of {plan['deployment']}",
        verdict_of(f"planned, {counted(found)}", found, facts),
        findings=findings_of(grouped(Finding.from_dict(item) for item in found)),
        changes=list((run or {}).get("changes") or ()),
        picture=picture(plan),
        services=_services(plan),
    )


def _services(plan: Plan) -> list[list[str]]:
    """Every service with its ports; the first row is the head."""
    rows = [["Service", "Host", "Devices", "Ports"]]
    for service in plan["services"]:
        ports = ", ".join(
            f"{port['name']} {spans(range(port['first'], port['first'] + port['count']))}" for port in service["ports"]
        )
        rows.append([service["name"], service["host"], spans(service["devices"]), ports])
    return rows
