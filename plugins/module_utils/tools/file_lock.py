# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock between processes: flock(2) on a file, which also says who holds it.

The kernel releases it when the holder ends, however it ends. Children that inherit the descriptor keep it: an installer that lives
on after its module was killed is still at work. On NFS the lock holds between hosts (Linux 2.6.12 and later), for which the file
has to be open for writing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import time

from . import foreign_file

LOCK = ".ascend-inference.lock"  # the usual name, in the folder whose content it is about
FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Busy(Exception):
    """Another process holds the lock and did not release it in time; the text says who, and what to do."""


class FileLock:
    """``with FileLock(path, seconds) as lock``: ``lock.text()`` and ``lock.write(text)`` are about the file's content."""

    def __init__(self, path, timeout, interval=0.2):
        self.path, self.timeout, self.interval = path, timeout, interval
        self.descriptor = -1

    def __enter__(self):
        deadline = time.monotonic() + self.timeout
        while not self._taken():
            if time.monotonic() >= deadline:
                raise Busy(
                    f"{self.path} is held by {self._holder()} since more than {self.timeout:.0f} s: what it protects is being "
                    "changed. Nothing was changed here. Fix: wait until that process has ended, then run again."
                )
            time.sleep(self.interval)
        return self

    def __exit__(self, *unused):
        os.close(self.descriptor)
        self.descriptor = -1

    def _taken(self):
        descriptor = os.open(self.path, FLAGS, 0o600)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # reading a pipe would wait for ever
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file", self.path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_ino == os.stat(self.path).st_ino:  # else its holder removed it meanwhile
                self.descriptor = descriptor
                return True
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(descriptor)
        return False

    def _holder(self):
        try:
            return foreign_file.read(self.path, 200).strip() or "another process"
        except OSError:
            return "another process"

    def text(self):
        """The file's content; empty for a file that was just made."""
        return os.pread(self.descriptor, foreign_file.MOST, 0).decode("utf-8", "replace")

    def write(self, text):
        """Replace the file's content; if there is no space for it, the former one stays, as a lock without a record is nobody's."""
        content, before = text.encode("utf-8"), os.fstat(self.descriptor).st_size
        try:
            os.posix_fallocate(self.descriptor, 0, max(len(content), 1))
        except OSError as error:
            os.ftruncate(self.descriptor, before)
            if error.errno not in (
                errno.EOPNOTSUPP,
                errno.EINVAL,
                errno.ENOSYS,
            ):  # a file system that cannot reserve space
                raise
        os.pwrite(self.descriptor, content, 0)
        os.ftruncate(self.descriptor, len(content))
        os.fsync(self.descriptor)

    def sign(self):
        """Write who holds the lock: process and host."""
        self.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        return self
