# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _linked: services that have to be restarted together."""

from __future__ import annotations

DOCUMENTATION = """
name: _linked
short_description: Services that have to be restarted together
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Adds to names of services those that cannot go on after a restart of one of them. With LLMDataDist these are all engines, which keep
    their links to processes that are gone.
positional: names
options:
  _input:
    description: The plan.
    type: dict
    required: true
  names:
    description: Names of services. Without one all services of the plan are returned.
    type: list
    elements: str
    default: []
"""

EXAMPLES = """
service_names: "{{ inference_plan | ascend.inference._linked(['prefill-0']) }}"
"""

RETURN = """
_value:
  description: Names of services, in the plan's order.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.values import listed
from ..plugin_utils.plan import linked as services


def linked(plan: t.Any, names: t.Any = ()) -> list[str]:
    """Adapter: a plan on the left."""
    try:
        return services.linked(plan, listed(names))
    except ValueError as error:
        raise AnsibleFilterError(f"linked: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_linked": linked}
