# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action python_venv: run the module only where the layer is not known to be complete."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.install.venv_options import ARGUMENTS, result

MODULE = "ascend.inference.python_venv"


class ActionModule(ActionBase):
    """Adapter: the module is skipped if installed_info read a matching stamp earlier in this run.

    A layer loses its stamp only if its environment is built again, which does not happen to a complete one. So the stamp stays valid
    while other layers are added.
    """

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """The module's result."""
        done: dict[str, t.Any] = super().run(tmp, task_vars)
        given = dict(self._task.args)
        installed = given.pop("installed", None) or {}
        environments = installed.get("environments", {})
        if environments and not self._task.delegate_to:
            _valid, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
            found = result(options, environments.get(options["path"].rstrip("/"), {}).get(options["layer"]))
            if not found["changed"]:
                return {**done, **found}
        done.update(self._execute_module(MODULE, module_args=given, task_vars=task_vars))
        return done
