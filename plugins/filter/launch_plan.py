# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter launch_plan: create the plan from the user's variables and the inventory."""

from __future__ import annotations

DOCUMENTATION = """
name: launch_plan
short_description: Plan a deployment from the user's variables and the inventory
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Converts the variables C(inference_*) and the inventory's groups into a plan with, for every process, its host,
    devices, ports, command line, environment and files, in start order.
  - Contacts no host and changes nothing; the same description always gives the same plan, byte by byte.
  - An invalid description is refused with all errors together, each with path, reason and fix.
positional: hostvars, groups
options:
  _input:
    description: The controller's variables; only those that begin with C(inference_) are read.
    type: dict
    required: true
  hostvars:
    description: The variables of all hosts. Variables of the deployment may be set there too, with the same value on all hosts.
    type: dict
    required: true
  groups:
    description: The inventory's groups with their hosts.
    type: dict
    required: true
  report:
    description: Whether a refused description returns C({report}), the text of all errors, instead of failing.
    type: bool
    default: false
"""

EXAMPLES = """
- name: Turn the description into a plan
  ansible.builtin.set_fact:
    inference_plan: "{{ hostvars['localhost'] | ascend.inference.launch_plan(hostvars, groups) }}"
"""

RETURN = """
_value:
  description: The plan, or C({report}) with O(report).
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.plan.handover import planned


def launch_plan_filter(variables: t.Any, hostvars: t.Any, groups: t.Any, report: bool = False) -> dict[str, t.Any]:
    """Adapter: Ansible's variables in, the plan out, or one error with all findings (their text, with ``report``)."""
    try:
        return planned(variables, hostvars, groups)
    except PlanError as error:
        if report:
            return {"report": str(error)}
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"launch_plan": launch_plan_filter}
