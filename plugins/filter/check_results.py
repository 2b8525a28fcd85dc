# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter check_results: what the tasks of a check registered on the hosts."""

from __future__ import annotations

DOCUMENTATION = """
name: _check_results
short_description: Collect what the tasks of a check registered, by host
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Collects what the tasks of role P(ascend.inference.host_check#role) registered on each host, and the variables of later roles that
    matter for its evaluation.
positional: hosts
options:
  _input:
    description: The variable C(hostvars).
    type: dict
    required: true
  hosts:
    description: Names of the planned hosts.
    type: list
    elements: str
    required: true
"""

EXAMPLES = """
- name: Select the pairs of devices to ping
  ansible.builtin.include_role:
    name: ascend.inference.host_check
    tasks_from: pairs
  vars:
    host_check_results: "{{ hostvars | ascend.inference._check_results(inference_plan.hosts | map(attribute='name')) }}"
"""

RETURN = """
_value:
  description: Results by name of host; empty where a task did not run.
  type: dict
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.facts import check_results


def results_filter(hostvars: t.Any, hosts: t.Any) -> dict[str, t.Any]:
    """Registered results by host, as plain data."""
    found: dict[str, t.Any] = plain(check_results(hostvars, [str(host) for host in hosts]))
    return found


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_check_results": results_filter}
