# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mooncake's store: the master's command line and the clients' mooncake.json."""

from __future__ import annotations

import json
import posixpath
import typing as t

from ...description.values import size
from ...description.variables import Host, Pool
from ..deployment import Context
from ..service import File, Health, Port, Service, Start, Stop, base_url, bracketed
from .container import container
from .npu import BUILT, CONNECT_TIMEOUT, sources
from .store_ha import endpoints, master_flags
from .vllm import merged

NAME = "mooncake-master"
# Below the ephemeral range, so that it need not be reserved, unlike 50088 of upstream's documents.
RPC, HTTP_METADATA = 9400, 9401


def ports(context: Context) -> tuple[int, int, int]:
    """RPC, metrics and HTTP metadata ports of the master; the last is 0 if engines exchange metadata directly."""
    master = context.description.mooncake_master
    alone = context.engine.metadata_server and not context.masters  # else the metadata would end with a master
    http = master.http_metadata_port or (HTTP_METADATA if alone else 0)
    return master.port or RPC, master.metrics_port, http


def master_names(context: Context) -> tuple[str, ...]:
    """The services of all masters; only several ones have numbers."""
    return tuple(f"{NAME}-{number}" for number in range(len(context.masters))) or (NAME,)


def master_service(context: Context, host: Host, number: int = 0) -> Service:
    """mooncake_master on ``host``; it exits with an unknown option (gflags)."""
    master, (rpc, metrics, http) = context.description.mooncake_master, ports(context)
    npu = context.engine.npus
    flags: dict[str, t.Any] = {"rpc_address": host.address, "rpc_port": rpc, "metrics_port": metrics}
    if http:
        flags.update(enable_http_metadata_server="true", http_metadata_server_host=host.address)
        flags["http_metadata_server_port"] = http
    flags.update(master_flags(context, host))
    if npu:
        flags.update(_npu_flags(context, host))
    flags.update({key.replace("-", "_"): value for key, value in merged(master.args).items()})
    planned = [Port("rpc", rpc), Port("metrics", metrics, protocol="http")]
    name = master_names(context)[number]
    directory = context.service_directory(name)
    return Service(
        name=name,
        kind="mooncake_master",
        host=host.name,
        address=host.address,
        instance=number,
        argv=(_binary(context), *(f"--{key}={_text(flags[key])}" for key in flags if flags[key] is not None)),
        env={key: str(master.env[key]) for key in sorted(master.env)},
        source=sources(context) if npu else (),
        ports=tuple(planned + ([Port("http_metadata", http, protocol="http")] if http else [])),
        work_directory=directory,
        start=Start(10),
        health=Health(f"{base_url(host.address, metrics)}/health", 120),
        stop=Stop("TERM", 30),
        container=container(context, host, name, directory) if context.engine.images and context.contained else None,
    )


def _binary(context: Context) -> str:
    if context.contained:
        return "mooncake_master"
    if context.release.mooncake_install != "package":
        return BUILT["program"]
    return context.program(engine_venv(context), "mooncake_master")


def _npu_flags(context: Context, host: Host) -> dict[str, t.Any]:
    """Options for many ranks and the engines' timeouts; only those that this Mooncake version has.

    64 RPC threads are enough for 64 ranks that mount their segments at once (vllm-ascend #4269); a number that grew with the
    deployment would restart the master, and lose all keys, whenever an instance is added. The lease must exceed the
    longest transfer by a second (kv_pool.md), otherwise keys expire while they are read; it is rendered in milliseconds,
    because "11s" is supported only from 0.3.10.post1 on.
    """
    flags: dict[str, t.Any] = {
        "rpc_thread_num": 64,
        "default_kv_lease_ttl": longest_timeout(context) + 1000,
        "eviction_high_watermark_ratio": 0.9,
        "eviction_ratio": 0.1,
        "client_ttl": 120,
        "metrics_host": host.address,
    }
    return {name: value for name, value in flags.items() if context.release.master_knows(name)}


def longest_timeout(context: Context) -> int:
    """The longest transfer timeout of all engines, in milliseconds."""
    pools = context.description.pools.present().values()
    layers = [context.description.env, *(pool.env for pool in pools)]
    layers += [settings.env for pool in pools for settings in (*pool.hosts.values(), *pool.ranks.values())]
    names = ("ASCEND_CONNECT_TIMEOUT", "ASCEND_TRANSFER_TIMEOUT")
    values = [str(layer[name]) for layer in layers for name in names if name in layer]
    return max([CONNECT_TIMEOUT, *(int(line) for line in values if line.isdecimal())])


def client_config(context: Context, directory: str, host: Host, pool: Pool) -> File:
    """mooncake.json of an engine of ``pool`` on ``host``: strict JSON, keys of the release.

    The segment size is per rank; a pool may have its own. Releases 0.11.x need it in bytes, and their own address.
    """
    rpc, _metrics, http = ports(context)
    address = context.master.address if context.master else ""
    engine, store = context.engine, context.description.store
    config: dict[str, t.Any] = {
        "metadata_server": f"{base_url(address, http)}/metadata" if engine.metadata_server and http else "P2PHANDSHAKE",
        "master_server_address": f"etcd://{endpoints(context)}" if context.masters else f"{bracketed(address)}:{rpc}",
        "protocol": engine.protocol,
        "device_name": "",
        "global_segment_size": _size(store.segment_size or engine.segment_size),
    }
    if store.buffer_size or engine.buffer_size:
        config["local_buffer_size"] = _size(store.buffer_size or engine.buffer_size)
    if context.release.store_port_key == "mooncake_rpc_port":
        config.update(local_hostname=host.address, use_ascend_direct=True, alloc_in_same_node=True)
        config["global_segment_size"] = segment_bytes(context) or config["global_segment_size"]
    config.update(store.options)
    if pool.store_segment_size:
        config["global_segment_size"] = segment_bytes(context, pool)
    return File(posixpath.join(directory, "mooncake.json"), json.dumps(config, indent=2, sort_keys=True) + "\n")


def segment_bytes(context: Context, pool: Pool | None = None) -> int:
    """The segment size of each rank (of a pool), in bytes; 0 if it is invalid or the pool contributes none."""
    own = pool.store_segment_size if pool else ""
    return size(own or context.description.store.segment_size or context.engine.segment_size) or 0


def contributes(context: Context, pool: Pool) -> bool:
    """Whether the ranks of a pool mount a segment, which makes them clients that the master counts."""
    return not pool.store_segment_size or segment_bytes(context, pool) > 0


def engine_venv(context: Context) -> str:
    """Name of the engine's virtual environment: one for each release, so that an upgrade does not change the running one."""
    prefixed = (
        context.engine.release_prefix
    )  # such a release is a version of vLLM, or one that inference_engine_version states
    return f"{context.engine.name}-{context.release.vllm if prefixed else context.release.name}"


def _size(raw: str) -> int | str:
    return int(raw) if raw.isdecimal() else raw


def _text(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
