# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers with their nouns, for messages."""

from __future__ import annotations


def how_many(number, noun, plural="s"):
    # type: (int, str, str) -> str
    """1 host, 4 hosts; the ending of the plural may be another."""
    return f"{number} {noun}" + ("" if number == 1 else plural)
