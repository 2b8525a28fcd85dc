# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _round_plan and _way_back: the mixed plan of a round, and how an upgrade goes back to the previous plan."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import halves
from ..plugin_utils.plan.handover import part_of
from ..plugin_utils.plan.record import whole_plan


def round_plan(given: t.Any, previous: t.Any, plan: t.Any, host: t.Any) -> dict[str, t.Any]:
    """Adapter: a round on the left; the previous plan as a host stores it; the part of one host out."""
    found = plain(given)
    old = whole_plan(plain(previous))
    return part_of(halves.mixed(old, plain(plan), found["revisions"], found["target"]), str(host))


def way_back(hostvars: t.Any, hosts: t.Iterable[str], plan: t.Any, mode: t.Any) -> dict[str, t.Any]:
    """Adapter: ``plan`` is the new one; ``mode`` that of the upgrade."""
    hosts = list(hosts)
    found = halves.seen({host: plain(hostvars[host].get("__service_runs")) or {} for host in hosts})
    old = whole_plan(plain(hostvars[hosts[0]].get("__inference_previous")) or {})
    return halves.way_back(str(mode), old, plain(plan), found)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_round_plan": round_plan, "_way_back": way_back}
