# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an engine keeps links to processes that are gone.

A link is between two processes. When one of them is started again, the other one has to be, too, and then both can link anew. So an engine is
stale if another engine that it has met runs as another process now. It must not take part a second time when that engine's other side follows:
an engine that was met by the process before this one is linked with that one, and ends by itself.
"""

from __future__ import annotations

HOUR = 3600.0


class Links:
    """The engines that a process has met. ``before``: {engine: start} that earlier processes of this engine have met."""

    def __init__(self, before: dict[str, float]) -> None:
        self.before, self.here = dict(before), {}  # type: dict[str, float], dict[str, float]
        self.other: dict[str, float] = {}
        self.stale: set[str] = set()

    def see(self, name: str, start: float) -> None:
        """Take note of an engine that answers. What differs has to be seen twice: one odd answer is no reason to end an engine."""
        if name in self.stale or self.before.get(name) == start:
            return
        known = self.here.setdefault(name, start)
        if known != start and self.other.get(name) == start:
            self.stale.add(name)
        self.other[name] = start

    @property
    def doubtful(self) -> bool:
        """Whether an engine was seen as another process once, so that the next look should come soon."""
        return any(self.here.get(name, start) != start for name, start in self.other.items() if name not in self.stale)

    @property
    def met(self) -> dict[str, float]:
        """What the next process of this engine has to know."""
        return {**self.before, **self.here}


def recent(ended: list[float], now: float) -> list[float]:
    """The times within the last hour; also those that a clock which was set back has in the future."""
    return [time for time in ended if now - time < HOUR]
