# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices and ports of a host that its other deployments have, whether they run or not. Runs on Python 3.7."""

from __future__ import annotations

import json
import os

from ..tools import foreign_file

MOST_BYTES = 64 * 1024**2  # a plan of 1000 hosts has 2 MB on each
MOST_DEPLOYMENTS = 64
MOST_NUMBER = 65535


def neighbours(directory):
    # type: (str) -> t.List[t.Dict[str, t.Any]]
    """``[{deployment, services: [{name, devices, ports: [[first, count], ...]}]}]`` of the folders beside ``directory``.

    These are the deployments with the same root. A folder without a readable plan is left out.
    """
    parent, own = os.path.split(os.path.abspath(directory))
    try:
        names = sorted(os.listdir(parent))
    except OSError:
        return []
    found = []
    for name in [item for item in names if item != own][:MOST_DEPLOYMENTS]:
        services = _services(os.path.join(parent, name, "plan.json"))
        if services:
            found.append({"deployment": name, "services": services})
    return found


def _services(path):
    # type: (str) -> t.List[t.Dict[str, t.Any]]
    """The services of one plan that are on this host. Somebody else may have written it, so only numbers and names are taken."""
    try:
        with foreign_file.opened(path) as stream:
            if os.fstat(stream.fileno()).st_size > MOST_BYTES:
                return []
            plan = json.loads(stream.read(MOST_BYTES).decode("utf-8"))
        here = {service["name"] for service in plan.get("question", plan)["services"]}
        return [
            {
                "name": str(service["name"])[:100],
                "devices": sorted(_number(device) for device in service["devices"]),
                "ports": [[_number(port["first"]), _number(port["count"])] for port in service["ports"]],
            }
            for service in plan["services"]
            if service["name"] in here
        ]
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return []


def _number(value):
    # type: (t.Any) -> int
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_NUMBER:
        raise ValueError("not a device or port")
    return value
