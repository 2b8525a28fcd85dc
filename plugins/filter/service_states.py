# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter service_states: services of a plan as a module's option."""

from __future__ import annotations

DOCUMENTATION = """
name: _service_states
short_description: Convert services of a plan into an option of service_state
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.views.service_states import service_states


def service_states_filter(services: t.Any, plan: t.Any) -> list[dict[str, t.Any]]:
    """Adapter: services on the left, their plan as the argument."""
    return service_states(plan, services)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_service_states": service_states_filter}
