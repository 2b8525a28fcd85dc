# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _rollback_mode: how the playbook rollback goes back."""

from __future__ import annotations

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import halves, rollback
from ..plugin_utils.plan.record import stored_plan, whole_plan


def rollback_mode(
    hostvars: t.Any, hosts: t.Iterable[str], text: t.Any, allow_pause: t.Any = False, asked: t.Any = ""
) -> dict[str, t.Any]:
    """Adapter: ``text`` is the recorded plan.json of a host, empty without one; ``asked``: inference_upgrade_mode."""
    previous = {host: whole_plan(plain(hostvars[host].get("__inference_previous")) or {}) for host in hosts}
    locked = [plain(hostvars[host].get("__inference_locked")) or {} for host in previous if previous[host]]
    return rollback.mode(
        previous,
        stored_plan(str(text or "")),
        [found.get("phase", "") for found in locked],
        halves.seen({host: plain(hostvars[host].get("__service_runs")) or {} for host in previous if previous[host]}),
        rollback.halved([str(found.get("half") or "") for found in locked], previous),
        bool(allow_pause),
        str(plain(asked) or ""),
        {str(name) for found in locked for name in found.get("revisions") or ()},
    )


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_rollback_mode": lambda *given: wrap_var(rollback_mode(*given))}  # texts of hosts are no templates
