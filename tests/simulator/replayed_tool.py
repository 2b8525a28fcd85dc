# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SIMULATOR of npu-smi and hccn_tool that prints recorded outputs (replay.py): ``replayed_tool.py ANSWERS TOOL ARGUMENTS...``.

The answers of a call come in the order in which they were recorded, and then the last one again.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time

NOT_RECORDED = 70


def turn(path, command, last):
    """The number of earlier calls of the command, at most ``last``; counted in a file, because each call is a process."""
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        counts = {}
        if os.path.exists(path + ".counts"):
            with open(path + ".counts", encoding="utf-8") as handle:
                counts = json.load(handle)
        number = counts.get(command, 0)
        counts[command] = min(number + 1, last)
        with open(path + ".counts", "w", encoding="utf-8") as handle:
            json.dump(counts, handle)
    return min(number, last)


def main(argv):
    path, command = argv[1], " ".join(argv[2:])
    with open(path, encoding="utf-8") as handle:
        recorded = json.load(handle).get(command)
    if not recorded:
        print(f"simulator: the archive has no answer of: {command}", file=sys.stderr)
        return NOT_RECORDED
    answer = recorded[turn(path, command, len(recorded) - 1)]
    sys.stdout.write(answer["out"])
    sys.stderr.write(answer["err"])
    if answer["timed_out"]:
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(3600)
    return NOT_RECORDED if answer["rc"] is None else answer["rc"]


if __name__ == "__main__":
    sys.exit(main(sys.argv))
