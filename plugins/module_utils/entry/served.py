# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs: whether routers serve the models under the names that requests have, and whether the entry shows its certificate and asks for a key."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..tools.http_client import Target, ask

TIMEOUT = 60.0
MOST_AT_ONCE = 64
DOWN = (429, 502, 503, 504)  # the router does not serve now, which says nothing of the name; 500 may be about it
REQUESTS = (  # the first one that a router serves: models for text, for chats alone, and for embeddings
    ("/v1/completions", {"prompt": "1", "max_tokens": 1}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "1"}], "max_tokens": 1}),
    ("/v1/embeddings", {"input": "1"}),
)


def routers(ways: list[dict[str, str]], keys: dict[str, str]) -> list[dict[str, str]]:
    """A step for each router: one request with one token. ``ways``: ``{model, address, key}``, where ``key`` is a name of ``keys``.

    All at the same time: of those that hang, each would cost TIMEOUT.
    """
    if not ways:
        return []
    with ThreadPoolExecutor(min(len(ways), MOST_AT_ONCE)) as pool:
        return list(pool.map(lambda way: _served(way, keys.get(way["key"], "")), ways))


def _served(way: dict[str, str], key: str) -> dict[str, str]:
    step, refused, down = f"{way['model']} at {way['address']}", [], False
    for path, body in REQUESTS:
        reply = ask(Target(f"http://{way['address']}", key), path, dict(body, model=way["model"]), TIMEOUT)
        if reply.error:
            return {"step": step, "status": "skipped", "detail": f"does not answer: {reply.detail}"}
        if reply.status == 200:
            return {"step": step, "status": "passed", "detail": "answers " + path}
        refused.append(f"{path} got {reply.status} {reply.body[:120]}")
        down = down or reply.status in DOWN
    return {"step": step, "status": "skipped" if down else "failed", "detail": "; ".join(refused)}


def door(address: str, port: int, digest: str) -> list[dict[str, str]]:
    """The address of clients. ``digest``: SHA-256 of the certificate (DER), empty without TLS."""
    found, status = "", 0
    try:
        connection: Any = http.client.HTTPConnection(address, port, timeout=10)
        if digest:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # who it is says the digest
            secured = context.wrap_socket(socket.create_connection((address, port), 10))
            found = hashlib.sha256(secured.getpeercert(True) or b"").hexdigest()
            connection.sock = secured
        connection.request("GET", "/v1/models")
        status = connection.getresponse().status
        connection.close()
    except (OSError, http.client.HTTPException) as error:
        return [{"step": "address", "status": "failed", "detail": f"{address} port {port}: {error}"}]
    wrong = [] if status == 401 else [f"a request without a key got {status}, not 401"]
    wrong += ["the certificate is another one"] if found != digest else []
    return [
        {"step": "address", "status": "failed" if wrong else "passed", "detail": "; ".join(wrong) or "asks for a key"}
    ]
