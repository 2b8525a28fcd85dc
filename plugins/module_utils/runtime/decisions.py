# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions which services to start, restart and stop."""

from __future__ import annotations

import os

from ..tools import foreign_file


def recorded(service):
    """The digests of configuration and of secrets that the running process recorded at its start; empty if it did not."""
    try:
        words = foreign_file.read(service["digest_file"] or "", 4096).split()
    except OSError:
        words = []
    return tuple((words + ["", ""])[:2])


def running_digest(service):
    """The configuration digest that the running process recorded at its start."""
    return recorded(service)[0]


def keyed(service):
    """Whether the running process started with the planned secrets (``secrets``, their digest); None if it has none or did not record them."""
    started, wanted = recorded(service)[1], service.get("secrets") or ""
    return started == wanted if started and wanted else None


def began(service, found):
    """Start time of the running process: of its digest file, else from the runtime (seconds since 1970)."""
    try:
        return os.stat(service["digest_file"] or "").st_mtime
    except OSError:
        return found["since"] or 0.0


def outdated(service, found):
    """Whether a running service must be restarted: other configuration or secrets, or a file that changed after its start."""
    if (service["digest"] and running_digest(service) != service["digest"]) or keyed(service) is False:
        return True
    start = began(service, found)
    return any(about_to(service, path) or _newer(path, start) for path in service["newer"])


def about_to(service, what):
    """Whether the run that asks is about to write a file, or ``PATH [SECTION]`` of it: then it is newer than each process."""
    return what in service.get("written", ())


def _newer(path, start):
    return os.path.exists(path) and os.stat(path).st_mtime > start + 1


def decide(wanted, services, states, special=None):
    """Which services to start, to restart and to stop: three lists of services.

    ``wanted``: started, restarted or stopped; ``states``: as ``Runtime.states`` returns them; ``special(service, state)``:
    whether a running one must be restarted although ``outdated`` is false.
    """

    def differs(service):
        found = states[service["unit"]]
        return outdated(service, found) or bool(special and special(service, found))

    up = [service for service in services if states.get(service["unit"], {}).get("up")]
    down = [service for service in services if service not in up]
    if wanted == "started":
        return down, [item for item in up if differs(item)], []
    if wanted == "restarted":
        return down, up, []
    return [], [], [service for service in services if service in up or states.get(service["unit"], {}).get("pending")]


def difference(states, start, again, stop):
    """The diff: {before, after}, a line for each service."""
    lines = {"before": "", "after": ""}
    for item in start + again + stop:
        state = states.get(item["unit"], {}).get("state", "absent")
        lines["before"] += "{} {} {}\n".format(item["unit"], state, running_digest(item) if item in again else "")
        lines["after"] += "{} {} {}\n".format(item["unit"], "stopped" if item in stop else "running", item["digest"])
    return lines
