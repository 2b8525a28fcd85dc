# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a request is refused for by its team, and what it counts, in the configuration of HAProxy."""

from __future__ import annotations

import json
import math

from . import haproxy_peers
from .haproxy_backends import lines
from .plan import EntryPlan, Grant
from .refusals import SPENT, busy, parallel


def limits(plan: EntryPlan, folder: str) -> dict[str, str]:
    """The lines that answer lists of models, and those that count and limit."""
    own, elsewhere = plan.front is not None, haproxy_peers.rate(plan.pair)
    whose = "this API key" if own else "this team"
    return {
        "LISTS": lines("" if own else _listing(grant) for grant in plan.grants),
        "COUNTED": lines(haproxy_peers.counted(plan.pair)),
        "PARALLEL": lines(
            line for grant in plan.grants for line in _limit(grant, "concurrent", "sc2_conn_cur gt", parallel(whose), 1)
        ),
        "RATES": lines(
            line
            for grant in plan.grants
            for line in _limit(grant, "requests_per_minute", f"{elsewhere} ge", busy(whose), 60)
        ),
        **_usage(plan, folder),
    }


def _listing(grant: Grant) -> str:
    models = [{"id": model, "object": "model", "created": 0, "owned_by": "entry"} for model in grant.models]
    text = json.dumps({"object": "list", "data": models})
    answer = f"http-request return status 200 content-type application/json string '{text}'"
    return f"{answer} if listed {{ var(txn.team) -m str {grant.team} }}"


def _usage(plan: EntryPlan, folder: str) -> dict[str, str]:
    """The lines that count tokens; without usage they are not there, and a request goes on as it came."""
    found = "if { var(txn.wait) -m found }"
    spent = (
        f"http-request return status 429 content-type application/json string '{SPENT}'"
        f" hdr Retry-After %[var(txn.wait)] {found}"
    )
    limited = any(grant.tokens_per_day or grant.tokens_per_month for grant in plan.grants)
    parts = {
        "COUNTER": [f"lua-load {folder}/usage.lua"],
        "FILTER": ["filter lua.usage"],
        "TOKENS": ["http-request lua.tokens", f"http-request lua.refused tokens {found}", spent] if limited else [],
    }
    used = {name: lines(each if plan.settings.usage else []) for name, each in parts.items()}
    return {**used, "LENGTH": "%[var(txn.length)]" if plan.settings.usage else "%[req.body_size]"}


def _limit(grant: Grant, name: str, condition: str, message: str, seconds: int) -> list[str]:
    """The refusal of one team's limit, or of that of any team; empty without one. A client comes back when about one request more is allowed."""
    limit = getattr(grant, name)
    if not limit:
        return []
    after = max(1, math.ceil(seconds / limit))
    team = f"{{ var(txn.team) -m str {grant.team} }} " if grant.team else ""
    reached = f"if {team}{{ {condition} {limit} }}"
    refusal = f"http-request return status 429 content-type application/json string '{message}' hdr Retry-After {after}"
    return [f"http-request lua.refused {name} {reached}", f"{refusal} {reached}"]
