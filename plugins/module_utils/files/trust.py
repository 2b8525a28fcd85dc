# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who can replace a path: whoever can write to a folder above it can rename what is in there, and put another file or folder in its place.

In a folder with the sticky bit only its owner, and that of the entry, can do so (unlink(2)). That holds for each folder in which a name of the
path is looked up: also for those above a symbolic link on the way. And what is made in a folder with a default access control list has its rights,
whatever the umask is (acl(5)).
"""

from __future__ import annotations

import os
import stat
import struct

ACL, DEFAULT_ACL = "system.posix_acl_access", "system.posix_acl_default"
NAMED_USER, GROUP, NAMED_GROUP, MASK, OTHER, WRITE = (
    0x02,
    0x04,
    0x08,
    0x10,
    0x20,
    0x02,
)  # acl_entry of Linux: include/uapi/linux/posix_acl.h, posix_acl_xattr.h

MOST_LINKS = 40  # the kernel follows no more: path_resolution(7)


def distrusted(path, uid, gids=()):
    """Folders above ``path`` that are writable by the user ``uid`` with the groups ``gids``, or by all users, so that nothing below them is trusted."""
    real = os.path.realpath(path)
    return [folder for folder, status in _upwards(path) if folder != real and _replaces(folder, status, uid, gids)]


def shared(path):
    """``path`` and folders above it to which others than root and the own user can write; parents that do not exist yet are made by us."""
    real, own = os.path.realpath(path), (0, os.geteuid())
    found = []
    for folder, status in _upwards(path):
        group = status.st_mode & stat.S_IWGRP and (status.st_gid != 0 or _named(folder))
        kept = stat.S_ISLNK(status.st_mode) or (
            status.st_mode & stat.S_ISVTX and folder != real
        )  # anybody can add a file to the folder itself
        if status.st_uid not in own or (not kept and (status.st_mode & stat.S_IWOTH or group)):
            found.append(folder)
    return found


def _upwards(path):
    """``(path, status)`` of what is passed on the way to ``path``, as far as it exists: itself, folders, and links that their owner can replace."""
    waiting, here, links = os.path.abspath(path).split("/")[::-1], "/", 0
    found = {here: os.stat(here)}
    while waiting:
        name = waiting.pop()
        below = os.path.dirname(here) if name == ".." else os.path.join(here, name) if name not in ("", ".") else here
        try:
            status = os.lstat(below)
        except OSError:
            break
        if not stat.S_ISLNK(status.st_mode):
            here = below
            found.setdefault(here, status)
        elif links < MOST_LINKS:
            links += 1
            if found[here].st_mode & stat.S_ISVTX:
                found[below] = status
            target = os.readlink(below)
            here = "/" if target.startswith("/") else here
            waiting += target.split("/")[::-1]
        else:
            break
    return list(found.items())[::-1]


def _replaces(folder, status, uid, gids):
    """Whether a user can replace what is in the folder, or a link; or what is made there from now on."""
    if status.st_uid == uid or stat.S_ISLNK(status.st_mode):
        return status.st_uid == uid
    return (not status.st_mode & stat.S_ISVTX and _writes(folder, status, uid, gids)) or _inherits(
        folder, status, uid, gids
    )


def _writes(folder, status, uid, gids):
    """Whether a user who is not the owner can write. The bits of the group bound what an access control list allows."""
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP:
        return False
    wanted = {(NAMED_USER, uid)} | {(NAMED_GROUP, gid) for gid in gids}
    return status.st_gid in gids or bool(wanted & _named(folder))


def _inherits(folder, status, uid, gids):
    """Whether a user who is not the owner can write to what root makes in the folder without setting its mode, such as a virtual environment."""
    entries = _entries(folder, DEFAULT_ACL)
    bound = next((rights for tag, rights, number in entries if tag == MASK), WRITE)
    writing = {(tag, number) for tag, rights, number in entries if rights & WRITE & (bound if tag != OTHER else WRITE)}
    if any(tag == OTHER for tag, number in writing):
        return True
    if status.st_mode & stat.S_ISGID and status.st_gid in gids and any(tag == GROUP for tag, number in writing):
        return True
    return bool(writing & ({(NAMED_USER, uid)} | {(NAMED_GROUP, gid) for gid in gids}))


def _named(folder):
    """``{(tag, id)}`` of users and groups that an access control list names with the right to write."""
    named = (NAMED_USER, NAMED_GROUP)
    return {(tag, number) for tag, rights, number in _entries(folder, ACL) if tag in named and rights & WRITE}


def _entries(folder, kind):
    """``[(tag, rights, id)]`` of an access control list; none on disks without lists."""
    try:
        content = os.getxattr(folder, kind)[4:]  # behind the version
    except OSError:
        return []
    return list(struct.iter_unpack("<HHI", content[: len(content) // 8 * 8]))
