# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action model_wait: wait on the controller until a host's delivery ends, and show how far it is."""

from __future__ import annotations

import time
import typing as t

from ansible.utils.display import Display
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import visible

from ..plugin_utils.hosts.asked import Asked

Record = dict[str, t.Any]
INFO = "ascend.inference.model_delivery_info"
ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "run": {"type": "str", "required": True},
    "timeout": {"type": "int", "default": 86400},
    "start_timeout": {"type": "int", "default": 60},
}
LEAST, MOST = 1.0, 30.0  # seconds between two looks
STILL = 1800.0  # seconds in which a thousandth of the bytes, or a file, has to come: less is no hub and no host that hands a model over


class ActionModule(Asked):
    """Adapter: asks the host now and then. Other hosts go on meanwhile, also those that no fork of the controller waits for."""

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Record:
        """The last state, and ``late``. Whether the delivery succeeded is known from its own result, and a late one is no reason to leave the host."""
        result: Record = super().run(tmp, task_vars)
        _unused, given = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host, begin, first = str(task_vars["inventory_hostname"]), time.monotonic(), 0
        moved, seen = begin, (0, 0)
        while True:
            found = self._execute_module(INFO, {"path": given["path"]}, task_vars=task_vars)
            progress, elapsed = found.get("progress") or {}, time.monotonic() - begin
            ours = progress.get("run") == given["run"]
            starting = not ours and not found.get("exists") and elapsed < given["start_timeout"]
            if found.get("failed") or not (ours and progress.get("runs")) and not starting:
                return {**result, **found, "changed": False}
            late = late_text(elapsed, given["timeout"], time.monotonic() - moved)
            if late:
                return {**result, **found, "changed": False, "late": late}
            pause = LEAST
            if ours:
                if has_moved(seen, progress):
                    moved, seen = time.monotonic(), (int(progress["files_done"]), int(progress["bytes_there"]))
                first = first or int(progress["bytes_there"])
                text, left = shown(progress, int(progress["bytes_there"]) - first, elapsed)
                pause = min(max(left / 4, LEAST), MOST)
                Display().display(visible(f"  {host}: {text}"))
            time.sleep(pause)


def late_text(elapsed: float, timeout: int, still: float) -> str:
    """Why nobody waits any longer; empty if one does."""
    if elapsed > timeout:
        return f"the model did not come within {timeout} s. Fix: run again, which goes on; or increase model_timeout"
    if still > STILL:
        return f"nearly nothing of the model came for {STILL / 60:.0f} min. Fix: look at the network and at what hands it over; run again, which goes on"
    return ""


def has_moved(seen: tuple[int, int], progress: Record) -> bool:
    """Whether more than nearly nothing happened since (files, bytes) were seen; bytes become fewer where a damaged file is removed."""
    files, there = seen
    moved = abs(int(progress["bytes_there"]) - there)
    return int(progress["files_done"]) > files or moved * 1000 >= max(int(progress["bytes"]), 1)


def shown(progress: Record, came: int, elapsed: float) -> tuple[str, float]:
    """A line for people, and the seconds that remain at the present rate (those until now if nothing came yet)."""
    there, total = int(progress["bytes_there"]), int(progress["bytes"])
    rate = came / elapsed if elapsed else 0.0
    left = (total - there) / rate if rate else elapsed
    text = f"{progress['files_done']} of {progress['files']} files, {there / 1e9:.3g} of {total / 1e9:.3g} GB"
    if rate:
        text += f", {rate / 1e6:.3g} MB/s, {left / 60:.0f} min left"
    return text, left
