# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Complaints: what is wrong with a description, where, why, and the way out."""

from __future__ import annotations

import collections
import difflib
import re
import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Finding:
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


MOST = 20  # violations of one rule that are printed; a mistake in one word can show on a thousand hosts


class PlanError(ValueError):
    """The description cannot be planned; carries every complaint, in a stable order."""

    def __init__(self, complaints: t.Iterable[Finding]) -> None:
        self.complaints = tuple(sorted(set(complaints), key=lambda one: (_natural(one.path), one)))
        super().__init__(report(self.complaints))


def report(complaints: t.Sequence[Finding]) -> str:
    """All complaints as text: grouped by place in the order of the places, each with its way out."""
    count = len(complaints)
    head = "1 thing is wrong" if count == 1 else f"{count} things are wrong"
    lines = [f"{head} with the description; nothing was changed."]
    place, printed = None, collections.Counter[str]()
    for number, one in enumerate(complaints, 1):
        printed[one.id] += 1
        if printed[one.id] > MOST:
            continue
        if (one.path, one.value) != place:
            place = (one.path, one.value)
            lines += ["", one.path + (f" = {one.value}" if one.value else "")]
        lines.append(f"  {number}. {one.message.rstrip('.')}. [{one.id}]")
        if one.fix:
            lines.append(f"     {one.fix}")
    more = [f"{printed[id_] - MOST} more of [{id_}]" for id_ in sorted(printed) if printed[id_] > MOST]
    if more:
        lines += ["", f"... and {', '.join(more)}."]
    return "\n".join(lines)


def _natural(path: str) -> tuple[t.Any, ...]:
    """Sort key that puts node2 before node10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path))


def nearest(word: str, known: t.Iterable[str]) -> str:
    """``Did you mean 'x'? `` for the closest of the known words, else an empty string."""
    close = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.6)
    return f"Did you mean '{close[0]}'? " if close else ""
