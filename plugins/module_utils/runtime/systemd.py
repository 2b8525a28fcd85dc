# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of systemd, over systemctl. Settings: ``target`` of the deployment, ``directory`` of the unit files."""

from __future__ import annotations

import contextlib
import os
import re
import time

from .base import Runtime, RuntimeProblem, state, stop_time
from .decisions import about_to, began

# auto-restart is the delay before a restart: nothing runs, and a start command ends the delay.
UP_STATES = ("active", "activating", "reloading")
PAUSES = ("auto-restart", "auto-restart-queued")
FIELDS = (
    "Id,LoadState,ActiveState,SubState,Result,NRestarts,ActiveEnterTimestampMonotonic,UnitFileState,NeedDaemonReload"
)


MARK = re.compile(r"^# Written by ascend\.inference", re.MULTILINE)  # in our unit files


class Systemd(Runtime):
    """Units with ``PartOf=`` the deployment's target; this line identifies the deployment's units."""

    log_kind = "journald"

    @property
    def target(self):
        """The deployment's target."""
        return self.settings["target"]

    @property
    def directory(self):
        """The directory of the unit files."""
        return self.settings["directory"]

    def states(self, services):
        shown = self.show(sorted({service["unit"] for service in services} | set(self.own())))
        return {unit: _state(shown[unit]) for unit in shown}

    def pids(self, services):
        found = {}
        for service in services:
            value = self.call("show", "--property=MainPID", "--value", "--", service["unit"]).strip()
            if value.isdigit() and int(value):
                found[service["unit"]] = int(value)
        return found

    def log(self, service, lines):
        return self.run(self.log_commands({"unit": service["unit"]}, lines, 0)[0])[1]

    @staticmethod
    def log_commands(log, lines, since):
        base = ["journalctl", "--no-pager", "--output=cat", "--unit=" + log["unit"]]
        return [*base, f"--lines={lines}"], [*base, f"--since=@{since}"]

    def outdated(self, service, found):
        """Whether its unit file is newer than its start."""
        path = os.path.join(self.directory, service["unit"])
        if about_to(service, path):
            return True
        try:
            return os.stat(path).st_mtime > began(service, found) + 1
        except OSError:
            return False

    def apply(self, services, check, remove=True, keep=()):
        planned = [service["unit"] for service in services]
        old = [name for name in self.own() if name not in planned]
        gone = [name for name in old if remove and name not in keep]
        shown = self.show([*planned, self.target])
        unread = any(item["NeedDaemonReload"] == "yes" or item["LoadState"] == "not-found" for item in shown.values())
        disabled = [name for name, properties in shown.items() if properties["UnitFileState"] != "enabled"]
        if not check:
            if unread:
                self.call("daemon-reload")
            if disabled:
                self.call("enable", *disabled)
            if remove:
                self._forget(gone, services)
        return bool(unread or disabled or gone), disabled, old

    def start(self, services):
        _begin_count(services)
        self._order("start", services)

    def restart(self, services):
        _begin_count(services)
        self._order("restart", services)

    def stop(self, services):
        self._order("stop", services)

    def complete(self, check):
        """Start the target. It wants all units, so an earlier start would ignore their stages. A run that asks writes one that is missing."""
        shown = self.show([self.target, *self.own()])
        due = (check or shown[self.target]["LoadState"] == "loaded") and shown[self.target]["ActiveState"] != "active"
        if not due or not all(_state(properties)["up"] for unit, properties in shown.items() if unit != self.target):
            return False
        if not check:
            self.call("start", self.target)
        return True

    def remove(self, services, check):
        names = self.own()
        names += [self.target] if MARK.search(self._text(self.target)) else []
        if not check:
            self._forget(names, services)
        return names

    def call(self, *arguments, timeout=60):
        """Run a systemctl command -> its output; raises RuntimeProblem if it fails."""
        code, text = self.run(["systemctl", *arguments], timeout)
        if code:
            raise RuntimeProblem("systemctl {} exited with {}: {}".format(" ".join(arguments), code, text.strip()))
        return text

    def show(self, units):
        """Properties of units: {unit: {Id, LoadState, ActiveState, ...}}. A missing unit has LoadState not-found."""
        if not units:
            return {}
        text = self.call("show", "--property=" + FIELDS, "--", *units)
        blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if block]
        found = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
        if len(found) != len(units):
            raise RuntimeProblem(f"systemctl show returned {len(found)} of {len(units)} units:\n{text}")
        return dict(zip(units, found))

    def own(self):
        """Unit files of ours with the target in PartOf=, independent of their name. A site may tie units of its own to the target, too."""
        pattern = re.compile(rf"^PartOf={re.escape(self.target)}\s*$", re.MULTILINE)
        names = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []
        units = {name: self._text(name) for name in names if name.endswith(".service")}
        return [name for name, text in units.items() if MARK.search(text) and pattern.search(text)]

    def _text(self, name):
        try:
            with open(os.path.join(self.directory, name)) as stream:
                return stream.read()
        except OSError:  # a dangling link
            return ""

    def _order(self, verb, services):
        """One systemctl command for all services, so that slow stops overlap."""
        names = [service["unit"] for service in services]
        if not names:
            return
        self._refuse_foreign(names)
        self.run(["systemctl", "reset-failed", *names])  # clear the start limit of units that failed before
        self.call(verb, *names, timeout=stop_time(services))

    def _refuse_foreign(self, names):
        """Raise for units that are none of the deployment: a plan that somebody changed may name any unit of the host."""
        own = self.own()
        for name in names:
            if name not in own and self._is_foreign(name):
                raise RuntimeProblem(
                    f"{name} is not a unit of this deployment: {self.directory}/{name} does not have the line 'Written by ascend.inference' and"
                    f" PartOf={self.target}. Nothing was started or stopped. Fix: if the file was changed, run deploy, which writes it again;"
                    " if not, find out who changed the plan that names this unit"
                )

    def _is_foreign(self, name):
        """Whether systemd has a unit that is no part of the deployment. It still knows one whose file somebody removed."""
        if os.path.lexists(os.path.join(self.directory, name)):
            return True
        code, text = self.run(["systemctl", "show", "--property=LoadState,PartOf", "--", name])
        return not code and "LoadState=loaded" in text.split() and self.target not in re.split(r"[\s=]", text)

    def _forget(self, names, services):
        """Stop, disable and remove units."""
        if not names:
            return
        self.call("disable", "--now", *names, timeout=stop_time(services))
        for name in names:
            path = os.path.join(self.directory, name)
            if os.path.lexists(path):
                os.unlink(path)
        self.call("daemon-reload")
        for name in names:  # systemd keeps failed units in memory until reset
            self.run(["systemctl", "reset-failed", name])


def _begin_count(services):
    """Forget earlier starts: the start script waits the longer, the more often a service started in a short time, but an order is no crash."""
    for service in services:
        with contextlib.suppress(
            OSError
        ):  # there is none; or the service put a folder there, which the script replaces
            os.unlink(service.get("starts_file") or "")


def _state(shown):
    active, sub = shown.get("ActiveState", "unknown"), shown.get("SubState", "")
    up = active in UP_STATES and sub not in PAUSES
    restarts = int(shown["NRestarts"]) if shown.get("NRestarts", "").isdigit() else None
    if up:
        entered = int(shown.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
        since = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC) + entered if entered else None
        off = "" if shown.get("UnitFileState") == "enabled" else "is not enabled: it is not started after a reboot"
        return state("running", True, False, restarts, since, restarts, off)
    if shown.get("LoadState") == "not-found":
        return state("absent", start_id=restarts)
    detail = "result {}".format(shown.get("Result", "?"))
    return state(f"{active} ({sub})", False, sub in PAUSES, restarts, None, restarts, detail)
