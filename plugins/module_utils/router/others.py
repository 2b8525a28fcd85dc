# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What engines that leave owe to other engines: decode to prefill that has chosen it, prefill to decode that has yet to fetch."""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Sequence, Union

from ..verify.metrics import FINISHED, RUNNING, WAITING, Samples

Found = Union[
    Samples, str, None
]  # of an engine: counters; None if it accepts no connection; otherwise why they are not known
HELD = "% of its KV cache held for decode"


def ranks_of(found: Samples) -> dict[str, tuple[float, float]]:
    """{data-parallel rank: (requests that have finished, and that run or wait)}; an engine without ranks in its counters has the rank ""."""
    named = [re.match(re.escape(RUNNING) + r"(\{engine=.*\})\Z", name) for name in found]
    return {
        rank: (found.get(FINISHED + rank, 0.0), found.get(RUNNING + rank, 0.0) + found.get(WAITING + rank, 0.0))
        for rank in [match.group(1) for match in named if match] or [""]
    }


class Promised:
    """Requests at prefill engines for which a router may have chosen an engine that leaves.

    Each rank of prefill serves requests in the order of their arrival: when as many have finished as there were, these have. So they have if it
    counts anew, because its process has.
    """

    def __init__(self, urls: Sequence[str], read: Callable[[str], Found], due: Any = None) -> None:
        """``due``: that of an earlier instance which goes on."""
        self.read = read
        # {URL: {rank: (finished at the beginning, number at which they all have)}}; None until the engine has reported it
        self.due: dict[str, dict[str, tuple[float, float]] | None] = dict.fromkeys(urls) if due is None else due
        self.left()

    def left(self) -> int:
        """Number of prefill engines that are not known to have finished them yet."""
        for url, due in list(self.due.items()):
            found = self.read(url)
            if found is None:
                del self.due[url]
            elif not isinstance(found, str) and RUNNING in found and WAITING in found:
                self.due[url] = _still_due(due, ranks_of(found))
                if not self.due[url]:
                    del self.due[url]
        return len(self.due)


def _still_due(
    due: dict[str, tuple[float, float]] | None, now: dict[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """The ranks that have not finished what is due; ``due`` None: what each has under way now."""
    if due is None:
        due = {rank: (finished, finished + under_way) for rank, (finished, under_way) in now.items()}
    return {
        rank: (first, last)
        for rank, (first, last) in due.items()
        if rank in now and now[rank][1] and first <= now[rank][0] < last
    }


class Fetched:
    """Whether the decode engines have fetched all that prefill engines hold and that any of them will.

    A decode engine counts a request as waiting until it has the KV cache. So nobody fetches the rest, which is that of decode engines that have
    ended, once prefill has no request any more, a request had the time to reach decode, each decode engine was seen without a waiting request,
    and the rest stays the same. vLLM releases it at the end of its own time, which can be longer than a drain.
    """

    def __init__(self, urls: Sequence[str], read: Callable[[str], Found], settle: float, state: Any = None) -> None:
        """``urls``: of all decode engines, empty if not known; ``settle``: seconds; ``state``: that of an earlier instance which goes on."""
        self.urls, self.read, self.settle = list(urls), read, settle
        given = state or {}
        self.held: dict[str, str] = given.get("held", {})
        self.since: float | None = given.get("since")  # when the engines began to hold what they hold
        self.owed: list[str] = given.get("owed", self.urls)  # decode engines that may have something to fetch

    def state(self) -> dict[str, Any]:
        """What another instance goes on with, as JSON has it."""
        return {"held": self.held, "since": self.since, "owed": self.owed}

    def all_of(self, left: Mapping[str, str], now: float) -> bool:
        """``left``: what each prefill engine still has to do, {name: text}; ``now``: seconds. False if anything may still be fetched."""
        if not self.urls or not all(not text or only_held(text) for text in left.values()):
            self.held, self.since, self.owed = {}, None, self.urls
            return False
        if self.since is None or dict(left) != self.held:
            self.held, self.since = dict(left), now
        if now - self.since < self.settle:
            return False
        self.owed = [url for url in self.owed if not self._has_none(url)]
        return not self.owed

    def _has_none(self, url: str) -> bool:
        found = self.read(url)
        return found is None or (not isinstance(found, str) and found.get(WAITING) == 0)


def only_held(left: str) -> bool:
    """Whether an engine has no request any more, and holds KV cache."""
    return left.endswith(HELD) and ", " not in left
