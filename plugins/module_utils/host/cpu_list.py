# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's lists of CPUs, such as ``0-3,8`` (cpuset(7), "List format"). Runs on Python 3.7."""

from __future__ import annotations

import re

_LIST = re.compile(r"(?:\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)?\Z")
MOST = 16384  # CPUs; the largest kernels are built for 8192


def parse_cpus(text):
    # type: (str) -> t.Tuple[int, ...]
    """``0-3,8`` -> (0, 1, 2, 3, 8), sorted and without repetitions; an empty text has none. ValueError for anything else."""
    text = text.strip()
    if not _LIST.match(text):
        raise ValueError(f"{text[:80]!r} is not a list of CPUs")
    found = set()
    for part in text.split(",") if text else ():
        first, _dash, last = part.partition("-")
        if int(last or first) >= MOST or int(last or first) < int(first):
            raise ValueError(f"{part!r} is not a range of CPUs")
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def spell_cpus(cpus):
    # type: (t.Iterable[int]) -> str
    """(0, 1, 2, 3, 8) -> ``0-3,8``, as the kernel prints it."""
    ranges = []  # type: t.List[t.List[int]]
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
