# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import socket

from ansible_collections.ascend.inference.plugins.module_utils.model.pace import Pace, limit


class Clock:
    """A time that only sleeping moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_bytes_come_at_the_pace():
    clock = Clock()
    pace = Pace(1000, clock, clock.sleep)
    for _part in range(4):
        pace.spend(500)
    assert clock.now == 102.0
    clock.sleep(10)  # a pause is not made good
    pace.spend(1000)
    assert clock.now == 113.0


def test_all_connections_share_the_pace():
    clock = Clock()
    kind = type("Limited", (socket.socket,), {})
    limit(Pace(1000, clock, clock.sleep), [kind])
    for receive in (lambda own: own.recv(500), lambda own: own.recv_into(bytearray(500))):
        here, there = socket.socketpair()
        with here, there:
            there.sendall(bytes(500))
            own = kind(fileno=here.detach())
            with own:
                assert receive(own) in (bytes(500), 500)
    assert clock.now == 101.0
