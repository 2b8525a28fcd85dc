# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an order that was made from the plan of other hosts may stop on this one: nothing but services that it has of the deployment itself."""

from __future__ import annotations

import json
import os

from .plan import deployed_text

LIMIT = 16 << 20  # bytes of placement.json


def bound(directory, params):
    """The options of service_state by what this host has recorded in the deployment's folder; None if it has nothing of the deployment.

    Nor if its placement names none of the hosts ``own_hosts``: then it is a deployment of the same name on other hosts.

    Its own plan replaces the runtime, its settings and the services' units. A killed run may have made services before it recorded a plan; then
    the folder has to be there, and the given runtime finds them by their marks.
    """
    text, _reason = deployed_text(directory)
    try:
        plan = json.loads(text or "{}")
        known = {service["name"]: service["unit"] for service in plan.get("services", [])}
        runtime, settings = (
            plan.get("runtime", params["runtime"]),
            dict(params["settings"], **plan.get("runtime_settings", {})),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    names = placed(directory)
    if not os.path.isdir(directory) or names and params["own_hosts"] and not names & set(params["own_hosts"]):
        return None
    services = [item for item in params["services"] if known.get(item["name"]) == item["unit"]]
    return dict(params, runtime=runtime, settings=settings, services=services)


def placed(directory):
    """Names of the hosts in the deployment's placement.json; empty without a readable one."""
    try:
        with open(os.path.join(directory, "placement.json"), encoding="utf-8") as stream:
            found = json.loads(stream.read(LIMIT))
        rows = [row for instance in found["instances"] for row in instance["hosts"]]
        return {str(row[0]) for row in rows}
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return set()
