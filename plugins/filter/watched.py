# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _watched: what the playbook watchdog asks."""

from __future__ import annotations

DOCUMENTATION = """
name: _watched
short_description: What the playbook watchdog asks
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.watchdog import watched


def of_plan(plan: t.Any) -> dict[str, t.Any]:
    """Adapter: a plan on the left."""
    return watched(plain(plan))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_watched": of_plan}
