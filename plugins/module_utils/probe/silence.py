# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait until a probe says that it pauses. It is a service: its port may be another program's, and its answer anything without an end."""

from __future__ import annotations

import time

from ..tools import foreign_json
from ..tools.http_client import Target, ask
from ..tools.text import one_line

ANSWER = 10.0  # seconds of one answer
SHOWN = 200  # characters of an answer in a message
WAIT = 2.0  # seconds between questions


class NotPaused(Exception):
    """The probe goes on, or does not say what it does; the text has the fix."""


def wait_until_paused(url, timeout, clock=time.monotonic, sleep=time.sleep):
    """Whether the probe at the URL of its health page runs, once it sends no requests.

    One that refuses connections does not run and sends nothing; when it is started it reads the file before its first request. Raises
    ``NotPaused`` after ``timeout`` seconds.
    """
    deadline = clock() + timeout
    while True:
        reply = ask(Target(url), "", timeout=ANSWER)
        if reply.error == "refused":
            return False
        if not reply.error and paused(reply.body) > 0:
            return True
        if clock() >= deadline:
            raise NotPaused(
                f"The probe at {url} did not say within {timeout:.0f} s that it pauses, so its requests would count as those of others. Its last "
                f"answer: {shown(reply)}. Fix: run status, which names the cause, or stop the probe"
            )
        sleep(WAIT)


def paused(text):
    """The seconds that the pause on a health page lasts; 0 for a page without one, and for any other text."""
    try:
        page = foreign_json.loads(text)
    except ValueError:
        return 0
    return foreign_json.number(page.get("paused")) or 0 if isinstance(page, dict) else 0


def shown(reply):
    """What came, in one line."""
    return one_line((reply.detail or reply.error or f"{reply.status} {reply.body}")[:SHOWN])
