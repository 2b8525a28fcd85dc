# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter plan_table: a plan as text lines."""

from __future__ import annotations

DOCUMENTATION = """
name: plan_table
short_description: Render a plan as text
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - One line for each service, in start order, with its host, devices, ports and health URL; then the plan's findings.
  - Optionally the exact command and environment of each process instead. Secrets appear only by name.
  - O(show=rules) lists all planner rules, independent of the plan.
positional: show
options:
  _input:
    description: The plan.
    type: dict
    required: true
  show:
    description: What to show.
    type: str
    default: table
    choices: [table, advice, commands, diff, json, memory, rules]
"""

EXAMPLES = """
- name: Show the plan
  ansible.builtin.debug:
    msg: "{{ inference_plan | ascend.inference.plan_table('commands') }}"
"""

RETURN = """
_value:
  description: The lines.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.plan_table import plan_table


def plan_table_filter(plan: t.Any, show: t.Any = "table") -> list[str]:
    """Adapter: a plan in, its lines out."""
    try:
        return plan_table(plain(plan), str(show))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"plan_table": plan_table_filter}
