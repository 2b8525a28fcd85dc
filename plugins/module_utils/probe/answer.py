# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of the probe's page /health, as others read it: whatever answers at its port may say anything."""

from __future__ import annotations

from typing import Any, Mapping

from ..tools.foreign_json import number

NUMBERS = ("age", "interval", "timeout", "paused", "more")
LATE, ROUND = 3, 8  # rounds without a result; a round has up to eight answers that end by their timeout
COUNTS = ("good", "failed", "unknown")


def numbers_of(page: Mapping[str, Any]) -> dict[str, Any] | None:
    """{name: number} of a page; ``age`` is None before the first round, a missing other one 0. None if one of them is no number."""
    found: dict[str, Any] = {}
    for name in NUMBERS:
        value = page.get(name)
        if value is None:
            found[name] = None if name == "age" else 0
        elif number(value) is None:
            return None
        else:
            found[name] = value
    return found


def counts_of(page: Mapping[str, Any]) -> dict[str, int] | None:
    """{good, failed, unknown}: how many paths had which result. None if one of them is missing or no count."""
    paths = page.get("paths")
    if not isinstance(paths, dict):
        return None
    found = {name: paths.get(name) for name in COUNTS}
    if not all(isinstance(value, int) and number(value) is not None and value >= 0 for value in found.values()):
        return None
    return found


def blamed_of(page: Mapping[str, Any]) -> dict[str, int]:
    """{engine: rounds in a row} of engines over which nothing works; {} if the page says nothing about them, as one of an older version."""
    found = page.get("blamed")
    if not isinstance(found, dict):
        return {}
    return {name: rounds for name, rounds in found.items() if isinstance(rounds, int) and number(rounds) is not None}


def is_late(numbers: Mapping[str, Any]) -> bool:
    """Whether a result is so old that it says nothing about now, or there is none yet. ``numbers``: of ``numbers_of``."""
    age = numbers["age"]
    return age is None or age > LATE * (numbers["interval"] or 0) + ROUND * (numbers["timeout"] or 0)
