# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _relisting_steps: routers that restart one after the other to have other engines."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.lifecycle.joining import relisting_steps


def relisting_steps_filter(
    hostvars: t.Any, hosts: t.Iterable[str], plan: t.Any, name: str = "__service_members_changed"
) -> list[dict[str, t.Any]]:
    """Adapter: ``hostvars`` on the left; ``hosts`` of the play; the whole ``plan``; ``name``: of the registered result."""
    found = [hostvars[host].get(name) for host in hosts]
    return relisting_steps(plain(plan), [plain(result) for result in found if result])


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_relisting_steps": relisting_steps_filter}
