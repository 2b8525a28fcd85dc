# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The causes in a service's log, as findings. Runs on targets and on the controller."""

from __future__ import annotations

import re

from ..tools.client_text import without_clients
from ..tools.finding import Finding
from .log_causes import CAUSES

LINES = 400  # of the end of a log, in which causes are looked for: a traceback of several processes is long
MOST = 2  # causes that are shown; the others usually follow from them
LONGEST = 300  # characters of a line that are shown
_PATTERNS = tuple((cause, re.compile(cause.pattern)) for cause in CAUSES)
_ANY = re.compile("|".join(f"(?:{cause.pattern})" for cause in CAUSES))


def causes_in(lines, path):
    """Findings for the known causes in ``lines`` of a log, at most ``MOST``, causes before their consequences.

    ``path`` is the service. ``value`` of a finding is the first line with this cause.
    """
    first = {}
    for line in lines:
        text = without_clients(line)
        if not _ANY.search(text):
            continue
        cause = next(cause for cause, pattern in _PATTERNS if pattern.search(text))
        first.setdefault(cause.id, (cause, line.strip()))
    order = [cause.id for cause in CAUSES]
    found = sorted(first.values(), key=lambda item: order.index(item[0].id))
    return [
        Finding(path, cause.id, cause.problem, cause.fix, value=line[:LONGEST], why=cause.why)
        for cause, line in found[:MOST]
    ]


def explanation(found):
    """A finding of ``causes_in`` as lines of text, to be shown above the log."""
    return f"Likely cause: {found.problem}. [{found.id}]\n  Log: {found.value}\n  Why: {found.why}\n  Fix: {found.fix}"
