# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter launch_plan: create the plan from the user's variables and the inventory."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.plan.handover import planned


def launch_plan_filter(variables: t.Any, hostvars: t.Any, groups: t.Any, report: bool = False) -> dict[str, t.Any]:
    """Adapter: Ansible's variables in, the plan out, or one error with all findings (their text, with ``report``)."""
    try:
        return planned(variables, hostvars, groups)
    except PlanError as error:
        if report:
            return {"report": str(error)}
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"launch_plan": launch_plan_filter}
