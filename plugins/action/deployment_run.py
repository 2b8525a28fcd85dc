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
        here, host = runs.this_run(constants.DEFAULT_LOCAL_TMP), str(task_vars["inventory_hostname"])

        def call(arguments: dict[str, t.Any]) -> dict[str, t.Any]:
            found: dict[str, t.Any] = self._execute_module(
                "ascend.inference.deployment_run", arguments, task_vars=task_vars
            )
            return found

        check = bool(self._play_context.check_mode)
        return {**result, **runs.called(self._task.args, here, host, call, Display().warning, check)}
