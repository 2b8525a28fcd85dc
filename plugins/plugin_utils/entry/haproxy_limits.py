# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a request is refused for by its team, and what it counts, in the configuration of HAProxy.

Each of two hosts counts into a table of its own, and has a copy of the other's, so a limit is compared with the sum. HAProxy's peers send an entry when
it changes; with one table for both, the later of two entries would replace the other one.
"""

from __future__ import annotations

import json
import math

from ..plan.render.template import filled
from ..plan.service import bracketed
from .haproxy_backends import lines
from .pair import Pair
from .plan import EntryPlan, Grant
from .refusals import SPENT, busy, parallel

# The program's own port of peers asks for no password, so it is on the host alone, where the process after a reload reads it, too. The other host comes
# in by a door that knows its address. Whoever can take that address in the hosts' network can take the clients' one, too.
DOOR = """frontend pair
    mode tcp
    bind @OWN@:@PORT@
    timeout client 60s
    tcp-request connection reject unless { src @OTHER@ }
    default_backend pair
backend pair
    mode tcp
    timeout server 60s
    server here 127.0.0.1:@PORT@
"""
TABLE = "backend teams-{}\n    stick-table type string len 64 size 100k expire 1h store gpc0,gpc0_rate(60s){}\n"


def limits(plan: EntryPlan, folder: str) -> dict[str, str]:
    """The lines that answer lists of models, and those that count and limit."""
    own, elsewhere = plan.front is not None, rate(plan.pair)
    whose = "this API key" if own else "this team"
    return {
        "LISTS": lines("" if own else _listing(grant) for grant in plan.grants),
        "COUNTED": lines(counted(plan.pair)),
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


def peers(pair: Pair, port: int) -> str:
    """The sections of peers and of the tables of teams. Without a port nothing is handed over."""
    if not port:
        return TABLE.format(pair.own.number, "")
    section = f"peers entry\n    peer {pair.own.number} 127.0.0.1:{port}\n"
    if not pair.other:
        return section + TABLE.format(pair.own.number, " peers entry")
    values = {"OWN": bracketed(pair.own.address), "OTHER": pair.other.address, "PORT": str(port)}
    tables = "".join(TABLE.format(number, " peers entry") for number in sorted([pair.own.number, pair.other.number]))
    return (
        f"{section}    peer {pair.other.number} {bracketed(pair.other.address)}:{port}\n{tables}{filled(DOOR, values)}"
    )


def counted(pair: Pair) -> list[str]:
    """The rules that find the team's entry in the tables."""
    rules = [f"http-request track-sc0 var(txn.team) table teams-{pair.own.number}"]
    if pair.other:
        rules.append(f"http-request set-var(txn.elsewhere) var(txn.team),table_gpc0_rate(teams-{pair.other.number})")
    return rules


def rate(pair: Pair) -> str:
    """The sample with the requests of a team in the last minute."""
    return "sc0_gpc0_rate,add(txn.elsewhere)" if pair.other else "sc0_gpc0_rate"


def listening(pair: Pair) -> str:
    """What follows the clients' address: the host without it listens, too."""
    return " transparent" if pair.other else ""
