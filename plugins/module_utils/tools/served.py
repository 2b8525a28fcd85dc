# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer of a server, which a thread reads. Runs on Python 3.7.

The timeout of a socket starts anew with every byte. Answers 100 (Continue), lines of a head, of a chunk's size and of a trailer are each read within
one call of http.client, which goes on as long as a server sends them. So the caller waits for a thread, and leaves it alone when it takes too long.
"""

from __future__ import annotations

import queue
import threading

from .bounded_copy import CHUNK, WINDOW, TooSlow

HEAD = 180  # seconds for the head of an answer, with all redirects before it
WAITING = 4  # pieces that were read and not yet taken


class Served:
    """What ``opening()`` returns, as a stream with ``read1``; ``head`` is its response. Raises ``TooSlow``, and what the other end causes."""

    def __init__(self, opening, seconds=None):
        self._pieces, self._left = queue.Queue(WAITING), threading.Event()
        threading.Thread(target=self._read, args=(opening,), daemon=True).start()
        self.head = self._next(HEAD if seconds is None else seconds, "the head of the answer")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self._left.set()

    def read1(self, _size):
        """The next piece; empty at the end."""
        return self._next(WINDOW, "a piece of the answer")

    def _next(self, seconds, what):
        try:
            found = self._pieces.get(timeout=seconds)
        except queue.Empty as error:
            self._left.set()
            raise TooSlow(f"{what} was not whole within {seconds} s") from error
        if isinstance(found, Exception):
            raise found
        return found

    def _read(self, opening):
        try:
            with opening() as response:
                going = self._put(response)
                while going:
                    piece = response.read1(CHUNK)
                    going = self._put(piece) and bool(piece)
        except Exception as problem:  # any exception that the other end causes is the caller's
            self._put(problem)

    def _put(self, piece):
        """Whether somebody takes it."""
        while not self._left.is_set():
            try:
                self._pieces.put(piece, timeout=1)
                return True
            except queue.Full:
                continue
        return False
