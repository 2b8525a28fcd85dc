# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a rehearsal as texts, for the engine's own Python. Runs on Python 3.7."""

from __future__ import annotations

from . import configure, stand_ins

PROGRAM, STAND_INS = "configure.py", "sitecustomize.py"


def texts(stood_in):
    """``{name: text}`` of the files, with stand-ins for NPUs or without."""
    found = {PROGRAM: configure}
    if stood_in:
        found[STAND_INS] = stand_ins
    # Of the loader, because a module's code is in an archive on hosts.
    return {name: module.__loader__.get_source(module.__name__) for name, module in found.items()}
