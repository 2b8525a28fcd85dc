# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _members_of: what changes the members of one host's routers."""

from __future__ import annotations

DOCUMENTATION = """
name: _members_of
short_description: What changes the members of one host's routers
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
positional: host, names
options:
  _input:
    description: The plan, or the host's part of it.
    type: dict
    required: true
  host:
    description: Name of the host.
    type: str
    required: true
  names:
    description: Only these routers. Without it all routers of the host.
    type: list
    elements: str
"""

EXAMPLES = """
members: "{{ inference_plan | ascend.inference._members_of(inventory_hostname) }}"
"""

RETURN = """
_value:
  description: >-
    Options of M(ascend.inference.router_members) with the names of the routers and the engines of the plan; empty if the host has none of
    these routers, or they cannot be changed while they run.
  type: dict
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
