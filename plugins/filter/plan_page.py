# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter plan_page: a plan as one HTML page."""

from __future__ import annotations

DOCUMENTATION = """
name: plan_page
short_description: Draw a plan as one HTML page
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Shows the path of requests and KV cache through router, prefill, decode and store, then each host with its
    devices and services, all ports, and the findings.
  - The page is self-contained, loads nothing and contains no secrets.
options:
  _input:
    description: The plan.
    type: dict
    required: true
  run:
    description: >-
      What the page says about the run that wrote it, as far as it is given: C(date) as text, and C(inventory), a list of paths such as
      the magic variable C(ansible_inventory_sources); and C(changes), what the filter P(ascend.inference.plan_diff#filter) returns.
    type: dict
    default: {}
"""

EXAMPLES = """
- name: Draw the plan
  ansible.builtin.copy:
    content: "{{ inference_plan | ascend.inference.plan_page }}"
    dest: plan.html
    mode: "0644"
  delegate_to: localhost
"""

RETURN = """
_value:
  description: The text of the page.
  type: str
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.plan_page import plan_page


def plan_page_filter(plan: t.Any, run: t.Any = None) -> str:
    """Adapter: a plan in, the text of the page out."""
    return plan_page(plain(plan), plain(run or {}))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"plan_page": plan_page_filter}
