# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engine failing paths are due to: one over which nothing works, although its peers work with other engines.

Such an engine takes requests, answers none of them rightly, and may be healthy all the time. As it is always idle, a proxy that chooses by load sends
most requests there.
"""

from __future__ import annotations

from typing import Collection, Sequence

from .results import CLIENTS, Path

MOST = 16  # pairs that a round tries in addition, to find the engine


def blamed(paths: Sequence[Path], away: Collection[str] = ()) -> list[str]:
    """Names of the engines, sorted. ``away``: engines that do not answer at all, which other findings name.

    If a path fails and none of its two engines works with another one, it is not known which of the two it is.
    """
    tried = {tuple(path.name.split("->")): bool(path.success) for path in paths if path.name != CLIENTS and path.last}
    works = {name for pair, good in tried.items() if good for name in pair}
    fails = [pair for pair, good in tried.items() if not good]
    return sorted(
        {name for pair in fails for name in pair if name not in works and works & set(pair) and name not in away}
    )


def covering(pairs: Sequence[Sequence[str]], covered: Collection[str]) -> list[int]:
    """Numbers of the pairs (names of two engines) by which each engine that is not ``covered`` takes part once, if possible."""
    seen, found = set(covered), []
    for wanted in (2, 1):  # first pairs of two new ones: then fewer pairs are enough
        for number, pair in enumerate(pairs):
            if len(set(pair) - seen) >= wanted:
                seen |= set(pair)
                found.append(number)
    return found


def crossing(states: dict[tuple[str, str], bool], pairs: Sequence[Sequence[str]]) -> list[int]:
    """Numbers of the pairs that tell which engine of a failing pair it is: each of the two with an engine that works. ``states``: pairs of this round."""
    good = next((pair for pair, works in states.items() if works), None)
    if not good:
        return []
    bad = [pair for pair, works in states.items() if not works]
    wanted = [each for prefill, decode in bad for each in ((prefill, good[1]), (good[0], decode)) if each not in states]
    return sorted({number for number, pair in enumerate(pairs) if tuple(pair) in wanted})
