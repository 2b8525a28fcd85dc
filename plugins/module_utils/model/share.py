# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands a model's files to other hosts for a while: the server of a rack, to who has the token of the round. Runs on Python 3.7.

The standard library's server is on every host that Ansible manages; a daemon of rsync is not, and keys of ssh between hosts would let one of them
into the others. The connection needs no protection of what comes: who takes a file knows its SHA-256 from the controller.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import threading

from ..files import own_folder
from ..install.bundle_server import Server
from ..install.venv import write_atomically
from ..tools import foreign_json
from .delivery import end, started
from .web import Refused

USER = "nobody"
PROCESS = "server.json"


def folder_of(path):
    # type: (str) -> str
    """The folder that says which process hands out the model, beside it."""
    return path.rstrip("/") + ".sharing"


def stop(path):
    # type: (str) -> bool
    """End the server of a model, also of a run whose controller is gone; whether there was one."""
    folder = folder_of(path)
    if not own_folder.is_own(folder):
        return False
    with contextlib.suppress(OSError, ValueError, AttributeError):
        end(foreign_json.load(os.path.join(folder, PROCESS)))
    return own_folder.end(folder)


def serve(path, address, port, token, seconds, user=USER):
    # type: (str, str, int, str, float, str) -> None
    """Serve the model's folder for ``seconds``. Raises ``Refused`` where ``user`` cannot read it, OSError where the port is taken."""
    stop(path)
    if not readable(os.path.join(path, "config.json"), user):
        raise Refused(
            f"the user {user}, who hands out the model, cannot read {path}. Fix: let all users pass the folders above it (chmod o+x) and read "
            "its files (chmod -R o+rX), or copy the model to the other hosts yourself"
        )
    own_folder.begin(folder_of(path), 0o700)
    try:
        server = Server((address, port), path, token=token)
    except OSError as error:
        own_folder.end(folder_of(path))
        raise OSError(f"port {port} of {address} cannot be used: {error.strerror}") from error
    process = f'{{"pid": {os.getpid()}, "started": "{started(os.getpid())}"}}'
    write_atomically(os.path.join(folder_of(path), PROCESS), process, 0o600)
    unprivileged(user)
    threading.Timer(seconds, server.shutdown).start()
    server.serve_forever()
    server.server_close()


def readable(file, user):
    # type: (str, str) -> bool
    """Whether ``user`` can read a file: asked in a process of its own, because one without rights cannot even load what it would say it with."""
    child = os.fork()
    if not child:
        code = 1
        try:
            unprivileged(user)
            code = 0 if os.access(file, os.R_OK) else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def unprivileged(user):
    # type: (str) -> None
    """Give up the rights of root: a fault of the server reads nothing that not everybody can read."""
    if os.geteuid() != 0:
        return
    account = pwd.getpwnam(user)
    os.chdir("/")
    os.setgroups([])
    os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
    os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)
