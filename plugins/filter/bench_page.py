# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _bench_page: a report of the playbooks bench and trace as one HTML page."""

from __future__ import annotations

DOCUMENTATION = """
name: _bench_page
short_description: Show the report of a benchmark as an HTML page
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - The page loads nothing.
requirements:
  - pygal on the controller
options:
  _input:
    description: The report.
    type: dict
    required: true
  run:
    description: The date and the inventory of the run, which the page names.
    type: dict
"""

EXAMPLES = """
- name: Write the page
  ansible.builtin.copy:
    content: "{{ report | ascend.inference._bench_page }}"
    dest: bench.html
    mode: "0640"
"""

RETURN = """
_value:
  description: The page.
  type: str
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.trace.text import page_of


def page_filter(report: t.Any, run: t.Any = None) -> str:
    """Adapter: the report of the filter _bench_report on the left."""
    return page_of(plain(report), plain(run or {}))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_bench_page": page_filter}
