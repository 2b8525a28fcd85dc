# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pool sizes that balance prefill and decode: pure arithmetic, exact, without plan and metrics."""

from __future__ import annotations

import typing as t
from fractions import Fraction

LEAST_GAIN = Fraction(1, 10)  # a smaller gain is within the spread of measurements of one setting


class Sizes(t.NamedTuple):
    """Instances of each pool."""

    prefill: int
    decode: int


class Loads(t.NamedTuple):
    """How many instances of each pool the measured requests would keep busy: 1.8 of 2 instances means that 10 % are free."""

    prefill: float
    decode: float


def carried(sizes: Sizes, loads: Loads) -> Fraction:
    """How many times the measured requests these sizes carry, at the measured rates: the smaller of both pools counts."""
    return min(Fraction(sizes.prefill) / Fraction(loads.prefill), Fraction(sizes.decode) / Fraction(loads.decode))


def better_sizes(now: Sizes, loads: Loads, possible: t.Iterable[Sizes]) -> list[Sizes]:
    """The possible sizes that carry more than LEAST_GAIN above the present ones; best first, of equal ones the smallest change.

    A pool without an instance carries nothing, so both keep one. Raises ValueError for a load that is not above zero: nothing follows from it.
    """
    if min(loads) <= 0:
        raise ValueError(f"{loads} are no loads of which sizes follow")
    enough = carried(now, loads) * (1 + LEAST_GAIN)
    found = [sizes for sizes in set(possible) if carried(sizes, loads) > enough]
    return sorted(found, key=lambda sizes: (-carried(sizes, loads), _distance(now, sizes), sizes))


def _distance(one: Sizes, other: Sizes) -> int:
    return abs(one.prefill - other.prefill) + abs(one.decode - other.decode)
