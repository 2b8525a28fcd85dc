# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of a router: the engines that it sends requests to."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..tools import foreign_json
from ..tools.http_client import Target, ask


class Member(NamedTuple):
    """One engine: its pool (prefill, decode, colocated) and the URL of its API, without a path."""

    kind: str
    url: str


class MembersProblem(Exception):
    """The router refused a change, or did not carry it out; the text says what is wrong, why it matters and how to fix it."""


class Router:
    """A router's API of members; ``registry`` lists the subclasses. Each call has a timeout in seconds.

    A router's answer to a change is never taken as proof: callers read back. Methods raise MembersProblem. ``restarts``: whether it is changed by
    its restart only, so that nobody calls ``add`` and ``remove``.
    """

    restarts = False

    def __init__(self, url: str, model: str = "", token: str = "", timeout: float = 10.0) -> None:
        self.target = Target(url, token)
        self.url, self.model, self.timeout = url, model, timeout
        self.away = ""  # file, see away.py; none without

    def read(self) -> list[Member]:
        """The members that get requests."""
        raise NotImplementedError

    def known(self) -> bool:
        """Whether ``read`` tells what the router has."""
        return True

    def add(self, member: Member) -> None:
        """Ask the router to add a member."""
        raise NotImplementedError

    def remove(self, member: Member) -> None:
        """Ask the router to send no more requests to a member. Requests under way are not affected."""
        raise NotImplementedError

    def request(self, method: str, path: str, payload: Any = None) -> tuple[int, dict[str, Any]]:
        """(status, answer); an answer that is no JSON object is {"error": text}."""
        reply = ask(self.target, path, payload, self.timeout, method=method)
        if reply.error:
            raise MembersProblem(
                f"the router at {self.url} does not answer {method} {path}: {reply.detail or reply.error}. "
                "Engines that are not among its members get no requests. Fix: start the router, or look into its log"
            )
        try:
            answer = foreign_json.loads(reply.body)
        except ValueError:
            answer = None
        return reply.status, answer if isinstance(answer, dict) else {"error": reply.body[:300]}


def refused(router: Router, what: str, status: int, answer: dict[str, Any], fix: str) -> MembersProblem:
    """The problem of a change that the router refused."""
    text = answer.get("error") or answer.get("message") or answer
    return MembersProblem(f"the router at {router.url} refused to {what}: HTTP {status}, {text}. Fix: {fix}")


def address_of(url: str) -> tuple[str, int]:
    """(host, port) of a member's URL, the host as it is written there. Raises MembersProblem if it has no port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise MembersProblem(f"{url!r} is not the URL of an engine. Fix: write it as http://ADDRESS:PORT")
    place = parts.netloc.rpartition("@")[2]  # and not ``host``, which is in small letters: a proxy compares texts
    return place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0], port
