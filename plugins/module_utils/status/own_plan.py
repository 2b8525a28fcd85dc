# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an order that was made from the plan of other hosts may stop on this one: nothing but services that it has of the deployment itself."""

from __future__ import annotations

import json
import os

from .plan import deployed_text


def bound(directory, params):
    """The options of service_state by what this host has recorded in the deployment's folder; None if it has nothing of the deployment.

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
    if not os.path.isdir(directory):
        return None
    services = [item for item in params["services"] if known.get(item["name"]) == item["unit"]]
    return dict(params, runtime=runtime, settings=settings, services=services)
