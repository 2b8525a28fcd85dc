# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan x facts -> complaints: every rule that looks at what was observed."""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import Complaint
from ansible_collections.ascend.inference.plugins.plugin_utils._observed import _fabric, _host, _npu
from ansible_collections.ascend.inference.plugins.plugin_utils._observed._case import Observed
from ansible_collections.ascend.inference.plugins.plugin_utils._rules._base import Rule, judge

RULES: tuple[Rule, ...] = tuple(sorted((*_fabric.RULES, *_host.RULES, *_npu.RULES), key=lambda rule: rule.id))


def check_plan(
    plan: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any], ignored: t.Collection[str] = ()
) -> list[dict[str, str]]:
    """Complaints about the plan's hosts, most severe first; rules in ``ignored`` come back as ``accepted``.

    An id in ``ignored`` that no rule has is itself a complaint.
    """
    complaints = judge(Observed(plan, facts), RULES, ignored)
    known = {rule.id for rule in RULES}
    complaints += [
        Complaint("inference_check_ignore", "CHECK-IGNORE", "no check has this id", severity="error", value=one)
        for one in sorted(set(ignored) - known)
    ]
    order = {"error": 0, "warning": 1, "accepted": 2}
    return [one.as_dict() for one in sorted(complaints, key=lambda one: (order[one.severity], one))]
