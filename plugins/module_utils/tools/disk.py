# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix in the message of an error that a full disk causes."""

from __future__ import annotations

import os

FULL = ("No space left on device", "Disk quota exceeded")
LITTLE = 16  # MiB; a program that fails with less may have found no space without saying so, as the module venv does


def explained(error, path, otherwise=""):
    """The text of an error, with the free space where ``path`` lies and the fix if that disk is full, or so full that this may be the cause.

    ``otherwise``: what follows the text if not.
    """
    text = str(error)
    existing, free = _space(path)
    if any(reason in text for reason in FULL):
        cause = f"{existing} is on a disk with {free} MiB free, or the user's quota is used up."
    elif free < LITTLE:
        cause = f"{existing} is on a disk with {free} MiB free, which may be the cause."
    else:
        return text + otherwise
    return f"{text}\n{cause} Each file is the old or the new one. Fix: free space there, then run the playbook again; it goes on."


def shortage(path):
    """A finding if the disk on which ``path`` lies is nearly full; else "". It says nothing of a quota."""
    existing, free = _space(path)
    why = "Services cannot write what they log, and no playbook can lock or change the deployment"
    return f"{existing} is on a disk with {free} MiB free. {why}. Fix: free space there" if free < LITTLE else ""


def _space(path):
    """The next folder above that exists, and the MiB that are free there."""
    existing = path
    while not os.path.isdir(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    found = os.statvfs(existing)
    return existing, found.f_bavail * found.f_frsize // 2**20
