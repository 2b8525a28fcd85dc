# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private filters of the playbook upgrade."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import upgrade


def facts_of(hostvars: t.Mapping[str, t.Any], hosts: t.Iterable[str], name: str) -> dict[str, t.Any]:
    """The fact ``name`` of each host, as plain data; None where the host has none."""
    return {host: plain(hostvars[host].get(name)) for host in hosts}


def upgrade_refusals(hostvars: t.Any, hosts: t.Any, plan: t.Any, cann_installed: bool) -> list[str]:
    """Adapter: see ``lifecycle.upgrade.refusals``."""
    deployed = facts_of(hostvars, hosts, "__inference_previous")
    return upgrade.refusals(plain(plan), {host: deployed[host] or {} for host in deployed}, cann_installed)


def upgrade_lagging(hostvars: t.Any, hosts: t.Any, stage: str) -> list[str]:
    """Adapter: see ``lifecycle.upgrade.lagging``."""
    return upgrade.lagging(facts_of(hostvars, hosts, "__inference_upgrade"), stage)


def upgrade_outcome(hostvars: t.Any, hosts: t.Any, release: str) -> dict[str, t.Any]:
    """Adapter: see ``lifecycle.upgrade.outcome``."""
    return upgrade.outcome(facts_of(hostvars, hosts, "__inference_upgrade"), release)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file; a leading underscore marks them as private."""
        return {
            "_upgrade_refusals": upgrade_refusals,
            "_upgrade_lagging": upgrade_lagging,
            "_upgrade_outcome": upgrade_outcome,
        }
