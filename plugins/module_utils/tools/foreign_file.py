# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and write files in a folder of a service's user, who may put a link, a pipe or an endless file in their place.

The folder itself belongs to root's tree, so that its own path cannot be replaced.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile

MOST = 1024 * 1024  # bytes
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


def opened(path, follow=False):
    """An open binary file. OSError if it is a link (unless ``follow``) or no regular file: reading a pipe would wait for ever.

    Nor may it be another user's file, such as /etc/shadow, under a second name that the owner of the folder made (with fs.protected_hardlinks=0).
    """
    if follow:
        return _regular(os.open(path, READ & ~os.O_NOFOLLOW), path)
    return _regular(os.open(path, READ), path, lambda: os.stat(os.path.dirname(path) or "."))


def _regular(descriptor, path, folder=None):
    """``folder``: the status of the folder is what it returns, if a second name of a file is to be refused."""
    status = os.fstat(descriptor)
    problem = "" if stat.S_ISREG(status.st_mode) else "not a regular file"
    if not problem and folder and status.st_nlink > 1 and status.st_uid != folder().st_uid:
        problem = "a second name of another user's file"
    if problem:
        os.close(descriptor)
        raise OSError(errno.EINVAL, problem, path)
    return os.fdopen(descriptor, "rb")


def opened_below(base, path):
    """As ``opened``, for a path whose folders below ``base`` belong to that user, too: none of them may be a link."""
    *folders, name = os.path.relpath(path, base).split(os.sep)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    folder = os.open(base, flags)
    try:
        for part in folders:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return _regular(os.open(name, READ, dir_fd=folder), path, lambda: os.fstat(folder))
    finally:
        os.close(folder)


def read(path, most=MOST):
    """The text of a file, at most ``most`` bytes of it; OSError as ``opened``."""
    with opened(path) as stream:
        return stream.read(most).decode("utf-8", "replace")


def write(path, text, mode=0o600):
    """Replace a file in one step. Neither a link in its place nor one in place of the temporary file is followed."""
    handle, fresh = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(handle, "w") as stream:
            os.fchmod(handle, mode)
            stream.write(text)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
