# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step turns out to do, from what hosts answered in an earlier step.

A filling takes the step, one of its hosts and the answers, {host: result of the module}; it returns further arguments for the host, or None if the host
has nothing to do.
"""

from __future__ import annotations

import typing as t

from .script import Step

Answers = t.Mapping[str, t.Mapping[str, t.Any]]
More = dict[str, t.Any] | None


def lacking(_step: Step, host: str, answers: Answers) -> More:
    """Hosts with a router that lacks engines."""
    return {} if (answers.get(host) or {}).get("added") else None


def _texts(value: t.Any) -> list[str]:
    """The texts of a list that a host answered; what has another form is none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _left(answer: t.Mapping[str, t.Any] | None) -> list[dict[str, t.Any]]:
    """The engines that have left a host's router, as far as they have the form of engines."""
    found = (answer or {}).get("left")
    engines = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return [each for each in engines if len(_texts([each.get("url"), each.get("kind")])) == 2]


def engines_to_prove(
    engines: t.Iterable[t.Mapping[str, t.Any]], answers: t.Iterable[t.Mapping[str, t.Any]]
) -> dict[str, list[str]]:
    """``{joining, peers}``: names of engines that a router lacks, and of all that a router will have.

    ``engines`` with name and url; ``answers``: the result of router_members in check mode of each host with a router.
    """
    added, after = set(), set()
    for answer in answers:
        added.update(_texts(answer.get("added")))
        pools = answer.get("after")
        for urls in pools.values() if isinstance(pools, dict) else ():
            after.update(_texts(urls))
    named = [(engine["name"], engine["url"]) for engine in engines]
    return {
        "joining": [name for name, url in named if url in added],
        "peers": [name for name, url in named if url in after],
    }


def proving(step: Step, _host: str, answers: Answers) -> More:
    """Names of the engines that a router lacks, with their peers. ``step.given``: the engines, with name and url."""
    found = engines_to_prove(step.given, answers.values())
    return dict(found) if found["joining"] else None


def restarting(step: Step, _host: str, answers: Answers) -> More:
    """What belongs to the restart of a router that has to restart to have other engines. ``step.given``: its url and host; empty: that of any router.

    Only its own host says so: what another one answers restarts nothing here.
    """
    if not step.given:
        return {} if any(answer.get("restart") for answer in answers.values()) else None
    own = _texts((answers.get(step.given["host"]) or {}).get("restart"))
    return {} if step.given["url"] in own else None


def strangers(_step: Step, host: str, answers: Answers) -> More:
    """Hosts with a router that has engines which are not planned."""
    return {} if (answers.get(host) or {}).get("others") else None


def leaving(step: Step, host: str, answers: Answers) -> More:
    """Engines that have left a router, and have to finish. ``step.given``: ``{planned: [engine], leaving: [engine], host}``.

    ``leaving`` left the routers in a run that was interrupted, and are waited for on ``host``.
    """
    left = _left(answers.get(host))
    planned = step.given["planned"]
    engines = [engine for engine in left if engine["url"] not in [each["url"] for each in planned]]
    engines += step.given["leaving"] if host == step.given["host"] else []
    every = [*planned, *step.given["leaving"], *left]
    # Others may have decode engines that fetch, too. Where they are is no order for this host: without the list all that is held is waited for.
    known = {engine["url"] for engine in every}
    others = [each for name, answer in answers.items() if name != host for each in _left(answer)]
    if any(each["kind"] == "decode" and each["url"] not in known for each in others):
        every = []
    downstream = dict.fromkeys(engine["url"] for engine in every if engine["kind"] == "decode")
    return {"engines": engines, "downstream": [*downstream]} if engines else None


def holding(step: Step, host: str, answers: Answers) -> More:
    """The balancer that has the requests: the first one with the virtual address, or the first one. ``step.given``: their hosts."""
    return {} if host == _holder(step, answers) else None


def beside(step: Step, host: str, answers: Answers) -> More:
    """The other balancers. ``step.given``: as `holding`."""
    return {} if host != _holder(step, answers) else None


def _holder(step: Step, answers: Answers) -> str:
    holders = [host for host in step.given if (answers.get(host) or {}).get("held")]
    return str((holders or step.given)[0])


def counting(_step: Step, _host: str, answers: Answers) -> More:
    """The engine that the probe's host has chosen to restart, for a host that counts it, too."""
    engine = next((answer.get("engine") for answer in answers.values()), "")
    return {"counts": engine} if engine else None


FILLS: dict[str, t.Callable[[Step, str, Answers], More]] = {
    "lacking": lacking,
    "proving": proving,
    "restarting": restarting,
    "strangers": strangers,
    "leaving": leaving,
    "holding": holding,
    "beside": beside,
    "counting": counting,
}
KEPT = ("added", "after", "restart", "others", "left", "held", "engine", "at")  # what the fillings read of an answer
