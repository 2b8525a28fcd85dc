# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _instead: why a playbook is refused with a runtime, and what to use instead."""

from __future__ import annotations

DOCUMENTATION = """
name: _instead
short_description: Tell why a playbook has nothing to do with a runtime
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Of the facts of the plan's runtime.
options:
  _input:
    description: The facts; empty if they are not known.
    type: dict
    required: true
  playbook:
    description: Name of the playbook.
    type: str
    required: true
  namespace:
    description: Namespace of the pods in the cluster.
    type: str
    required: true
"""

EXAMPLES = """
refusal: "{{ __inference_plan_facts | ascend.inference._instead('restart', 'default') }}"
"""

RETURN = """
_value:
  description: The reason, with what to use instead; empty if the playbook serves the runtime.
  type: str
"""

import typing as t

from ..plugin_utils.runtimes.playbooks import instead


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_instead": instead}
