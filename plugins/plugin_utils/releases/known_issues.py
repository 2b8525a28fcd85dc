# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Issues that upstream knows in a release, by model and hardware."""

from __future__ import annotations

import posixpath
import re
import typing as t

from . import known_issues_data as data
from .release import ORDER, Release

RULE = "KNOWN-ISSUE"  # of plan/rules/known_issues.py
URL = "https://github.com/vllm-project/vllm-ascend/issues/"


class Issue(t.NamedTuple):
    """One line of the data: see its fields there."""

    number: str
    first: str
    last: str
    models: str
    hardware: str
    when: str
    effect: str
    way_out: str

    def in_release(self, release: Release) -> bool:
        """Whether the notes of a release list it; nothing is known of releases of the inventory's own."""
        index = ORDER.get(release.name, -1)
        return ORDER[self.first] <= index <= ORDER[self.last]

    def concerns(self, model: str, hardware: str) -> bool:
        """Whether it is about a model, by the last part of its path or name, on this hardware.

        >>> ISSUES[0].concerns("/models/GLM-5.3-w8a8", "a3"), ISSUES[0].concerns("GLM-5.3-Flash", "a3")
        (True, False)
        """
        named = re.search(self.models, posixpath.basename(model.rstrip("/")), re.IGNORECASE)
        return bool(named) and (not self.hardware or hardware in self.hardware.split())

    @property
    def gone(self) -> str:
        """The first release whose notes list it no more; "" while the newest ones do.

        >>> ISSUES[0].gone, ISSUES[-1].gone
        ('', '0.19.1rc1')
        """
        return next((name for name in data.NOTES if ORDER[name] > ORDER[self.last]), "")

    @property
    def fix(self) -> str:
        """The way out, with the release that lists it no more."""
        return f"{self.way_out} The notes of {self.gone} list it no more." if self.gone else self.way_out

    def text(self, release: str) -> str:
        """What a plan with this release says of it."""
        return f"known issue of {release}: {self.effect} ({URL}{self.number})"


ISSUES = tuple(Issue(*row) for row in data.ROWS)


def met(plan: t.Mapping[str, t.Any], accepted: bool = True) -> list[dict[str, str]]:
    """The known issues that a plan names, ``{number, signs, text}``; without ``accepted``, not those that somebody accepted.

    ``signs``: expression for the id or the line of a cause with which the issue shows itself in a log, or "".
    """
    found = []
    for item in plan.get("findings", ()):
        number = item["problem"].rpartition("/")[2].rstrip(")")
        if item["id"] == RULE and (accepted or item["severity"] != "accepted"):
            issue = next((one for one in ISSUES if one.number == number), None)
            text = f"{item['problem']}. Fix: {issue.fix if issue else item['fix']}"
            found.append({"number": number, "signs": data.SIGNS.get(number, ""), "text": text})
    return found
