# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _address_hosts: the hosts whose part in the virtual address is to be compared."""

from __future__ import annotations

DOCUMENTATION = """
name: _address_hosts
short_description: Hosts of the virtual address before and after a change
extends_documentation_fragment: [ascend.inference.private]
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
