# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record of each call of a vendor tool, made while the tool runs anyway: no further call is needed for it."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
import zlib

from .runner import ToolMissing, run

MOST_FILE = 2**20  # bytes of a recorded file; /etc/hccn.conf has some KiB


class Recorder:
    """A runner (as :func:`runner.run`) that keeps what it ran. Threads may share one.

    ``commands``: ``{argv, stdin, begin (seconds since 1970), seconds, rc, timed_out, stdout, stderr, problem}`` of each call in the order
    of their ends; ``rc`` is None after a timeout, and ``problem`` says why a tool could not be started. ``files``: {path: text, or None
    if it could not be read}.
    """

    def __init__(self, runner=run):
        self._runner, self._lock = runner, threading.Lock()
        self.commands, self.files = [], {}

    def __call__(self, argv, timeout, stdin=None):
        begin, clock = time.time(), time.monotonic()
        entry = dict(argv=list(argv), stdin=stdin, begin=round(begin, 3), problem="")
        try:
            output = self._runner(argv, timeout, stdin=stdin)
        except ToolMissing as error:
            self._keep(entry, clock, rc=None, timed_out=False, stdout="", stderr="", problem=str(error))
            raise
        answer = dict(rc=output.rc, timed_out=output.timed_out, stdout=output.stdout, stderr=output.stderr)
        self._keep(entry, clock, **answer)
        return output

    def _keep(self, entry, clock, **answer):
        entry.update(answer, seconds=round(time.monotonic() - clock, 3))
        with self._lock:
            self.commands.append(entry)

    def keep_file(self, path):
        """Keep the text of a file that a module read besides the tools' outputs."""
        try:
            with open(path, "rb") as handle:
                self.files[path] = handle.read(MOST_FILE).decode("utf-8", "replace")
        except OSError:
            self.files[path] = None

    def packed(self):
        """The record as text for a module's result: base64 of JSON compressed by zlib, ``{node, commands, files}``."""
        whole = dict(node=os.uname().nodename, commands=self.commands, files=self.files)
        return base64.b64encode(zlib.compress(json.dumps(whole).encode("utf-8"))).decode("ascii")


def unpacked(text, most):
    """The record of :meth:`Recorder.packed`. Raises ValueError if it is damaged, or has more than ``most`` bytes."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(text, validate=True), most)
    except zlib.error as error:
        raise ValueError(f"the record is damaged: {error}") from error
    if unpacker.unconsumed_tail:
        raise ValueError(f"the record has more than {most} bytes")
    return json.loads(data.decode("utf-8"))
