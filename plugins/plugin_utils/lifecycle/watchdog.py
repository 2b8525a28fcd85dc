# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's part for the playbook ``watchdog``."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ANSWERING_KINDS
from ..description.values import natural


def watched(plan: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """``{host, url, engines: {API of an engine: [services of its instance]}}``; ``host`` is empty without a probe."""
    probe = next((service for service in plan["services"] if service["kind"] == "probe"), None)
    instances: dict[tuple[str, int], list[str]] = {}
    for service in plan["services"]:
        instances.setdefault((service["kind"], service["instance"]), []).append(service["name"])
    engines = {
        service["name"]: sorted(instances[service["kind"], service["instance"]], key=natural)
        for service in plan["services"]
        if service["kind"] in ANSWERING_KINDS and service["health"]
    }
    url = probe["health"]["url"].rpartition("/")[0] if probe else ""
    return {"host": probe["host"] if probe else "", "url": url, "engines": engines}
