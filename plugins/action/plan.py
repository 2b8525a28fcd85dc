# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plan: create the plan from the inventory, show it, and store it for the other plays of this run."""

from __future__ import annotations

import json
import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.hosts.plan_memory import plan_memory
from ..plugin_utils.plan.handover import folder_of, hand_over, planned
from ..plugin_utils.plan.planner import garbage_collection_suspended
from ..plugin_utils.views.plan_table import plan_table

ARGUMENTS = {
    "show": {"type": "str", "default": "table"},
    "only": {"type": "bool", "default": False},
    "model_facts": {"type": "str", "default": ""},
    "ignore": {"type": "list", "elements": "str", "default": []},
}


class ActionModule(ActionBase):
    """Adapter: Ansible's variables in, the selection of hosts for the following plays out."""

    _requires_connection = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """Plan; never changes anything on a host."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        hostvars = task_vars["hostvars"]
        with garbage_collection_suspended():
            try:
                plan = planned(hostvars[task_vars["inventory_hostname"]], hostvars, task_vars["groups"])
                self._show(plan, options["show"], memory(plan, options))
            except PlanError as error:
                return {**result, "failed": True, **self._refusal(str(error), options["show"])}
            except ValueError as error:
                return {**result, "failed": True, "msg": str(error)}
            hand_over(plan, folder_of(constants.DEFAULT_LOCAL_TMP))
        return {**result, "changed": False, "selection": {**selection(plan, options["only"]), "show": options["show"]}}

    def _refusal(self, report: str, show: str) -> dict[str, str]:
        """Print the report once as text; the task's message is its first line, or all of it if nothing is printed."""
        if show == "none":
            return {"msg": report}
        Display().display(report)
        return {"msg": f"{report.splitlines()[0]} They are listed above."}

    def _show(self, plan: dict[str, t.Any], show: str, more: list[str]) -> None:
        if show == "json":
            Display().display(json.dumps(plan, indent=4, sort_keys=True))
        elif show != "none":
            Display().display("\n".join(plan_table(plan, show) + more))


def memory(plan: dict[str, t.Any], options: t.Mapping[str, t.Any]) -> list[str]:
    """The memory table, if the facts of a check are given. Raises ``PlanError`` if an engine cannot start."""
    if options["model_facts"]:
        return plan_memory(plan, options["model_facts"], options["ignore"])
    if options["show"] == "memory":
        raise ValueError(
            "inference_plan_show is 'memory', and inference_model_facts is not set. Fix: set it to the file that the playbook check "
            "writes with inference_check_json."
        )
    return []


def selection(plan: dict[str, t.Any], only: bool) -> dict[str, t.Any]:
    """The selection of hosts and roles for the playbooks; empty with ``only``.

    Not ``ansible_facts``, which a fact cache would keep beyond the run.
    """
    router = ((plan.get("kubernetes") or {}).get("router") or {}).get("hosts", [])
    cluster = ["localhost"] if plan["runtime_facts"]["in_cluster"] else []
    return {
        "hosts": [] if only else [host["name"] for host in plan["hosts"]],
        "router_hosts": [] if only else [host["name"] for host in router],
        "cluster": [] if only else cluster,
        "engine": plan["engine"],
        "runtime_facts": plan["runtime_facts"],
    }
