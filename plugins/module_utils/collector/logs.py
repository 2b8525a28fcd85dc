# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the timer ascend-inference-log-metrics: counts red flags and transfers in the new lines of services' logs. Only the standard library.

Called with the folder of node_exporter's textfile collector and a file of settings: {deployment, file, state, transferred, services: [{service, role,
log}]}. The file ``state`` has the positions and the counters of all services, written in one step: no line counts twice or never.
"""

from __future__ import annotations

import json
import sys
import time

from ..tools import foreign_file
from ..tools.client_text import without_clients
from ..verify.red_flags import COLOUR, RED_FLAGS, flags_of, transfers_of
from .metrics import LOG_HELP, log_samples, text_of
from .positions import Unread, new_lines
from .textfile import write

LINE = 4000  # characters of a line that are searched
LARGEST = 4 * 2**20  # bytes of the state


def fresh():
    """The counters of a service whose log was never read. All flags are there: a rate needs the 0 before the first one."""
    flags = {name: 0 for name, dummy in RED_FLAGS}
    return {"position": {}, "flags": flags, "transfers": 0, "milliseconds": 0.0, "gaps": 0}


def counted(before, lines, transferred):
    """The counters after these lines."""
    found = dict(before, flags=dict(fresh()["flags"], **before["flags"]))
    for line in lines:
        text = without_clients(COLOUR.sub("", line[:LINE]))
        for name in flags_of(text):
            found["flags"][name] += 1
        number, milliseconds = transfers_of(text, transferred)
        found["transfers"] += number
        found["milliseconds"] += milliseconds
    return found


def one_round(settings, state, now):
    """``(state, {service: problem, empty if its log was read})`` after a round."""
    after, problems = {}, {}
    for item in settings["services"]:
        name = item["service"]
        before = state.get(name) or fresh()
        try:
            lines, position, gap = new_lines(item["log"], before["position"], now)
        except Unread as error:
            after[name], problems[name] = before, str(error) or "no reason is known"
            continue
        found = counted(before, lines, settings["transferred"])
        after[name], problems[name] = dict(found, position=position, gaps=found["gaps"] + gap), ""
    return after, problems


def stored(path):
    """The state of the last round; {} before the first one, and if it cannot be understood: counters begin anew."""
    try:
        found = json.loads(foreign_file.read(path, LARGEST))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def main(argv):
    """One round. The exit status is 0 also if a log was not read: that is in the metrics, and the reason in the journal."""
    folder, path = argv
    with open(path, encoding="utf-8") as stream:
        settings = json.load(stream)
    now = time.time()
    state, problems = one_round(settings, stored(settings["state"]), now)
    foreign_file.write(settings["state"], json.dumps(state, sort_keys=True))
    write(folder, settings["file"], text_of(log_samples(settings, state, problems, now), LOG_HELP))
    for name in sorted(problems):
        if problems[name]:
            sys.stderr.write(f"the log of {name} was not read: {problems[name]}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
