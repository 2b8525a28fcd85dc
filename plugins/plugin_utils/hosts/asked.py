# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of all actions that run a module on a host: what the host answers is checked before Ansible sees it."""

from __future__ import annotations

import functools
import pathlib
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import become_loader, connection_loader, shell_loader

from .module_answer import checked, documented, facts_of_ours

MODULES = pathlib.Path(__file__).resolve().parents[2] / "modules"
OWN = "ascend.inference."
PLANTED = (
    "{} answered facts with names of variables of this collection, or of Ansible's connection to a host: {}. Ansible makes variables of facts, so they "
    "would replace what the inventory says, and some name a program, a socket or a folder of the controller. "
    "Fix: look at what runs as Python on this host and for facts of its own; with inject_facts_as_vars = false in ansible.cfg, facts replace no variables."
)
LOADERS = {"become": become_loader, "connection": connection_loader, "shell": shell_loader}


@functools.lru_cache(maxsize=1)
def of_connections() -> frozenset[str]:
    """Names of variables that set an option of one of ansible-core's own plugins for connections, as their documentation has them."""
    plugins = ((kind, plugin) for kind, loader in LOADERS.items() for plugin in loader.all(class_only=True))
    return frozenset(
        name for kind, plugin in plugins for name in constants.config.get_plugin_vars(kind, plugin._load_name)
    )


def restrict() -> None:
    """Let Ansible itself make no variables of facts with these names, whatever module brings them: its own list (``clean_facts``) lacks most of them.

    In the process that plays, which is the one that finds the actions of a playbook: facts become variables there. Where Ansible has no such list any
    more, the next module of this collection still refuses the facts.
    """
    known = tuple(getattr(constants, "RESTRICTED_RESULT_KEYS", ()))
    if constants.INJECT_FACTS_AS_VARS and known:
        constants.RESTRICTED_RESULT_KEYS = known + tuple(sorted(of_connections() - set(known)))


restrict()


class Asked(ActionBase):
    """For actions of this collection's modules. Others than these modules answer as they do elsewhere."""

    _keys: t.Mapping[str, t.Any] | None = None  # of the module that runs

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """Fail where an earlier task, whose module may be Ansible's own, left facts that replace variables of this collection."""
        facts = (task_vars or {}).get("ansible_facts") if constants.INJECT_FACTS_AS_VARS else None
        planted = self._planted(facts) if facts else []
        if planted:
            raise AnsibleActionFail(PLANTED.format(task_vars["inventory_hostname"], ", ".join(planted[:8])))
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        return result

    def _planted(self, facts: t.Mapping[str, t.Any]) -> list[str]:
        """Names of facts whose variables are of this collection, of a plugin of ansible-core, or of this connection's ones, which may be others."""
        connection = getattr(self, "_connection", None)
        own = {"connection": connection, "become": getattr(connection, "become", None)}
        used = {
            name
            for kind, each in own.items()
            if each
            for name in constants.config.get_plugin_vars(kind, each._load_name)
        }
        names = of_connections() | used
        return facts_of_ours(facts) + sorted(name for name in facts if name in names or f"ansible_{name}" in names)

    def _execute_module(self, module_name: t.Any = None, *given: t.Any, **more: t.Any) -> dict[str, t.Any]:
        # The task's own name: before ansible-core 2.19 the resolved one is that of this action, and not of the module.
        name = str(module_name or OWN + self._task.action.rpartition(".")[2])
        own = name.startswith(OWN) and not more.get("wrap_async")  # which answers where the result will be
        self._keys = documented((MODULES / f"{name[len(OWN) :]}.py").read_text(encoding="utf-8")) if own else None
        found: dict[str, t.Any] = super()._execute_module(module_name, *given, **more)
        return found

    def _parse_returned_data(self, res: t.Any, *more: t.Any) -> t.Any:
        if self._keys is not None:
            res = {**res, "stdout": checked(str(res.get("stdout") or ""), self._keys)}
        return super()._parse_returned_data(res, *more)
