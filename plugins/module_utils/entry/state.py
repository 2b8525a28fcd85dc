# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the entry of this host says of itself now, from its metrics."""

from __future__ import annotations

import re
from typing import Any, Sequence

from ..host import facts
from ..host.virtual_address import holds
from ..tools.http_client import Target, ask

TIMEOUT = 4.0
SAMPLE = re.compile(r"^ascend_inference_entry_(settings_info|routers)\{([^}]*)\} (\d{1,6})$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')
WAYS = ("first", "fallback")
WILDCARDS = {"0.0.0.0", "::"}


def state(port: int, address: str) -> dict[str, Any]:
    """``{answers, problem, digest, routers: {model: [routers, those of its fallback]}, held}``. ``address``: the clients' one of two hosts, or empty.

    ``held``: None if that is not asked, or not known.
    """
    reply = ask(Target(f"http://127.0.0.1:{port}"), "/metrics", timeout=TIMEOUT)
    answers = not reply.error and reply.status == 200
    found: dict[str, Any] = {"answers": answers, "problem": "", "digest": "", "routers": {}}
    if not answers:
        found["problem"] = reply.detail or f"status {reply.status}"
    for name, labels, value in SAMPLE.findall(reply.body) if answers else ():
        told = dict(LABEL.findall(labels))
        if name == "settings_info":
            found["digest"] = told.get("digest", "")
        elif told.get("way") in WAYS:
            found["routers"].setdefault(told.get("model", ""), [0, 0])[WAYS.index(told["way"])] = int(value)
    try:
        found["held"] = holds(address) if address else None
    except ValueError:
        found["held"] = None
    return found


def taken(listens: Sequence[str], configuration: str) -> list[str]:
    """``ADDRESS:PORT (command)`` of each socket of another program where one at an address of ``listens`` would be, or beside it.

    HAProxy shares an address with another process of its user (SO_REUSEPORT), and each would get a part of the connections.
    """
    others = [other for other in facts.listening() if not _is_started_with(other["pid"], configuration)]
    found = set()
    for socket in listens:
        address, _colon, port = socket.rpartition(":")
        for other in others:
            both = {address.strip("[]"), other["address"]}
            if other["port"] == int(port) and (len(both) == 1 or both & WILDCARDS):
                found.add(f"{other['address']}:{port} ({other['command'] or 'its program is not visible'})")
    return sorted(found)


def _is_started_with(pid: int, configuration: str) -> bool:
    """Read whole: each reload puts the ids of processes with open streams before the file."""
    words = facts.read(f"/proc/{pid}/cmdline").split("\0")
    return bool(configuration) and configuration in words
