# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan x facts -> complaints: every rule that looks at what was observed."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..description.variables import natural
from ..plan.rules.base import Rule, judge
from . import fabric, host, npu
from .observed import Observed

RULES: tuple[Rule, ...] = tuple(sorted((*fabric.RULES, *host.RULES, *npu.RULES), key=lambda rule: rule.id))


# A device with one of the findings on the left is not blamed for what follows from it.
CONSEQUENCES = {
    "NPU-ABSENT": ("HCCN-ANSWER", "NPU-ADDRESS", "LINK-DOWN", "NET-HEALTH", "HCCN-STALE", "PEER-UNREACHABLE"),
    "DRIVER-OLD": ("DRIVER-DIFFERS",),
    "LINK-DOWN": ("NET-HEALTH", "PEER-UNREACHABLE"),
    "NPU-ADDRESS": ("HCCN-ANSWER", "PEER-UNREACHABLE"),
    "SUPER-POD": ("PEER-UNREACHABLE",),
    "NPU-ADDRESS-TWICE": ("PEER-UNREACHABLE",),
}


def causes(complaints: t.Sequence[Finding]) -> list[Finding]:
    """The complaints without those that another one on the same device, or at the other end of the ping, explains."""
    explained = {(one.path, effect) for one in complaints for effect in CONSEQUENCES.get(one.id, ())}
    return [one for one in complaints if (one.path, one.id) not in explained and (one.value, one.id) not in explained]


def check_plan(
    plan: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any], ignored: t.Collection[str] = ()
) -> list[dict[str, str]]:
    """Complaints about the plan's hosts, most severe first; rules in ``ignored`` come back as ``accepted``.

    An id in ``ignored`` that no rule has is itself a complaint.
    """
    complaints = causes(judge(Observed(plan, facts), RULES, ignored))
    known = {rule.id for rule in RULES}
    complaints += [
        Finding("inference_check_ignore", "CHECK-IGNORE", "no check has this id", severity="error", value=one)
        for one in sorted(set(ignored) - known)
    ]
    order = {"error": 0, "warning": 1, "accepted": 2}
    return [one.as_dict() for one in sorted(complaints, key=lambda one: (order[one.severity], natural(one.path), one))]
