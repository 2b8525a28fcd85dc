# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counts of limits on two hosts, in the configuration of HAProxy.

Each host counts into a table of its own, and has a copy of the other's, so a limit is compared with the sum. HAProxy's peers send an entry when it
changes; with one table for both, the later of two entries would replace the other one.
"""

from __future__ import annotations

from ..plan.render.template import filled
from ..plan.service import bracketed
from .pair import Pair

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


def peers(pair: Pair, port: int) -> str:
    """The sections of peers and of the tables of teams. Without a port nothing is handed over."""
    if not port:
        return TABLE.format(pair.own.number, "")
    lines = f"peers entry\n    peer {pair.own.number} 127.0.0.1:{port}\n"
    if not pair.other:
        return lines + TABLE.format(pair.own.number, " peers entry")
    values = {"OWN": bracketed(pair.own.address), "OTHER": pair.other.address, "PORT": str(port)}
    tables = "".join(TABLE.format(number, " peers entry") for number in sorted([pair.own.number, pair.other.number]))
    return f"{lines}    peer {pair.other.number} {bracketed(pair.other.address)}:{port}\n{tables}{filled(DOOR, values)}"


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
