# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions as numbers, for comparisons; the only version parser on the controller."""

from __future__ import annotations

import functools
import re


@functools.cache
def numbers(version: str) -> tuple[int, ...]:
    """A version's numbers: '0.3.11.post1' is (0, 3, 11, 1), '0.11.0rc3' is (0, 11, 0), '25.0.rc1.1' is (25, 0).

    A release candidate is equal to its release. A text that does not begin with a number gives ().
    """
    found = re.match(r"(\d+(?:\.\d+)*)(?:\.post(\d+))?", version)
    if not found:
        return ()
    parts = tuple(int(part) for part in found.group(1).split("."))
    return parts + (int(found.group(2)),) if found.group(2) else parts
