# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _upgrade_mode: how to upgrade, and what it costs."""

from __future__ import annotations

import json
import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import halves, upgrade
from ..plugin_utils.plan.record import stored_plan, whole_plan


def upgrade_mode(hostvars: t.Any, hosts: t.Iterable[str], plan: t.Any, asked: t.Any) -> dict[str, t.Any]:
    """Adapter: an interrupted change is what the lock found, on the first host under a name of its own.

    What runs is known with a balancer, and without one after an interruption. Where every change has ended, it is the recorded plan.
    """
    names, hosts = ("__inference_locked", "__inference_locked_first"), list(hosts)
    locked = [plain(hostvars[host].get(name)) or {} for host in hosts for name in names]
    deployed = {host: whole_plan(plain(hostvars[host].get("__inference_previous")) or {}) for host in hosts}
    interrupted = [str(found.get("interrupted", "")) for found in locked]
    # After a change of one half each router knows its own half only, whatever the revisions are.
    halved = any(found.get("half") for found in locked)
    revisions = {str(name) for found in locked for name in found.get("revisions") or () if not halved}
    runs = halves.seen({host: plain(hostvars[host].get("__service_runs")) or {} for host in hosts})
    running = stored_plan(json.dumps(next((found["unverified"] for found in locked if found.get("unverified")), {})))
    return upgrade.mode(deployed, plain(plan), str(plain(asked)), interrupted, runs, revisions, running)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_upgrade_mode": lambda *given: wrap_var(upgrade_mode(*given))}  # texts of hosts are no templates
