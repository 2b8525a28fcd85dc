# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _change_steps: the steps of a change while the service serves."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.before import as_begun, as_listed, left_out, listed_by
from ..plugin_utils.lifecycle.steps import pending_of, steps
from ..plugin_utils.plan.record import stored_plan, whole_plan


def change_steps(
    hostvars: t.Any,
    hosts: t.Iterable[str],
    plan: t.Any,
    text: t.Any,
    allow_pause: t.Any,
    early: t.Any = False,
    unfinished: t.Any = False,
    revisions: t.Iterable[t.Any] = (),
    check: t.Any = False,
) -> dict[str, t.Any]:
    """Adapter: ``hostvars`` on the left, also with what the routers list; ``text`` is the recorded plan.json, empty without one."""
    found = {host: pending_of(plain(hostvars[host].get("__service_registered")) or {}) for host in hosts}
    new, listed = whole_plan(plain(plan)), listed_by(plain(hostvars[host].get("__service_missing")) for host in hosts)
    old = as_begun(as_listed(stored_plan(str(text or "")), new, listed), new, [str(name) for name in revisions])
    return steps(found, new, old, *map(bool, (allow_pause, early, True, unfinished)), left_out(old, new, listed), check)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_change_steps": change_steps}
