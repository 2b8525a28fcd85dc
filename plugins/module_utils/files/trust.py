# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who can replace a path: whoever can write to a folder above it can rename what is in there, and put another file or folder in its place.

In a folder with the sticky bit only its owner, and that of the entry, can do so (unlink(2)).
"""

from __future__ import annotations

import os
import stat
import struct

ACL = "system.posix_acl_access"
NAMED_USER, NAMED_GROUP, WRITE = (
    0x02,
    0x08,
    0x02,
)  # acl_entry of Linux: include/uapi/linux/posix_acl.h, posix_acl_xattr.h


def distrusted(path, uid, gids=()):
    """Folders above ``path`` that are writable by the user ``uid`` with the groups ``gids``, or by all users, so that nothing below them is trusted."""
    return [
        folder
        for folder, status in _upwards(os.path.dirname(os.path.realpath(path)))
        if status.st_uid == uid or (not status.st_mode & stat.S_ISVTX and _writes(folder, status, uid, gids))
    ]


def shared(path):
    """``path`` and folders above it to which others than root and the own user can write; parents that do not exist yet are made by us."""
    real, own = os.path.realpath(path), (0, os.geteuid())
    found = []
    for folder, status in _upwards(real):
        group = status.st_mode & stat.S_IWGRP and (status.st_gid != 0 or _named(folder))
        kept = status.st_mode & stat.S_ISVTX and folder != real  # anybody can add a file to the folder itself
        if status.st_uid not in own or (not kept and (status.st_mode & stat.S_IWOTH or group)):
            found.append(folder)
    return found


def _upwards(folder):
    """``(path, status)`` of a folder and all above it, those that exist."""
    while True:
        if os.path.exists(folder):
            yield folder, os.stat(folder)
        if folder == "/":
            return
        folder = os.path.dirname(folder)


def _writes(folder, status, uid, gids):
    """Whether a user who is not the owner can write. The bits of the group bound what an access control list allows."""
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP:
        return False
    wanted = {(NAMED_USER, uid)} | {(NAMED_GROUP, gid) for gid in gids}
    return status.st_gid in gids or bool(wanted & _named(folder))


def _named(folder):
    """``{(tag, id)}`` of users and groups that an access control list names with the right to write; none on disks without lists."""
    try:
        content = os.getxattr(folder, ACL)[4:]  # behind the version
    except OSError:
        return set()
    entries = struct.iter_unpack("<HHI", content[: len(content) // 8 * 8])
    return {(tag, number) for tag, rights, number in entries if tag in (NAMED_USER, NAMED_GROUP) and rights & WRITE}
