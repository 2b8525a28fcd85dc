# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter plan_diff: compare a plan with the deployed one."""

from __future__ import annotations

DOCUMENTATION = """
name: plan_diff
short_description: Compare a plan with the deployed one
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Lists the services that are new, removed or would restart, with the differences.
positional: deployed, compared, files
options:
  _input:
    description: The plan.
    type: dict
    required: true
  deployed:
    description: The plan that is deployed; empty if there is none.
    type: dict
  compared:
    description:
      - What the module M(ascend.inference.service_state) returned on each host of the plan, compared with the plan; empty where it did not answer.
      - Services that started with other secrets than planned restart, too, which the plans do not show.
    type: list
    elements: dict
    default: []
  files:
    description:
      - What the module M(ascend.inference.service_files) returned on each host of the plan in check mode; empty where it did not answer.
      - If it is given, a line names the hosts that did not answer.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = """
- name: Show what would change
  ansible.builtin.debug:
    msg: "{{ inference_plan | ascend.inference.plan_diff(lookup('ansible.builtin.file', 'plan.json') | from_json) }}"
"""

RETURN = """
_value:
  description: The lines.
  type: list
  elements: str
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.planned_steps import NO_KEYS, keys_of, planned_steps
from ..plugin_utils.lifecycle.recorded import as_renamed, lines, renamed
from ..plugin_utils.lifecycle.upgrade import planned_mode
from ..plugin_utils.plan.record import whole_plan
from ..plugin_utils.views.plan_diff import SAME, not_compared, plan_diff


def plan_diff_filter(plan: t.Any, deployed: t.Any = None, compared: t.Any = (), files: t.Any = ()) -> list[str]:
    """Adapter: a plan and the deployed one in, lines out; ``compared``, ``files``: see `not_compared`."""
    new, before = plain(plan), whole_plan(plain(deployed) or {})
    runs, written = ([plain(found) or {} for found in each] for each in (compared, files))
    names = renamed(new, before, {host["name"]: run for host, run in zip(new["hosts"], runs, strict=False)})
    old = as_renamed(before, names)
    keys = keys_of(runs, NO_KEYS)
    steps = planned_steps(new, old, keys) + planned_mode(new, old, keys)
    found = [line for line in plan_diff(new, old or None, keys) if not names or line != SAME]
    return lines(new, names) + found + steps + not_compared(new, old, runs, written)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"plan_diff": plan_diff_filter}
