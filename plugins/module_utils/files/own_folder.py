# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that the next run finds after this one was killed: known by a mark, never by their names alone. Runs on Python 3.7."""

from __future__ import annotations

import contextlib
import os
import stat

from . import tree

CONTENT = "content"  # beside the mark, because it gets another place as a whole


class Foreign(Exception):
    """Something that this collection did not make has the name; the text names it and the fix."""


def begin(path, mode=0o755):
    """Make the folder, or go on in the one that a killed run left; the path of its content. Raises ``Foreign``, and changes nothing then."""
    require_own(path)
    tree.make_shared(path, mode, -1, -1, mark=True)
    content = os.path.join(path, CONTENT)
    with contextlib.suppress(FileExistsError):
        os.mkdir(content, mode)
        os.chmod(content, mode)  # also with another umask
    return content


def require_own(path):
    """Raise ``Foreign`` if something that this collection did not make has the name."""
    if os.path.lexists(path) and not is_own(path):
        raise Foreign(
            f"{path} exists, and this collection did not make it, because it has no file {tree.MADE} or is another user's. It is not changed. Fix: "
            "move it away; if an earlier version of this collection left it when it was interrupted, remove it"
        )


def is_own(path):
    """Whether ``path`` is a folder with the mark, which another user cannot have made; a link to one is not."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    own = stat.S_ISDIR(status.st_mode) and status.st_uid in (0, os.geteuid())
    return own and os.path.isfile(os.path.join(path, tree.MADE))


def end(path):
    """Remove the folder if it is an own one; the mark goes last. Whether it was there."""
    if not is_own(path):
        return False
    for name in os.listdir(path):
        if name != tree.MADE:
            inside = os.path.join(path, name)
            folder = os.path.isdir(inside) and not os.path.islink(inside)
            tree.remove_all(inside) if folder else os.unlink(inside)
    os.unlink(os.path.join(path, tree.MADE))
    os.rmdir(path)
    return True
