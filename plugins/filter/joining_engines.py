# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _joining_engines: engines to prove before running routers get them."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.joining import joining_engines


def joining_engines_filter(
    hostvars: t.Any, hosts: t.Iterable[str], plan: t.Any, engines: t.Any
) -> dict[str, list[str]]:
    """Adapter: ``hostvars`` on the left; ``hosts`` of the play; the whole ``plan``; ``engines`` with name and url."""
    found = [(hostvars[host].get("__service_joining"), hostvars[host].get("__service_registered")) for host in hosts]
    members = [plain(joining) for joining, _registered in found if joining]
    down = {name for _joining, registered in found for name in (plain(registered) or {}).get("down", ())}
    return joining_engines(plain(plan), plain(engines), members, down)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_joining_engines": joining_engines_filter}
