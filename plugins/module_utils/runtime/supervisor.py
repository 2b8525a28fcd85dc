# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the deployment's own supervisord.

Settings: ``socket``, ``config`` and ``log`` of supervisord, and ``command``, the program to start it with.
"""

from __future__ import annotations

import contextlib
import getpass
import http.client
import os
import re
import xmlrpc.client

from .base import Runtime, RuntimeNotRunning, RuntimeProblem, command, state, stop_time, tail
from .decisions import about_to
from .supervisord import Supervisord, SupervisorError

UP = ("STARTING", "RUNNING")
NAMES = {"RUNNING": "running", "STARTING": "starting", "BACKOFF": "restarting"}


@contextlib.contextmanager
def _reported(socket):
    try:
        yield
    except (SupervisorError, OSError, http.client.HTTPException, xmlrpc.client.Error) as error:
        raise RuntimeProblem(f"supervisord at {socket}: {error}") from error


class Supervisor(Runtime):
    """A service's unit is the name of its program and of its group."""

    log_kind = "file"

    def __init__(self, settings, run=command):
        Runtime.__init__(self, settings, run)
        self.supervisord = Supervisord(settings["socket"])
        self.differing = None  # names of running programs whose configuration differs, read once

    def states(self, services):
        if not self.supervisord.runs():
            raise RuntimeNotRunning(
                "supervisord does not answer on {}; it is not started after a reboot. Fix: run ascend.inference.deploy".format(
                    self.settings["socket"]
                )
            )
        with _reported(self.settings["socket"]):
            ends = unexpected_ends(_text(self.settings["log"]))
            return {name: _state(info, ends.get(name, 0)) for name, info in self.supervisord.processes().items()}

    def pids(self, services):
        with _reported(self.settings["socket"]):
            pids = {name: info["pid"] for name, info in self.supervisord.processes().items()}
        return {service["unit"]: pids[service["unit"]] for service in services if pids.get(service["unit"])}

    def log(self, service, lines):
        return tail(service["log"]["path"], lines)

    def apply(self, services, check, remove=True, keep=()):
        with _reported(self.settings["socket"]):
            if not self.supervisord.runs():
                if not check:
                    self._launch()
                return True, [service["unit"] for service in services], []
            planned, known = {service["unit"] for service in services}, set(self.supervisord.processes())
            if check:
                due = bool(planned - known or (remove and known - planned - set(keep)))
                return due, sorted(planned - known), sorted(known - planned)
            added, changed, removed = self.supervisord.differences()
            # A running program with another configuration goes on until it is restarted, after it left the router.
            states = self.supervisord.processes()
            changed = [name for name in changed if states.get(name, {}).get("state") not in UP]
            gone = [name for name in removed if remove and name not in keep]
            for name in changed + gone:
                self.supervisord.forget(name, stop_time(services))
            for name in added + changed:
                self.supervisord.add(name)
            return bool(added or changed or gone), added + changed, removed

    def outdated(self, service, found):
        """Whether its program in supervisord's configuration differs from the running one."""
        if self.differing is None:
            with _reported(self.settings["socket"]):
                self.differing = self.supervisord.differences()[1]
        planned = "{} [program:{}]".format(self.settings["config"], service["unit"])
        return service["unit"] in self.differing or about_to(service, planned)

    def start(self, services):
        self.stop(services)  # a program in backoff would start with its old configuration
        with _reported(self.settings["socket"]):
            changed = self.supervisord.differences()[1]
            for service in services:
                if service["unit"] in changed:
                    self.supervisord.forget(service["unit"], stop_time([service]))
                    self.supervisord.add(service["unit"])
                self.supervisord.start(service["unit"])
        self.differing = None

    def restart(self, services):
        self.start(services)

    def stop(self, services):
        with _reported(self.settings["socket"]):
            self.supervisord.stop([service["unit"] for service in services], stop_time(services))

    def remove(self, services, check):
        if not self.supervisord.runs():
            return []
        with _reported(self.settings["socket"]):
            names = sorted(self.supervisord.processes())
            if not check:
                self.supervisord.shut_down(stop_time(services))
            return ["supervisord", *names]

    def _launch(self):
        kept = {key: os.environ[key] for key in ("HOME", "PATH", "LANG", "TZ") if key in os.environ}
        # A deployment starts programs by stage; a start of supervisord at boot starts all at once.
        kept.update(ASCEND_INFERENCE_AUTOSTART="false", USER=getpass.getuser())
        self.supervisord.launch(self.settings["command"], self.settings["config"], kept)


def _state(info, restarts):
    name = NAMES.get(info["state"], info["state"].lower())
    # A program is in STARTING for 20 s; readiness is determined by its health check, so both states mean running.
    name = "running" if name == "starting" and info["pid"] else name
    detail = "" if name == "running" else info["detail"]
    up, pending = info["state"] in UP, info["state"] == "BACKOFF"
    return state(name, up, pending, info["pid"], info["start"] or None, restarts, detail)


def _text(path):
    try:
        with open(path, errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def unexpected_ends(log):
    """Number of unexpected exits of each program since supervisord's last start, from its log: ``{name: count}``."""
    counts = {}
    for line in log.rsplit("supervisord started with pid", 1)[-1].splitlines():
        match = re.search(r" exited: (\S+) \(", line)
        if match:
            counts[match.group(1)] = counts.get(match.group(1), 0) + 1
    return counts
