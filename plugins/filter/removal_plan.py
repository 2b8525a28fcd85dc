# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _removal_plan: the plan by which a deployment is removed from a host."""

from __future__ import annotations

DOCUMENTATION = """
name: _removal_plan
short_description: The plan by which a deployment is removed from a host
extends_documentation_fragment: [ascend.inference.private]
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
