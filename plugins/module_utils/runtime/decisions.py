# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services run with what is planned, and what has to be done about the others."""

from __future__ import annotations

import os


def running_digest(service):
    """What the running process says it was started with."""
    try:
        with open(service["digest_file"] or "") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def began(service, found):
    """When the running process started: when it wrote its digest, else what the runtime says (seconds since 1970)."""
    try:
        return os.stat(service["digest_file"] or "").st_mtime
    except OSError:
        return found["since"] or 0.0


def outdated(service, found):
    """Whether a running service has to be restarted: it runs with something else, or a file it read has changed since."""
    if service["digest"] and running_digest(service) != service["digest"]:
        return True
    start = began(service, found)
    return any(os.path.exists(path) and os.stat(path).st_mtime > start + 1 for path in service["newer"])


def decide(wanted, services, states, special=None):
    """Which services to start, to restart and to stop: three lists of services.

    ``wanted``: started, restarted or stopped; ``states``: as ``Runtime.states`` returns them; ``special(service, state)``:
    whether one that runs has to be restarted although ``outdated`` sees no reason.
    """

    def differs(one):
        found = states[one["unit"]]
        return outdated(one, found) or bool(special and special(one, found))

    up = [service for service in services if states.get(service["unit"], {}).get("up")]
    down = [service for service in services if service not in up]
    if wanted == "started":
        return down, [item for item in up if differs(item)], []
    if wanted == "restarted":
        return down, up, []
    return [], [], [service for service in services if service in up or states.get(service["unit"], {}).get("pending")]


def difference(states, start, again, stop):
    """What is done, for people: {before, after}, a line for each service."""
    lines = {"before": "", "after": ""}
    for item in start + again + stop:
        state = states.get(item["unit"], {}).get("state", "absent")
        lines["before"] += "{} {} {}\n".format(item["unit"], state, running_digest(item) if item in again else "")
        lines["after"] += "{} {} {}\n".format(item["unit"], "stopped" if item in stop else "running", item["digest"])
    return lines
