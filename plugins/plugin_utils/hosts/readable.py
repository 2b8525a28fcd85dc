# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One answer in a wrong form costs that host, not the check of all hosts: a text where a number was promised, a list where a record was."""

from __future__ import annotations

import typing as t

Record = t.Mapping[str, t.Any]
Facts = t.Mapping[str, Record]
Instead = t.Callable[[str, str], Record]
Result = t.TypeVar("Result")
WRONG_FORM = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)


def judged(judge: t.Callable[[Facts], Result], facts: Facts, instead: Instead | None = None) -> Result:
    """What ``judge`` makes of the facts; if it fails, of those without the answers that it cannot read.

    Such a part of a host's facts becomes ``{error: message}``, which is what a failed module leaves; with ``instead``, all that the host answered
    becomes what it returns for the host and the message. An error that comes without any facts
    as well is not one of a host, and is raised. Costs nothing if all answers are right.
    """
    try:
        return judge(facts)
    except WRONG_FORM:
        judge({})
        return judge(_readable(judge, facts, instead))


def _readable(judge: t.Callable[[Facts], t.Any], facts: Facts, instead: Instead | None) -> Facts:
    found = dict(facts)

    def without(host: str, problem: str) -> Record:
        return instead(host, problem) if instead else {part: {"error": problem} for part in found[host]}

    for host in facts:
        for part, value in ({} if instead else facts[host]).items():
            problem = _problem(judge, {host: {part: value}})
            if problem:
                found[host] = {**found[host], part: {"error": problem}}
        problem = _problem(judge, {host: found[host]})
        if problem:
            found[host] = without(host, problem)
    # What two hosts said does not fit together: those of which it cannot be read either if all of them had said it, and after them the first one
    # that the others can be judged without.
    odd = (
        [host for host in facts if _problem(judge, dict.fromkeys(found, found[host]))] if _problem(judge, found) else []
    )
    for host in (*odd, *facts):
        problem = _problem(judge, found)
        if problem and not _problem(judge, {name: found[name] for name in found if name != host}):
            found[host] = without(host, problem)
    return found


def _problem(judge: t.Callable[[Facts], t.Any], facts: Facts) -> str:
    """Why facts cannot be read; empty if they can."""
    try:
        judge(facts)
    except WRONG_FORM as error:
        return f"the answer of the module has a wrong form ({type(error).__name__}: {str(error)[:120]})"
    return ""
