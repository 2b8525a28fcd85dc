# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule is, and how a plan is judged by all of them."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import Complaint
from ansible_collections.ascend.inference.plugins.plugin_utils._context import Context
from ansible_collections.ascend.inference.plugins.plugin_utils._service import Service


@dataclass(frozen=True)
class Case:
    """What a rule looks at: the placed deployment and its rendered services."""

    context: Context
    services: tuple[Service, ...]


@dataclass(frozen=True)
class Found:
    """One violation of a rule: where, what stands there, and, if it differs, the message and fix."""

    path: str
    value: t.Any = ""
    message: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Rule:
    """A rule with its reason; ``check`` yields every violation in a case."""

    id: str
    severity: str
    reason: str
    fix: str
    source: str
    check: t.Callable[[t.Any], t.Iterable[Found]]


def judge(case: t.Any, rules: t.Iterable[Rule], ignored: t.Collection[str]) -> list[Complaint]:
    """Every violation of every rule; an ignored rule's come back with severity ``accepted``."""
    complaints = []
    for rule in rules:
        severity = "accepted" if rule.id in ignored else rule.severity
        for one in rule.check(case):
            complaints.append(
                Complaint(
                    one.path,
                    rule.id,
                    one.message or rule.reason,
                    one.fix or rule.fix,
                    severity,
                    "" if one.value == "" else str(one.value)[:160],
                    rule.source,
                )
            )
    return sorted(set(complaints))
