# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MooncakeLayerwiseConnector: the decoder requests a prefill from the proxy's metaserver; prefill pushes layer by layer."""

from __future__ import annotations

import asyncio

from . import http, log
from .errors import EngineDead, LoadFailed
from .model import shard
from .mooncake import Pull
from .texts import said
from .worker import join_shards

WHERE = "mooncake_layerwise_connector.py:612"


class Push(Pull):
    """Decode binds the kv ports, prefill pushes.  Source: mooncake_layerwise_connector.py 0.13.0 to 0.23.0."""

    binds_for = ("kv_consumer",)

    def __init__(self, rank, config):
        super().__init__(rank, config)
        shape = rank.shape
        self.first_port = config["kv_port"] + rank.number * shape.tensor

    async def _listen(self, ports, worker, port):
        path = f"tcp://{worker.address}:{port}"
        await worker.open_planned(ports, port, "kv_port")
        line = f"KVCacheRecvingLayerThread listening on {path}, tp_rank={worker.tensor_rank}"
        log.vllm(worker.name, line if self.release.since("0.18.0rc1") else f"Starting listening on path: {path}", WHERE)

    async def finished(self, request, result, blocks):
        params = request.get("kv_transfer_params") or {}
        if not params.get("do_remote_decode"):
            return None
        if params.get("remote_host") is None:  # the request is from a load balance proxy and has no target to push to
            new = self.release.since("0.18.0rc1")
            raise EngineDead(
                "KeyError: 'remote_cached_tokens'" if new else "TypeError: object of type 'NoneType' has no len()"
            )
        if self.release.since("0.18.0rc1"):
            skip = int(params["remote_cached_tokens"]) // self.rank.engine.block_size
        else:
            skip = len(blocks) - len(params["remote_block_ids"])
        ranks = params.get("remote_tp_size") or (self.extra.get("decode") or {}).get("tp_size") or 1
        try:
            for number in range(int(ranks)):
                worker = self.rank.workers[number % len(self.rank.workers)]
                where = (params["remote_host"], int(params["remote_port"]) + number)
                peer = await worker.their_meta(*where)
                if peer["engine_id"] == self.rank.engine_id:
                    raise EngineDead(f"AssertionError: Conflict engine id {peer['engine_id']} with local engine id.")
                data = b"".join(shard(block, number, int(ranks)) for block in blocks[skip:])
                await worker.write(peer["link"], request["id"], data)
                await worker.tell_done(where, request["id"])
        except LoadFailed as error:
            begins = ("Mooncake transfer failed for send requests", "MooncakeLayerwiseConnector transfer fail")
            log.vllm(worker.name, said(self.release.name, begins, request["id"], error), WHERE, "ERROR")
        return None

    def promised(self, request):
        params = request.get("kv_transfer_params") or {}
        return bool(params.get("do_remote_prefill"))

    async def load(self, request, keys, already):
        params = request["kv_transfer_params"]
        waiting = self.rank.expect(request["id"])
        meta, block_size = params.get("metaserver"), self.rank.engine.block_size
        log.vllm(self.rank.core, f"Send request: {request['id']} to proxy metaserver: {meta}", WHERE)
        message = {
            "token_ids": [],
            "request_id": request["id"],
            "do_remote_prefill": False,
            "do_remote_decode": True,
            "remote_block_ids": [list(range(1, len(keys) + 1 - already))],
            "remote_engine_id": self.rank.engine_id,
            "remote_host": self.rank.engine.address,
            "remote_port": self.first_port,
        }
        if self.release.since("0.18.0rc1"):
            message.update(
                remote_block_size=block_size, remote_tp_size=self.rank.shape.tensor, remote_pcp_size=1,
                remote_dcp_size=1, remote_cached_tokens=already * block_size,
            )  # fmt: skip
        else:
            message["remote_block_ids"] = message["remote_block_ids"][0]
        asking = asyncio.ensure_future(self._ask_metaserver(meta, message))
        try:
            await waiting.wait()  # waits forever, like the real one, if the proxy has dropped the request
        finally:
            asking.cancel()
        parts = [worker.arrived.pop(request["id"], b"") for worker in self.rank.workers]
        return join_shards(parts, len(keys) - already)

    async def _ask_metaserver(self, url, message):
        for attempt in range(1, 4):
            try:
                await http.post_json(url, message)
                return
            except (OSError, ValueError, AttributeError, asyncio.IncompleteReadError) as error:
                reason = error
                log.vllm(
                    self.rank.core, f"Failed to connect to metaserver. url={url}, retry={attempt}. ", WHERE, "ERROR"
                )
        log.vllm(self.rank.core, f"Access metaserver fail. error={reason}. ", WHERE, "ERROR")
