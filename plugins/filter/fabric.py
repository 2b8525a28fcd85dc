# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook fabric: settings of the devices, what prevents them, and the report."""

from __future__ import annotations

DOCUMENTATION = """
name: _fabric
short_description: Settings of the devices for the playbook fabric, what prevents them, and the report
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.fabric_files import refused, registered, settings
from ..plugin_utils.views.fabric_text import fabric_failures, fabric_text


def diffs(hostvars: t.Any, order: t.Any, name: str) -> dict[str, t.Any]:
    """The ``diff`` of each host, of its forecast or of what was applied."""
    return {host: result.get("diff") or {} for host, result in registered(hostvars, order, name).items()}


def text(given: t.Any, promised: t.Any = False) -> list[str]:
    """Adapter: diffs by host on the left."""
    return fabric_text(plain(given), bool(promised))


def failures(hostvars: t.Any, order: t.Any) -> list[str]:
    """Adapter: what was applied, by host."""
    return fabric_failures(registered(hostvars, order, "applied"))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        functions = (settings, refused, diffs, text, failures)
        return {f"_fabric_{function.__name__}": function for function in functions}
