# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a change: a list of plain steps, written before the first one is played.

A step calls one module on some hosts. All hosts of the play come to a step together, and a step is played only if the one before it has succeeded
on all of its hosts, so that no host goes on without another.
"""

from __future__ import annotations

import typing as t

from ..description.values import natural

Arguments = dict[str, t.Any]


class Step(t.NamedTuple):
    """One step.

    ``title``: what it does, in the imperative; ``verb``: a name in ``verbs.VERBS``; ``at``: {host: arguments of the verb}; ``check``: whether check
    mode plays it. What depends on answers is filled in when the step is played: ``fill`` is a name in ``fills.FILLS``, ``asked`` the number of the
    step with the answers, from 0, and ``given`` what the filling needs besides. ``orphaned``: a host that is not in the play, where the step is played
    for the host of ``at``; if it cannot be reached, the script goes on. ``alone``: whether the other hosts go on without one on which it fails,
    which has no further step and fails the script at its end. ``needed``: those of its hosts that end the script if they fail, not if they are lost.
    ``may_fail``: whether a failure counts as done, because what matters is noticed elsewhere. ``last``: whether it is played also after a failure.
    ``brief``: whether a host that does not answer within a minute is given up, and what it does then harms nothing.
    """

    title: str
    verb: str
    at: dict[str, Arguments]
    check: bool = False
    fill: str = ""
    asked: int = -1
    given: t.Any = None
    orphaned: str = ""
    alone: bool = False
    needed: t.Sequence[str] = ()
    may_fail: bool = False
    last: bool = False
    brief: bool = False


class Script(t.NamedTuple):
    """``steps``, in order; ``notes``: what to print before; ``refusals``: why it is not played; ``recorded``: the text of the plan that it changes.

    ``hosts``: those that have to be in the play, also without a step; ``serving``: a sentence on what serves if a step fails. ``locks``: {host: directory}
    of what the script locks, which the next one releases; ``refused``: why the change fails after the only steps that are left.
    """

    steps: list[Step]
    notes: list[str]
    refusals: list[str]
    recorded: str = ""
    hosts: tuple[str, ...] = ()
    serving: str = ""
    locks: t.Mapping[str, str] = {}
    refused: str = ""


def file_of(step: Step) -> str:
    """The task file of the role service that plays the step."""
    return "orphaned" if step.orphaned else "brief" if step.brief else "step"


def lines(script: Script) -> list[str]:
    """What a person reads before the first step: the notes, and the numbered steps."""
    width = len(str(len(script.steps)))
    found = [f"{number:{width}}. {described(step)}" for number, step in enumerate(script.steps, 1)]
    return [*script.notes, *found]


def described(step: Step) -> str:
    """Title, hosts, and whether the step may turn out to be needless."""
    more = ", if needed" if step.fill else ""
    hosts = [step.orphaned] if step.orphaned else sorted(step.at, key=natural)
    return f"{step.title} ({some(hosts)}{more})"


def some(names: t.Sequence[str], most: int = 6) -> str:
    """At most ``most`` names."""
    rest = len(names) - most
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:most])} and {rest} more"


def timed(title: str, most: int) -> str:
    """The title of a step that waits at most so many seconds; 0 if it does not wait."""
    return title if most else title.partition(" and wait")[0]
