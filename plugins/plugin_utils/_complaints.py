# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Complaints: what is wrong with a description, where, why, and the way out."""

from __future__ import annotations

import difflib
import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Complaint:
    """One violation.

    ``path`` names the place in the user's words (``inference_pools.decode.tensor_parallel_size``) or a service's;
    ``value`` is what stands there; ``message`` says which rule it breaks and ``fix`` the way out.
    """

    path: str
    id: str
    message: str
    fix: str = ""
    severity: str = "error"
    value: str = ""
    source: str = field(default="", compare=False)

    def text(self) -> str:
        """The complaint as one line that a person can act on."""
        shown = f" = {self.value}" if self.value else ""
        fix = f" Fix: {self.fix}" if self.fix else ""
        return f"[{self.id}] {self.path}{shown}: {self.message}{fix}"

    def as_dict(self) -> dict[str, str]:
        """The complaint as plain data, for the plan's findings."""
        return {
            "id": self.id,
            "severity": self.severity,
            "path": self.path,
            "value": self.value,
            "message": self.message,
            "fix": self.fix,
            "source": self.source,
        }


class PlanError(ValueError):
    """The description cannot be planned; carries every complaint, in a stable order."""

    def __init__(self, complaints: t.Iterable[Complaint]) -> None:
        self.complaints = tuple(sorted(set(complaints)))
        count = len(self.complaints)
        head = "1 thing is wrong" if count == 1 else f"{count} things are wrong"
        lines = [f"{head} with the description; nothing was changed:"]
        lines += [f"  {number}. {one.text()}" for number, one in enumerate(self.complaints, 1)]
        super().__init__("\n".join(lines))


def nearest(word: str, known: t.Iterable[str]) -> str:
    """``Did you mean 'x'? `` for the closest of the known words, else an empty string."""
    close = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.6)
    return f"Did you mean '{close[0]}'? " if close else ""
