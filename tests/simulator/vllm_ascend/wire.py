# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The protocol of the simulator's internal connections: a line of JSON, then the number of bytes that it contains."""

from __future__ import annotations

import asyncio
import contextlib
import json

LIMIT = 64 * 2**20


async def send(writer, message, payload=b""):
    """Send one message; ``size`` is the number of raw bytes that follow."""
    writer.write(json.dumps({**message, "size": len(payload)}).encode() + b"\n" + payload)
    await writer.drain()


async def receive(reader):
    """(message, payload), or (None, b"") at the end of the stream."""
    line = await reader.readline()
    if not line:
        return None, b""
    message = json.loads(line)
    return message, await reader.readexactly(message.pop("size", 0))


async def serve(listening, answer):
    """Reply to every message on a listening socket with the result of ``await answer(message, payload)``."""

    async def talk(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
            while True:
                message, payload = await receive(reader)
                if message is None:
                    break
                reply, data = await answer(message, payload)
                await send(writer, reply, data)
        writer.close()

    return await asyncio.start_server(talk, sock=listening, limit=LIMIT)


async def ask(address, port, message, payload=b"", timeout=30.0):
    """(reply, payload) of one request on a separate connection."""

    async def whole():
        reader, writer = await asyncio.open_connection(address, port, limit=LIMIT)
        try:
            await send(writer, message, payload)
            reply, data = await receive(reader)
        finally:
            writer.close()
        if reply is None:
            raise ConnectionError("the peer closed the connection")
        return reply, data

    return await asyncio.wait_for(whole(), timeout)
