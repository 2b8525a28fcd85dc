# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters status_report and status_table: the status of services as data and as text."""

from __future__ import annotations

DOCUMENTATION = """
name: _status_report
short_description: The status of services as data and as text
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.constants import DEFAULT_LOCAL_TMP as TMP

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.lost import answered
from ..plugin_utils.lifecycle.run import another, this_run
from ..plugin_utils.views import status_table as table


def status_report(
    results: t.Any, deployment: t.Any, planned: t.Any = None, places: t.Any = None, keys: t.Any = None
) -> dict[str, t.Any]:
    """Adapter: results by host on the left; locks of this run, or of one that has ended, do not count. ``places``: see `answered`."""

    def known(result: t.Any) -> dict[str, t.Any]:
        return result if another(result.get("locked") or {}, this_run(TMP)) else {**result, "locked": {}}

    found, plan = answered(plain(results), plain(places) or {}), plain(planned) or None
    return table.judged_report(str(deployment), found, plan, known, plain(keys) or {})


def status_table(report: t.Any) -> list[str]:
    """Adapter: a report in, its lines out."""
    return table.status_table(plain(report))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_status_report": status_report, "_status_table": status_table}
