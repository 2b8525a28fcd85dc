# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the role entry and the playbook entry: what the role writes and runs."""

from __future__ import annotations

DOCUMENTATION = """
name: _entry
short_description: What the role entry writes and runs
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain
from ..plugin_utils.entry.deployed import planned_deployments, secret_keys, with_planned
from ..plugin_utils.entry.made import entry_files, entry_hosts, entry_service
from ..plugin_utils.entry.twin import entry_checks, entry_twin


def adapter(function: t.Callable[..., t.Any], most: int | None = None) -> t.Callable[..., t.Any]:
    """Adapter: the settings on the left. Raises AnsibleFilterError with all errors. Arguments after ``most`` stay as Ansible gives them."""

    def adapted(*given: t.Any) -> t.Any:
        try:
            return function(*map(plain, given[:most]), *(given[most:] if most else ()))
        except PlanError as error:
            raise AnsibleFilterError(str(error)) from error

    return adapted


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        functions = (entry_checks, entry_files, entry_service, entry_twin)
        adapted = {f"_{function.__name__}": adapter(function) for function in functions}
        # Variables of all hosts are not converted: one that nothing uses may be undefined.
        adapted["_entry_deployments"] = adapter(planned_deployments, 1)
        return {"_entry_hosts": entry_hosts, "_entry_with": with_planned, "_entry_keys": secret_keys, **adapted}
