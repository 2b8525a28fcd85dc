# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files in which processes of an entry count."""

from __future__ import annotations

import os
import re
from typing import Any

NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.\d+-\d+")
LINE = re.compile(r"([^\t]+)\t([^\t]+)\t(\d{1,15})\t(\d{1,15})\t(\d{1,15})\t(\d{1,15})\t(\d{1,15})")


def usage(folder: str, first: str, last: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the days from first to last, and the files with lines that are no counts. Raises OSError."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    damaged = []
    for name in sorted(os.listdir(folder)):
        found = NAME.fullmatch(name)
        if found and first <= found.group(1) <= last:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                lines = [LINE.fullmatch(line) for line in file.read().splitlines()]
            if not all(lines):
                damaged.append(name)
            for line in filter(None, lines):
                counts = sums.setdefault((found.group(1), line.group(1), line.group(2)), [0] * 5)
                counts[:] = [count + int(more) for count, more in zip(counts, line.groups()[2:])]
    rows = [
        {"day": day, "team": team, "model": model, "counts": sums[day, team, model]}
        for day, team, model in sorted(sums)
    ]
    return rows, damaged
