# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes quantities: 8, 500m, 350Gi, 1e3."""

from __future__ import annotations

import re
import typing as t
from fractions import Fraction

NUMBER = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+(?:\.[0-9]*)?)?")
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def is_quantity(value: t.Any) -> bool:
    """Whether the value is a whole number or a string in the form of a quantity."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, str) and NUMBER.fullmatch(value) is not None)


def quantity(value: t.Any) -> Fraction:
    """The exact number of a quantity. Raises ``ValueError`` if it is not one."""
    match = NUMBER.fullmatch(str(value)) if is_quantity(value) else None
    if match is None:
        raise ValueError(f"{value!r} is not a quantity")
    number, suffix = Fraction(match.group(1)), match.group(2) or ""
    if suffix in BINARY:
        return number * 2 ** BINARY[suffix]
    if suffix in DECIMAL:
        return number * Fraction(10) ** DECIMAL[suffix]
    return number * Fraction(10) ** int(float(suffix[1:]))
