# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MemCache, another backend of the store: its meta service, and the engines' configuration file.

Keys and defaults: Ascend/memcache doc/memcache_config.md; vLLM-Ascend docs, kv_pool.md and layerwise_kv_pool.md. The meta
service's metrics use port 8000 by default, which is our router's; it gets mooncake_master's metrics port instead.
"""

from __future__ import annotations

import posixpath
import typing as t

from ...description.variables import Host, Pool
from ..deployment import Context
from ..service import File, Port, Service, Start, Stop, bracketed
from .container import container
from .mooncake import HTTP_METADATA, RPC, engine_venv
from .npu import link_of, sources

NAME = "memcache-meta"
START = "from memcache_hybrid import MetaService; MetaService.main()"
DRAM = "ock.mmc.local_service.dram.size"
WORLD = 256  # the configured number of ranks is a multiple of it, so that scaling out rarely changes the file


def meta_service(context: Context, host: Host) -> Service:
    """The meta service on ``host``; ``inference_mooncake_master.args`` sets keys of its file (``ock.mmc.…``)."""
    master, (meta, store) = context.description.mooncake_master, ports(context)
    directory = context.service_directory(NAME)
    path = posixpath.join(directory, "mmc-meta.conf")
    settings = {
        "ock.mmc.meta_service_url": f"tcp://{bracketed(host.address)}:{meta}",
        "ock.mmc.meta_service.config_store_url": f"tcp://{bracketed(host.address)}:{store}",
        "ock.mmc.meta_service.metrics_url": f"http://127.0.0.1:{master.metrics_port}",
        "ock.mmc.meta.lease_ttl_ms": 30000,
        **master.args,
    }
    python = "python3" if context.contained else context.program(engine_venv(context))
    return Service(
        name=NAME,
        kind="memcache_meta",
        host=host.name,
        address=host.address,
        argv=(python, "-c", START),
        env={"MMC_META_CONFIG_PATH": path, **{key: str(master.env[key]) for key in sorted(master.env)}},
        source=sources(context),
        files=(File(path, _lines(settings)),),
        ports=(Port("meta", meta), Port("config_store", store), Port("metrics", master.metrics_port, protocol="http")),
        work_directory=directory,
        start=Start(10),
        stop=Stop("TERM", 30),
        container=container(context, host, NAME, directory) if context.contained else None,
    )


def ports(context: Context) -> tuple[int, int]:
    """Ports of the meta service and of its configuration store."""
    master = context.description.mooncake_master
    return master.port or RPC, master.http_metadata_port or HTTP_METADATA


def local_path(directory: str) -> str:
    """Path of an engine's file."""
    return posixpath.join(directory, "mmc-local.conf")


def local_config(context: Context, directory: str, host: Host, _pool: Pool) -> File:
    """The file of an engine on ``host``; the memory size is per rank. ``inference_store.options`` sets keys of it."""
    meta, store = ports(context)
    address = context.master.address if context.master else ""
    settings = {
        "ock.mmc.meta_service_url": f"tcp://{bracketed(address)}:{meta}",
        "ock.mmc.local_service.config_store_url": f"tcp://{bracketed(address)}:{store}",
        "ock.mmc.local_service.world_size": max(1, -(-context.store_ranks // WORLD)) * WORLD,
        "ock.mmc.local_service.protocol": protocol(context, host),
        **context.description.store.options,
        DRAM: dram(context),
    }
    return File(local_path(directory), _lines(settings))


def dram(context: Context) -> str:
    """Memory of each rank, as text such as 10GB."""
    store = context.description.store
    return str(store.options.get(DRAM) or store.segment_size or "1GB")


def protocol(context: Context, host: Host) -> str:
    """The protocol between the engines' memories: by the link between the hosts."""
    return "device_sdma" if link_of(context, host) == "hccs" else "device_rdma"


def _lines(settings: t.Mapping[str, t.Any]) -> str:
    return "".join(f"{key} = {_text(settings[key])}\n" for key in sorted(settings))


def _text(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
