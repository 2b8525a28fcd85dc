# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rank on one NPU: its ports, and the link over which KV leaves and arrives."""

from __future__ import annotations

import asyncio
import os

from . import log, wire
from .errors import LoadFailed
from .model import BLOCK_BYTES, shard
from .ports import zmq_failure

CONNECT_REFUSED = 103900


def device_pool(release, device):
    """(first, last) of the ports from which AscendDirect draws for a physical device."""
    stride = release.device_port_stride
    base = int(os.environ.get("ASCEND_BASE_PORT", 20000)) if stride == 100 else 20000
    return base + stride * device, base + stride * (device + 1)


def engine_pool():
    """(first, last) of the Transfer Engine's rpc ports."""
    return int(os.environ.get("MC_MIN_PRC_PORT", 15000)), int(os.environ.get("MC_MAX_PRC_PORT", 17000))


class Worker:
    """A tensor parallel rank of one data parallel rank."""

    def __init__(self, rank, tensor_rank, device):
        self.rank, self.tensor_rank, self.device = rank, tensor_rank, device
        self.name = f"Worker_DP{rank.number}_TP{tensor_rank}"
        self.host, self.release, self.address = rank.engine.host, rank.engine.release, rank.engine.address
        self.arrived = {}  # request -> bytes that a prefill pushed
        self.meta = {}
        self.servers = []
        self.linked_by = {}  # device address of a peer -> its process, of the one that linked first

    async def listen(self, made):
        self.servers.append(await wire.serve(made, self.answer))

    async def open_engine(self, ports):
        """Transfer Engine and AscendDirect: both draw their ports at random."""
        made = ports.drawn(self.address, *engine_pool(), "transfer engine rpc")
        self.meta["te_rpc_port"] = made.getsockname()[1]
        await self.listen(made)
        first, last = device_pool(self.release, self.device)
        log.glog(f"Find available between {first} and {last}", "ascend_direct_transport.cpp:475")
        made = ports.drawn(self.address, first, last, f"AscendDirect of device {self.device}")
        self.meta["link"] = [self.address, made.getsockname()[1]]
        await self.listen(made)
        log.glog(f"Success to initialize adxl engine:{self.address}:{self.meta['link'][1]}")

    async def open_planned(self, ports, port, what):
        await self.listen(ports.planned(self.address, port, what, zmq_failure(self.address, port)))

    # requests from peers ------------------------------------------------------------------------------------------

    async def answer(self, message, payload):
        """Reply to a peer's worker; see pull() and push() for the requests."""
        memory = self.rank.memory
        if message["op"] == "meta":
            linked = self.linked_by.get(message.get("device_ip"))
            return {
                **self.meta,
                "linked_with": linked,
                "engine_id": self.rank.engine_id,
                "block_size": self.rank.engine.block_size,
            }, b""
        if message["op"] == "linked":
            self.linked_by[message["device_ip"]] = message["process"]
            return {}, b""
        if message["op"] == "link":
            return {"status": self.link_status(message["tls"])}, b""
        if message["op"] == "read":
            blocks = [shard(block, self.tensor_rank, self.rank.shape.tensor) for block in memory.read(message["ids"])]
            return {"ok": True}, self.through_network(b"".join(blocks), quiet=True)
        if message["op"] == "write":
            self.arrived[message["request"]] = self.through_network(payload)
            return {"ok": True}, b""
        if message["op"] == "done":
            self.rank.done(message["request"], self)
            return {"ack": True}, b""
        return {"error": f"unknown message {message['op']!r}"}, b""

    def link_status(self, their_tls):
        """0, or the status of HIXL for a refused link."""
        record = self.host.device(self.device)
        configured = self.host.hccn_address(self.device)
        real = self.host.device_address(self.device)
        stale = configured and real and real != configured
        if their_tls != self.host.tls(self.device) or record.get("link", "UP") != "UP" or stale:
            return CONNECT_REFUSED
        return 0

    def through_network(self, data, quiet=False):
        """Received bytes: without this device's address in hccn.conf they are wrong."""
        if self.host.planted("garbled_with"):
            return bytes(len(data))
        if self.host.hccn_address(self.device):
            return data
        if not quiet:
            log.plog(
                "[RanktablCheck] 'device ip' is not set correctly, must be set when multi Server or "
                "HCCL INTRA ROCE ENABLE enabled"
            )
        return bytes(len(data))

    # requests to peers ------------------------------------------------------------------------------------------------

    async def _ask(self, where, message, payload=b""):
        try:
            return await wire.ask(where[0], int(where[1]), message, payload)
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
            raise LoadFailed(f"{where[0]}:{where[1]}: {error or type(error).__name__}") from error

    async def their_meta(self, address, port, **mine):
        reply, _data = await self._ask((address, port), {"op": "meta", **mine})
        return reply

    async def tell_linked(self, where, **mine):
        await self._ask(where, {"op": "linked", **mine})

    async def link(self, where):
        """Open the device link to a peer; LoadFailed as the transport reports it."""
        target = f"{where[0]}:{where[1]}"
        status = self.link_status(self.host.tls(self.device))
        if not status:
            try:
                reply, _data = await self._ask(where, {"op": "link", "tls": self.host.tls(self.device)})
                status = reply["status"]
            except LoadFailed:
                status = CONNECT_REFUSED
        if status:
            log.glog(f"Failed to connect to target: {target}, status: {status}", level="E")
            raise LoadFailed(f"ret: -1 ({target}, status {status})")

    async def read(self, where, ids):
        await self.link(where)
        _reply, data = await self._ask(where, {"op": "read", "ids": ids})
        log.glog(f"Transfer to:{where[0]}:{where[1]}, cost: {200 + len(data) // 100} us")
        return self.through_network(data)

    async def write(self, where, request, data):
        await self.link(where)
        await self._ask(where, {"op": "write", "request": request}, self.through_network(data))
        log.glog(f"Transfer to:{where[0]}:{where[1]}, cost: {200 + len(data) // 100} us")

    async def tell_done(self, where, request):
        await self._ask(where, {"op": "done", "request": request})


def join_shards(parts, count):
    """Whole blocks from the bytes of each rank (parts in the order of the ranks); mismatched parts remain wrong."""
    sizes = [len(part) // count if count else 0 for part in parts]
    blocks = []
    for number in range(count):
        pieces = [part[size * number : size * (number + 1)] for part, size in zip(parts, sizes)]
        blocks.append(b"".join(pieces))
    return [block if len(block) == BLOCK_BYTES else block[:BLOCK_BYTES].ljust(BLOCK_BYTES, b"\0") for block in blocks]
