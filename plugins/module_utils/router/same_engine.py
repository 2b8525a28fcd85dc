# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Further members of a router that are the same engine under another URL, such as http://localhost:7300 that somebody added by hand.

Through such a member an engine gets requests after it has left the router, so it never finishes them.
"""

from __future__ import annotations

import socket
from typing import Callable, Iterable, Sequence

from ..tools.http_client import Target, ask
from ..tools.process_start import start_of
from .base import Member, MembersProblem, address_of


def addresses(host: str) -> set[str]:
    """IP addresses of a name on this machine; those of an IPv4 address in IPv6 as IPv4; none if nobody knows it."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {str(entry[4][0]).replace("::ffff:", "") for entry in found}


def is_here(address: str) -> bool:
    """Whether an IP address is one of this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as opened:
        try:
            opened.bind((address, 0))
        except OSError:
            return False
    return True


def started(url: str) -> float | None:
    """When the process of an engine started, from its page of metrics; None if that is not known."""
    reply = ask(Target(url), "/metrics", timeout=5.0)
    return start_of(reply.body) if reply.status == 200 and not reply.error else None


def other_names(
    listed: Iterable[Member], engines: Sequence[Member], began: Callable[[str], float | None] = started
) -> list[Member]:
    """Those of ``listed`` that are one of ``engines`` under another URL.

    The port is the same, and either the address, or both addresses are of this machine and the process has the same start time. To be called on the
    router's host, which knows names as the router does.
    """
    return [
        member
        for member in listed
        if member not in engines and any(_same(member.url, engine.url, began) for engine in engines)
    ]


def _same(url: str, other: str, began: Callable[[str], float | None]) -> bool:
    try:
        (host, port), (other_host, other_port) = address_of(url), address_of(other)
    except MembersProblem:
        return False
    if port != other_port:
        return False
    found, expected = addresses(host), addresses(other_host)
    if found & expected:
        return True
    if not all(any(map(is_here, each)) for each in (found, expected)):
        return False
    start = began(other)
    return start is not None and start == began(url)
