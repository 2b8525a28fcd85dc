# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that somebody wrote with a unit, in the unit that the documentation of the variable names."""

from __future__ import annotations

import re
import typing as t

SECONDS = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}  # milliseconds to days
PER_UNIT = {
    "millisecond": 1000,
    "second": 1,
    "minute": 1 / 60,
}  # of a second; the first word that a documentation has counts
NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")


def in_unit(raw: t.Any, doc: str) -> str:
    """A value such as 30m, or the fraction 0.95 of a percentage, as the whole number that is meant; empty if it is none.

    >>> in_unit("30m", "Timeout in seconds."), in_unit("2s", "Most milliseconds."), in_unit(0.95, "Least percentage.")
    ('1800', '2000', '95')
    """
    if isinstance(raw, float) and 0 < raw < 1 and "percent" in doc:
        return _whole(raw * 100)
    given = NUMBER.fullmatch(raw.strip().lower()) if isinstance(raw, str) else None
    unit = next((word for word in PER_UNIT if word in doc.lower()), "")
    if not given or not unit or given[2] not in SECONDS:
        return ""
    return _whole(float(given[1]) * SECONDS[given[2]] * PER_UNIT[unit])


def _whole(number: float) -> str:
    """A number without decimals; empty if that is another number."""
    return str(round(number)) if abs(number - round(number)) < 1e-6 else ""
