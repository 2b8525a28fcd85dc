# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a deployment on one host: held by a run of ansible-playbook, over many calls of modules.

It is the file ``.NAME.lock`` beside the deployment's folder, which holds a record of the run: ``id``, ``owner``, ``controller``,
``since`` and what the controller recognises its own process by, and on the first host of a change ``step``, the step that it has reached,
and ``script``, all its steps as ``[{step, state}]``, with the state done, begun or open. No time limit ends it: a run may wait an hour for
an engine. A run that was killed leaves it.
"""

from __future__ import annotations

import json
import os

from ..tools import foreign_file, foreign_json
from ..tools.file_lock import FileLock
from . import tree

GUARD = 30  # seconds; each holder of the guard needs milliseconds


def path_of(directory):
    """The lock's file for a deployment's folder."""
    parent, name = os.path.split(directory)
    return os.path.join(parent, f".{name}.lock")


def take(directory, run, replace="", make=True):
    """Take the lock for ``run``; returns the record of the run that holds it afterwards.

    ``replace`` is the id of a run whose lock may be taken over. Without ``make`` nothing is locked where nothing was deployed.
    """
    parent = os.path.dirname(directory)
    if make:
        tree.make_shared(parent, 0o755, -1, -1)
    elif not os.path.isdir(parent):
        return run
    with FileLock(path_of(directory), GUARD) as lock:
        holder = _record(lock.text())
        if not holder or holder["id"] in (run["id"], replace):
            lock.write(_text(run))
            return run
        return holder


def note(directory, run_id, step, script):
    """Note in the lock of this run which step it has reached, in words, and its script; nothing if this run does not hold the lock.

    Readers take at most `foreign_file.MOST` bytes of a lock, and one whose record is cut off is nobody's: a script of that size is left out.
    """
    path = path_of(directory)
    if not os.path.exists(path):
        return
    with FileLock(path, GUARD) as lock:
        holder = _record(lock.text())
        if holder.get("id") == run_id:
            record = dict(holder, step=step, script=script)
            if len(_text(record)) > foreign_file.MOST:
                del record["script"]
            lock.write(_text(record))


def release(directory, run_id):
    """Release the lock if this run holds it. Of two that release it at once, as hosts with one folder do, the second one makes it anew, empty."""
    path = path_of(directory)
    if not os.path.exists(path):
        return
    with FileLock(path, GUARD) as lock:
        text = lock.text()
        if not text or _record(text).get("id") == run_id:
            os.unlink(path)


def holder_of(directory):
    """The record of the run that holds the lock; ``{}`` if none does."""
    try:
        return _record(foreign_file.read(path_of(directory)))
    except OSError:
        return {}


def _text(record):
    return json.dumps(record, sort_keys=True) + "\n"


def _record(text):
    """A lock that was interrupted while it was taken has no record: nobody holds it."""
    try:
        found = foreign_json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and found.get("id") else {}
