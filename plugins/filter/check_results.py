# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter check_results: what the tasks of a check registered on the hosts."""

from __future__ import annotations

DOCUMENTATION = """
name: _check_results
short_description: Collect what the tasks of a check registered, by host
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.facts import check_results


def results_filter(hostvars: t.Any, hosts: t.Any) -> dict[str, t.Any]:
    """Registered results by host, as plain data."""
    found: dict[str, t.Any] = plain(check_results(hostvars, [str(host) for host in hosts]))
    return found


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_check_results": results_filter}
