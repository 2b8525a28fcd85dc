# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what a step waits for while it waits: its module answers after some seconds, and is called again with where it stopped."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.text import one_line

WITHIN = 15  # seconds between two lines
Answer = dict[str, t.Any]


def waited(call: t.Callable[[dict[str, t.Any]], Answer], most: int, say: t.Callable[[str], None]) -> Answer:
    """The last answer of a module that is called again as long as its answer has ``begun``, with this as its argument.

    ``call``: takes further arguments; ``most``: seconds that the module waits, so that a host which answers for ever does not keep the run for ever.
    """
    answer = call({})
    for _round in range(most // WITHIN + 1):
        if not answer.get("begun") or answer.get("failed") or answer.get("unreachable"):
            break
        say(progress(answer, most))
        answer = call({"begun": answer["begun"]})
    return answer


def progress(answer: t.Mapping[str, t.Any], most: int) -> str:
    """``answer``: of service_drain, {busy: {name: text}, seconds}; ``most``: seconds."""
    busy = answer.get("busy")
    left = [one_line(f"{name} has {text}") for name, text in sorted(busy.items())] if isinstance(busy, dict) else []
    return f"Waiting, {one_line(str(answer.get('seconds')))} of at most {most} s: {'; '.join(left) or 'until they stay without requests'}"
