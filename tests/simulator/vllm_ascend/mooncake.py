# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MooncakeConnectorV1 and MooncakeHybridConnector: the decoder pulls KV from the prefill's kv ports."""

from __future__ import annotations

import time

from . import log
from .errors import EngineDead, LoadFailed
from .texts import said
from .worker import join_shards

WHERE = "mooncake_connector.py:561"


class Pull:
    """One data parallel rank's connector.  Source: mooncake_connector.py of the releases named in release.py."""

    binds_for = ("kv_producer",)

    def __init__(self, rank, config):
        self.rank, self.config = rank, config
        self.release = rank.engine.release
        shape = rank.shape
        self.first_port = config["kv_port"] + rank.number * shape.world
        self.extra = config["kv_connector_extra_config"]
        self.peers = {}  # (engine id, port) -> metadata; cached forever, like the real connector
        log.vllm(rank.core, f"Initializing Mooncake Scheduler {rank.engine_id}", WHERE)

    async def open(self, ports):
        for offset, worker in enumerate(self.rank.workers):
            await worker.open_engine(ports)
            if self.config["kv_role"] in self.binds_for:
                await self._listen(ports, worker, self.first_port + offset)

    async def _listen(self, ports, worker, port):
        path = f"tcp://{worker.address}:{port}"
        if self.release.since("0.21.0rc1"):
            line = f"KVCacheSendingThread started listening on path: {path}. Thread: tp_rank={worker.tensor_rank}, pp_rank=0, pcp_rank=0"
        else:
            line = f"Starting listening on path: {path}"
        log.vllm(worker.name, line, WHERE)
        try:
            await worker.open_planned(ports, port, "kv_port")
        except Exception as error:
            error.args = (f"{error}\nRuntimeError: KV Cache sending/receiving thread failed to start.",)
            raise

    # prefill ---------------------------------------------------------------------------------------------------------

    async def finished(self, request, result, blocks):
        """kv_transfer_params of the response for a decoder on another engine."""
        params = request.get("kv_transfer_params") or {}
        if not params.get("do_remote_decode") or result["finish_reason"] != "length":
            return None
        ids = self.rank.memory.hold(request["id"], blocks)
        log.vllm(self.rank.core, f"Delaying free of {len(ids)} blocks for request {request['id']}", WHERE)
        answer = {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": [ids] if self.release.since("0.21.0rc1") else ids,
            "remote_engine_id": self.rank.engine_id,
            "remote_host": self.rank.engine.address,
            "remote_port": self.first_port,
            "last_token_id": result["last_token_id"],
        }
        if self.release.since("0.13.0rc1"):
            answer.update(
                remote_pcp_size=1, remote_dcp_size=1, remote_multi_nodes_meta_mapping={}, num_prompt_blocks=len(blocks)
            )
        if self.release.since("0.14.0rc1"):
            answer["remote_request_id"] = request["id"]
        if self.release.since("0.15.0rc1"):
            answer["remote_ptp_size"] = self.rank.shape.tensor
        if self.release.since("0.21.0rc1"):
            answer["remote_block_size"] = self.rank.engine.block_size
        return answer

    # decode ----------------------------------------------------------------------------------------------------------

    def promised(self, request):
        """Whether this request's KV comes from another engine; EngineDead or None (hangs) like the real scheduler."""
        params = request.get("kv_transfer_params") or {}
        if not params.get("do_remote_prefill"):
            return False
        if not params.get("remote_block_ids"):
            raise EngineDead(f"AssertionError: num_external_tokens == 0, kv_transfer_params={params}")
        needed = {"remote_engine_id", "remote_host", "remote_port"}
        if self.release.since("0.14.0rc1"):
            needed.add("remote_request_id")
        if not needed <= set(params):
            log.vllm(self.rank.core, f"Got invalid KVTransferParams. params={params}. ", WHERE, "WARNING")
            return None
        return True

    async def load(self, request, keys, already):
        """Blocks of the prompt from ``already`` on, pulled from the prefill named in the request."""
        params = request["kv_transfer_params"]
        ids = params["remote_block_ids"]
        ids = ids[0] if ids and isinstance(ids[0], list) else ids
        wanted = ids[already:]
        name = params.get("remote_request_id") or request["id"]
        ranks = params.get("remote_ptp_size") or (self.extra.get("prefill") or {}).get("tp_size")
        ranks = ranks or self.rank.shape.tensor
        parts, mine = [], self.rank.shape.tensor
        for number in range(ranks):
            worker = self.rank.workers[number * mine // ranks if ranks >= mine else number]
            parts.append(await self._pull(worker, params, int(params["remote_port"]) + number, wanted, name))
        return join_shards(parts, len(keys) - already)

    async def _pull(self, worker, params, port, ids, name):
        started = time.perf_counter()
        engine = params["remote_engine_id"]
        try:
            peer = self.peers.get((engine, port))
            if peer is None:
                peer = await worker.their_meta(params["remote_host"], port)
                if peer["engine_id"] == self.rank.engine_id:
                    raise EngineDead(
                        f"AssertionError: Conflict engine id {peer['engine_id']} with local engine id {self.rank.engine_id}."
                    )
                self.peers[(peer["engine_id"], port)] = peer
            if (engine, port) not in self.peers:
                raise LoadFailed(f"KeyError: {engine!r}")
            if not self._direct():
                log.glog(f"Failed to connect to target: {peer['link'][0]}:{peer['link'][1]}, status: 103900", level="E")
                raise LoadFailed("ret: -1 (use_ascend_direct is not set)")
            data = await worker.read(peer["link"], ids)
        except LoadFailed as error:
            text = said(self.release.name, ("Mooncake transfer failed for request",), name, -1)
            log.vllm(worker.name, text, WHERE, "ERROR")
            log.vllm(worker.name, f"RuntimeError: Mooncake transfer failed, ret: -1 ({error})", WHERE, "ERROR")
            raise
        await self._tell(worker, params["remote_host"], port, name)
        took = (time.perf_counter() - started) * 1000
        amount = "" if self.release.since("0.21.0rc1") else f" (1 groups, {len(ids)} blocks)"
        log.vllm(
            worker.name,
            f"KV cache transfer for request {name} took {took:.2f} ms{amount}. local_ip {worker.address} "
            f"local_device_id {worker.tensor_rank} remote_session_id {peer['link'][0]}:{peer['te_rpc_port']}",
            WHERE,
        )
        return data

    async def _tell(self, worker, address, port, name):
        try:
            await worker.tell_done((address, port), name)
        except LoadFailed as error:
            log.vllm(worker.name, f"Receive failed after all retries. source={address}:{port}, {error}", WHERE, "ERROR")

    def _direct(self):
        old = self.release.since("0.10.2rc1") and not self.release.since("0.12.0rc1")
        return bool(self.extra.get("use_ascend_direct")) if old else True
