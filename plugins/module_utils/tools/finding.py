# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong, where, why it matters and how to fix it. Every judgement of the collection has this form."""

from __future__ import annotations

import dataclasses
import typing as t
from dataclasses import dataclass, field

from .text import visible

LONGEST_VALUE = 160  # characters of a value that are shown


@dataclass(frozen=True, order=True)
class Finding:
    """One violation.

    ``path`` is the variable, host or device (``inference_pools.decode.tensor_parallel_size``, ``node2 device 3``);
    ``value`` is what the user set or the host reported; ``problem`` states what is wrong in this case,
    with names and numbers; ``why`` is the consequence, ``fix`` the remedy; ``source`` is what the rule is based
    on. A rule's check may omit ``id``, ``why`` and ``source``: the rule adds them.
    """

    path: str
    id: str
    problem: str
    fix: str = ""
    severity: str = "error"
    value: str = ""
    why: str = ""
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        # Paths and values come from hosts: names of processes, lines of logs, answers of tools.
        for name in ("path", "problem", "fix", "value", "why"):
            text = getattr(self, name)
            if not text.isprintable():
                object.__setattr__(self, name, visible(text))

    @classmethod
    def at(cls, path: str, value: t.Any, problem: str, fix: str = "", severity: str = "") -> Finding:
        """A finding of a rule's check: the rule adds its id, why, fix, source and, where none is given, its severity."""
        return cls(path, "", problem, fix, severity, shown(value))

    @classmethod
    def from_dict(cls, data: t.Mapping[str, t.Any]) -> Finding:
        """The finding out of plain data, as ``as_dict`` returns it."""
        return cls(**{part.name: str(data.get(part.name, "")) for part in dataclasses.fields(cls)})

    def as_dict(self) -> dict[str, str]:
        """The finding as plain data."""
        return {
            "id": self.id,
            "severity": self.severity,
            "path": self.path,
            "value": self.value,
            "problem": self.problem,
            "why": self.why,
            "fix": self.fix,
            "source": self.source,
        }

    @property
    def place(self) -> str:
        """The path, and the value where there is one."""
        return f"{self.path} = {self.value}" if self.value else self.path

    def text(self) -> str:
        """The finding as one line."""
        parts = [
            f"{self.place}: {self.problem.rstrip('.')}. [{self.id}]",
            self.why,
            f"Fix: {self.fix}" if self.fix else "",
        ]
        return " ".join(part for part in parts if part)


def shown(value: t.Any) -> str:
    """A value as it is printed: empty for none, else its text, cut where it is long."""
    return "" if value is None or value == "" else str(value)[:LONGEST_VALUE]
