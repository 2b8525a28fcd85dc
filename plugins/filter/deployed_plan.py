# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _whole_plan and _plan_files: the plan that hosts store."""

from __future__ import annotations

DOCUMENTATION = """
name: _deployed_plan
short_description: The plan that hosts store
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.plan import record


def whole_filter(deployed: t.Any) -> dict[str, t.Any]:
    """Adapter: a stored plan in, the whole plan out."""
    try:
        return dict(record.whole_plan(plain(deployed) or {}))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def files_filter(part: t.Any, more: t.Any) -> list[dict[str, t.Any]]:
    """Adapter: a host's part and the record of the plan in, files out."""
    return record.plan_files(plain(part), plain(more) or {})


def stranger_filter(text: t.Any, hosts: t.Any) -> bool:
    """Adapter: the text of a host's plan.json in; whether it is the plan of another deployment than that of these hosts."""
    return record.is_of_others(str(text or ""), {str(host) for host in plain(hosts) or ()})


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_whole_plan": whole_filter, "_plan_files": files_filter, "_stranger": stranger_filter}
