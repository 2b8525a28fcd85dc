# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter check_plan: findings from a plan and gathered facts."""

from __future__ import annotations

DOCUMENTATION = """
name: _check_plan
short_description: Check gathered facts of hosts against a plan
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.description.values import listed
from ..plugin_utils.hosts.check_plan import check_plan
from ..plugin_utils.hosts.readable import judged


def check_plan_filter(plan: t.Any, facts: t.Any, ignore: t.Any = (), options: t.Any = None) -> list[dict[str, str]]:
    """Findings for the hosts of a plan."""
    planned, accepted, chosen = plain(plan), listed(ignore), plain(options or {})
    try:
        return judged(lambda known: check_plan(planned, known, accepted, chosen), plain(facts))
    except ValueError as error:
        raise AnsibleFilterError(f"check_plan: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_check_plan": check_plan_filter}
