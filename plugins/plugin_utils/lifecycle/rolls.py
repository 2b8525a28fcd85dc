# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that restart one after the other while others serve, and why some cannot."""

from __future__ import annotations

import typing as t
from itertools import chain

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.values import natural
from ..plan.routers.base import RESTART
from . import pauses
from .before import Key, engines_as_deployed, entry_urls
from .change import Change, routers_of

Step = dict[str, t.Any]
Engine = t.Mapping[str, t.Any]


def why_not(change: Change, key: Key, every: t.Collection[Key], serving: t.Collection[Key]) -> str:
    """Why an instance cannot be restarted while others of its pool serve; empty if it can be. ``every``: instances; ``serving``: those that run."""
    if sum(kind == key[0] for kind, _number in every) < 2:
        return pauses.ALONE
    if sum(kind == key[0] for kind, _number in serving) < 2:
        return pauses.AWAY
    if change.linked & change.instances[key]:
        return pauses.LINKED
    why = why_members_not(change)
    if why:
        return why
    return pauses.why_keys(change) or pauses.why_apart(change)


def why_members_not(change: Change) -> str:
    """Why the routers cannot give up engines while they serve; empty if they can."""
    section = change.plan.get("members")
    if not section:
        return pauses.NO_API
    if section["api"] != RESTART:
        return ""
    # Each restarts for that, with the engines as planned: one that runs with another address would be lost.
    routers, balanced = change.named("router"), change.named("balancer")
    if balanced <= change.down:
        return pauses.UNBALANCED
    if len(routers if change.starts_first else routers - change.down) < 2:
        return pauses.LAST
    planned = {engine["url"] for engine in section["engines"]}
    before = {engine["url"] for engine in (change.deployed.get("members") or {}).get("engines", ())}
    return "" if routers_of(change.plan) == routers_of(change.deployed) and before <= planned else pauses.NO_API


def why_entry_not(change: Change, name: str) -> str:
    """Why a changed router, balancer or frontend restarts at once, with the others."""
    entry, before, after = entry_urls(change.plan, change.deployed)
    routers, balanced = change.named("router"), change.named("balancer")
    if name == entry or {name, entry} <= balanced:  # all balancers of a virtual address are one entry
        return pauses.READDRESSED.format(before=before, after=after)
    if name in balanced and len(balanced) > 1:
        return pauses.TOGETHER
    if name not in routers or len(routers) < 2:
        return pauses.SINGLE
    if balanced <= change.down:
        return pauses.UNBALANCED
    return pauses.why_keys(change) or pauses.why_apart(change) or pauses.LAST


def routers_one_by_one(change: Change, outdated: t.Collection[str], gone: set[str]) -> list[str]:
    """Those of the changed routers that restart one after the other: another one serves, and the engines suit routers of both settings.

    ``gone``: services that do not run, or stop first.
    """
    routers, balanced = change.named("router"), change.named("balancer")
    if len(routers) < 2 or balanced <= gone or change.keys_change or change.incompatible:
        return []
    if not change.starts_first and len(routers - change.down) < 2:
        return []  # the balancer would not drain the last one that runs
    return sorted(routers & set(outdated), key=natural)


def engine_steps(change: Change, due: t.Mapping[Key, set[str]]) -> list[Step]:
    """One instance of each pool at a time, so that prefill and decode keep their proportion.

    Those that a killed run left out of the routers come first: without them, the last one that serves would have to leave.
    """
    rows = _rows(change, due)
    engines = change.plan["members"]["engines"] if rows else []
    # The routers have an engine with the URL as deployed until its step, and those that leave or move until the end.
    changing = {name for names in rows for name in names}
    before = engines_as_deployed(changing, change.deployed)
    listed = {engine["name"]: _named(engine["name"], before) or [engine] for engine in engines}
    ending = engines_as_deployed(change.elsewhere, change.deployed)
    found = []
    for names in rows:
        own = [engine for engine in engines if engine["name"] in names]
        others = [engine for engine in (*chain(*listed.values()), *ending) if engine["name"] not in names]
        found.append(
            {
                "services": sorted(names),
                "hosts": sorted({change.hosts[name] for name in names}),
                "engines": own,
                "leaving": [each for engine in own for each in listed[engine["name"]]],
                "upstream": [engine["url"] for engine in others if engine["kind"] == "prefill"],
                "downstream": [engine["url"] for engine in others if engine["kind"] == "decode"],
                "routers": [],
            }
        )
        listed.update({engine["name"]: [engine] for engine in own})
    return found


def _named(name: str, engines: t.Iterable[Engine]) -> list[Engine]:
    return [engine for engine in engines if engine["name"] == name]


def _rows(change: Change, due: t.Mapping[Key, set[str]]) -> list[set[str]]:
    """Names of the services of each step."""
    rows: list[set[str]] = []
    for kind in ENGINE_KINDS:
        numbers = [number for found, number in due if found == kind]
        numbers.sort(key=lambda number: (not any(name in change.out for name in due[kind, number]), number))
        rows += [set() for _more in range(len(numbers) - len(rows))]
        for row, number in zip(rows, numbers, strict=False):
            row |= due[kind, number]
    return rows


def router_steps(change: Change, names: t.Iterable[str]) -> list[Step]:
    """One step for each of these routers."""
    return [
        {
            "services": [name],
            "hosts": [change.hosts[name]],
            "engines": [],
            "leaving": [],
            "upstream": [],
            "downstream": [],
            "routers": [name],
        }
        for name in names
    ]
