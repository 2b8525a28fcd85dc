# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong texts: each compared request is repeated after the fault, when all services are well. At temperature 0 the text must be the same.

Where the repetitions differ among themselves, the model decides a near tie in either way; that is no fault.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Callable, NamedTuple, Sequence

from .load import Request

AT_ONCE = 4  # repeated requests at a time
AGAIN = 2  # further repetitions of a request whose text differs


class Compared(NamedTuple):
    """``compared`` requests, of which ``wrong`` had another text, ``unstable`` a text that differs each time, ``lost`` no second answer."""

    compared: int
    wrong: tuple[Request, ...]
    unstable: int
    lost: int


def chosen(requests: Sequence[Request], most: int) -> list[Request]:
    """At most this many of the answered requests, evenly spread."""
    good = [request for request in requests if not request.problem]
    if len(good) <= most:
        return good
    return [good[number * len(good) // most] for number in range(most)]


def compare(requests: Sequence[Request], ask: Callable[[Request], Request]) -> Compared:
    """Repeat requests with ``ask`` and compare their texts."""
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        verdicts = list(pool.map(lambda request: _verdict(request, ask), requests))
    wrong = tuple(request for request, verdict in zip(requests, verdicts) if verdict == "wrong")
    return Compared(len(requests) - verdicts.count("lost"), wrong, verdicts.count("unstable"), verdicts.count("lost"))


def _verdict(request: Request, ask: Callable[[Request], Request]) -> str:
    first = ask(request)
    if first.problem:
        return "lost"
    if first.text == request.text:
        return "same"
    others = [ask(request).text for _again in range(AGAIN)]
    return "wrong" if all(text == first.text for text in others) else "unstable"
