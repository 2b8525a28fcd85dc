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
MOST_VALUES = (
    10**6
)  # numbers, texts, lists and mappings of a host's JSON; the pings of each NPU to all of 768 others make 150 thousand


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
    return values_of(data.decode("utf-8"))


def values_of(text):
    """The value of JSON. ValueError if it has more than ``MOST_VALUES`` values: of each of its two characters, Python makes an object of 60 bytes."""
    refuse_many(text)
    return json.loads(text)


def refuse_many(text, most=0):
    """Raise ValueError for JSON of too many values, before an object is made of one."""
    most = most or MOST_VALUES
    plain = text.replace("\\\\", "").replace('\\"', "")  # so each quote begins or ends a text
    outside = "".join(plain.split('"')[::2]) if plain.count('"') <= 4 * most else "," * (most + 1)
    if outside.count(",") + outside.count("[") + outside.count("{") > most:
        raise ValueError(f"it has more than {most} values")
