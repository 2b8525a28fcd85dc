# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that a person accepts: which rule, at which place, and why."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...description.findings import Finding

KEYS = ("rule", "place", "reason")
# Rules of values that are lines of a unit, a script or a configuration, or folders in which root writes. Who sets inference_rules_ignore may be
# nobody who may do that, so these are refused in any case.
FIRM = frozenset(
    {
        "DEPLOYMENT-NAME",
        "ENV-NAME",
        "FRONTEND-CERTIFICATE",
        "FRONTEND-PATHS",
        "ROOT-PATH",
        "VIRTUAL-ADDRESS",
        "VIRTUAL-HOSTS",
    }
)


@dataclass(frozen=True)
class Accepted:
    """One entry of inference_rules_ignore; ``problem`` says what is wrong with the entry itself.

    ``place`` is a pool, a host, an option or a path as findings print it; empty for every place.
    """

    rule: str
    place: str = ""
    reason: str = ""
    problem: str = ""

    @classmethod
    def read(cls, entry: t.Any) -> Accepted:
        """The entry: an id, ID:PLACE, or a mapping with rule, place and reason."""
        if isinstance(entry, dict):
            unknown = sorted(set(entry) - set(KEYS))
            problem = f"unknown key {unknown[0]}" if unknown else "" if entry.get("rule") else "no rule is named"
            return cls(*(str(entry.get(key) or "") for key in KEYS), problem)
        rule, _colon, place = str(entry).partition(":")
        return cls(rule.strip(), place.strip())

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is accepted by this entry."""
        if finding.id != self.rule:
            return False
        path = finding.path
        return (
            not self.place
            or self.place in re.split(r"[.\[\]\s]+", path)
            or path == self.place
            or path.startswith((f"{self.place}.", f"{self.place}["))
            or path.endswith(f".{self.place}")
        )


def accepted(finding: Finding, entries: t.Iterable[Accepted]) -> Accepted | None:
    """The first entry that accepts a finding; none accepts one of a rule in ``FIRM``."""
    if finding.id in FIRM:
        return None
    return next((entry for entry in entries if entry.covers(finding)), None)
