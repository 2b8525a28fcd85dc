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


ISSUES = tuple(Issue(*row) for row in data.ROWS)
