# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Binds the ports of the real engine, with its error messages.

The real engine draws some ports at random, so a bad plan fails sometimes.  The simulator always fails: a planned port in a
pool from which a running process of the host draws counts as used.
"""

from __future__ import annotations

import errno
import random
import socket

from .errors import Died


def _socket(address, port):
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen(1024)
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made


class Ports:
    """The sockets of one engine; ``bound`` is the list of (what, address, port)."""

    def __init__(self, host):
        self.host = host
        self.bound = []

    def planned(self, address, port, what, failure):
        """A listening socket on a planned port; ``failure(reason)`` returns the message of the real engine."""
        if not 0 < port < 65536:
            raise Died(failure("Invalid argument"))
        pool = self.host.pool_of(port)
        if pool:
            raise Died(f"{failure('Address already in use')}\nsimulator: port {port} ({what}) lies in the pool {pool}")
        try:
            made = _socket(address, port)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            raise Died(failure("Address already in use" if taken else "Cannot assign requested address")) from error
        self.bound.append((what, address, port))
        return made

    def drawn(self, address, first, last, what):
        """A listening socket on a random free port of a pool."""
        for port in random.sample(range(first, last + 1), last + 1 - first):
            try:
                made = _socket(address, port)
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    raise Died(f"OSError: [Errno 99] Cannot assign requested address ({what}, {address})") from error
                continue
            self.bound.append((what, address, port))
            return made
        raise Died(f"RuntimeError: no available port between {first} and {last} ({what})")


def zmq_failure(address, port):
    return lambda reason: f"zmq.error.ZMQError: {reason} (addr='tcp://{address}:{port}')"


def api_failure(address, port):
    def message(reason):
        number = 98 if "in use" in reason else 99
        return f"OSError: [Errno {number}] {reason} while attempting to bind on address ('{address}', {port})"

    return message


def hccl_failure(address, port):
    return lambda reason: (
        f"[ERROR] Communication_Error_Bind_IP_Port(EI0019): Failed to bind IP {address} port {port}. Reason: {reason}\n"
        "RuntimeError: HCCL function error: HcclCommInitRootInfoConfig, error code is 7"
    )
