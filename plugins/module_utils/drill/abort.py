# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine as a black hole: it accepts each request, the request is broken off, and /health answers.

Root takes a second handle of a connection of the engine's process (pidfd_getfd) and shuts it down if its request waits for an answer for longer than
what needs no NPU takes. Engine and client both see that the other one has gone, so the engine aborts the request and is idle. Nothing is set in the
engine, in its container or in the kernel: nothing remains when this process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
import time
from typing import Callable, Iterator, Sequence

from .fault import FaultError
from .processes import Process

INTERNET = (socket.AF_INET, socket.AF_INET6)
PIDFD_OPEN, PIDFD_GETFD = 434, 438  # the same numbers on x86_64 and aarch64
ANSWERED = 0.02  # seconds; /health and /v1/models answer sooner, a completion does not
POLL = 0.005
CHECK = 1.0  # seconds between questions whether the fault is still wanted
INFO = struct.Struct(
    "=44xIII100xI"
)  # of struct tcp_info: milliseconds since data was sent, acknowledged, received; segments of data sent
ESTABLISHED = 1
MISSING = "{}: this host does not let root share a connection of a process (pidfd_getfd, Linux 5.6). No request was broken off. Fix: use action: pause"
SILENT = "no process of {} listens on port {}. No request was broken off. Fix: run ascend.inference.status"


class Holder:
    """A process that may have connections of the engine's port. Raises OSError if it has ended."""

    def __init__(self, pid: int, port: int) -> None:
        self.folder, self.port = f"/proc/{pid}/fd", port
        self.others: dict[str, str] = {}  # its other files, which are not looked at again
        self.handle = _call(PIDFD_OPEN, pid, 0)

    def listens(self) -> bool:
        return any(made.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) for made in self._sockets())

    def abort(self) -> int:
        """Break off each request that waits -> how many."""
        number = 0
        for made in self._sockets():
            with contextlib.suppress(OSError):  # answered meanwhile, and closed
                if _waits(made):
                    made.shutdown(socket.SHUT_RDWR)
                    number += 1
        return number

    def _sockets(self) -> Iterator[socket.socket]:
        """Handles of those of the port, each closed at once: a connection that the engine closes must not stay open for its client."""
        for name in os.listdir(self.folder):
            with contextlib.suppress(OSError):  # closed meanwhile
                target = os.readlink(f"{self.folder}/{name}")
                if not target.startswith("socket:") or self.others.get(name) == target:
                    continue
                with socket.socket(fileno=_call(PIDFD_GETFD, self.handle, int(name), 0)) as made:
                    if made.family in INTERNET and made.getsockname()[1] == self.port:
                        yield made
                    else:
                        self.others[name] = target


def abort(service: str, processes: Sequence[Process], port: int, seconds: float, wanted: Callable[[], bool]) -> int:
    """Break off all requests of a service for ``seconds``, while ``wanted`` -> how many. Raises FaultError before the first one."""
    end, asked, number = time.monotonic() + seconds, time.monotonic(), 0
    with contextlib.ExitStack() as stack:
        holders = []
        for process in processes:
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                holder = _holder(process.pid, port)
                stack.callback(os.close, holder.handle)
                holders += [holder] if holder.listens() else []
        if not holders:
            raise FaultError(SILENT.format(service, port))
        while holders and time.monotonic() < end:
            for holder in list(holders):
                try:
                    number += holder.abort()
                except FileNotFoundError:  # the engine has ended: that is for the report to say
                    holders.remove(holder)
            if time.monotonic() - asked > CHECK:
                if not wanted():
                    break
                asked = time.monotonic()
            time.sleep(POLL)
    return number


def _holder(pid: int, port: int) -> Holder:
    try:
        made = Holder(pid, port)
        _call(PIDFD_GETFD, made.handle, -1, 0)
    except OSError as error:
        if error.errno == errno.EBADF:  # the call is there: no process has the file -1
            return made
        if error.errno == errno.ESRCH:
            raise
        raise FaultError(MISSING.format(error)) from error
    raise AssertionError("a process shared its file -1")


def _waits(made: socket.socket) -> bool:
    """Whether a request came after the last data that was sent, and waits. Others are idle, or have an answer under way."""
    info = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO.size)
    sent, _acknowledged, received, segments = INFO.unpack(info)
    # A connection counts as sent to at its begin, and times have the kernel's ticks: a first request comes in the same one.
    return info[0] == ESTABLISHED and received >= 1000 * ANSWERED and (received < sent or not segments)


def _call(number: int, *values: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, values))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)
