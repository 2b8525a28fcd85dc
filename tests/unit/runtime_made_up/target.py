# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The made-up runtime on hosts: a process and a file with its id for each service."""

from __future__ import annotations

import os
import signal

from .base import Runtime, RuntimeProblem, state

# The process outlives the module: it has a session and streams of its own.
START = 'setsid sh "$0" </dev/null >"$1" 2>&1 & echo $! >"$2"'


def is_alive(number):
    """Whether the process runs; one that has ended stays in /proc until its parent asks for it."""
    try:
        with open(f"/proc/{number}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Processes(Runtime):
    """Setting: ``folder`` of the files with process ids."""

    log_kind = "processes"

    def _path(self, unit):
        return os.path.join(self.settings["folder"], unit)

    def states(self, services):
        return {unit: self._state(unit) for unit in self._units()}

    def _units(self):
        return sorted(
            name for name in os.listdir(self.settings["folder"]) if name.startswith("pid.") and "log" not in name
        )

    def _state(self, unit):
        with open(self._path(unit)) as stream:
            number = int(stream.read() or 0)
        alive = bool(number) and is_alive(number)
        return state("running" if alive else "stopped", alive, start_id=number)

    def pids(self, services):
        return {unit: self._state(unit)["start_id"] for unit in self._units() if self._state(unit)["up"]}

    def log(self, service, lines):
        with open(self._path(service["unit"]) + ".log") as stream:
            return stream.read().strip()

    @staticmethod
    def log_commands(log, lines, since):
        return ["tail", f"--lines={lines}", log["unit"] + ".log"], ["cat", log["unit"] + ".log"]

    def apply(self, services, check, remove=True):
        new = [service["unit"] for service in services if service["unit"] not in self._units()]
        for unit in [] if check else new:
            open(self._path(unit), "w").close()
        return bool(new), new, []

    def start(self, services):
        for service in services:
            path = self._path(service["unit"])
            rc, text = self.run(["sh", "-c", START, service["script"], path + ".log", path])
            if rc:
                raise RuntimeProblem(f"{service['unit']} was not started: {text}")

    def stop(self, services):
        for service in services:
            os.kill(self._state(service["unit"])["start_id"], signal.SIGKILL)

    def remove(self, services, check):
        units = self._units()
        for unit in units:
            found = self._state(unit)
            if found["up"]:
                os.kill(found["start_id"], signal.SIGKILL)
            os.unlink(self._path(unit))
        return units
