# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _plan_changes: compare a plan with what hosts recorded, what runs there, and its files."""

from __future__ import annotations

DOCUMENTATION = """
name: _plan_changes
short_description: Compare a plan with what its hosts answered
extends_documentation_fragment: [ascend.inference.private]
"""

import json
import typing as t

from ansible.utils.display import Display

from ..plugin_utils.plan.agreed import text_of_most
from .plan_diff import plan_diff_filter

REGISTERED = ("__inference_deployed", "__service_registered", "__service_written")


def agreed_text(texts: t.Iterable[t.Any]) -> str:
    """The recorded plan that most hosts have, of the texts of their plan.json."""
    return text_of_most([str(text or "") for text in texts], Display().warning)


def plan_changes(plan: t.Any, hostvars: t.Any) -> list[str]:
    """Lines for a plan, of what the tasks of planned.yml registered; only the first hosts were asked for the plan that they recorded."""
    names = [str(host["name"]) for host in plan["hosts"]]
    read, runs, files = ([hostvars[name].get(result) or {} for name in names] for result in REGISTERED)
    recorded = [found["content"] for found in read[:3] if "content" in found]
    if not recorded:
        return ["None of the hosts that were asked says what is deployed. The output of the run has the reason."]
    return plan_diff_filter(plan, json.loads(agreed_text(recorded) or "{}"), runs, files)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter of this file."""
        return {"_plan_changes": plan_changes}
