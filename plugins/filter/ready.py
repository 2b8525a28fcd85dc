# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _needed_paths and _unready: what an earlier playbook has to have left on the hosts."""

from __future__ import annotations

DOCUMENTATION = """
name: _ready
short_description: What an earlier playbook has to have left on the hosts
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle import ready

ANSWERS = ("__inference_placement", "__inference_lacking")


def needed_paths(plan: t.Any, host: t.Any, kinds: t.Any, names: t.Any = ()) -> list[str]:
    """Adapter: the plan of a host on the left."""
    return ready.needed(plain(plan), str(host), plain(kinds), plain(names))


def unready(plan: t.Any, hostvars: t.Any, hosts: t.Iterable[str]) -> list[str]:
    """Adapter: the whole plan on the left; each host's result of playbooks/shared/ready.yml is in ``hostvars``."""
    asked = {host: [plain(hostvars[host].get(key)) or {} for key in ANSWERS] for host in hosts if host in hostvars}
    lost = {host: str(found["msg"]) for host, results in asked.items() for found in results if found.get("unreachable")}
    return ready.refusals(plain(plan), {host: str(found[-1].get("stdout", "")) for host, found in asked.items()}, lost)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_needed_paths": needed_paths, "_unready": unready}
