# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter on_host: the services of a plan that run on one host."""

from __future__ import annotations

DOCUMENTATION = """
name: on_host
short_description: List the services of a plan that run on one host
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Selects a host's services from a plan, in start order.
positional: host, made
options:
  _input:
    description: The plan.
    type: dict
    required: true
  host:
    description: The host's name in the inventory.
    type: str
    required: true
  made:
    description:
      - Content of files that are generated from facts of the hosts, by the name under C(from).
        Currently only C(rank_table), from the part C(generate) of M(ascend.inference.change).
      - The C(digest) of such a service depends on the content, so that it restarts when the content changes.
    type: dict
"""

EXAMPLES = """
- name: Show what runs here
  ansible.builtin.debug:
    msg: "{{ inference_plan | ascend.inference.on_host(inventory_hostname) | map(attribute='name') }}"
"""

RETURN = """
_value:
  description: The services.
  type: list
  elements: dict
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.plan.generated import filled
from ..plugin_utils.plan.planner import on_host


def on_host_filter(plan: t.Any, host: t.Any, made: t.Any = None) -> list[dict[str, t.Any]]:
    """Services of one host, with their generated files if given."""
    services = on_host(plan, host)
    return filled(plain(services), plain(made)) if made else services


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"on_host": on_host_filter}
