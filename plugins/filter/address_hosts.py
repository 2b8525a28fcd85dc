# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _address_hosts: the hosts whose part in the virtual address is to be compared."""

from __future__ import annotations

DOCUMENTATION = """
name: _address_hosts
short_description: Hosts of the virtual address before and after a change
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Private to this collection; it may change in any release.
  - The hosts that keep the virtual address of the clients' entry by the plan, or did so by the recorded plan.
positional: text
options:
  _input:
    description: The whole plan.
    type: dict
    required: true
  text:
    description: The text of the recorded plan, as M(ascend.inference.deployed_plan_info) returns it.
    type: str
    default: ""
"""

EXAMPLES = """
hosts: "{{ inference_plan | ascend.inference._address_hosts(recorded.content) }}"
"""

RETURN = """
_value:
  description: Names of hosts.
  type: list
  elements: str
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.plan.record import stored_plan, whole_plan


def address_hosts(plan: t.Any, text: t.Any = "") -> list[str]:
    """Adapter: the whole plan on the left, the text of the recorded one; hosts that have the address in one of both."""
    plans = (whole_plan(plain(plan)), stored_plan(str(text or "")))
    return sorted({str(row["host"]) for each in plans for row in (each.get("virtual_address") or {}).get("hosts", ())})


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_address_hosts": address_hosts}
