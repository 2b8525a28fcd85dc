# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook acceptance: its settings, and its report."""

from __future__ import annotations

DOCUMENTATION = """
name: _acceptance
short_description: Settings and report of the playbook acceptance
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.acceptance.page import acceptance_page
from ..plugin_utils.acceptance.report import acceptance_report
from ..plugin_utils.acceptance.settings import acceptance_settings
from ..plugin_utils.acceptance.text import acceptance_text
from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain


def settings_filter(plan: t.Any, *given: t.Any) -> dict[str, t.Any]:
    """The settings. Raises AnsibleFilterError with everything that would end the run later."""
    try:
        return acceptance_settings(plain(plan), *(plain(value) for value in given))
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Filters for Ansible."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {
            "_acceptance_settings": settings_filter,
            "_acceptance_report": lambda plan, given: acceptance_report(plain(plan), plain(given)),
            "_acceptance_text": lambda report: acceptance_text(plain(report)),
            "_acceptance_page": lambda report, inventory=(): acceptance_page(plain(report), plain(inventory)),
        }
