# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement that runs on a host, as the next one and ``status`` find it, also if its playbook has ended.

It is the locked file ``bench.lock`` in the deployment's folder, which belongs to root. The kernel releases the lock when the process ends, however
it ends, so a file that a killed process left says nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

from ..files.journal import MEASURED as NAME
from ..tools.file_lock import Busy, FileLock
from .driver import BenchError

UNKNOWN = {"process": "unknown", "since": "an unknown time"}


class Running:
    """``with Running(folder)``: this process measures. Raises BenchError if another one does, OSError without the folder."""

    def __init__(self, folder):
        self.folder, self.path = folder, os.path.join(folder, NAME)
        self.lock = FileLock(self.path, 0)

    def __enter__(self):
        try:
            self.lock.__enter__()
        except Busy as busy:
            raise BenchError(sentence(found(self.folder) or UNKNOWN)) from busy
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.lock.write(json.dumps({"process": os.getpid(), "since": now}) + "\n")
        return self

    def __exit__(self, *unused):
        os.unlink(self.path)
        self.lock.__exit__()


def found(folder):
    """``{process, since}`` of the measurement that runs on this host; ``{}`` if none does, or if that cannot be read."""
    try:
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    with open(descriptor, encoding="utf-8", errors="replace") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return {}
        except OSError:
            return _note(stream.read(1000))


def _note(text):
    try:
        known = json.loads(text)
    except ValueError:
        return dict(UNKNOWN)
    if not isinstance(known, dict) or not isinstance(known.get("process"), int):
        return dict(UNKNOWN)
    return {"process": known["process"], "since": str(known.get("since", UNKNOWN["since"]))}


def sentence(known):
    """What is wrong, why, and the fix."""
    process, since = known["process"], known["since"]
    end = f"kill {process}" if isinstance(process, int) else f"fuser {NAME} in the deployment's folder"
    return (
        f"a benchmark has sent requests from this host since {since} (process {process}), so measurements and waiting times are those of "
        f"its load. Fix: wait until it has ended; if its playbook does not run any more, run `{end}` there, which ends its requests"
    )
