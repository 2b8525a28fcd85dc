# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which process answers: when it started, as its page of metrics says."""

from __future__ import annotations

import math
import re

START = re.compile(
    r"^process_start_time_seconds(?:\{[^}\n]*\})? (\S+)$", re.MULTILINE
)  # prometheus_client, process_collector.py


def start_of(page: str) -> float | None:
    """When the process of a page ``/metrics`` started, in seconds since 1970; None if the page does not say it, or not clearly."""
    found = set(START.findall(page))
    try:
        (start,) = (float(value) for value in found)
    except ValueError:
        return None
    return start if math.isfinite(start) and start > 0 else None
