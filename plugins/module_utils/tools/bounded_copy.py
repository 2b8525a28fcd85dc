# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies what a server sends, up to a size, and no longer than bytes come at a rate. Runs on Python 3.7."""

from __future__ import annotations

import time

CHUNK = 2**20
LEAST = 2**20  # bytes within WINDOW; slower is no download that somebody waits for
WINDOW = 600  # seconds


class Endless(Exception):
    """The source sends more than it should, or so slowly that it would not end; the text says which."""


class TooSlow(Endless):
    """The source sends so slowly that it would not end."""


def bounded_copy(source, target, most, clock=time.monotonic):
    """Copy the stream ``source`` to ``target``; the number of bytes. Raises ``Endless``, with at most ``most`` bytes written.

    What is there is read at once (read1), because a read of a whole chunk would wait for the rest of it, without an end if each byte comes in time.
    """
    read = source.read1 if hasattr(source, "read1") else source.read
    done, begun, before = 0, clock(), 0
    while True:
        content = read(CHUNK)
        if not content:
            return done
        if done + len(content) > most:
            raise Endless(f"more than the expected {most} bytes were sent")
        target.write(content)
        done += len(content)
        now = clock()
        if now - begun >= WINDOW:
            if done - before < LEAST:
                raise TooSlow(f"only {done - before} bytes were sent within {now - begun:.0f} s")
            begun, before = now, done
