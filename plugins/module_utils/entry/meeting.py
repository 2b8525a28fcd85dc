# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two hosts of an entry reach each other by VRRP and by the port of their counts, before keepalived and the program are there.

Both hosts run it at the same time, and each ends when both have heard each other.
"""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Any

VRRP = 112  # the IP protocol, RFC 5798
# Version 0, which no VRRP has: whoever speaks VRRP drops the packet. The last byte says whether the sender has heard the other host.
PACKET = b"\0\0\0\0\0\0\0\0ascend.inference"
LONGEST = 8.0  # seconds; the other host may start later
PAUSE = 0.2
MORE = 3  # packets after everything is heard: the other host may wait for the last one


class Meeting:
    """``own``, ``other``: IP addresses of one family. ``port``: of the counts, at which this host listens if ``listen``. ``speak``: whether VRRP is sent."""

    def __init__(self, own: str, other: str, port: int, speak: bool, listen: bool) -> None:
        self.own, self.other, self.port, self.speak = own, other, port, speak
        self.family = socket.AF_INET6 if ":" in own else socket.AF_INET
        self.heard = self.known = self.connected = False
        self.came = not listen
        self.problem, self.last = "", "no answer"
        self.raw: Any = None
        self.server: Any = None

    def held(self) -> dict[str, Any]:
        """``{vrrp, peers, problem, began, ended}``: what arrived, why VRRP was not tried, and the seconds since 1970 between which both were tried."""
        began = time.time()
        with contextlib.ExitStack() as opened:
            self._open(opened)
            end, more = time.monotonic() + LONGEST, MORE
            while time.monotonic() < end and more:
                self._say()
                self._connect()
                self._hear(time.monotonic() + PAUSE)
                more -= bool(self.connected and self.came and (self.problem or (self.heard and self.known)))
        return {
            "vrrp": self.heard,
            "peers": "" if self.connected else self.last,
            "problem": self.problem,
            "began": began,
            "ended": time.time(),
        }

    def _open(self, opened: Any) -> None:
        try:
            self.raw = opened.enter_context(socket.socket(self.family, socket.SOCK_RAW, VRRP))
            self.raw.bind((self.own, 0))
            self.raw.setblocking(False)
        except OSError as error:
            self.raw, self.problem = None, str(error)
        if not self.came:
            try:
                self.server = opened.enter_context(socket.socket(self.family, socket.SOCK_STREAM))
                self.server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self.server.bind((self.own, self.port))
                self.server.listen(8)
                self.server.setblocking(False)
            except OSError:  # somebody has it, which is told elsewhere
                self.server, self.came = None, True

    def _say(self) -> None:
        if self.raw and self.speak:
            with contextlib.suppress(OSError):  # a firewall of this host
                self.raw.sendto(PACKET + (b"\1" if self.heard else b"\0"), (self.other, 0))

    def _connect(self) -> None:
        if self.connected:
            return
        try:
            socket.create_connection((self.other, self.port), 1.0, (self.own, 0)).close()
            self.connected = True
        except OSError as error:
            self.last = str(error)

    def _hear(self, until: float) -> None:
        while time.monotonic() < until:
            if self.raw:
                self._receive()
            if self.server:
                with contextlib.suppress(OSError):
                    connection, sender = self.server.accept()
                    connection.close()
                    self.came = self.came or sender[0] == self.other
            time.sleep(0.02)

    def _receive(self) -> None:
        """Packets of the other host alone. Those of its keepalived count as heard: they tell as much."""
        with contextlib.suppress(OSError):
            while True:
                data, sender = self.raw.recvfrom(2048)
                if sender[0] == self.other:
                    self.heard = True
                    self.known = self.known or PACKET not in data or data.endswith(b"\1")
