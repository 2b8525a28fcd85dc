# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _linked: services that have to be restarted together."""

from __future__ import annotations

DOCUMENTATION = """
name: _linked
short_description: Services that have to be restarted together
extends_documentation_fragment: [ascend.inference.private]
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
