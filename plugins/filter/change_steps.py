# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _change_steps: the steps of a change while the service serves."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.steps import steps
from ..plugin_utils.plan.record import stored_plan, whole_plan


def change_steps(
    hostvars: t.Any,
    hosts: t.Iterable[str],
    plan: t.Any,
    text: t.Any,
    allow_pause: t.Any,
    early: t.Any = False,
    unfinished: t.Any = False,
) -> dict[str, t.Any]:
    """Adapter: ``hostvars`` on the left; ``text`` is the recorded plan.json, empty without one."""
    pending: dict[str, dict[str, t.Any]] = {}
    for host in hosts:
        found = plain(hostvars[host].get("__service_registered")) or {}
        written = plain(hostvars[host].get("__service_secrets_written")) or {}
        pending[host] = {key: found.get(key) or [] for key in ("down", "outdated", "other")}
        pending[host]["secrets"] = bool(written.get("changed"))
    deployed = stored_plan(str(text or ""))
    return steps(
        pending, whole_plan(plain(plan)), deployed, bool(allow_pause), bool(early), unfinished=bool(unfinished)
    )


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_change_steps": change_steps}
