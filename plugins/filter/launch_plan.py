# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter launch_plan: the user's words and the inventory become the plan."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils._planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils._reader import plain

WORDS = ("inference_", "ansible_host")


def inventory_of(hostvars: t.Mapping[str, t.Any], groups: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Each host's groups and own words."""
    names = sorted({str(name) for members in groups.values() for name in members})
    return {
        name: {
            "groups": sorted(str(group) for group in groups if name in groups[group]),
            "variables": {
                word: plain(hostvars[name][word])
                for word in (
                    "inference_address",
                    "inference_interface",
                    "inference_devices",
                    "inference_hardware",
                    "ansible_host",
                )
                if word in hostvars[name]
            },
        }
        for name in names
    }


def launch_plan_filter(
    variables: t.Mapping[str, t.Any], hostvars: t.Mapping[str, t.Any], groups: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Adapter: Ansible's variables in, the plan out, one error with all complaints."""
    words = {str(key): plain(variables[key]) for key in variables if str(key).startswith("inference_")}
    try:
        return launch_plan(words, inventory_of(hostvars, groups))
    except PlanError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"launch_plan": launch_plan_filter}
