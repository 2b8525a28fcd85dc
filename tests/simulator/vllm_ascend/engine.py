# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine core: data parallel ranks that prefill, provide KV, fetch KV, and decode."""

from __future__ import annotations

import asyncio
import os
import time

from . import checks, log
from .errors import Died, EngineDead, LoadFailed
from .group import Master, Member
from .layerwise import Push
from .llmdatadist import Link
from .memory import Memory
from .model import Model, kv_block, token_id
from .mooncake import Pull
from .pool import Pool
from .ports import Ports, hccl_failure
from .texts import said
from .worker import Worker, device_pool, engine_pool

KINDS = {
    "MooncakeConnectorV1": Pull,
    "MooncakeHybridConnector": Pull,
    "MooncakeLayerwiseConnector": Push,
    "LLMDataDistCMgrConnector": Link,
    "AscendStoreConnector": Pool,
    "MooncakeConnectorStoreV1": Pool,
}
FACTORY = "factory.py:64"


def connector_configs(config, release):
    """The connectors of a --kv-transfer-config, MultiConnector's children one by one; Died for unknown names."""
    if not config or not config.get("kv_connector"):
        return []
    name = config["kv_connector"]
    if config.get("kv_connector_module_path") and release.since("0.20.2"):
        raise Died(
            f"AttributeError: Class {name} not found in {config['kv_connector_module_path']}"
            if "distributed.kv_transfer" in config["kv_connector_module_path"]
            else f"ModuleNotFoundError: No module named '{config['kv_connector_module_path']}'"
        )
    if name not in release.connectors():
        raise Died(f"ValueError: Unsupported connector type: {name}")
    if name != "MultiConnector":
        return [config]
    children = config["kv_connector_extra_config"].get("connectors")
    if not children:
        raise Died("AssertionError: ktcs is not None (MultiConnector needs kv_connector_extra_config.connectors)")
    inherited = {key: config[key] for key in ("engine_id", "kv_role", "kv_port", "kv_load_failure_policy")}
    whole = []
    for child in children:
        merged = {**inherited, **child, "kv_connector_extra_config": child.get("kv_connector_extra_config") or {}}
        merged["kv_port"] = int(merged["kv_port"])
        whole += connector_configs(merged, release)
    return whole


class Rank:
    """One data parallel rank: its workers, its memory, its connectors."""

    def __init__(self, engine, number, devices):
        self.engine, self.number, self.shape = engine, number, engine.shape
        self.core = f"EngineCore_DP{number}"
        base = engine.engine_id
        self.engine_id = f"{base}_dp{number}" if engine.shape.data > 1 and base else base
        self.memory = Memory(getattr(engine.args, "num_gpu_blocks_override", None) or 4096)
        self.workers = [Worker(self, place, device) for place, device in enumerate(devices)]
        self.waiting, self.finished_by = {}, {}
        self.pools, self.peers = [], []
        for config in engine.connector_configs:
            name = config["kv_connector"]
            log.vllm(self.core, f"Creating v1 connector with name: {name} and engine_id: {self.engine_id}", FACTORY)
            made = KINDS[name](self, config)
            (self.pools if isinstance(made, Pool) else self.peers).append(made)

    async def open(self, ports):
        for connector in self.peers + self.pools:
            await connector.open(ports)

    def expect(self, request):
        """An event that is set when every worker has got its part of the request's KV."""
        return self.waiting.setdefault(request, asyncio.Event())

    def done(self, request, worker):
        """Called when a peer has read (or written) this worker's part."""
        seen = self.finished_by.setdefault(request, set())
        seen.add(worker.tensor_rank)
        if len(seen) == len(self.workers):
            del self.finished_by[request]
            self.memory.free(request)
            if request in self.waiting:
                self.waiting.pop(request).set()

    # one request -------------------------------------------------------------------------------------------------

    async def run(self, request):
        """Result of a request: pieces, finish_reason, kv_transfer_params, and what the metrics count.

        ``request``: id, prompt (text), pieces, max_tokens, ignore_eos, kv_transfer_params (dict or None).
        """
        started = time.perf_counter()
        self._expire()
        pieces, size = request["pieces"], self.engine.block_size
        keys = self.engine.model.keys(pieces, size)
        result = {"prompt_tokens": len(pieces), "kv_transfer_params": None, "stop_reason": None}
        have = []
        if self.engine.prefix_caching:
            have = self.memory.cached(keys[: max(0, len(pieces) - 1) // size])
            result.update(prefix_cache_queries=len(pieces), prefix_cache_hits=len(have) * size)
        local = len(have) * size
        try:
            have, external = await self._fetch(request, keys, have, result)
        except LoadFailed:
            result.update(pieces=[], finish_reason="error", usage=self.usage())
            return result
        computed = [kv_block(key) for key in keys[len(have) :]]
        blocks = have + computed
        result["sources"] = {
            "local_compute": max(0, len(pieces) - local - external),
            "local_cache_hit": local,
            "external_kv_transfer": external,
        }
        await self._decode(request, keys, blocks, result)
        full = len(pieces) // size
        if self.engine.prefix_caching:
            self.memory.remember(keys[:full], blocks[:full])
        for connector in self.pools:
            await connector.save(request, keys, blocks)
        for connector in self.peers:
            result["kv_transfer_params"] = await connector.finished(request, result, blocks)
        result.update(usage=self.usage(), seconds=time.perf_counter() - started)
        return result

    async def _fetch(self, request, keys, have, result):
        """(blocks that need no computation, tokens of them from other engines)."""
        size, total = self.engine.block_size, len(request["pieces"])
        for connector in self.peers:
            promised = connector.promised(request)
            if promised is None:
                await asyncio.Event().wait()  # the scheduler silently drops it: the client waits forever
            if promised:
                missing = total - len(have) * size
                result.update(external_prefix_cache_queries=missing, external_prefix_cache_hits=missing)
                try:
                    return have + await connector.load(request, keys, len(have)), missing
                except LoadFailed:
                    return await self._failed(request, keys, have, missing)
        for connector in self.pools:
            count = await connector.hits(request, keys, len(have))
            tokens = min(count * size, total - 1 - len(have) * size)
            result.update(
                external_prefix_cache_queries=total - len(have) * size, external_prefix_cache_hits=max(0, tokens)
            )
            if tokens > 0:
                return have + await connector.load(keys, len(have), count), tokens
        return have, 0

    async def _failed(self, request, keys, have, missing):
        """Behaviour of the release if promised KV was not received."""
        if not self.engine.release.reports_failed_pulls:
            return have + [bytes(1024)] * (
                len(keys) - len(have)
            ), missing  # decodes with the previous content of the memory
        where = "scheduler.py:2404"
        if self.engine.load_failure_policy == "recompute":
            log.vllm(
                self.core,
                f"Recovered from KV load failure: 1 request(s) rescheduled ({missing} tokens affected).",
                where, "WARNING",
            )  # fmt: skip
            return have, missing  # counted as external although it was computed locally, as in vLLM since 0.20.2
        log.vllm(
            self.core,
            f"Failing 1 request(s) due to KV load failure (failure_policy=fail, {missing} tokens affected). "
            f"Request IDs: {{'{request['id']}'}}",
            where, "ERROR",
        )  # fmt: skip
        raise LoadFailed(request["id"])

    async def _decode(self, request, keys, blocks, result):
        found, reason = self.engine.model.generate(
            request["prompt"], request["max_tokens"], keys, blocks, request["ignore_eos"]
        )
        limit = self.engine.preempt_after
        if limit and len(found) > limit:
            found, reason = found[:limit], "stop"
            result["stop_reason"] = "recomputed"
        delay = float(os.environ.get("ASCEND_SIMULATOR_TOKEN_SECONDS") or 0)
        if delay:
            await asyncio.sleep(delay * len(found))
        result.update(pieces=found, finish_reason=reason, last_token_id=token_id(found[-1]) if found else 0)

    def _expire(self):
        seconds = float(os.environ.get(self.engine.release.free_timeout_variable) or 480)
        for request in self.memory.expire(seconds):
            self.finished_by.pop(request, None)
            if self.engine.release.since("0.23.0rc1"):
                text = said(self.engine.release.name, ("Force freed expired request",), request, f"{seconds:.0f}")
                log.vllm(self.core, text, "mooncake_connector.py:166", "ERROR")
            else:
                log.vllm(self.core, f"Force freed request: {request}", "mooncake_connector.py:166")

    def usage(self):
        self._expire()
        return self.memory.used / self.memory.total


class Engine:
    """All ranks of this process, and through the group those of the other hosts."""

    def __init__(self, args, host, release, shape, on_death):
        self.args, self.host, self.release, self.shape, self.on_death = args, host, release, shape, on_death
        config = args.kv_transfer_config or {}
        self.engine_id = config.get("engine_id")
        self.connector_configs = connector_configs(config, release)
        names = [child["kv_connector"] for child in self.connector_configs]
        checks.libraries(release, names)
        checks.chip(release, host)
        checks.account(shape)
        self.address = checks.addresses(host)
        overrides = getattr(args, "hf_overrides", None)
        self.model = Model(args.model, overrides if isinstance(overrides, dict) else None)
        checks.model(self.model, args, release, names)
        checks.parallel(args, shape, self.model, release)
        self.devices = checks.devices(host, shape)
        self.block_size = args.block_size
        caching = getattr(args, "enable_prefix_caching", None)
        self.prefix_caching = True if caching is None else caching
        self.load_failure_policy = config.get("kv_load_failure_policy") or release.load_failure_policy
        recompute = args.additional_config.get("recompute_scheduler_enable") and config.get("kv_role") == "kv_consumer"
        self.preempt_after = int(os.environ.get("ASCEND_SIMULATOR_PREEMPT_AFTER") or 0) if recompute else 0
        self.ports = Ports(host)
        self.ranks, self.group, self.sockets = {}, None, []
        self.in_flight = dict.fromkeys(range(shape.data), 0)
        self.publish_pools()

    def publish_pools(self):
        pools = []
        if any(KINDS[child["kv_connector"]] is not Link for child in self.connector_configs):
            pools.append([*engine_pool(), "Transfer Engine rpc"])
            pools += [[*device_pool(self.release, number), f"AscendDirect device {number}"] for number in self.devices]
        if any(KINDS[child["kv_connector"]] is Pool for child in self.connector_configs):
            pools.append([12300, 14300, "Mooncake store client"])
        self.host.publish_pools(pools)

    async def open(self):
        """Connect to the other ranks, bind all ports, become ready."""
        identity = {"data": self.shape.data, "tensor": self.shape.tensor, "release": self.release.name}
        if not self.shape.alone:
            identity["model"] = self.model.digest.hex()
            if self.shape.master:
                self.group = Master(self.shape, identity, self.on_death)
            else:
                self.group = Member(self.shape, identity, self.on_death, self.run_here)
            await self.group.open(self.ports)
        self._open_hccl()
        if any(KINDS[child["kv_connector"]] is Push for child in self.connector_configs):
            log.vllm("EngineCore_DP0", "simulator: layerwise pushes whole blocks, not layers")
        world = self.shape.world
        for place, number in enumerate(self.shape.ranks):
            rank = Rank(self, number, self.devices[place * world : (place + 1) * world])
            self.ranks[number] = rank
            await rank.open(self.ports)

    def _open_hccl(self):
        if self.shape.data * self.shape.world < 2:
            return
        base = int(os.environ.get("HCCL_IF_BASE_PORT") or 60000)
        address = os.environ.get("HCCL_IF_IP") or self.address
        for offset in range(len(self.devices)):
            failure = hccl_failure(address, base + offset)
            self.sockets.append(self.ports.planned(address, base + offset, "HCCL", failure))

    def lookup_socket(self, extra, number):
        """The pool's lookup socket: a file, so unique per host and not per network."""
        import socket

        folder = os.environ.get("VLLM_RPC_BASE_PATH") or "/tmp"
        value = extra.get("lookup_rpc_port", extra.get("mooncake_rpc_port", 0))
        name = f"mooncake_rpc_port_{value}"
        if self.release.since("0.12.0rc1"):
            name = f"lookup_rpc_port_{value}_dp_rank{number}"
        path = os.path.join(folder, name)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(path) == 0:
                raise Died(f"zmq.error.ZMQError: Address already in use (addr='ipc://{path}')")
        if os.path.exists(path):
            os.unlink(path)
        made.bind(path)
        made.listen(1)
        self.sockets.append(made)

    # requests ----------------------------------------------------------------------------------------------------

    async def run_here(self, number, request):
        """Result of a request on a rank of this process; a crashed engine core stops the process."""
        try:
            if self.host.planted("crashes_with"):
                raise EngineDead("EngineCore encountered an issue: a planted fault")
            return await self.ranks[number].run(request)
        except EngineDead as error:
            self.on_death(str(error))
            return {"finish_reason": "error", "pieces": [], "prompt_tokens": 0, "dead": True}

    def pick(self):
        """The rank with the least requests in flight."""
        reachable = range(self.shape.data) if not self.shape.external else self.shape.ranks
        return min(reachable, key=lambda number: (self.in_flight[number], number))

    async def run(self, number, request):
        self.in_flight[number] += 1
        try:
            if number in self.ranks:
                return await self.run_here(number, request)
            return await self.group.run(number, request)
        finally:
            self.in_flight[number] -= 1
