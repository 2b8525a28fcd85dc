# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs, units: which of them run with what is planned, and what has to be done about the others."""

from __future__ import annotations

import os

UP = ("STARTING", "RUNNING")
# Ended by itself, and supervisord or systemd will start it again.
WAITING = ("BACKOFF", "activating (auto-restart)", "activating (auto-restart-queued)")


def running_digest(program):
    """What the running program says it was started with."""
    try:
        with open(program["digest_file"] or "") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def outdated(program, state):
    """Whether a running program has to be restarted."""
    if program["digest"] and running_digest(program) != program["digest"]:
        return True
    return any(os.path.exists(path) and os.stat(path).st_mtime > state["start"] + 1 for path in program["newer"])


def decide(params, states):
    """Which programs to start, to restart and to stop: three lists of names.

    ``params``: state and programs, as the modules take them; ``states``: {name: {state, start (seconds since 1970)}}.
    """
    names = [one["name"] for one in params["programs"]]
    up = [name for name in names if states.get(name, {}).get("state") in UP]
    down = [name for name in names if name not in up]
    if params["state"] == "started":
        again = [one["name"] for one in params["programs"] if one["name"] in up and outdated(one, states[one["name"]])]
        return down, again, []
    if params["state"] == "restarted":
        return down, up, []
    if params["state"] == "stopped":
        return [], [], [name for name in names if states.get(name, {}).get("state") in UP + WAITING]
    return [], [], sorted(states) if params["state"] == "absent" else []


def difference(programs, states, start, again, stop):
    """What is done, for people: {before, after}, a line for each program."""
    wanted = {one["name"]: one for one in programs}
    lines = {"before": "", "after": ""}
    for name in start + again + stop:
        one = wanted.get(name, {"digest": "", "digest_file": None})
        state = states.get(name, {}).get("state", "absent")
        lines["before"] += "{} {} {}\n".format(name, state, running_digest(one) if name in again else "")
        lines["after"] += "{} {} {}\n".format(name, "STOPPED" if name in stop else "RUNNING", one["digest"])
    return lines
