# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked on a host before the mode of an upgrade or a rollback is chosen: what runs, compared with two plans, and who gets requests."""

from __future__ import annotations

import typing as t

from ..plan.planner import on_host
from ..views.secret_digests import secret_digests
from ..views.service_states import service_states
from .observe import Question, Record, balancers_of, own
from .player import observation


def comparisons(
    plans: t.Mapping[str, t.Any], host: str, settings: t.Mapping[str, t.Any], user: str, secrets: t.Mapping[str, t.Any]
) -> dict[str, Question]:
    """What runs, compared with each of the plans; with secrets only for the new one, because the former ones are known to nobody.

    Nothing is taken for running that does not answer, so a failure ends the change.

    ``plans``: {old, new: a plan, or the host's part of it}; ``settings``: those of the runtime that come from variables of the role; ``user``: of
    the services, where a plan names none; ``secrets``: {name: value}.
    """

    def options(plan: t.Mapping[str, t.Any], key: str) -> Record:
        services = on_host(plan, host)
        return {
            "state": "present",
            "remove": False,
            "runtime": plan["runtime"],
            "settings": {**plan["runtime_settings"], **settings, "user": plan.get("user") or user},
            "services": service_states(plan, services),
            "secrets": secret_digests(plan, services, secrets) if key == "new" else {},
        }

    found = {}
    for key, plan in plans.items():
        try:
            asked = options(plan, key)
        except (AttributeError, KeyError, TypeError):  # of a record that somebody changed: none prevents a rollback
            asked = options(plans["new"], key)
        found[key] = Question("service_state", asked, needed=True)
    return found


def shares(plan: t.Mapping[str, t.Any], host: str) -> dict[str, Question]:
    """Which routers get requests from the host's balancer, and whether the host has the virtual address. ``plan``: the whole one."""
    found = {}
    for balancer in balancers_of(plan):
        if balancer["host"] == host:
            place = {key: balancer[key] for key in ("socket", "backend")}
            found["servers"] = Question("balancer_servers", {**place, "servers": []})
    address = plan.get("virtual_address") or {}
    if host in [each["host"] for each in address.get("hosts", ())]:
        found["holds"] = Question("virtual_address_info", {"address": address["address"]})
    return found


def seen_here(
    answers: t.Mapping[str, t.Mapping[str, t.Any]], services: t.Collection[t.Mapping[str, t.Any]], host: str
) -> Record:
    """{old, new, servers, holds}, as `halves.seen` reads it. A balancer that does not answer gives no router requests, as far as anybody knows.

    ``services``: those of the host in the new plan, which the host did not write. It says nothing of others, for which a change would stop all.
    Raises ``ValueError`` for an answer that is no comparison.
    """
    ask = {key: {} if answer.get("failed") or answer.get("unreachable") else answer for key, answer in answers.items()}
    found: Record = {
        "servers": ask.get("servers", {}).get("after") or {},
        "holds": bool(ask.get("holds", {}).get("held")),
    }
    for key in ("old", "new"):
        found[key] = own({**answers[key], **observation(answers[key], host, ("down", "outdated"))}, services)
    return found
