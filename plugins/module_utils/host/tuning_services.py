# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of others that are stopped while a setting needs it, and started again afterwards. Only irqbalance is known."""

from __future__ import annotations

import os

from ..tools.errors import ToolError
from ..tools.runner import ToolMissing, find_executable, run

TIMEOUT = 60  # seconds of one systemctl
FIELDS = ("LoadState", "ActiveState", "UnitFileState")
RESTARTED = ("irqbalance.service",)


class Services:
    """What happens to services, compared with what is remembered of them.

    ``wanted`` maps a unit to ``stopped`` (not running, also after a boot) or ``excluding`` (it runs with our drop-in, and is
    restarted when that changes). ``remembered`` maps a unit that was stopped to its ``active`` and ``enabled`` of before.
    """

    def __init__(self, systemctl, wanted, remembered):
        self.skipped, self.notes, self.steps, self.kept = {}, [], [], {}
        self.given, self.wanted = systemctl, wanted
        for unit in sorted(set(remembered) | {name for name in wanted if wanted[name] == "stopped"}):
            self._compare(unit, wanted.get(unit) == "stopped", remembered.get(unit))

    def _compare(self, unit, stopped, old):
        try:
            now = self._state(unit)
        except (ToolError, ToolMissing) as error:
            if old is not None:
                raise ToolError(f"{unit} cannot be set back: {error}") from error
            self.skipped[unit] = str(error)
            return
        if now is None:
            self.skipped[unit] = "the host has no such service"
            return
        rests = not now["active"] and not now["enabled"]
        if stopped:
            if old is not None or not rests:
                self.kept[unit] = old or now
            if not rests:
                self.steps.append((unit, _words(now), "stopped", ["disable" if now["enabled"] else "", "stop"]))
        elif rests:
            verbs = ["enable" if old["enabled"] else "", "start" if old["active"] else ""]
            self.steps.append((unit, "stopped", _words(old), verbs))
        elif now != old:
            self.notes.append(f"{unit} was started or enabled by others since, so it is left as it is")

    def _call(self, *words):
        done = run([find_executable("systemctl", self.given), *words], TIMEOUT)
        if done.rc != 0:
            reason = done.stderr.strip() or ("no answer" if done.timed_out else f"status {done.rc}")
            raise ToolError(f"systemctl {' '.join(words)}: {reason[:300]}")
        return done.stdout

    def _state(self, unit):
        """``{active, enabled}``; None if there is no such unit."""
        text = self._call("show", "--property=" + ",".join(FIELDS), "--", unit)
        found = dict(line.partition("=")[::2] for line in text.splitlines())
        if found.get("LoadState") != "loaded":
            return None
        active = found.get("ActiveState") in ("active", "activating", "reloading")
        return {"active": active, "enabled": found.get("UnitFileState") == "enabled"}

    def apply(self, files):
        """Carry the steps out; ``files`` are the changed unit files and drop-ins."""
        ours = sorted({dropped_in(path) for path in files} & set(RESTARTED))
        if files and (ours or self.steps):
            self._call("daemon-reload")
        for unit, _before, _after, verbs in self.steps:
            for verb in filter(None, verbs):
                self._call(verb, "--", unit)
        for unit in ours:
            self._call("try-restart", "--", unit)


def _words(state):
    words = ["active" if state["active"] else "inactive", "enabled" if state["enabled"] else "disabled"]
    return ", ".join(words)


def dropped_in(path):
    """The unit to which a drop-in belongs."""
    return os.path.basename(os.path.dirname(path))[: -len(".d")]
