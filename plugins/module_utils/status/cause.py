# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a service does not run: whether it ends again and again, and which line of its log says why."""

from __future__ import annotations

import re

from ..diagnosis.diagnose import causes_in
from ..diagnosis.first_error import ID as UNKNOWN
from ..diagnosis.first_error import repeats

ENDS = 3  # unexpected ends from which on it is a loop
RECENT = 600  # seconds since its last start in which a service that runs may end again for the same reason
YOUNG = 60  # seconds that a process without a health URL may be alive when it is looked at
# The line of an exception, or of a program that names its level; the last one is what ended the process.
CAUSE = re.compile(
    r"\b(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)\b|CRITICAL\b|FATAL\b|panic:|[Ss]egmentation fault|Killed\b|[Oo]ut of memory"
    r"|cannot open shared object file|error:)"
)
LIMIT = "start-limit-hit"  # systemd's word for a unit that ended too often


def in_loop(state, answers, now):
    """Whether a service ends again and again. ``state``: of its runtime; ``answers``: whether it is ready (None: unknown)."""
    if (state["restarts"] or 0) < ENDS and LIMIT not in state["detail"]:
        return False
    young = state["since"] is not None and now - state["since"] < YOUNG
    return state["state"] != "running" or answers is False or (answers is None and young)


def restarted(state, answers, now):
    """What the number of its ends says of a service; one that ended often, and a short time ago, is in a loop although it runs now."""
    times = "once" if state["restarts"] == 1 else "{} times".format(state["restarts"])
    text = f"restarted {times} after an unexpected exit"
    age = None if state["since"] is None else now - state["since"]
    if state["restarts"] < ENDS or age is None or age >= RECENT or in_loop(state, answers, now):
        return text + "; see its log"
    return (
        f"{text}, the last time {max(0, age):.0f} s ago: if the others were shortly before, that is a crash loop, although it runs now. Fix: read in its "
        "log when and how its lives ended, and remove the cause; a playbook that restarts it begins the count anew"
    )


def cause(lines):
    """The line that says why the last life ended; the last line if none looks like it."""
    texts = [line.strip() for line in lines if line.strip()]
    found = [line for line in texts if CAUSE.search(line) and not repeats(line)]
    return ((found or texts or ["its log is empty"])[-1])[:300]


def finding(state, lines):
    """The finding for a service in a loop."""
    known = causes_in(lines, "")
    times = "" if state["restarts"] is None else " {} times".format(state["restarts"])
    then = "systemd gave up" if LIMIT in state["detail"] else "it is started again after a pause"
    begin = f"is in a crash loop: it ended{times}, and {then}. Its log says: "
    if known:
        return begin + translated(known[0]) + " Then run ascend.inference.deploy"
    return begin + f"{cause(lines)}. Fix: remove the cause, then run ascend.inference.deploy"


def translated(found):
    """A cause as one line: the line of the log, what it means, and how to fix it."""
    if found.id == UNKNOWN:
        return f"{found.value}. {found.why} Fix: {found.fix} [{found.id}]"
    return f"{found.value}. Likely cause: {found.problem}. {found.why} Fix: {found.fix} [{found.id}]"


def down(lines):
    """The finding for a service that does not run or does not answer, if its log has a cause or an error; else an empty string."""
    known = causes_in(lines, "")
    if not known:
        return ""
    begin = "has an error in its log: " if known[0].id == UNKNOWN else "has a known cause of failure in its log: "
    return begin + translated(known[0])
