# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter rank_table: create LLMDataDist's rank table from a plan and facts of devices."""

from __future__ import annotations

DOCUMENTATION = """
name: _rank_table
short_description: Create the rank table of LLMDataDist
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.rank_table import rank_table


def rank_table_filter(plan: t.Any, facts: t.Any) -> dict[str, t.Any]:
    """The rank table of a plan, or one error with all devices with missing facts."""
    try:
        return rank_table(plain(plan), plain(facts))
    except PlanError as error:
        lines = ["LLMDataDist's rank table cannot be created.", *(finding.text() for finding in error.findings)]
        raise AnsibleFilterError("\n".join(lines)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_rank_table": rank_table_filter}
