# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters status_report and status_table: the status of services as data and as text."""

from __future__ import annotations

import typing as t

from ansible import constants

from ..module_utils.tools.text import one_line
from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.readable import judged
from ..plugin_utils.lifecycle.run import another, this_run
from ..plugin_utils.views import status_table as table


def status_report(results: t.Any, deployment: t.Any, planned: t.Any = None) -> dict[str, t.Any]:
    """Adapter: results by host on the left; locks of this run, and of one that has ended, are left out."""
    here, plan = this_run(constants.DEFAULT_LOCAL_TMP), plain(planned) or None

    def judge(found: t.Any) -> dict[str, t.Any]:
        others = {
            host: result if another(result.get("locked") or {}, here) else {**result, "locked": {}}
            for host, result in found.items()
        }
        report = table.status_report(str(deployment), others, plan)
        status_table(report)  # fails if it cannot be shown
        return report

    return judged(judge, plain(results), lambda _host, problem: {"failed": True, "msg": problem})


def status_table(report: t.Any) -> list[str]:
    """Adapter: a report in, its lines out."""
    return [one_line(line) for line in table.status_table(plain(report))]


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_status_report": status_report, "_status_table": status_table}
