# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routers that export nothing, so that a timer on their hosts asks them."""

from __future__ import annotations

import typing as t


def silent_routers(plan: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Routers without metrics that have the page /healthcheck: the proxies of vLLM-Ascend."""
    return [
        service
        for service in plan["services"]
        if service["kind"] == "router"
        and not any(port["name"] == "metrics" for port in service["ports"])
        and str((service["health"] or {}).get("url", "")).endswith("/healthcheck")
    ]
