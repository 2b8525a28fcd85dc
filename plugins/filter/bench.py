# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbooks bench and trace: their measurements, and their report."""

from __future__ import annotations

DOCUMENTATION = """
name: _bench
short_description: Measurements and report of the playbooks bench and trace
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.bench.services import with_every_log
from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain
from ..plugin_utils.trace.report import report_of
from ..plugin_utils.trace.requests import runs_of
from ..plugin_utils.trace.text import text_of


def runs_filter(plan: t.Any, settings: t.Any, files: t.Any = None, requests: t.Any = ()) -> dict[str, t.Any]:
    """The measurements. Raises AnsibleFilterError with all errors of the settings and of the report's files."""
    try:
        return runs_of(plain(plan), plain(settings), plain(files or {}), plain(requests or []))
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


def report_filter(results: t.Any, plan: t.Any, bench: t.Any, *others: t.Any) -> dict[str, t.Any]:
    """The report of the results of service_bench; ``others``: an earlier report, the state of tuning, and findings of status, check and logs."""
    old, tuned, known = (*(plain(other) or None for other in others), None, None, None)[:3]
    return report_of(plain(plan), plain(bench), plain(results), old, tuned, with_every_log(plain(plan), known))


class FilterModule:
    """Filters for Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_bench_runs": runs_filter, "_bench_report": report_filter, "_bench_text": text_of}
