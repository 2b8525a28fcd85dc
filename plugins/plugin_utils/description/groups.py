# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of inventory groups that are nearly those that a deployment takes its hosts from."""

from __future__ import annotations

import difflib
import re
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from .meaning import same_numbers

LIKENESS = 0.8  # prefil and prefill have 0.92, decoders and decode 0.86, prefill and decode 0.31


def misspelt(group: str, name: str) -> bool:
    """Whether the name of a group differs from another in a few letters: prefil, Decode, decodes.

    The usual group of another kind of pool is none: encode, which has 0.83 of decode, as deocde has.
    """
    if group.lower() in ENGINE_KINDS and group.lower() != name.lower():
        return False
    return difflib.SequenceMatcher(None, group.lower(), name.lower()).ratio() >= LIKENESS


def extended(group: str, name: str) -> bool:
    """Whether the name of a group has another one among its words: decode_hosts, all-decode."""
    return name.lower() in re.split(r"[-_. ]", group.lower()) and group != name


def similar(name: str, groups: t.Iterable[str]) -> list[str]:
    """The groups with nearly this name, misspelt ones first."""
    others = [group for group in groups if group != name and same_numbers(name, group)]
    near = [group for group in others if misspelt(group, name) or extended(group, name)]
    return sorted(near, key=lambda group: (not misspelt(group, name), group))
