# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action deployment_run: sign the lock with this run, and judge a lock that another run left."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.utils.display import Display

from ..plugin_utils.hosts.asked import Asked
from ..plugin_utils.lifecycle import run as runs


class ActionModule(Asked):
    """Adapter: one call of the module, a second one if a lock is taken over."""

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """Refuse with who holds the lock, or return what the module does."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        here, arguments = runs.this_run(constants.DEFAULT_LOCAL_TMP), dict(self._task.args)
        broken = str(arguments.get("break_lock") or "")
        arguments["run"] = here
        answer = self._call(arguments, task_vars)
        holder = answer.get("holder") or {}
        if arguments.get("state") == "begin" and holder.get("id", here["id"]) != here["id"]:
            takes = holder["id"] == broken or runs.ended(holder, here)
            if takes and holder.get("step"):
                Display().warning(runs.left(str(task_vars["inventory_hostname"]), holder))
            if takes:
                answer = self._call({**arguments, "replace": holder["id"]}, task_vars)
                holder = answer.get("holder") or {}
            # In check mode nothing is locked, so that the holder stays
            if holder.get("id", here["id"]) != here["id"] and not (takes and self._play_context.check_mode):
                host = str(task_vars["inventory_hostname"])
                answer = {
                    "failed": True,
                    "msg": runs.refusal(host, str(arguments["directory"]), holder),
                    "holder": holder,
                }
        result.update(answer)
        return result

    def _call(self, arguments: dict[str, t.Any], task_vars: t.Any) -> dict[str, t.Any]:
        found: dict[str, t.Any] = self._execute_module(
            "ascend.inference.deployment_run", arguments, task_vars=task_vars
        )
        return found
