# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action kubernetes_deploy: run the module in slices of time, and show in between what the engines lack."""

from __future__ import annotations

import time
import typing as t

from ansible.utils.display import Display
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import visible

from ..plugin_utils.hosts.asked import Asked

Record = dict[str, t.Any]
SLICE = 60  # seconds; each slice starts Python once more


class ActionModule(Asked):
    """Adapter: calls the module until it no longer waits."""

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Record:
        """The results of all slices as one."""
        result: Record = super().run(tmp, task_vars)
        arguments, begin = dict(self._task.args), time.monotonic()
        if arguments.get("pause"):
            result.update(self._slice(arguments, task_vars))
            return result
        found = self._slice({**arguments, "pause": SLICE}, task_vars)
        while found.get("waiting") and not found.get("failed"):
            elapsed = time.monotonic() - begin
            Display().display(visible(f"  {elapsed:.0f} s: {found['progress'][-1]}"))
            again = {**arguments, "resume": found.get("stuck") or {}, "waited": int(elapsed), "pause": SLICE}
            found = merged(found, self._slice(again, task_vars))
        result.update(found)
        return result

    def _slice(self, arguments: Record, task_vars: Record) -> Record:
        found: Record = self._execute_module(
            "ascend.inference.kubernetes_deploy", module_args=arguments, task_vars=task_vars
        )
        return found


def merged(first: Record, second: Record) -> Record:
    """The result of two slices: the second's, with the first's changes and progress before it."""
    result = {**second, "changed": bool(first.get("changed") or second.get("changed"))}
    for name in ("created", "updated", "removed", "progress", "diff", "warnings"):
        if first.get(name):
            result[name] = [*first[name], *(second.get(name) or [])]
    return result
