# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _left_hosts: what to do about hosts that left the inventory with services."""

from __future__ import annotations

DOCUMENTATION = """
name: _left_hosts
short_description: Say what to do about hosts that left the inventory with services
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.removal import left_text
from ..plugin_utils.plan.begun import renamed


def left_hosts(hostvars: t.Any, hosts: t.Iterable[str], lost: t.Iterable[str], plan: t.Mapping[str, t.Any]) -> str:
    """Adapter: ``hostvars`` on the left; what hosts printed in playbooks/shared/places.yml; ``plan``: today's."""
    found = {str(host): plain(hostvars[host].get("__inference_placement")) or {} for host in hosts if host in hostvars}
    return left_text(
        [str(host) for host in lost],
        renamed({host: str(each.get("stdout", "")) for host, each in found.items()}),
        plain(plan),
    )


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_left_hosts": left_hosts}
