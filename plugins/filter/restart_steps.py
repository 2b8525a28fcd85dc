# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _restart_steps and _leaving_engines: parts of the steps of a change while the service serves."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.steps import leaving_engines, restart_steps
from ..plugin_utils.plan.record import stored_plan, whole_plan


def restart_steps_filter(
    hostvars: t.Any, hosts: t.Iterable[str], plan: t.Any, names: t.Any, allow_pause: t.Any = False
) -> dict[str, t.Any]:
    """Adapter: ``hostvars`` on the left; ``names`` of the services to restart, empty for all."""
    whole = whole_plan(plain(plan))
    every = [service["name"] for service in whole["services"]]
    found = [plain(hostvars[host].get("__service_registered")) or {} for host in hosts]
    down, rekeyed = ([name for each in found for name in each.get(key) or ()] for key in ("down", "rekeyed"))
    chosen = [name for name in every if not names or name in names]
    return restart_steps(chosen, down, whole, bool(allow_pause), rekeyed)


def leaving_engines_filter(text: t.Any, plan: t.Any) -> list[dict[str, t.Any]]:
    """Adapter: the recorded plan.json on the left, empty without one."""
    return [dict(engine) for engine in leaving_engines(whole_plan(plain(plan)), stored_plan(str(text or "")))]


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_leaving_engines": leaving_engines_filter, "_restart_steps": restart_steps_filter}
