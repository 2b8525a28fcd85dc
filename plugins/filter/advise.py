# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook advise: what it reads, its report, and the report as text."""

from __future__ import annotations

DOCUMENTATION = """
name: _advise
short_description: What the playbook advise reads, and its report
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.advise.report import Inventory, advise_report
from ..plugin_utils.advise.services import watched_services
from ..plugin_utils.advise.text import advise_text
from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain


def services_filter(plan: t.Any) -> dict[str, t.Any]:
    """The services whose metrics are read. Raises AnsibleFilterError for a deployment in a cluster."""
    try:
        return watched_services(plain(plan))
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


def report_filter(measured: t.Any, plan: t.Any, bench: t.Any, *inventory: t.Any) -> dict[str, t.Any]:
    """The advice from a benchmark's report, or from the result of service_metrics_info. Raises AnsibleFilterError with all errors."""
    try:
        return advise_report(plain(plan), plain(measured), plain(bench), Inventory(*inventory))
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Filters for Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_advise_services": services_filter, "_advise_report": report_filter, "_advise_text": advise_text}
