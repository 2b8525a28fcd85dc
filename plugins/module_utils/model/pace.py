# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A limit for what this process receives: the clients of hubs have none. Runs on Python 3.7.

Whoever reads slowly is sent slowly: TCP tells the sender. All connections of the process share the limit, whatever library opens them.
"""

from __future__ import annotations

import functools
import socket
import ssl
import threading
import time


class Pace:
    """Waits until that many bytes may have come, at ``rate`` bytes a second; what was not used before is not saved up."""

    def __init__(self, rate, clock=time.monotonic, sleep=time.sleep):
        # type: (int, t.Callable[[], float], t.Callable[[float], None]) -> None
        self.rate, self.clock, self.sleep = rate, clock, sleep
        self.lock, self.until = threading.Lock(), clock()

    def spend(self, count):
        # type: (int) -> None
        """Wait for ``count`` bytes that came."""
        with self.lock:
            now = self.clock()
            self.until = max(self.until, now) + count / self.rate
            wait = self.until - now
        self.sleep(wait)


def limit(pace, kinds=(socket.socket, ssl.SSLSocket)):
    # type: (Pace, t.Iterable[type]) -> None
    """Let all sockets of this process keep the pace, until it ends."""
    for kind in kinds:
        kind.recv = _paced(kind.recv, pace, len)
        kind.recv_into = _paced(kind.recv_into, pace, int)


def _paced(receive, pace, counted):
    @functools.wraps(receive)
    def paced(*arguments, **more):
        found = receive(*arguments, **more)
        pace.spend(counted(found))
        return found

    return paced
