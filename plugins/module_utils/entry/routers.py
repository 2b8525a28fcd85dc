# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether routers answer this host as the entry will ask them, and if not, why. No engine computes for it."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..tools.http_client import Target, ask

TIMEOUT = 5.0  # seconds of one question
MOST_AT_ONCE = 64
LISTED = "/v1/models"  # the path of which a router with a key says 401
DENIED = (401, 403)


def answers(ways: list[dict[str, str]], keys: dict[str, str]) -> list[dict[str, str]]:
    """``[{address, kind, detail}]`` of each way, in their order. ``ways``: ``{address, health, key}``, where ``key`` is a name of ``keys`` or empty.

    kind: "" if it answers, refused, silent (no answer in TIMEOUT), unreachable, tls (it wants TLS), broken, status (500 and above), key (401 or 403).
    """
    if not ways:
        return []
    with ThreadPoolExecutor(min(len(ways), MOST_AT_ONCE)) as pool:
        return list(pool.map(lambda way: _answer(way, keys.get(way["key"], "")), ways))


def _answer(way: dict[str, str], key: str) -> dict[str, str]:
    url = "http://" + way["address"]
    reply = ask(Target(url), way["health"], timeout=TIMEOUT)
    kind, detail = "", reply.detail
    if reply.error:
        kind = {"refused": "refused", "timeout": "silent", "unreachable": "unreachable"}.get(reply.error, "broken")
        kind = "tls" if kind in ("broken", "silent") and _wants_tls(way["address"]) else kind
    elif reply.status >= 500:
        kind, detail = "status", f"{way['health']} got status {reply.status}"
    else:
        listed = ask(Target(url, key), LISTED, timeout=TIMEOUT)
        if listed.status in DENIED:
            kind, detail = "key", f"{LISTED} got status {listed.status}"
        elif listed.status == 400 and _wants_tls(way["address"]):  # nginx and others tell it in a page
            kind, detail = "tls", f"{LISTED} got status 400"
    return {"address": way["address"], "kind": kind, "detail": detail[:200]}


def _wants_tls(address: str) -> bool:
    """Whether a handshake succeeds, with whatever certificate."""
    host, _colon, port = address.rpartition(":")
    context: Any = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host.strip("[]"), int(port)), TIMEOUT) as plain, context.wrap_socket(plain):
            return True
    except (OSError, ValueError):
        return False
