# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mount points below a folder, from the kernel's table (proc(5), mountinfo).

What is mounted below a folder of ours may be others': a bind mount of the models' disk below a cache. Neither the number of the device, which
is the same for a bind mount of one disk, nor os.path.ismount tells it.
"""

from __future__ import annotations

import os
import re

TABLE = "/proc/self/mountinfo"


def mounts_in(path):
    """Mount points that are the folder ``path`` or below it, links in its own path followed; none without Linux' /proc."""
    try:
        with open(TABLE, encoding="utf-8", errors="surrogateescape") as stream:
            points = {_plain(line.split(" ")[4]) for line in stream if line.count(" ") > 4}
    except OSError:
        return []
    folder = os.path.realpath(path)
    return sorted(point for point in points if point == folder or point.startswith(folder.rstrip("/") + "/"))


def _plain(text):
    """Blanks and the like are written as octal numbers: \\040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)
