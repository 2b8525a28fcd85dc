# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook compare: its stages, and their outcome."""

from __future__ import annotations

DOCUMENTATION = """
name: _compare
short_description: Stages of the playbook compare, and their outcome
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible import context
from ansible.errors import AnsibleFilterError

from ..plugin_utils.bench.topologies import compare_outcome, compare_stages
from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain


def stages_filter(given: t.Any) -> dict[str, t.Any]:
    """The stages, with the options of this run of ansible-playbook. Raises AnsibleFilterError with everything that forbids the comparison."""
    try:
        return compare_stages(plain(given), context.CLIARGS)
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Filters for Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {
            "_compare_stages": stages_filter,
            "_compare_outcome": lambda plan, done: compare_outcome(plain(plan), plain(done)),
        }
