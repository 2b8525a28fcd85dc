# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLMDataDistCMgrConnector (0.9.1rc2 to 0.11.0): a rank table on every node, links opened on the first request, and never again."""

from __future__ import annotations

import asyncio
import json
import os
import uuid

from . import log
from .errors import Died, LoadFailed
from .ports import zmq_failure
from .worker import Worker, join_shards

PROCESS = uuid.uuid4().hex  # a link is with a process and not with an engine
WHERE = "llmdatadist_c_mgr_connector.py:785"
TABLE = "DISAGGREGATED_PREFILL_RANK_TABLE_PATH"


def read_table(path):
    """The rank table; Died like the real one if it is missing or not JSON."""
    if not path:
        raise Died(f"AssertionError: Please set path of rank_table to env variable {TABLE}")
    try:
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
    except OSError as error:
        raise Died(f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'") from error
    except ValueError as error:
        raise Died(f"json.decoder.JSONDecodeError: {error}") from error
    for key in ("decode_device_list", "prefill_device_list"):
        if key not in table:
            raise Died(f"KeyError: '{key}'")
    return table


def own_entry(table, role, address, visible, tensor_rank):
    """The table's entry of one worker: filtered by address and visible devices, then selected by tensor parallel rank."""
    devices = table["prefill_device_list" if role == "kv_producer" else "decode_device_list"]
    mine = [d for d in devices if d.get("server_id") == address and d.get("device_id") in visible]
    if len(mine) <= tensor_rank:
        raise Died(
            f"AssertionError: Can't read the target server_id {address} and device_rank {tensor_rank} from rank table"
        )
    return mine[tensor_rank]


class Link:
    """One data parallel rank's connector."""

    def __init__(self, rank, config):
        self.rank, self.config = rank, config
        role = config["kv_role"]
        if role not in ("kv_producer", "kv_consumer"):
            raise Died(
                "RuntimeError: LLMDataDistWorker: Receive unexpected kv role in LLMDataDistWorker, this worker now only "
                f"support kv_producer and kv_consumer, but receiving {role}"
            )
        release = rank.engine.release
        shape = rank.shape
        local = rank.number if shape.external else rank.number - shape.start
        self.first_port = int(os.environ.get(release.llmdatadist_port_variable, 5557)) + local * shape.tensor
        table = read_table(os.environ.get(TABLE))
        visible = [str(worker.device) for worker in rank.workers]
        clusters = [d.get("cluster_id") for side in ("prefill", "decode") for d in table[f"{side}_device_list"]]
        for worker in rank.workers:
            entry = own_entry(table, role, rank.engine.address, visible, worker.tensor_rank)
            worker.meta["agent"] = {**entry, "unique": clusters.count(entry.get("cluster_id")) == 1}
            worker.meta["real_device"] = str(worker.device)
            worker.meta["process"] = PROCESS
        self.linked = {}

    async def open(self, ports):
        for worker in self.rank.workers:
            port = self.first_port + worker.tensor_rank
            log.vllm(
                worker.name,
                f"LLMDataDistCMgrConnectorWorker: Cluster {worker.meta['agent']['cluster_id']} start to listen "
                "request from peers",
                WHERE,
            )
            made = ports.planned("0.0.0.0", port, "llmdatadist rpc", zmq_failure("0.0.0.0", port))
            await worker.listen(made)
            log.vllm(worker.name, "LLMDataDistWorker: End of register Paged Cache.", WHERE)

    async def finished(self, request, result, blocks):
        params = request.get("kv_transfer_params") or {}
        if not params.get("do_remote_decode") or result["finish_reason"] != "length":
            return None
        ids = self.rank.memory.hold(request["id"], blocks)
        log.vllm(self.rank.core, f"Delaying free of {len(ids)} blocks for request {request['id']}", WHERE)
        return {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": ids,
            "remote_engine_id": self.rank.engine_id,
            "remote_host": self.rank.engine.address,
            "remote_port": self.first_port,
            "remote_tp_size": str(self.rank.shape.tensor),
        }

    def promised(self, request):
        params = request.get("kv_transfer_params") or {}
        if not params.get("do_remote_prefill") or not params.get("remote_block_ids"):
            return False
        if not {"remote_engine_id", "remote_host", "remote_port", "remote_tp_size"} <= set(params):
            log.vllm(
                self.rank.core, f"Invalid KVTransferParams {params}, This request will be discard", WHERE, "WARNING"
            )
            return None
        return True

    async def load(self, request, keys, already):
        params = request["kv_transfer_params"]
        parts = []
        for worker in self.rank.workers:
            port = int(params["remote_port"]) + worker.tensor_rank % int(params["remote_tp_size"])
            where = (params["remote_host"], port)
            try:
                mine = {"device_ip": worker.meta["agent"].get("device_ip"), "process": PROCESS}
                peer = await worker.their_meta(*where, **mine)
                self._link(worker, peer)
                await worker.tell_linked(where, **mine)
                log.vllm(worker.name, "Try pull blocks from remote server", WHERE)
                parts.append(await worker.read(where, params["remote_block_ids"][already:]))
                await worker.tell_done(where, request["id"])
            except LoadFailed as error:
                log.vllm(worker.name, f"KV transfer task failed: {error}", WHERE, "ERROR")
                await asyncio.Event().wait()  # the real connector never reports this error: the request hangs
        return join_shards(parts, len(keys) - already)

    def _link(self, worker: Worker, peer):
        mine, theirs = worker.meta["agent"], peer.get("agent")
        if theirs is None:
            raise LoadFailed("the peer is not an LLMDataDist worker")
        name = f"pd_comm_{theirs.get('device_ip')}_{mine.get('device_ip')}"
        if self.linked.get(name) == peer["process"]:
            return
        if name in self.linked or peer["linked_with"] not in (None, PROCESS):
            # linked_cluster of either side has the cluster's id, so connect_to_remote_agent returns at once, and the pull fails
            raise LoadFailed(
                f"RuntimeError: LLMDataDistCMgrConnectorWorker: the link {name} is of a process that is gone"
            )
        log.vllm(worker.name, f"LLMDataDistCMgrConnectorWorker: try link with remote, comm id: {name}", WHERE)
        host = worker.host
        wrong = (
            mine["cluster_id"] == theirs["cluster_id"]
            or not (mine["unique"] and theirs["unique"])
            or mine["device_id"] != worker.meta["real_device"]
            or theirs["device_id"] != peer["real_device"]
            or host.hccn_address(worker.device) not in (None, mine.get("device_ip"))
            and host.generation == "a2"
            or host.generation == "a3"
            and not (mine.get("super_device_id") and theirs.get("super_device_id"))
        )
        if wrong:
            raise LoadFailed(f"RuntimeError: LLMDataDistCMgrConnectorWorker: Linking failed, comm id: {name}")
        self.linked[name] = peer["process"]
        log.vllm(worker.name, f"LLMDataDistCMgrConnectorWorker: Linking success, comm id: {name}", WHERE)
