# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan x facts -> findings: every rule that looks at what was observed."""

from __future__ import annotations

import dataclasses
import typing as t

from ..description.findings import Finding
from ..description.values import natural
from ..plan.rules.base import Rule, judge
from . import completeness, fabric, host, model, model_memory, npu, reach, versions
from .observed import Observed
from .pairs import planned_pairs
from .thresholds import thresholds

FIRST: tuple[Rule, ...] = (
    *completeness.RULES,
    *fabric.RULES,
    *host.RULES,
    *model.RULES,
    *model_memory.RULES,
    *npu.RULES,
    *versions.RULES,
)
RULES: tuple[Rule, ...] = tuple(sorted((*FIRST, *reach.RULES), key=lambda rule: rule.id))
SEVERITIES = ("error", "warning", "remark", "accepted")

# A place with one of the findings on the left is not reported for what follows from it.
CONSEQUENCES = {
    "HOST-MACHINE": ("SYSTEM-DIFFERS",),
    "HOST-TWICE": ("HOST-ADDRESS", "NPU-ADDRESS-TWICE", "PORT-TAKEN", "SDID-TWICE", "NPU-BUSY"),
    "HOST-ADDRESS": ("HOSTNAME-LOOPBACK",),
    "NPU-ADDRESS-TWICE": ("SDID-TWICE",),
    "NPU-ABSENT": (
        *(
            "HCCN-ANSWER",
            "HCCN-HUNG",
            "HCCN-STALE",
            "LINK-DOWN",
            "NET-GATEWAY",
            "NET-HEALTH",
            "NPU-ADDRESS",
            "VNIC-DOWN",
        ),
        "FACTS-MISSING",
    ),
    "HCCN-HUNG": ("HCCN-ANSWER", "NET-GATEWAY", "NPU-ADDRESS", "FACTS-MISSING"),
    "HCCN-ANSWER": ("NPU-ADDRESS", "FACTS-MISSING"),
    "DRIVER-OLD": ("DRIVER-DIFFERS",),
    "LINK-DOWN": ("NET-HEALTH", "NET-GATEWAY"),
    "MODEL-INCOMPLETE": ("MODEL-DIFFERS", "MODEL-MEMORY"),
    "MODEL-DAMAGED": ("MODEL-DIFFERS", "MODEL-MEMORY"),
    "MODEL-MISSING": ("MODEL-INCOMPLETE", "MODEL-DIFFERS"),
}
# Errors that explain why pings to and from their device, or their host, fail; and those that explain why some were not tried.
BREAK_PINGS = (
    *("HOST-UNREACHABLE", "HCCN-HUNG", "LINK-DOWN", "NPU-ABSENT", "NPU-ADDRESS-TWICE", "SUPER-POD", "VNIC-DOWN"),
    "HOST-TWICE",
)
PREVENT_PINGS = (*BREAK_PINGS, "HOST-ANSWER", "HCCN-ANSWER", "NPU-ADDRESS", "FACTS-MISSING")


def observed(
    plan: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any] | None = None
) -> Observed:
    """The case that rules and pages look at. ``options``: ``thresholds`` (dict), ``ping`` (mode), ``left_out`` (host names)."""
    options = options or {}
    left_out = frozenset(options.get("left_out") or ())
    pairs, wanted = planned_pairs(plan, str(options.get("ping") or "plan"), left_out)
    return Observed(plan, facts, thresholds(options.get("thresholds")), left_out, tuple(pairs), wanted)


def check_plan(
    plan: t.Mapping[str, t.Any],
    facts: t.Mapping[str, t.Any],
    ignored: t.Collection[str] = (),
    options: t.Mapping[str, t.Any] | None = None,
) -> list[dict[str, str]]:
    """Findings about the plan's hosts as plain data, most severe first; those of rules in ``ignored`` are ``accepted``.

    An id in ``ignored`` that no rule has is itself a finding. ``options`` as :func:`observed` takes them. ValueError for
    a threshold or ping mode that is not known.
    """
    case = observed(plan, facts, options)
    findings = judge(case, FIRST, ignored)
    errors = [finding for finding in findings if finding.severity == "error"]
    broken, silent = (
        frozenset(_place(error) for error in errors if error.id in ids) for ids in (BREAK_PINGS, PREVENT_PINGS)
    )
    findings += judge(dataclasses.replace(case, broken=broken, silent=silent), reach.RULES, ignored)
    findings = without_consequences(findings)
    known = {rule.id for rule in RULES}
    findings += [
        Finding(
            "inference_check_ignore",
            "CHECK-IGNORE",
            f"no check has the id {id_}",
            "Remove it, or correct its spelling.",
            value=id_,
        )
        for id_ in sorted(set(ignored) - known)
    ]
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), natural(finding.path), finding))
    return [finding.as_dict() for finding in findings]


def without_consequences(findings: t.Sequence[Finding]) -> list[Finding]:
    """The findings without those that another one at the same place, or at the other end of a ping, explains.

    What the user accepted, and what does not matter here, explains nothing.
    """
    explained = {(_place(cause), effect) for cause in _effective(findings) for effect in CONSEQUENCES.get(cause.id, ())}
    return [
        finding for finding in findings if not {(_place(finding), finding.id), (_host(finding), finding.id)} & explained
    ]


def _effective(findings: t.Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity in ("error", "warning")]


def _place(finding: Finding) -> str:
    """The device or host that a finding is about: its path without the name of a tool, port or service."""
    words = finding.path.split(" ")
    return " ".join(words[:3]) if words[1:2] == ["device"] else words[0]


def _host(finding: Finding) -> str:
    return finding.path.split(" ")[0]
