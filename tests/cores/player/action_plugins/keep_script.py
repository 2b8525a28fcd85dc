# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For a test: keeps a script and what is known of the hosts, as the parts observe and write of the action change do."""

from __future__ import annotations

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.plugin_utils.change.script import Script, Step, file_of
from ansible_collections.ascend.inference.plugins.plugin_utils.change.store import Store


class ActionModule(ActionBase):
    """``steps``: a list of records of `Step`."""

    def run(self, tmp=None, task_vars=None):
        """Keep them; the titles as the result."""
        store, steps = Store(constants.DEFAULT_LOCAL_TMP), [Step(**step) for step in self._task.args["steps"]]
        for host in task_vars["ansible_play_hosts"]:
            store.keep_host(host, {"context": {}, "found": {}, "directory": "/nowhere/deployments/none"})
        store.keep_script(Script(steps, [], []))
        found = {"titles": [step.title for step in steps], "orphaned": [step.orphaned for step in steps]}
        found["files"] = [file_of(step) for step in steps]
        return {**super().run(tmp, task_vars), "changed": False, "alone": store.alone(), **found}
