# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook drill: its faults, and their report."""

from __future__ import annotations

DOCUMENTATION = """
name: _drill
short_description: Faults of the playbook drill, and their report
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain
from ..plugin_utils.drill.entry import entry_drill, entry_drill_key
from ..plugin_utils.drill.report import drill_report
from ..plugin_utils.drill.runs import drill_runs
from ..plugin_utils.drill.text import drill_text
from .entry import adapter


def runs_filter(plan: t.Any, settings: t.Any, confirmed: t.Any = "", hosts: t.Any = None) -> dict[str, t.Any]:
    """The faults. Raises AnsibleFilterError with everything that forbids the drill."""
    try:
        return drill_runs(plain(plan), plain(settings), plain(confirmed), plain(hosts))
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


def report_filter(results: t.Any, plan: t.Any, drill: t.Any) -> dict[str, t.Any]:
    """The report of the faults."""
    return drill_report(plain(plan), plain(drill), plain(results))


class FilterModule:
    """Filters for Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        of_entry = {f"_{function.__name__}": adapter(function) for function in (entry_drill, entry_drill_key)}
        return {"_drill_runs": runs_filter, "_drill_report": report_filter, "_drill_text": drill_text, **of_entry}
