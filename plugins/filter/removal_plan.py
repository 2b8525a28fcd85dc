# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _removal_plan: the plan by which a deployment is removed from a host."""

from __future__ import annotations

DOCUMENTATION = """
name: _removal_plan
short_description: The plan by which a deployment is removed from a host
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Takes what M(ascend.inference.deployed_plan_info) read on the host and returns the deployed plan, or the inventory's one where
    there is none.
  - Fails for a deployed plan that cannot be read and that the inventory's one cannot stand for.
positional: directory, todays
options:
  _input:
    description: Text of the host's C(plan.json); empty without one.
    type: str
    required: true
  directory:
    description: The deployment's folder, which the deployed plan has to be about.
    type: str
    required: true
  todays:
    description: The inventory's plan, or an empty dictionary.
    type: dict
    required: true
"""

EXAMPLES = """
service_plan: "{{ deployed.content | ascend.inference._removal_plan('/opt/ascend-inference/deployments/inference', {}) }}"
"""

RETURN = """
_value:
  description: A plan, or an empty dictionary if there is neither.
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import removal


def removal_plan(text: t.Any, directory: t.Any, todays: t.Any) -> dict[str, t.Any]:
    """Adapter: the text of plan.json on the left."""
    try:
        return removal.removal_plan(str(text or ""), str(directory), plain(todays) or {})
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_removal_plan": removal_plan}
