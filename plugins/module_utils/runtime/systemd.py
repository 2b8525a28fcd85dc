# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd's units of one deployment, over systemctl."""

from __future__ import annotations

import os
import re

# auto-restart is the pause before another start: nothing runs, and an order to start ends it.
UP_STATES = ("active", "activating", "reloading")
FIELDS = "Id,LoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload"


class SystemdError(Exception):
    """systemctl refused something; the text is its own."""


class Systemd:
    """``run(argv)`` returns exit code and output; ``directory`` is where the unit files lie, ``target`` the deployment's."""

    def __init__(self, run, directory, target):
        self.run, self.directory, self.target = run, directory, target

    def call(self, *words):
        """One systemctl command that has to succeed -> its output."""
        code, text = self.run(["systemctl", *words])
        if code:
            raise SystemdError("systemctl {} ended with {}: {}".format(" ".join(words), code, text.strip()))
        return text

    def show(self, units):
        """Properties of units: {unit: {Id, LoadState, ActiveState, ...}}. A unit that is not there has LoadState not-found."""
        if not units:
            return {}
        text = self.call("show", "--property=" + FIELDS, "--", *units)
        blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if block]
        found = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
        if len(found) != len(units):
            raise SystemdError(f"systemctl show told of {len(found)} units, asked for {len(units)}:\n{text}")
        return dict(zip(units, found))

    def own(self):
        """Unit files that belong to the target: those that say so themselves, whatever their name."""
        said = re.compile(rf"^PartOf={re.escape(self.target)}\s*$", re.MULTILINE)
        names = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []
        return [name for name in names if name.endswith(".service") and said.search(self._text(name))]

    def _text(self, name):
        path = os.path.join(self.directory, name)
        try:
            with open(path) as stream:
                return stream.read()
        except OSError:  # a link to nowhere
            return ""

    def forget(self, names):
        """Remove unit files; they have to be stopped and disabled."""
        for name in names:
            path = os.path.join(self.directory, name)
            if os.path.lexists(path):
                os.unlink(path)
        self.call("daemon-reload")
        for name in names:  # a failed unit stays in memory until it is told to go
            self.run(["systemctl", "reset-failed", name])


def state_of(shown):
    """RUNNING where a process runs or is about to, else what systemd says."""
    active, sub = shown.get("ActiveState", "unknown"), shown.get("SubState", "")
    if active in UP_STATES and sub not in ("auto-restart", "auto-restart-queued"):
        return "RUNNING"
    return f"{active} ({sub})" if shown.get("LoadState") != "not-found" else "absent"


def began(path):
    """When a program said last what it was started with (seconds since 1970); 0 if it never did."""
    try:
        return os.stat(path or "").st_mtime
    except OSError:
        return 0.0
