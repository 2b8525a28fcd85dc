# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and write below one folder without following symbolic links.

Root writes to folders in which a service's user may place links. So every folder below the base is opened by name relative
to its parent's descriptor, and a link ends the walk with an error; owners and modes are set on descriptors, never on paths.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
import uuid

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LINKS = (errno.ELOOP, errno.ENOTDIR)
MOST = 1024 * 1024  # bytes that are read of another user's file; planned ones are smaller
FRESH = ".ascend-inference-new"  # ends the name of a file that is being written
MADE = ".ascend-inference-made"  # in a shared folder that this collection made
LOCK_TIMEOUT = 5  # seconds for the lock of a folder; each run that makes one there needs milliseconds


class TreeError(Exception):
    """A path has the wrong type or owner; the text states the problem, why it matters, and the fix."""


class Entry:
    """A directory entry: ``kind`` (file, folder, link, other), ``content`` (bytes of a file), ``mode``, ``uid``, ``gid``."""

    def __init__(self, kind, status, content=b"", target=""):
        self.kind, self.content, self.target = kind, content, target
        self.mode, self.uid, self.gid = stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
        self.names = status.st_nlink


def refuse_link(path):
    """The error for a link or file in place of a folder."""
    return TreeError(
        f"{path} is a symbolic link or not a folder. With a link, files elsewhere would be overwritten. "
        "Fix: remove it; to keep data on another disk, mount that disk here instead."
    )


def descend(descriptor, names, path):
    """Open ``names`` one below the other, from an open folder; returns a new descriptor, or None if one is missing."""
    current = os.dup(descriptor)
    for name in names:
        try:
            below = os.open(name, FLAGS, dir_fd=current)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refuse_link(path) if error.errno in LINKS else error from error
        finally:
            os.close(current)
        current = below
    return current


def open_folder(base, path):
    """A descriptor of the folder ``path``, which is ``base`` or below; None if it is missing.

    The parent of ``base`` is trusted (see trust.py); ``base`` itself and everything below it is not followed if it is a
    link. A path that is not below ``base`` is trusted in the same way as the parent of ``base``.
    """
    inside = path == base or path.startswith(base + "/")
    start = os.path.dirname(base) if inside else path
    try:
        descriptor = os.open(start, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    names = [name for name in path[len(start) :].split("/") if name]
    try:
        return descend(descriptor, names, path)
    finally:
        os.close(descriptor)


def look(folder, name):
    """The ``Entry`` at ``name`` in an open folder, or None."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", status, target=os.readlink(name, dir_fd=folder))
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", status)
    if not stat.S_ISREG(status.st_mode):
        return Entry("other", status)
    # Neither block on a pipe nor follow a link that has replaced the file meanwhile.
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        # Another user's file may have a size that no memory holds.
        return Entry("file", status, stream.read(-1 if status.st_uid in (0, os.geteuid()) else MOST))


def trusted(entry):
    """Whether an entry is a file that only root, or the user who runs this, can have written: another owner can change it at any time."""
    return entry is not None and entry.kind == "file" and entry.uid in (0, os.geteuid()) and not entry.mode & 0o022


def own(descriptor, mode, uid, gid):
    """Set owner, group (-1: unchanged) and mode of an open file or folder; returns whether anything changed."""
    status = os.fstat(descriptor)
    changed = False
    if (uid not in (-1, status.st_uid)) or (gid not in (-1, status.st_gid)):
        os.fchown(descriptor, uid, gid)
        changed = True
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        os.fchmod(descriptor, mode)
        changed = True
    return changed


def make_folder(base, path, mode, uid, gid):
    """Create the folder ``path`` with owner and mode; its parent must exist. Returns whether anything changed."""
    parent, name = os.path.split(path)
    holder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY) if path == base else open_folder(base, parent)
    if holder is None:
        raise TreeError(f"{parent} does not exist, so {path} cannot be created. Fix: add the parent folders as well.")
    try:
        made = look(holder, name) is None
        if made:
            os.mkdir(name, 0o700, dir_fd=holder)
        descriptor = descend(holder, [name], path)
    finally:
        os.close(holder)
    try:
        return own(descriptor, mode, uid, gid) or made
    finally:
        os.close(descriptor)


def make_shared(path, mode, uid, gid, mark=False):
    """A folder outside of the tree, whose parents are trusted: made with its parents where it is missing, else left as it is.

    It appears in one step with its owner and mode, because one that is there is never changed. ``mark`` puts MADE into it, by
    which the removal knows it.
    """
    if os.path.isdir(path):
        return
    parent, name = os.path.split(path)
    make_shared(parent, 0o755, -1, -1)
    if (uid, gid, mark) == (-1, -1, False):
        _make_plain(path, mode)
        return
    with _alone(parent) as alone:
        if os.path.isdir(path):
            return
        if alone:
            _discard_begun(parent, name)
        fresh = tempfile.mkdtemp(prefix=f".{name}.", suffix=FRESH, dir=parent)
        if mark:
            os.close(os.open(os.path.join(fresh, MADE), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        os.chmod(fresh, mode)
        os.chown(fresh, uid, gid)
        try:
            os.rename(fresh, path)
        except OSError as error:
            shutil.rmtree(fresh)
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else another process was quicker
                raise


@contextlib.contextmanager
def _alone(folder):
    """Whether no other process makes a folder in this one until the end.

    Not known on a network file system that locks no folders, and of a folder that cannot be read. Everybody who can read the folder can also
    hold its lock for ever, so no run depends on it.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        yield False
        return
    try:
        yield _locked(descriptor)
    finally:
        os.close(descriptor)


def _locked(descriptor):
    """Lock an open folder; says whether that was possible in time."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() >= deadline:
                return False
        time.sleep(0.05)


def _discard_begun(parent, name):
    """Remove folders that killed runs began to make, which have nothing but the mark."""
    for entry in os.listdir(parent):
        path = os.path.join(parent, entry)
        if re.match(rf"\.{re.escape(name)}\.\w+{re.escape(FRESH)}$", entry) and not os.path.islink(path):
            with contextlib.suppress(OSError):  # a folder with something else stays
                if set(os.listdir(path)) <= {MADE}:
                    for mark in os.listdir(path):
                        os.unlink(os.path.join(path, mark))
                    os.rmdir(path)


def _make_plain(path, mode):
    """Not by rename(), which replaces an empty folder: another process that was quicker may just be making a file in it."""
    mask = os.umask(0)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    finally:
        os.umask(mask)


def write(folder, name, content, mode, uid, gid):
    """Put a file in its place in one step: whoever reads sees the old or the new one, also after a crash."""
    fresh = f".{name}{FRESH}"
    discard(folder, fresh)  # left behind by a run that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(fresh, flags, 0o600, dir_fd=folder), "wb") as stream:
            stream.write(content)
            stream.flush()
            own(stream.fileno(), mode, uid, gid)
            os.fsync(stream.fileno())
    except OSError:
        discard(folder, fresh)  # on a full disk it holds the space that others need
        raise
    os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def link(folder, name, target):
    """Put a symbolic link in its place in one step."""
    fresh = f".{name}{FRESH}"
    discard(folder, fresh)
    os.symlink(target, fresh, dir_fd=folder)
    os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)


def discard(folder, name):
    """Remove a file or link, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def remove_folder(base, path, everything):
    """Remove a folder: with its content, or only if it is empty. Returns whether it was removed."""
    holder = open_folder(base, os.path.dirname(path))
    if holder is None:
        return True
    try:
        name = os.path.basename(path)
        if everything:
            descriptor = descend(holder, [name], path)
            if descriptor is not None:
                os.close(descriptor)
                remove_all(f"/proc/self/fd/{holder}/{name}", quiet=True)
        else:
            os.rmdir(name, dir_fd=holder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    finally:
        os.close(holder)
    return not os.path.lexists(path)


def remove_all(path, quiet=False):
    """Remove a folder with all that is in it, also if a service's user nested folders in it deeper than files can be open at a time.

    Not by shutil.rmtree(): a folder that its owner replaces by a pipe at the right moment would hold it for ever.
    ``quiet``: what cannot be removed stays, without an error.
    """
    try:
        _remove(path, None)
        return
    except RecursionError:
        pass
    except OSError as error:
        if error.errno != errno.EMFILE:
            if quiet:
                return
            raise
    with contextlib.suppress(OSError):
        _flatten(path)
    with contextlib.suppress(*((OSError, RecursionError) if quiet else ())):
        _remove(path, None)


def _remove(name, holder):
    """Remove a folder of an open one, and what can be removed of its content; raises the first error afterwards."""
    folder, problem = os.open(name, FLAGS, dir_fd=holder), None
    try:
        for entry in os.listdir(folder):
            try:
                _remove_entry(entry, folder)
            except FileNotFoundError:
                pass
            except OSError as error:
                problem = error if problem is None or error.errno == errno.EMFILE else problem
    finally:
        os.close(folder)
    if problem:
        raise problem
    os.rmdir(name, dir_fd=holder)


def _remove_entry(name, holder):
    try:
        os.unlink(name, dir_fd=holder)
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
        _remove(name, holder)


def _flatten(path):
    """Move all folders below a folder into it. Open at the same time are two of them, however many there are."""
    top, fresh, count = os.open(path, FLAGS), uuid.uuid4().hex, 0
    try:
        waiting = os.listdir(top)
        while waiting:
            try:
                folder = os.open(waiting.pop(), FLAGS, dir_fd=top)
            except OSError:  # no folder
                continue
            try:
                for name in os.listdir(folder):
                    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                        count += 1
                        waiting.append(f"{fresh}.{count}")
                        os.rename(name, waiting[-1], src_dir_fd=folder, dst_dir_fd=top)
            finally:
                os.close(folder)
    finally:
        os.close(top)
