# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter rank_table: create LLMDataDist's rank table from a plan and facts of devices."""

from __future__ import annotations

DOCUMENTATION = """
name: _rank_table
short_description: Create the rank table of LLMDataDist
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - Creates the global rank table of LLMDataDist's connector, one file that is equal on all hosts, from the plan and
    the devices' own facts.
  - Fails with one error that lists all devices whose address or super device ID is unknown.
positional: facts
options:
  _input:
    description: The plan, as P(ascend.inference.launch_plan#filter) returns it.
    type: dict
    required: true
  facts:
    description:
      - For each host's name C(npu), the result of M(ascend.inference.npu_info), and C(hccn), that of M(ascend.inference.hccn_info).
      - On Atlas A3, M(ascend.inference.npu_info) must gather C(superpod), too.
    type: dict
    required: true
"""

EXAMPLES = """
- name: Write the rank table
  ansible.builtin.copy:
    content: "{{ inference_plan | ascend.inference._rank_table(gathered) | to_nice_json }}"
    dest: /etc/ascend/ranktable.json
    mode: "0644"
"""

RETURN = """
_value:
  description: The table. All values in it are strings.
  type: dict
  contains:
    version:
      description: Version of the format.
      type: str
      sample: "1.2"
    server_count:
      description: Number of hosts with engines.
      type: str
    prefill_device_list:
      description: Devices of the prefill engines, in the order in which their engine uses them.
      type: list
      elements: dict
    decode_device_list:
      description: The same of the decode engines.
      type: list
      elements: dict
    status:
      description: Always V(completed).
      type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.rank_table import rank_table


def rank_table_filter(plan: t.Any, facts: t.Any) -> dict[str, t.Any]:
    """The rank table of a plan, or one error with all devices with missing facts."""
    try:
        return rank_table(plain(plan), plain(facts))
    except PlanError as error:
        lines = ["LLMDataDist's rank table cannot be created.", *(finding.text() for finding in error.findings)]
        raise AnsibleFilterError("\n".join(lines)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_rank_table": rank_table_filter}
