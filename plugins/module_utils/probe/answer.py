# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of the probe's page /health, as others read it: whatever answers at its port may say anything."""

from __future__ import annotations

import math
from typing import Any, Mapping

NUMBERS = ("age", "interval", "timeout", "paused", "more")
LARGEST = 1e15


def numbers_of(page: Mapping[str, Any]) -> dict[str, Any] | None:
    """{name: number} of a page; ``age`` is None before the first round, a missing other one 0. None if one of them is no number."""
    found: dict[str, Any] = {}
    for name in NUMBERS:
        value = page.get(name)
        if value is None:
            found[name] = None if name == "age" else 0
        elif (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not (abs(value) <= LARGEST and math.isfinite(value))
        ):
            return None
        else:
            found[name] = value
    return found
