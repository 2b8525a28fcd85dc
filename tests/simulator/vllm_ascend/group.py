# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A data parallel group over the network: the master waits for all ranks, then distributes requests.

Simulates vLLM's handshake on data-parallel-address:data-parallel-rpc-port and for torch's and HCCL's rendezvous.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

from . import wire
from .errors import Died
from .ports import zmq_failure


def join_timeout():
    """Timeout for the other ranks, in seconds."""
    for variable in ("ASCEND_SIMULATOR_JOIN_TIMEOUT", "VLLM_ENGINE_READY_TIMEOUT_S"):
        if os.environ.get(variable):
            return float(os.environ[variable])
    return 1800.0


class Master:
    """The side with rank 0."""

    def __init__(self, shape, identity, on_lost):
        self.shape, self.identity, self.on_lost = shape, identity, on_lost
        self.members = {}  # rank -> writer
        self.answers = {}  # call -> future
        self.complete = asyncio.Event()
        self.failure = None
        self.calls = 0
        self.server = None

    async def open(self, ports):
        failure = zmq_failure(self.shape.address, self.shape.rpc_port)
        made = ports.planned(self.shape.address, self.shape.rpc_port, "data parallel rpc", failure)
        self.server = await asyncio.start_server(self._member, sock=made, limit=wire.LIMIT)
        timeout = join_timeout()
        try:
            await asyncio.wait_for(self.complete.wait(), timeout)
        except asyncio.TimeoutError as error:
            there = self.shape.local + len(self.members)
            raise Died(
                f"torch.distributed.DistStoreError: Timed out after {int(timeout) + 1} seconds waiting for clients. "
                f"{there}/{self.shape.data} clients joined."
            ) from error
        if self.failure:
            raise Died(self.failure)
        for writer in set(self.members.values()):
            await wire.send(writer, {"op": "go"})

    def _refusal(self, message):
        for field, ours in self.identity.items():
            if message["identity"].get(field) != ours:
                return (
                    f"RuntimeError: Configuration mismatch in the data parallel group: {field} is "
                    f"{message['identity'].get(field)!r} on ranks {message['ranks']}, {ours!r} on the master"
                )
        for rank in message["ranks"]:
            if rank in self.members or rank in self.shape.ranks or not 0 <= rank < self.shape.data:
                return f"RuntimeError: Message from engine with unexpected data parallel rank: {rank}"
        return ""

    async def _member(self, reader, writer):
        mine = []
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
            while True:
                message, _payload = await wire.receive(reader)
                if message is None:
                    break
                if message["op"] == "join":
                    self.failure = self._refusal(message)
                    if self.failure:
                        await wire.send(writer, {"op": "refused", "reason": self.failure})
                        self.complete.set()
                        break
                    mine = message["ranks"]
                    self.members.update(dict.fromkeys(mine, writer))
                    if self.shape.local + len(self.members) == self.shape.data:
                        self.complete.set()
                elif message["op"] == "result":
                    future = self.answers.pop(message["call"], None)
                    if future and not future.done():
                        future.set_result(message["result"])
        writer.close()
        if mine and self.complete.is_set():
            self.on_lost(f"ranks {mine} left the data parallel group")
        for rank in mine:
            self.members.pop(rank, None)

    async def run(self, rank, request):
        """The result of a request on a rank of another host."""
        self.calls += 1
        future = self.answers[self.calls] = asyncio.get_running_loop().create_future()
        await wire.send(self.members[rank], {"op": "run", "call": self.calls, "rank": rank, "request": request})
        return await future


class Member:
    """A side without rank 0; ``work(rank, request)`` executes requests of the master."""

    def __init__(self, shape, identity, on_lost, work):
        self.shape, self.identity, self.on_lost, self.work = shape, identity, on_lost, work
        self.task = None

    async def open(self, _ports):
        timeout = join_timeout()
        end = time.monotonic() + timeout
        where = (self.shape.address, self.shape.rpc_port)
        while True:
            try:
                reader, writer = await asyncio.open_connection(*where, limit=wire.LIMIT)
                ranks = list(self.shape.ranks)
                await wire.send(writer, {"op": "join", "ranks": ranks, "identity": self.identity})
                message, _payload = await asyncio.wait_for(wire.receive(reader), max(0.1, end - time.monotonic()))
                break
            except (OSError, asyncio.TimeoutError) as error:
                if time.monotonic() >= end:
                    raise Died(
                        f"torch.distributed.DistNetworkError: The client socket has timed out after "
                        f"{int(timeout * 1000)}ms while trying to connect to {where}."
                    ) from error
                await asyncio.sleep(0.2)
        if message is None or message["op"] != "go":
            reason = (message or {}).get("reason", "the master went away")
            raise Died(f"RuntimeError: Engine core initialization failed. See root cause above. {reason}")
        self.task = asyncio.create_task(self._serve(reader, writer))

    async def _serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                message, _payload = await wire.receive(reader)
                if message is None:
                    break
                asyncio.ensure_future(self._run(writer, message))
        self.on_lost("the master left the data parallel group")

    async def _run(self, writer, message):
        result = await self.work(message["rank"], message["request"])
        with contextlib.suppress(ConnectionError):
            await wire.send(writer, {"op": "result", "call": message["call"], "result": result})
