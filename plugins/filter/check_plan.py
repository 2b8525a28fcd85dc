# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter check_plan: findings from a plan and gathered facts."""

from __future__ import annotations

DOCUMENTATION = """
name: _check_plan
short_description: Check gathered facts of hosts against a plan
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Compares the gathered facts with the plan. Missing facts are findings, too.
  - A finding that is caused by another one at the same place is omitted, unless that one was accepted.
positional: facts, ignore, options
options:
  _input:
    description: The plan, as P(ascend.inference.launch_plan#filter) returns it.
    type: dict
    required: true
  facts:
    description: The gathered facts by host, as P(ascend.inference._check_facts#filter) returns it.
    type: dict
    required: true
  ignore:
    description: IDs of rules whose findings are accepted. An unknown ID is itself a finding.
    type: list
    elements: str
    default: []
  options:
    description:
      - C(thresholds) as role P(ascend.inference.host_check#role) takes them, C(ping) (its C(host_check_ping)), and C(left_out), the
        names of planned hosts that are not checked.
    type: dict
    default: {}
"""

EXAMPLES = """
- name: Stop if a host cannot do what the plan wants
  ansible.builtin.assert:
    that: findings | selectattr('severity', 'eq', 'error') | length == 0
    fail_msg: "{{ findings | map(attribute='problem') | join('; ') }}"
  vars:
    findings: "{{ inference_plan | ascend.inference._check_plan(gathered, ['NET-HEALTH']) }}"
"""

RETURN = """
_value:
  description: The findings, most severe first; an empty list without findings.
  type: list
  elements: dict
  contains:
    id:
      description: The rule.
      type: str
      sample: LINK-DOWN
    path:
      description: The host, or the host and the device.
      type: str
      sample: node1 device 3
    value:
      description: The observed value.
      type: str
    problem:
      description: The problem.
      type: str
    why:
      description: Why it matters.
      type: str
    fix:
      description: How to correct it.
      type: str
    severity:
      description: V(error), V(warning), V(remark) if it does not affect this plan, or V(accepted) for an ignored rule.
      type: str
    source:
      description: What the rule is based on.
      type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.description.values import listed
from ..plugin_utils.hosts.check_plan import check_plan
from ..plugin_utils.hosts.readable import judged


def check_plan_filter(plan: t.Any, facts: t.Any, ignore: t.Any = (), options: t.Any = None) -> list[dict[str, str]]:
    """Findings for the hosts of a plan."""
    planned, accepted, chosen = plain(plan), listed(ignore), plain(options or {})
    try:
        return judged(lambda known: check_plan(planned, known, accepted, chosen), plain(facts))
    except ValueError as error:
        raise AnsibleFilterError(f"check_plan: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_check_plan": check_plan_filter}
