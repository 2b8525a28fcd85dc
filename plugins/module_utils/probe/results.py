# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of each path: the clients' entry, and each pair of prefill and decode."""

from __future__ import annotations

from typing import NamedTuple

CLIENTS = "clients"


class Outcome(NamedTuple):
    """The last probe of one path.

    at: seconds since 1970. ttft: seconds to the first token, None if there was none. cached: tokens of the prompt that decode got
    from outside, None if the engines do not count them. problem: "" if the path works, else a finding as one line.
    """

    at: float
    problem: str
    ttft: float | None = None
    cached: float | None = None


class Path(NamedTuple):
    """The results of all pairs of ranks of two engines, or of the entry.

    success: None if nothing was tried. problems: of the pairs of ranks that fail now. last: the newest result.
    """

    name: str
    success: bool | None
    problems: tuple[str, ...]
    last: Outcome | None


class Results:
    """Outcomes by path and, within a path, by pair of ranks: a failed pair of ranks stays failed until it works itself."""

    def __init__(self) -> None:
        self.by_path: dict[str, dict[str, Outcome | None]] = {}

    def expect(self, path: str, pair: str) -> None:
        """A pair that will be tried; until then its result is unknown."""
        self.by_path.setdefault(path, {}).setdefault(pair, None)

    def add(self, path: str, pair: str, outcome: Outcome) -> None:
        self.by_path.setdefault(path, {})[pair] = outcome

    def failing(self, path: str, pair: str) -> bool:
        outcome = self.by_path.get(path, {}).get(pair)
        return bool(outcome and outcome.problem)

    def paths(self) -> list[Path]:
        """All paths, the clients' entry first."""
        names = sorted(self.by_path, key=lambda name: (name != CLIENTS, name))
        return [self._path(name) for name in names]

    def _path(self, name: str) -> Path:
        tried = [outcome for outcome in self.by_path[name].values() if outcome]
        if not tried:
            return Path(name, None, (), None)
        problems = tuple(outcome.problem for outcome in tried if outcome.problem)
        return Path(name, not problems, problems, max(tried, key=lambda outcome: outcome.at))
