# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _members_of: what changes the members of one host's routers."""

from __future__ import annotations

DOCUMENTATION = """
name: _members_of
short_description: What changes the members of one host's routers
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.plan.render.router import members_of


def members_of_filter(plan: t.Any, host: t.Any, names: t.Any = None) -> dict[str, t.Any]:
    """Adapter: a plan, or a host's part of it, on the left; ``names`` of routers, all of the host by default."""
    return members_of(plain(plan), str(host), None if names is None else [str(name) for name in names])


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_members_of": members_of_filter}
