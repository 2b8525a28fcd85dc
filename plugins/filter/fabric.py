# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the playbook fabric: settings of the devices, what prevents them, and the report."""

from __future__ import annotations

DOCUMENTATION = """
name: _fabric
short_description: Settings of the devices for the playbook fabric, what prevents them, and the report
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.fabric_files import settings_with_files
from ..plugin_utils.hosts.fabric_settings import fabric_refusals
from ..plugin_utils.views.fabric_text import fabric_failures, fabric_text


def settings(plan: t.Any, facts: t.Any, folder: t.Any = "") -> dict[str, t.Any]:
    """Adapter: the plan on the left."""
    return settings_with_files(plain(plan)["hosts"], plain(facts), str(folder))


def refusals(plan: t.Any, *others: t.Any) -> list[dict[str, str]]:
    """Adapter: the plan on the left."""
    return fabric_refusals(plain(plan), *map(plain, others))


def text(diffs: t.Any, promised: t.Any = False) -> list[str]:
    """Adapter: diffs by host on the left."""
    return fabric_text(plain(diffs), bool(promised))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        names = {"settings": settings, "refusals": refusals, "text": text}
        names["failures"] = lambda results: fabric_failures(plain(results))
        return {f"_fabric_{name}": function for name, function in names.items()}
