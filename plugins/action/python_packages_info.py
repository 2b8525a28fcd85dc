# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action python_packages_info: run the module only for environments that are not known to be complete, and show if it could not."""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.utils.display import Display

from ..module_utils.install.venv_options import ARGUMENTS, result
from ..module_utils.tools.text import one_line, visible
from ..plugin_utils.bundle.placing import stale
from ..plugin_utils.hosts.answered import of_controller
from ..plugin_utils.hosts.asked import Asked
from ..plugin_utils.hosts.module_answer import shown

BUNDLE = "inference_bundle"
BUNDLE_HOST = "__inference_bundle_host"
STRATEGY = "inference_index_strategy"
MODULE = "ascend.inference.python_packages_info"


class ActionModule(Asked):
    """Adapter: environments whose stamp installed_info read earlier in this run need no resolution."""

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """The module's result."""
        done: dict[str, t.Any] = super().run(tmp, task_vars)
        given = dict(self._task.args)
        stamps = (given.pop("installed", None) or {}).get("environments", {})
        given["environments"] = [wanted for wanted in given["environments"] if not complete(wanted, stamps)]
        if not given["environments"]:
            return {**done, "changed": False, "resolved": [], "problems": [], "skipped_reason": ""}
        bundle = of_controller(task_vars or {}, BUNDLE, self._templar.template)
        if bundle:
            host = task_vars.get(BUNDLE_HOST)
            return {**done, **in_bundle(bundle, host, given["environments"])}
        strategy = (task_vars or {}).get(STRATEGY)
        if strategy:
            usual = {"index_strategy": self._templar.template(strategy)}
            given["environments"] = [{**usual, **wanted} for wanted in given["environments"]]
        done.update(self._execute_module(MODULE, module_args=given, task_vars=task_vars))
        if done.get("skipped_reason"):
            host, reason = task_vars["inventory_hostname"], one_line(done["skipped_reason"])
            Display().display(visible(f"{host}: it is not known whether the Python packages are available: {reason}"))
        return done


def complete(given: dict[str, t.Any], stamps: t.Mapping[str, t.Any]) -> bool:
    """Whether the stamps have an environment's layer with these requirements."""
    validated = ArgumentSpecValidator(ARGUMENTS).validate(given)
    if validated.error_messages:
        return False  # the module reports them
    options = validated.validated_parameters
    return not result(options, stamps.get(options["path"].rstrip("/"), {}).get(options["layer"]))["changed"]


def in_bundle(bundle: str, host: t.Any, environments: list[dict[str, t.Any]]) -> dict[str, t.Any]:
    """The module's result for hosts that install from a bundle: whether it has a lock of each environment."""
    found: dict[str, t.Any] = {"changed": False, "resolved": [], "problems": [], "skipped_reason": ""}
    if not host:
        return {**found, "skipped_reason": "the bundle is compared with the hosts by the playbook prepare"}
    for given in environments:
        validated = ArgumentSpecValidator(ARGUMENTS).validate(given)
        found["problems"] += validated.error_messages or [stale(bundle, host, validated.validated_parameters)]
    found["problems"] = [problem for problem in found["problems"] if problem]
    if found["problems"]:
        start = "The bundle does not have what this plan installs; nothing was copied or changed."
        return shown({**found, "failed": True, "msg": "\n\n".join([start, *found["problems"]])})
    return found
