# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring the members of a router to a wanted state, and read back: the router's own answers prove nothing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, NamedTuple, Sequence

from ..tools.http_client import Target, ask
from . import away
from .base import Member, MembersProblem, Router
from .drain import metrics_of
from .instances import Instances
from .listed import Listed
from .same_engine import other_names
from .use import unused
from .workers import Workers

MOST = 64  # members that are asked at once: a router may list anything
ANSWER = 5.0  # seconds in which an engine that serves answers its health page
ROUTERS = {"instances": Instances, "workers": Workers, "restart": Listed}


class Outcome(NamedTuple):
    """Members before and after, and what was changed; in check mode, what would be. ``added`` has also listed ones that a start would not have.

    ``restart``: whether the router has to restart for that.
    """

    before: list[Member]
    after: list[Member]
    added: list[Member]
    removed: list[Member]
    restart: bool = False


def changes(before: Sequence[Member], wanted: Sequence[Member], state: str, purge: bool) -> tuple[list, list]:
    """(to add, to remove). ``state``: present or absent; ``purge``: remove all others as well."""
    if state == "absent":
        return [], [member for member in before if member in wanted]
    return (
        [member for member in wanted if member not in before],
        [member for member in before if purge and member not in wanted],
    )


def last_ones(before: Sequence[Member], removed: Sequence[Member]) -> list[str]:
    """Pools that would have no member left."""
    left = {member.kind for member in before if member not in removed}
    return sorted({member.kind for member in removed} - left)


def answers(member: Member) -> bool:
    """Whether an engine answers. A router lists also those that have died."""
    return ask(Target(member.url), "/health", timeout=ANSWER).status == 200


def silent(members: Sequence[Member]) -> list[Member]:
    """Those that accept no connection, because their process or host ended. One that does not answer in time may go on, and is not among them."""
    asked = list(members)[:MOST]
    if not asked:
        return []
    with ThreadPoolExecutor(len(asked)) as pool:
        return [
            member for member, found in zip(asked, pool.map(lambda each: metrics_of(each.url), asked)) if found is None
        ]


def stranded(stay: Sequence[Member], removed: Sequence[Member]) -> list[str]:
    """Pools that serve now, and of which no engine that answers would be left."""
    silent = [
        kind
        for kind in sorted({member.kind for member in removed})
        if not any(answers(member) for member in stay if member.kind == kind)
    ]
    return [kind for kind in silent if any(answers(member) for member in removed if member.kind == kind)]


def reconcile(
    router: Router,
    wanted: Sequence[Member],
    state: str = "present",
    purge: bool = False,
    allow_last: bool = False,
    check: bool = False,
    timeout: float = 60.0,
    use_timeout: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Any] = time.sleep,
) -> Outcome:
    """Add first, then remove, and wait up to ``timeout`` seconds until the router's list is as wanted.

    A router that changes by its restart only is not changed: its list of engines that stay away is, and the outcome says whether it has to restart.

    Raises MembersProblem: if the router does not answer, refuses, its list is not as wanted in time, or the last member of a pool would be
    removed without ``allow_last``; the last one that answers, if no other one does within ``timeout``. With ``use_timeout``, also if an added
    member finished no request in that time; it is removed again.
    """
    before = router.read()
    if state == "absent" and not router.known():
        raise MembersProblem(
            f"it is not known which engines the router at {router.url} has, because it did not record them when it started. None was taken out. "
            "Fix: see that its disk has space, and run site, which restarts it"
        )
    added, removed = changes(before, wanted, state, purge)
    if state == "absent":  # an engine leaves under all names that the router has for it
        removed += other_names([member for member in before if member not in removed], wanted)
    left_out = away.read(router.away) if state == "present" else set()
    returned = [member for member in wanted if member in added or member.url in left_out]
    leaving = wanted if state == "absent" else removed
    after = sorted([member for member in before if member not in removed] + added)
    lonely = last_ones([*before, *added], removed)
    if lonely and not allow_last:
        raise MembersProblem(
            "{} would have no member of the router at {} any more, so all requests would fail. "
            "Fix: add another instance first, or allow the pause".format(" and ".join(lonely), router.url)
        )
    restart = router.restarts and bool(added or removed or not router.known())
    if check:
        return Outcome(before, after, returned, removed, restart)
    away.clear(router.away, [member.url for member in returned])
    end = clock() + timeout
    if not router.restarts:
        for member in added:
            router.add(member)
        _until(router, lambda now: all(member in now for member in added), end, "list", added, clock, sleep)
        if added and use_timeout:
            _used(router, added, use_timeout)
    if removed and not allow_last:
        _others_answer(router, [member for member in after if member not in removed], removed, end, clock, sleep)
    away.note(router.away, [member.url for member in leaving])
    if state == "absent":  # a router that has just started may have got one back before it was noted
        removed += [member for member in router.read() if member in wanted and member not in removed]
    if router.restarts:
        return Outcome(before, after, returned, removed, restart or bool(removed))
    for member in removed:
        router.remove(member)
    _until(router, lambda now: not any(member in now for member in removed), end, "give up", removed, clock, sleep)
    return Outcome(before, router.read() if added or removed else after, returned, removed)


def _others_answer(
    router: Router,
    stay: Sequence[Member],
    removed: Sequence[Member],
    end: float,
    clock: Callable[[], float],
    sleep: Callable[[float], Any],
) -> None:
    """Wait until a pool from which an engine is taken has another one that answers: one that has died may be starting."""
    while True:
        pools = stranded(stay, removed)
        if not pools:
            return
        if clock() > end:
            raise MembersProblem(
                "{} of the router at {} would have no engine that answers without {}: {} does not. Nothing was removed. "
                "Fix: wait until it answers, or look into its log; then run again".format(
                    " and ".join(pools),
                    router.url,
                    ", ".join(member.url for member in removed if member.kind in pools),
                    ", ".join(member.url for member in stay if member.kind in pools) or "another one",
                )
            )
        sleep(0.5)


def _used(router: Router, added: Sequence[Member], timeout: float) -> None:
    """Raise MembersProblem if the router does not use an engine that was added."""
    members = router.read()
    left = unused(router, added, len(members), timeout)
    if not left:
        return
    kept = []
    for member in left:
        if last_ones(members, [member]):
            kept.append(member.url)
            continue
        away.note(router.away, [member.url])
        router.remove(member)
        members = [other for other in members if other != member]
    removed = [member.url for member in left if member.url not in kept]
    done = ["Removed again: {}; the other engines serve".format(", ".join(removed))] if removed else []
    done += ["Kept, because its pool has no other engine: {}".format(", ".join(kept))] if kept else []
    raise MembersProblem(
        "the router at {} lists {}, and none of its requests was finished there within {:.0f} s. {}. "
        "Fix: check that the router's host reaches these engines, and look into the logs of both".format(
            router.url, ", ".join(member.url for member in left), timeout, ". ".join(done)
        )
    )


def _until(
    router: Router,
    done: Callable[[list[Member]], bool],
    end: float,
    verb: str,
    members: Sequence[Member],
    clock: Callable[[], float],
    sleep: Callable[[float], Any],
) -> None:
    while members and not done(router.read()):
        if clock() > end:
            raise MembersProblem(
                "the router at {} accepted the change and does not {} {}. Requests would fail or be missing there. "
                "Fix: check that these engines answer from the router's host, and look into the router's log".format(
                    router.url, verb, ", ".join(member.url for member in members)
                )
            )
        sleep(0.5)


def shown(members: Sequence[Member]) -> dict[str, list[str]]:
    """{kind: [url]}, sorted."""
    found: dict[str, list[str]] = {}
    for member in sorted(members):
        found.setdefault(member.kind, []).append(member.url)
    return found


def lines(members: Sequence[Member]) -> str:
    """One line for each member, for a diff."""
    return "".join(f"{member.kind} {member.url}\n" for member in sorted(members))
