# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the role and the playbook entry: what the role writes and runs, and the files that this needs of the controller."""

from __future__ import annotations

DOCUMENTATION = """
name: _entry
short_description: What the role entry writes and runs, and the files that it needs of the controller
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain
from ..plugin_utils.entry.made import entry_files, entry_service, entry_sources


def _adapter(function: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    def adapted(*given: t.Any) -> t.Any:
        """Adapter: the settings on the left. Raises AnsibleFilterError with all errors."""
        try:
            return function(*map(plain, given))
        except PlanError as error:
            raise AnsibleFilterError(str(error)) from error

    return adapted


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        named = {"_entry_sources": entry_sources, "_entry_files": entry_files, "_entry_service": entry_service}
        return {name: _adapter(function) for name, function in named.items()}
