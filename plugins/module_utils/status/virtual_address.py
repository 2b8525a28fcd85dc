# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the host of a balancer has the virtual address of the clients' entry."""

from __future__ import annotations

from ..host.virtual_address import holds


def state_of(service):
    """``{virtual_address, has_address}`` of a balancer whose host may have one; {} of other services, and if the kernel does not say."""
    address = service.get("virtual_address")
    if not address:
        return {}
    found = holds(address)
    return {} if found is None else {"virtual_address": address, "has_address": found}
