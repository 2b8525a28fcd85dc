# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pause of the probe, in which it sends no requests: the file ``pause`` beside its settings, which only root can write.

The file has the seconds of the pause, which begin when it was written, by the clock of the host. So a pause ends by itself when the run
that wanted it was killed.
"""

from __future__ import annotations

import os
import time

NAME = "pause"
LONGEST = 24 * 3600  # seconds; what is asked for longer is a mistake
SLEWED = 1.0  # seconds by which a clock is corrected without being set


def path(settings: str) -> str:
    """The file of the pause, beside the settings file at the path ``settings``."""
    return os.path.join(os.path.dirname(settings), NAME)


def paused_until(settings: str) -> float:
    """End of the pause in seconds since 1970; 0 without one. ``settings``: path of the settings file.

    A file that cannot be read or understood, or that was written in the future, because the clock was set back since, is no pause: the
    probe rather sends a request too many.
    """
    try:
        with open(path(settings), encoding="ascii") as stream:
            seconds = float(stream.read(32))
            written = os.fstat(stream.fileno()).st_mtime
    except (OSError, ValueError):
        return 0.0
    return written + seconds if 0 < seconds <= LONGEST and written <= time.time() + SLEWED else 0.0
