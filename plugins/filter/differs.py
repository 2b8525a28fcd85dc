# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _differs: whether a service is not as planned."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.steps import differs
from ..plugin_utils.plan.record import whole_plan


def differs_filter(hostvars: t.Any, hosts: t.Iterable[str], plan: t.Any) -> bool:
    """Adapter: ``hostvars`` on the left."""
    return differs({host: plain(hostvars[host].get("__service_registered")) for host in hosts}, whole_plan(plain(plan)))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_differs": differs_filter}
