# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What supervisord, systemd and Docker know of a deployment's services, read in one go and without changing anything.

Each runtime answers ``states()``: ``{unit: {state, since, restarts, detail, digest}}`` of all services that it holds for the
deployment, planned or not. ``state`` is running, starting, absent or what the runtime calls it; ``since`` is seconds since
1970 or None; ``restarts`` counts ends that nobody asked for, None where unknown; ``digest`` is what the process itself
says it was started with. ``log(service, lines)`` is the end of a service's log.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import time

from .systemd import Systemd, state_of
from .wait import DockerRuntime, SupervisorRuntime, SystemdRuntime, command

UNITS = "/etc/systemd/system"
LABEL = "ascend.inference.deployment"


class Unknown(Exception):
    """The runtime itself cannot be asked; the text says why and what to do."""


def _state(state, since=None, restarts=None, detail="", digest=""):
    return {"state": state, "since": since, "restarts": restarts, "detail": detail, "digest": digest}


class Supervised(SupervisorRuntime):
    """Programs of the deployment's own supervisord."""

    WORDS = {"RUNNING": "running", "STARTING": "starting", "BACKOFF": "restarting"}

    def __init__(self, directory):
        SupervisorRuntime.__init__(self, os.path.join(directory, "run", "supervisor.sock"))
        self.diary = os.path.join(directory, "logs", "supervisord.log")

    def states(self):
        if not self.supervisor.runs():
            raise Unknown(
                f"supervisord does not answer on {self.supervisor.socket_path}; after a reboot nobody starts it. Fix: run ascend.inference.deploy"
            )
        ends = unexpected_ends(self._diary())
        found = {}
        for name, info in self.supervisor.processes().items():
            state = self.WORDS.get(info["state"], info["state"].lower())
            since = info["start"] or None
            # A program counts as starting for 20 s; only its answer says whether it is up, so both read as running.
            state = "running" if state == "starting" and info["pid"] else state
            detail = "" if state == "running" else info["detail"]
            found[name] = _state(state, since, ends.get(name, 0), detail)
        return found

    def _diary(self):
        try:
            with open(self.diary, errors="replace") as stream:
                return stream.read()
        except OSError:
            return ""


def unexpected_ends(diary):
    """How often each program ended unasked since supervisord's last start, from its own log: ``{name: count}``."""
    counts = {}
    for line in diary.rsplit("supervisord started with pid", 1)[-1].splitlines():
        said = re.search(r" exited: (\S+) \(", line)
        if said:
            counts[said.group(1)] = counts.get(said.group(1), 0) + 1
    return counts


class Units(SystemdRuntime):
    """Units of systemd that belong to the deployment's target."""

    FIELDS = "Id,LoadState,ActiveState,SubState,Result,NRestarts,ActiveEnterTimestampMonotonic,UnitFileState"

    def __init__(self, deployment, planned, directory=UNITS, run=command):
        self.run, self.planned = run, planned
        self.systemd = Systemd(run, directory, deployment + ".target")

    def states(self):
        names = sorted(set(self.planned) | {name[: -len(".service")] for name in self.systemd.own()})
        if not names:
            return {}
        asked = [name + ".service" for name in names]
        try:
            code, text = self.run(["systemctl", "show", "--property=" + self.FIELDS, "--", *asked])
        except OSError as error:
            raise Unknown(f"systemctl cannot be run: {error}") from error
        if code:
            raise Unknown(f"systemctl show ended with {code}: {text.strip()}")
        blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if block]
        shown = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
        return {one.get("Id", "")[: -len(".service")]: _unit(one) for one in shown}


def _unit(shown):
    state = state_of(shown)
    entered = int(shown.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
    since = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC) + entered if entered else None
    restarts = int(shown["NRestarts"]) if shown.get("NRestarts", "").isdigit() else None
    if state == "RUNNING":
        off = "" if shown.get("UnitFileState") == "enabled" else "is not enabled: after a reboot it stays off"
        return _state("running", since, restarts, off)
    return _state(state, None, restarts, "" if state == "absent" else "result {}".format(shown.get("Result", "?")))


class Containers(DockerRuntime):
    """Containers that carry the deployment's label."""

    TEMPLATE = "[{{json .Name}},{{json .State}},{{json .RestartCount}},{{json .Config.Labels}}]"

    def __init__(self, deployment, run=command):
        self.deployment, self.run = deployment, run

    def states(self):
        names = self._docker("ps", "--all", "--quiet", "--filter", f"label={LABEL}={self.deployment}").split()
        if not names:
            return {}
        lines = self._docker("inspect", "--format", self.TEMPLATE, *names).splitlines()
        return dict(_container(*json.loads(line)) for line in lines if line.startswith("["))

    def _docker(self, *words):
        try:
            code, text = self.run(["docker", *words])
        except OSError as error:
            raise Unknown(f"docker cannot be run: {error}") from error
        if code:
            raise Unknown(f"docker {words[0]} ended with {code}: {text.strip()}")
        return text


def _container(name, state, restarts, labels):
    word = state.get("Status", "unknown")
    detail = (
        "" if word == "running" else "exit code {} {}".format(state.get("ExitCode"), state.get("Error", "")).strip()
    )
    digest = (labels or {}).get("ascend.inference.digest", "")
    since = seconds(state.get("StartedAt", "")) if word == "running" else None
    return name.lstrip("/"), _state(word, since, restarts, detail, digest)


def seconds(stamp):
    """Docker's time (RFC 3339 with nanoseconds, UTC) in seconds since 1970; None if it is none."""
    try:
        moment = datetime.datetime.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()


def runtime_of(said):
    """The runtime of a question; see _status_plan."""
    if said["runtime"] == "supervisor":
        return Supervised(said["directory"])
    if said["runtime"] == "systemd":
        return Units(said["deployment"], [one["unit"] for one in said["services"]])
    return Containers(said["deployment"])
