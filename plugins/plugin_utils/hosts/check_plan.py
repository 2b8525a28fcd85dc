# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluates a plan and gathered facts: all rules of host checks."""

from __future__ import annotations

import dataclasses
import typing as t

from ..description.findings import Finding
from ..description.values import natural
from ..entry import checks as of_entry
from ..entry import checks_of_files as of_entry_files
from ..plan.rules.base import Rule, judge
from ..releases.known_issues import RULE as KNOWN_ISSUE
from . import (
    access,
    builds,
    completeness,
    fabric,
    host,
    model,
    model_figures,
    model_loads,
    model_memory,
    neighbours,
    npu,
    reach,
    system,
    tcp,
    tuning,
    versions,
)
from .connections import MODES, planned_connections
from .observed import Observed
from .pairs import planned_pairs
from .thresholds import thresholds

FIRST: tuple[Rule, ...] = (
    *access.RULES,
    *builds.RULES,
    *completeness.RULES,
    *fabric.RULES,
    *host.RULES,
    *model.RULES,
    *model_figures.RULES,
    *model_loads.RULES,
    *model_memory.RULES,
    *neighbours.RULES,
    *npu.RULES,
    *system.RULES,
    *tuning.RULES,
    *versions.RULES,
)
SECOND: tuple[Rule, ...] = (*reach.RULES, *tcp.RULES)
RULES: tuple[Rule, ...] = tuple(sorted((*FIRST, *SECOND), key=lambda rule: rule.id))
SEVERITIES = ("error", "warning", "remark", "accepted")

# Findings (right) that are suppressed at a place that has the finding on the left, which causes them.
CONSEQUENCES = {
    "HOST-MACHINE": ("SYSTEM-DIFFERS",),
    "HOST-TWICE": ("HOST-ADDRESS", "HOST-CLONED", "NPU-ADDRESS-TWICE", "PORT-TAKEN", "SDID-TWICE", "NPU-BUSY"),
    "HOST-ADDRESS": ("HOSTNAME-ADDRESS", "HOSTNAME-LOOPBACK"),
    "NPU-ADDRESS-TWICE": ("NET-GATEWAY", "SDID-TWICE"),
    "HCCN-STALE": ("NET-GATEWAY",),
    "NPU-ADDRESS": ("HCCN-STALE", "NET-GATEWAY"),
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
    "DRIVER-OLD": ("DRIVER-DIFFERS",),
    "LINK-DOWN": ("NET-HEALTH", "NET-GATEWAY"),
    "PEER-UNREACHABLE": ("NET-HEALTH",),
    "MODEL-INCOMPLETE": ("MODEL-DIFFERS", "MODEL-MEMORY"),
    "MODEL-DAMAGED": ("MODEL-DIFFERS", "MODEL-MEMORY"),
    "MODEL-MISSING": ("MODEL-INCOMPLETE", "MODEL-DIFFERS"),
    # what the connected user cannot read either looks missing or damaged
    "MODEL-ACCESS": ("MODEL-CHAT-TEMPLATE", "MODEL-DAMAGED", "MODEL-DIFFERS", "MODEL-MISSING", "MODEL-TOKENIZER"),
}
# Errors that explain failed pings of their device or host, and errors that explain pings that were not run.
BREAK_PINGS = (
    *(
        "HOST-UNREACHABLE",
        "HCCN-HUNG",
        "LINK-DOWN",
        "NPU-ABSENT",
        "NPU-ADDRESS",
        "NPU-ADDRESS-TWICE",
        "SUPER-POD",
        "VNIC-DOWN",
    ),
    "HOST-TWICE",
)
# Errors of a host that explain its failed TCP connections; those of the network between NPUs do not.
BREAK_CONNECTIONS = ("HOST-UNREACHABLE", "HOST-TWICE")
PREVENT_PINGS = (*BREAK_PINGS, "HOST-ANSWER", "HCCN-ANSWER", "FACTS-MISSING")


def observed(
    plan: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any] | None = None
) -> Observed:
    """The input of rules and pages. ``options``: ``thresholds`` (dict), ``ping`` and ``tcp`` (modes), ``left_out`` (host names)."""
    options = options or {}
    left_out = frozenset(options.get("left_out") or ())
    pairs, wanted = planned_pairs(plan, str(options.get("ping") or "plan"), left_out)
    tcp_mode = str(options.get("tcp") or "listen")
    if tcp_mode not in MODES:
        raise ValueError(f"unknown mode {tcp_mode!r}; known modes: {', '.join(MODES)}")
    tested = tcp_mode != "none" and not plan["runtime_facts"]["in_cluster"]
    connections, total = planned_connections(plan, left_out) if tested else ({}, 0)
    limits = thresholds(options.get("thresholds"))
    return Observed(plan, facts, limits, left_out, tuple(pairs), wanted, connections, total)


def check_plan(
    plan: t.Mapping[str, t.Any],
    facts: t.Mapping[str, t.Any],
    ignored: t.Collection[str] = (),
    options: t.Mapping[str, t.Any] | None = None,
) -> list[dict[str, str]]:
    """Findings for the plan's hosts as plain data, most severe first; those of rules in ``ignored`` are ``accepted``.

    An unknown id in ``ignored`` is itself a finding. ``options``: see :func:`observed`. Raises ValueError for
    an unknown threshold or mode.
    """
    case = observed(plan, facts, options)
    findings = judge(case, FIRST, ignored)
    errors = [finding for finding in findings if finding.severity == "error"]
    broken, silent, lost = (
        frozenset(_place(error) for error in errors if error.id in ids)
        for ids in (BREAK_PINGS, PREVENT_PINGS, BREAK_CONNECTIONS)
    )
    findings += judge(dataclasses.replace(case, broken=broken, silent=silent, lost=lost), SECOND, ignored)
    findings = without_consequences(findings)
    known = {rule.id for rule in (*RULES, *of_entry.RULES, *of_entry_files.RULES)}
    findings += [
        Finding(
            "inference_check_ignore",
            "CHECK-IGNORE",
            f"unknown check id {id_}",
            "Correct or remove the id.",
            value=id_,
        )
        for id_ in sorted(set(ignored) - known)
    ]
    # What upstream knows of this release is read by those who decide whether the hosts are ready.
    findings += [Finding.from_dict(item) for item in plan.get("findings", ()) if item["id"] == KNOWN_ISSUE]
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), natural(finding.path), finding))
    return [finding.as_dict() for finding in findings]


def without_consequences(findings: t.Sequence[Finding]) -> list[Finding]:
    """The findings without those that are caused by another one at the same place or at the other end of a ping.

    Accepted findings and remarks suppress no others, and a warning suppresses no error.
    """
    explained: dict[tuple[str, str], int] = {}  # place and id of an effect -> the most severe of its causes
    for cause in _effective(findings):
        for effect in CONSEQUENCES.get(cause.id, ()):
            rank, key = SEVERITIES.index(cause.severity), (_place(cause), effect)
            explained[key] = min(rank, explained.get(key, rank))
    return [finding for finding in findings if _of_the_unused_plane(finding) or not _is_explained(finding, explained)]


def _is_explained(finding: Finding, explained: t.Mapping[tuple[str, str], int]) -> bool:
    """Whether a cause that is at least as severe exists at the finding's place or host."""
    ranks = [explained.get((where, finding.id)) for where in (_place(finding), _host(finding))]
    return any(rank is not None and rank <= SEVERITIES.index(finding.severity) for rank in ranks)


def _of_the_unused_plane(finding: Finding) -> bool:
    """Whether it is a remark about RoCE's network check: failed pings over HCCS do not explain it."""
    return finding.id == "NET-HEALTH" and finding.severity == "remark"


def _effective(findings: t.Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity in ("error", "warning")]


def _place(finding: Finding) -> str:
    """The device or host of a finding: its path without the name of a tool, port or service."""
    parts = finding.path.split(" ")
    return " ".join(parts[:3]) if parts[1:2] == ["device"] else parts[0]


def _host(finding: Finding) -> str:
    return finding.path.split(" ")[0]
