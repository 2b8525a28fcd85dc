# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _of_inventory: a value that names something on the controller, unless the host has answered it."""

from __future__ import annotations

DOCUMENTATION = """
name: _of_inventory
short_description: Refuse a value that a host has answered
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.hosts.answered import of_inventory


def of_inventory_filter(value: t.Any, facts: t.Any, name: str, folder: str | None = None) -> t.Any:
    """Adapter: a refusal is an error of the filter."""
    try:
        return of_inventory(value, facts, name, folder)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_of_inventory": of_inventory_filter}
