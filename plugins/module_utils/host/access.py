# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the user of the services can read the model and enter the root folder. Runs on Python 3.7.

A process of that user tries it: modes alone say nothing about access control lists or an NFS server that maps root to nobody.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import select
import signal

from ..tools.driver_group import driver_group

NOBODY = 65534
TIMEOUT = 60  # seconds
MOST = 5  # named problems of one folder; the others are counted


def access(user, models, roots, group=""):
    # type: (str, t.Iterable[str], t.Iterable[str], str) -> t.Dict[str, t.Any]
    """``{user, group, exists, models, roots}``: problems by path, each a list of sentences; ``models`` and ``roots`` are None if unknown.

    ``user`` is the services' user, an empty string the connected one, who also has to write into ``roots``. A user that does not
    exist yet is represented by nobody without groups. Only root can become another user. ``group``: see :func:`driver_group`; the answer has the
    name of the group that services get, empty if there is none.
    """
    group = driver_group(group)
    found = {"user": user, "group": group, "exists": True, "models": None, "roots": None}
    identity = None
    if user:
        identity = _identity(user, group)
        found["exists"] = identity is not None
        identity = identity or (NOBODY, NOBODY, [])
        if os.geteuid() not in (0, identity[0]):
            return found
    writes = not user
    answer = _as_user(identity if os.geteuid() == 0 else None, list(models), list(roots), writes)
    if answer:
        found.update(answer)
    return found


def _identity(user, group):
    # type: (str, str) -> t.Optional[t.Tuple[int, int, t.List[int]]]
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        return None
    groups = os.getgrouplist(user, entry.pw_gid)
    if group:
        groups.append(grp.getgrnam(group).gr_gid)
    return entry.pw_uid, entry.pw_gid, sorted(set(groups))


def _as_user(identity, models, roots, writes):
    # type: (t.Optional[t.Tuple[int, int, t.List[int]]], t.List[str], t.List[str], bool) -> t.Dict[str, t.Any]
    """The answer of a child process with this identity; empty if it could not take it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            if identity is not None:
                os.setgroups(identity[2])
                os.setgid(identity[1])
                os.setuid(identity[0])
            answer = {
                "models": {path: unreadable(path) for path in models},
                "roots": {path: unusable(path, writes) for path in roots},
            }
            with open(writing, "wb") as pipe:
                pipe.write(json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        if not select.select([pipe], [], [], TIMEOUT)[0]:
            os.kill(child, signal.SIGKILL)  # a file system that hangs
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text.decode()) if text else {}


def unreadable(path):
    # type: (str) -> t.List[str]
    """What this process cannot read of a folder and everything in it. A folder that does not exist is no problem of access."""
    closed = closed_parent(path)
    if closed:
        return [closed]
    if not os.path.isdir(path):
        return []
    found = []
    for folder, folders, files in os.walk(path, followlinks=True, onerror=lambda error: found.append(_folder(error))):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            whole = os.path.join(folder, name)
            target = os.path.realpath(whole)
            if (
                not name.startswith(".")
                and not os.access(whole, os.R_OK)
                and (os.path.lexists(target) or _hidden(target))
            ):
                found.append(f"{whole} ({_mode(target)})")
    more = len(found) - MOST
    return found[:MOST] + ([f"{more} more files"] if more > 0 else [])


def _folder(error):
    # type: (OSError) -> str
    return f"{error.filename} ({_mode(error.filename)})"


def _hidden(target):
    # type: (str) -> bool
    """Whether a link's target may exist in a folder that this process cannot enter."""
    return bool(closed_parent(target))


def unusable(path, writes):
    # type: (str, bool) -> t.List[str]
    """Why this process cannot enter the folder or, if ``writes``, create files in it or in its first existing parent."""
    closed = closed_parent(path)
    if closed:
        return [closed]
    existing = os.path.abspath(path)
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if not os.access(existing, os.X_OK):
        return [f"{existing} ({_mode(existing)})"]
    return [f"{existing} ({_mode(existing)})"] if writes and not os.access(existing, os.W_OK | os.X_OK) else []


def closed_parent(path):
    # type: (str) -> str
    """The first parent folder that this process cannot enter; empty if there is none."""
    parts = os.path.abspath(path).split(os.sep)
    for number in range(1, len(parts)):
        parent = os.sep.join(parts[:number]) or os.sep
        if os.path.isdir(parent) and not os.access(parent, os.X_OK):
            return f"{parent} ({_mode(parent)})"
    return ""


def _mode(path):
    # type: (str) -> str
    try:
        found = os.stat(path)
    except OSError:
        return "its mode is not visible"
    return f"owner {_name(pwd.getpwuid, found.st_uid)}, group {_name(grp.getgrgid, found.st_gid)}, mode {found.st_mode & 0o7777:04o}"


def _name(lookup, number):
    try:
        return lookup(number)[0]
    except KeyError:
        return str(number)
