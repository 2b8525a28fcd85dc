# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked on a host before the script of a change is written, besides its services: its routers, its balancer, and what it recorded."""

from __future__ import annotations

import typing as t

from ..lifecycle.steps import pending_of
from ..plan.render.router import members_of

Record = dict[str, t.Any]


class Question(t.NamedTuple):
    """A module that is called in check mode; ``needed``: whether the change ends if it fails."""

    module: str
    arguments: Record
    needed: bool = False


def own(found: t.Mapping[str, t.Any], services: t.Iterable[t.Mapping[str, t.Any]]) -> Record:
    """``found`` without names of services that are not on the host, whose ``services`` are: it says nothing of others."""
    names, lists = {service["name"] for service in services}, ("down", "outdated", "rekeyed", "keyed", "healthy")
    return {key: [name for name in value if name in names] if key in lists else value for key, value in found.items()}


def balancers_of(plan: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    """The sections of a plan, or of a host's part of it, for its balancers."""
    section = plan.get("balancer") or {}
    return [section, *section.get("more", ())] if section else []


def entries(plan: t.Mapping[str, t.Any], host: str, down: t.Container[str]) -> tuple[Record, t.Mapping[str, t.Any]]:
    """What `questions` needs of the host's routers and of its balancer, without those that are ``down``."""
    routers = [name for name in members_of(plan, host).get("routers", ()) if name not in down]
    balancers = [each for each in balancers_of(plan) if each["host"] == host and each["service"] not in down]
    return members_of(plan, host, routers), next(iter(balancers), {})


def questions(
    members: t.Mapping[str, t.Any],
    balancer: t.Mapping[str, t.Any],
    directory: str,
    asked: bool,
    registered: t.Mapping[str, t.Any],
) -> dict[str, Question]:
    """The questions to a host, by what they are about.

    ``members``, ``balancer``: of `entries`. ``directory``: of the deployment; ``asked``: whether its recorded plan is wanted, and not only whether a
    change was interrupted where ``registered``, the result of service_state, has services with other settings.
    """
    found = {}
    if members:
        known = {key: members[key] for key in ("api", "url", "model", "record", "started", "away", "more")}
        found["routers"] = Question("router_members", {**known, "members": members["engines"]})
    if balancer:
        known = {key: balancer[key] for key in ("socket", "state_file", "backend", "servers") if key in balancer}
        found["balancer"] = Question("balancer_servers", {**known, "state": "ready", "weight": 100})
    if asked or registered.get("outdated"):
        found["recorded"] = Question("deployed_plan_info", {"directory": directory, "content": asked}, True)
    return found


def known(registered: t.Mapping[str, t.Any], answers: t.Mapping[str, t.Mapping[str, t.Any]], asked: bool) -> Record:
    """What a change knows of a host; an answer that failed is None, as one that was not asked for.

    ``{down, outdated, other, rekeyed, keyed, healthy, routers, balancer, content, half, revisions}``: the lists of service_state, the results of
    router_members and balancer_servers, and of deployed_plan_info the text of the plan and whether a change was interrupted.
    """
    found: Record = {**pending_of(registered), "healthy": list(registered.get("healthy") or ())}
    for key in ("routers", "balancer"):
        answer = answers.get(key)
        found[key] = None if not answer or answer.get("failed") or answer.get("unreachable") else dict(answer)
    recorded = answers.get("recorded") or {}
    text = str(recorded.get("content") or "") if asked else None
    revisions = [str(name) for name in recorded.get("revisions") or ()]
    return {**found, "content": text, "half": str(recorded.get("half") or ""), "revisions": revisions}
