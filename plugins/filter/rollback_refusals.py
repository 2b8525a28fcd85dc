# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _rollback_refusals: reasons why the playbook rollback must not begin."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.destinations import NAMES, own_addresses
from ..plugin_utils.lifecycle.rollback import refusals
from ..plugin_utils.plan.record import whole_plan


def rollback_refusals(hostvars: t.Any, hosts: t.Iterable[str], directory: t.Any, todays: t.Any = None) -> list[str]:
    """Adapter: the fact ``__inference_previous`` of each host is its plan to go back to; ``todays``: the inventory's, if it can be made."""
    hosts, today = list(hosts), plain(todays) or {}
    previous = {host: whole_plan(plain(hostvars[host].get("__inference_previous")) or {}) for host in hosts}
    variables = [{name: plain(hostvars[host].get(name)) for name in NAMES} for host in hosts]
    return refusals(previous, str(directory), own_addresses(variables, today), today)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_rollback_refusals": rollback_refusals}
