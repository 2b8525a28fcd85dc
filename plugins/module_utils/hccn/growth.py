# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error counters that grow: those of a port that are not 0 are read again some seconds later.

Counters run since the chip started, so their value says little; a fault that is there now makes them grow. One that is still
0 is not read again, so that healthy ports cost no time.
"""

from __future__ import annotations

import re
import time

from .gather import RetryingTool, read_devices

ERRORS = re.compile(r"err|crc|fcs|bad|drop|discard|retry|out_of_order")


def error_counters(link):
    """Error counters of a device's record (``stats``, ``link_stat``) by name; ``link_downs`` is the port's number of failures."""
    found = {name: value for name, value in (link.get("stats") or {}).items() if ERRORS.search(name)}
    found["link_downs"] = (link.get("link_stat") or {}).get("link_down_count") or 0
    return {name: value for name, value in found.items() if value}


def read_growth(tool, links, seconds, workers, since, sleep=time.sleep):
    """Read the ports of ``links`` with error counters again, ``seconds`` after ``since`` (time.monotonic()) or later.

    Adds ``growth`` to each of these records: ``{seconds, counters}``, with the counters that grew and by how much. A failure of the
    second reading is recorded as that of the first one would be.
    """
    first = {link["device_id"]: error_counters(link) for link in links if not link.get("hung")}
    again = sorted(device for device, counters in first.items() if counters)
    if not again:
        return
    sleep(max(0.0, since + seconds - time.monotonic()))
    passed = round(time.monotonic() - since, 1)
    answers = read_devices(RetryingTool(tool), again, ("stats", "link_stat"), workers)
    for link in links:
        answer = answers.get(link["device_id"])
        if answer and answer["errors"]:
            link.setdefault("errors", {}).update(answer["errors"])
            link.update({"hung": answer["hung"]} if answer["hung"] else {})
        elif answer:
            second = error_counters(answer["values"])
            grown = {name: value - first[link["device_id"]].get(name, 0) for name, value in second.items()}
            link["growth"] = {"seconds": passed, "counters": {name: more for name, more in grown.items() if more > 0}}
