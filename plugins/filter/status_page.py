# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter status_page: the status of services as one HTML page."""

from __future__ import annotations

DOCUMENTATION = """
name: _status_page
short_description: Draw a status report as one HTML page
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - What is wrong, the picture of the deployment with the states of its services, then a row for each service.
options:
  _input:
    description: The report, as the filter P(ascend.inference._status_report#filter) returns it.
    type: dict
    required: true
  planned:
    description: The inventory's plan, which is drawn.
    type: dict
  run:
    description: The date and the inventory of the run, which the page names.
    type: dict
"""

EXAMPLES = """
- name: Draw the status
  ansible.builtin.copy:
    content: "{{ report | ascend.inference._status_page(plan) }}"
    dest: status.html
    mode: "0640"
  delegate_to: localhost
"""

RETURN = """
_value:
  description: The text of the page.
  type: str
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.status_page import status_page


def page_filter(report: t.Any, planned: t.Any = None, run: t.Any = None) -> str:
    """Adapter: a report in, the text of the page out."""
    return status_page(plain(report), plain(planned) or None, plain(run or {}))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_status_page": page_filter}
