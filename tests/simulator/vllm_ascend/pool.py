# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The KV pool: AscendStoreConnector (MooncakeConnectorStoreV1 in 0.11) on a Mooncake store.

With the ``mooncake`` Python module the store is the real one, joined over TCP because there is no Ascend device (the
configuration must still say protocol "ascend").  Without it, the simulator's store is used; start it with
``python -m vllm_ascend.pool HOST:PORT`` at the address of mooncake_master.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor

from . import log, wire
from .errors import Died
from .model import shard
from .texts import said
from .worker import join_shards

WHERE = "pool_scheduler.py:560"
BUFFER = 16 * 2**20
# Bytes that a simulated rank contributes instead of the planned size, unless a test needs the planned capacity.
SEGMENT = int(os.environ.get("ASCEND_SIMULATOR_SEGMENT_MIB", "16")) * 2**20


def store_config(release):
    """Checked contents of MOONCAKE_CONFIG_PATH.  Source: mooncake_store config_data.py / mooncake_backend.py."""
    path = os.environ.get("MOONCAKE_CONFIG_PATH")
    if not path:
        raise Died("ValueError: The environment variable 'MOONCAKE_CONFIG_PATH' is not set.")
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except OSError as error:
        raise Died(f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'") from error
    except ValueError as error:
        raise Died(f"json.decoder.JSONDecodeError: {error}") from error
    protocol = config.get("protocol", "ascend" if release.since("0.12.0rc1") else "tcp")
    if protocol != "ascend":
        raise Died(f"NotImplementedError: MooncakeBackend does not support protocol {protocol!r}.")
    if not release.since("0.12.0rc1") and not config.get("local_hostname"):
        raise Died(
            "TypeError: setup(): incompatible function arguments: local_hostname is None\nInitialize mooncake failed."
        )
    if config.get("metadata_server") != "P2PHANDSHAKE":
        raise Died(f"Initialize mooncake failed. ret=-1, metadata_server={config.get('metadata_server')}.")
    if config.get("enable_ssd_offload") and not os.path.isabs(config.get("ssd_offload_path") or ""):
        raise Died(
            f"ValueError: ssd_offload_path must be an absolute path, got: {config.get('ssd_offload_path', '')!r}"
        )
    master = config.get("master_server_address")
    if release.since("0.23.0rc1"):
        master = os.environ.get("MOONCAKE_MASTER") or master
    return {**config, "master_server_address": master or ""}


class RealStore:
    """mooncake.store over TCP; its calls block, so they run on a thread."""

    def __init__(self, config, address):
        self.config, self.address = config, address
        self.thread = ThreadPoolExecutor(1)
        self.store = None

    async def _call(self, function, *args):
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *args)

    async def open(self):
        from mooncake.store import MooncakeDistributedStore

        self.store = MooncakeDistributedStore()
        master = self.config["master_server_address"]
        return await self._call(
            self.store.setup, self.address, "P2PHANDSHAKE", SEGMENT, BUFFER, "tcp", "", master
        )  # fmt: skip

    async def exists(self, key):
        return await self._call(self.store.is_exist, key) == 1

    async def get(self, key):
        return bytes(await self._call(self.store.get, key))

    async def put(self, key, data):
        return await self._call(self.store.put, key, data) == 0


class OwnStore:
    """A client of the simulator's own store (class Server below)."""

    def __init__(self, config, address):
        host, dummy, port = config["master_server_address"].partition(":")
        self.where, self.address = (host, port), address

    async def _ask(self, message, payload=b""):
        return await wire.ask(self.where[0], int(self.where[1] or 0), message, payload, timeout=5)

    async def open(self):
        try:
            reply, _data = await self._ask({"op": "mount", "segment": self.address})
            return reply["ret"]
        except (OSError, ValueError, KeyError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            log.glog("mount_segment_to_master_failed error=RPC_FAIL", "real_client.cpp:671", "E")
            return -1

    async def exists(self, key):
        return (await self._ask({"op": "exists", "key": key}))[0]["ret"] == 1

    async def get(self, key):
        return (await self._ask({"op": "get", "key": key}))[1]

    async def put(self, key, data):
        return (await self._ask({"op": "put", "key": key}, data))[0]["ret"] == 0


class Server:
    """The simulator's own store: keys and bytes in memory."""

    def __init__(self):
        self.data, self.segments = {}, []

    async def answer(self, message, payload):
        key = message.get("key")
        if message["op"] == "mount":
            self.segments.append(message["segment"])
            return {"ret": 0}, b""
        if message["op"] == "put":
            self.data.setdefault(key, payload)
            return {"ret": 0}, b""
        return {"ret": int(key in self.data)}, self.data.get(key, b"") if message["op"] == "get" else b""


def _store_class():
    try:
        from mooncake.store import MooncakeDistributedStore
    except Exception:  # a Mooncake built for another machine can raise any error of its libraries
        return OwnStore
    return RealStore if MooncakeDistributedStore else OwnStore


class Pool:
    """One data parallel rank's pool connector."""

    def __init__(self, rank, config):
        self.rank, self.config = rank, config
        self.release = rank.engine.release
        self.extra = config["kv_connector_extra_config"]
        self.role = config["kv_role"]
        self.store_config = store_config(self.release)
        self.salt = (os.environ.get("PYTHONHASHSEED") or secrets.token_hex(8)).encode()
        self.stores = []

    async def open(self, ports):
        kind = _store_class()
        store = "the real store over TCP" if kind is RealStore else "the simulator's own store"
        log.vllm(self.rank.core, f"simulator: pool through {store}, protocol ascend is carried by tcp", WHERE)
        for worker in self.rank.workers:
            if "link" not in worker.meta:
                await worker.open_engine(ports)
            if kind is OwnStore:
                await worker.listen(ports.drawn(worker.address, 12300, 14300, "store client"))
            store = kind(self.store_config, worker.address)
            if await store.open() != 0:
                raise Died(
                    "Initialize mooncake failed. Check mooncake config and network.\n"
                    "RuntimeError: Initialize mooncake failed."
                )
            self.stores.append(store)
        self.rank.engine.lookup_socket(self.extra, self.rank.number)

    def _keys(self, keys):
        """Names of the blocks in the store, as every process with the same model folder and hash seed makes them."""
        name = self.rank.engine.model.path.name
        prefix = f"{name}@pcp0@dcp0@pp_rank:0@"
        return [prefix + hashlib.sha256(self.salt + key).hexdigest() for key in keys]

    async def hits(self, request, keys, already):
        """Blocks in the store after the first ``already`` ones that this role may load."""
        if self.role == "kv_consumer" and not self.extra.get("consumer_is_to_load"):
            return 0
        found = already
        full = len(request["pieces"]) // self.rank.engine.block_size
        for name in self._keys(keys[:full])[already:]:
            try:
                if not await self.stores[0].exists(f"{name}@tp_rank:0"):
                    break
            except (OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
                begins = ("Remote connection failed in lookup", "Remote connection failed in contains")
                text = said(self.release.name, begins, type(error).__name__, error)
                log.vllm(self.rank.core, text, WHERE, "ERROR")
                break
            found += 1
        tokens = found * self.rank.engine.block_size
        load = max(0, tokens - already * self.rank.engine.block_size)
        label = "kvpool" if self.release.since("0.12.0rc1") else "mooncake"
        log.vllm(
            self.rank.core,
            f"Reqid: {request['id']}, Total tokens {len(request['pieces'])}, {label} hit tokens: {tokens}, "
            f"need to load: {load}",
            WHERE,
        )
        return found - already

    async def load(self, keys, already, count):
        """The ``count`` blocks after the first ``already``."""
        blocks = []
        for name in self._keys(keys)[already : already + count]:
            parts = [await store.get(f"{name}@tp_rank:{t}") for t, store in enumerate(self.stores)]
            blocks += join_shards(parts, 1)
        return blocks

    async def save(self, request, keys, blocks):
        """Store the full blocks that are missing in the store."""
        if self.role == "kv_consumer" and not self.extra.get("consumer_is_to_put"):
            return
        full = len(request["pieces"]) // self.rank.engine.block_size
        stored, ranks = 0, self.rank.shape.tensor
        try:
            for name, block in list(zip(self._keys(keys), blocks))[:full]:
                if not await self.stores[0].exists(f"{name}@tp_rank:0"):
                    for number, store in enumerate(self.stores):
                        await store.put(f"{name}@tp_rank:{number}", shard(block, number, ranks))
                    stored += 1
        except (OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
            log.vllm(self.rank.core, f"Failed to put key, error:{error}", WHERE, "ERROR")
        log.vllm(
            self.rank.core, f"Storing KV cache for {stored} out of {full} blocks for request {request['id']}", WHERE
        )


async def _main(address):
    host, dummy, port = address.partition(":")
    from .host import Host
    from .ports import Ports, zmq_failure

    made = Ports(Host()).planned(host, int(port), "store", zmq_failure(host, port))
    log.raw(f"simulated Mooncake store (no real master) on {address}")
    async with await wire.serve(made, Server().answer) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
