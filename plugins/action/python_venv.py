# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action python_venv: run the module only where the layer is not known to be complete."""

from __future__ import annotations

import os
import typing as t

from ..module_utils.install import package_lock
from ..module_utils.install.venv import read_text, write_atomically
from ..module_utils.install.venv_options import ARGUMENTS, lock_name, result, wanted
from ..plugin_utils.bundle.placing import from_bundle
from ..plugin_utils.hosts.answered import of_controller
from ..plugin_utils.hosts.asked import Asked
from ..plugin_utils.hosts.module_answer import shown

MODULE = "ascend.inference.python_venv"
DIRECTORY = "inference_lock_directory"
STRATEGY = "inference_index_strategy"
BUNDLE = "inference_bundle"
BUNDLE_HOST = "__inference_bundle_host"
KNOWN = (
    "{} is not a lock of Python packages: {}. Nothing of it was installed, because it says what root installs. "
    "Fix: find out who wrote it, and remove it"
)
DROPPED = (
    "{} was the lock of {} alone. {} resolves other files ({}) and installed those, and the lock was dropped for its own one, which holds when another host "
    "resolves the same. Fix: find out which of both hosts, or whose index, is changed; if they have other processors, Pythons or indexes, set another "
    "inference_lock_directory for one of them"
)
RETURNED = (
    "this host returned a text that is not a lock of Python packages: {}. It was not stored for other hosts. "
    "Fix: look what changed the host's answer; if an index of its own has no SHA-256 of this package, leave inference_lock_directory unset"
)


class ActionModule(Asked):
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
        directory, bundle = (of_controller(task_vars or {}, name, self._text) for name in (DIRECTORY, BUNDLE))
        strategy = self._variable(task_vars, STRATEGY)
        asked = environments or directory or bundle
        _valid, options = self.validate_argument_spec(argument_spec=ARGUMENTS) if asked else (None, {})
        if environments and not self._task.delegate_to:
            found = result(options, environments.get(options["path"].rstrip("/"), {}).get(options["layer"]))
            if not found["changed"]:
                return {**done, **found}
        if bundle:
            offline, problem = from_bundle(bundle, (task_vars or {}).get(BUNDLE_HOST), options)
            if problem:
                return shown({**done, "failed": True, "changed": False, "msg": problem})
            directory, strategy = "", ""
            given.update(offline)
        if strategy:
            given.setdefault("index_strategy", strategy)
        lock = lock_path(directory, options) if directory else ""
        known = read_text(lock) if lock else ""
        host = str((task_vars or {}).get("inventory_hostname"))
        if lock:
            given.update(hashes=package_lock.given_to(known, host), return_hashes=True, confirm_hashes=True)
        if known and (problem := package_lock.problem(known, wanted(options))):
            return shown({**done, "failed": True, "changed": False, "msg": KNOWN.format(lock, problem)})
        done.update(self._execute_module(MODULE, module_args=given, task_vars=task_vars))
        text = str(done.pop("hashes", None) or "")
        before = read_text(lock) if lock and text else ""  # of this moment: hosts run side by side
        if lock and text and (not before or package_lock.alone(before)):
            if problem := package_lock.problem(text, wanted(options)):
                return shown({**done, "failed": True, "msg": RETURNED.format(problem)})
            kept, differs = package_lock.kept(before, text, host)
            os.makedirs(directory, exist_ok=True)
            write_atomically(lock, kept)
            if differs:
                dropped = DROPPED.format(lock, package_lock.alone(before), host, differs)
                done["warnings"] = [*(done.get("warnings") or ()), dropped]
        return done

    def _variable(self, variables: t.Any, name: str) -> str:
        """A variable's text; empty if it is not set."""
        written = (variables or {}).get(name)
        return self._text(written) if written else ""

    def _text(self, written: t.Any) -> str:
        return str(self._templar.template(written))


def lock_path(directory: str, options: dict[str, t.Any]) -> str:
    """The lock of an environment's layer on the controller."""
    return os.path.join(os.path.expanduser(directory), lock_name(options))
