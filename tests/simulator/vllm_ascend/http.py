# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of HTTP/1.1 that the engine's API and one POST need."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from dataclasses import dataclass, field

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
           500: "Internal Server Error", 503: "Service Unavailable"}  # fmt: skip


@dataclass
class Request:
    method: str
    path: str
    headers: dict = field(default_factory=dict)
    body: bytes = b""

    def json(self):
        return json.loads(self.body)


async def _headers(reader):
    headers = {}
    while True:
        line = (await reader.readline()).decode("latin-1").strip()
        if not line:
            return headers
        name, dummy, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()


async def _body(reader, headers):
    if "chunked" in headers.get("transfer-encoding", "").lower():
        parts = []
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            parts.append(await reader.readexactly(size))
            await reader.readline()
            if not size:
                return b"".join(parts)
    return await reader.readexactly(int(headers.get("content-length") or 0))


async def read_request(reader):
    """The next request of a connection, or None at its end."""
    line = (await reader.readline()).decode("latin-1").split()
    if len(line) < 2:
        return None
    headers = await _headers(reader)
    return Request(line[0], line[1].split("?")[0], headers, await _body(reader, headers))


def response(status, content, kind="application/json"):
    """Bytes of a complete response; a dict or list becomes JSON."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    head = f"HTTP/1.1 {status} {REASONS.get(status, 'Unknown')}\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"


def event(content):
    """One server-sent event as a chunk; a dict becomes JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    data = f"data: {text}\n\n".encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def post_json(url, message):
    """POST and read the status; ValueError for a response that is not 2xx."""
    parts = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    body = json.dumps(message).encode()
    head = f"POST {parts.path or '/'} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/json\r\n"
    try:
        writer.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        status = (await reader.readline()).split()
        if len(status) < 2 or not status[1].startswith(b"2"):
            raise ValueError(f"{url} answered {status[1:2]}")
    finally:
        writer.close()
