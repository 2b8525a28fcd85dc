# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback count_modules: one line for each module that Ansible starts on a host, into the file that COUNT_MODULES names.

Each is a Python start there, over its connection; an action such as template or copy starts several, so tasks are no measure of it.
The lines are ``HOST<tab>MODULE<tab>TASK``, below a line ``# PLAYBOOK`` for each run. ANSIBLE_CALLBACK_PLUGINS names this
folder, ANSIBLE_CALLBACKS_ENABLED count_modules.
"""

from __future__ import annotations

import os

from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: count_modules
type: notification
short_description: Record each module that Ansible starts
description: Writes a line for each module that Ansible starts, into the file that COUNT_MODULES names.
"""


def counted(execute):
    """``_execute_module`` with a line for each call. It runs in Ansible's workers, who inherit it and share the file."""

    def wrapper(self, *positional, **named):
        module = named.get("module_name") or (positional[0] if positional else None) or self._task.action
        variables = named.get("task_vars") or {}
        host = self._task.delegate_to or variables.get("inventory_hostname", "?")
        line = f"{host}\t{module}\t{self._task.get_name()}\n"
        with open(os.environ["COUNT_MODULES"], "a", encoding="utf-8") as stream:
            stream.write(line)
        return execute(self, *positional, **named)

    return wrapper


class CallbackModule(CallbackBase):
    """Wraps the method when Ansible loads its callbacks, before the first worker starts."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "count_modules"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *positional, **named):
        super().__init__(*positional, **named)
        if os.environ.get("COUNT_MODULES") and not hasattr(ActionBase, "counted"):
            ActionBase._execute_module = counted(ActionBase._execute_module)
            ActionBase.counted = True

    def v2_playbook_on_start(self, playbook):
        """Begin a section for this run."""
        if os.environ.get("COUNT_MODULES"):
            with open(os.environ["COUNT_MODULES"], "a", encoding="utf-8") as stream:
                stream.write(f"# {os.path.basename(playbook._file_name)}\n")
