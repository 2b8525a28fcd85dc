# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the store's backends MemCache and Yuanrong: their packages, files and sizes."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding, nearest
from ...description.meaning import close
from ...description.values import size
from ...description.variables import Master
from ...releases.release import ORDER
from ..render import memcache
from .base import Case, Rules

RULES = Rules()
GIB = 2**30
STORE, MASTER = "inference_store", "inference_mooncake_master"
# Documented keys; newer versions of MemCache have more, so only those that are spelt almost like one of them are refused
KEYS = {
    "mmc-local.conf": (
        *("ock.mmc.meta_service_url", "ock.mmc.log_level", "ock.mmc.local_service.config_store_url"),
        *("ock.mmc.local_service.world_size", "ock.mmc.local_service.protocol", "ock.mmc.local_service.dram.size"),
        *(
            "ock.mmc.local_service.max.dram.size",
            "ock.mmc.local_service.hbm.size",
            "ock.mmc.local_service.max.hbm.size",
        ),
        *("ock.mmc.local_service.storage.enabled", "ubsio.disk.path", "ubsio.mem.size_in_gb"),
        *("ubsio.standalone.device_count", "ubsio.standalone.force_new_disk"),
    ),
    "mmc-meta.conf": (
        *("ock.mmc.meta_service_url", "ock.mmc.meta_service.config_store_url", "ock.mmc.meta_service.metrics_url"),
        *(
            "ock.mmc.log_level",
            "ock.mmc.evict_threshold_high",
            "ock.mmc.evict_threshold_low",
            "ock.mmc.meta.lease_ttl_ms",
        ),
    ),
}
PROTOCOL = "ock.mmc.local_service.protocol"
PROTOCOLS = (
    *("device_rdma", "device_sdma", "device_urma", "device_uboe"),
    *("host_rdma", "host_tcp", "host_urma", "host_shm"),
)
# The first release whose package vllm-ascend requires memcache_hybrid (requirements.txt of 0.18.0 and later)
PACKAGED = "0.18.0"
YUANRONG = ("YR_CONFIG_PATH", "DS_WORKER_ADDR")


def used(case: Case, backend: str) -> bool:
    """Whether engines use the store with this backend."""
    return case.npu and case.context.store and case.context.description.store.backend == backend


@RULES.rule(
    "MEMCACHE-KEY",
    "Write the key as in mmc-local.conf (inference_store.options) or mmc-meta.conf (inference_mooncake_master.args).",
    "Ascend/memcache memcache_config.md: keys begin with ock.mmc. or ubsio.",
)
def keys(case: Case) -> t.Iterator[Finding]:
    """A setting of MemCache is not a key of its configuration.

    The keys of mooncake.json and mooncake_master mean nothing to MemCache, so the setting has no effect.
    """
    description = case.context.description
    if not used(case, "memcache"):
        return
    for path, settings, usual in (
        (f"{STORE}.options", description.store.options, "mmc-local.conf"),
        (f"{MASTER}.args", description.mooncake_master.args, "mmc-meta.conf"),
    ):
        for key in settings:
            known = KEYS[usual]
            if (
                not str(key).startswith(("ock.mmc.", "ubsio."))
                or key not in known
                and close(str(key), known, cutoff=0.95)
            ):
                yield Finding.at(
                    f"{path}.{key}", settings[key], f"{usual} has no key '{key}'", nearest(str(key), known)
                )
    if description.store.buffer_size:
        problem = "MemCache has no buffer for each rank"
        yield Finding.at(f"{STORE}.buffer_size", description.store.buffer_size, problem, "Remove it.")


@RULES.rule(
    "MEMCACHE-VALUE",
    "Write a value that MemCache takes.",
    "vllm-ascend kv_cache_pool_ascend_store.md (0.30.0rc2): parameters of mmc-local.conf and mmc-meta.conf",
)
def values(case: Case) -> t.Iterator[Finding]:
    """A value in MemCache's configuration is not valid.

    MemCache's services fail to start, or the engines contribute no memory.
    """
    description = case.context.description
    if not used(case, "memcache"):
        return
    options, path = description.store.options, f"{STORE}.segment_size"
    text = memcache.dram(case.context)
    path = f"{STORE}.options.{memcache.DRAM}" if memcache.DRAM in options else path
    found = size(text)
    if found is None:
        yield Finding.at(path, text, f"'{text}' is not a size such as 10GB")
    elif found > 1024 * GIB:
        yield Finding.at(path, text, f"{text} is more than 1TB for each rank")
    elif found % GIB and _protocol(case).startswith("device_"):
        problem = f"{text} is not a whole number of GB, in which {_protocol(case)} registers memory"
        yield Finding.at(path, text, problem, severity="warning")
    if PROTOCOL in options and str(options[PROTOCOL]) not in PROTOCOLS:
        problem = f"there is no protocol {options[PROTOCOL]}"
        yield Finding.at(
            f"{STORE}.options.{PROTOCOL}", options[PROTOCOL], problem, nearest(str(options[PROTOCOL]), PROTOCOLS)
        )
    args = description.mooncake_master.args
    for key, most in (("ock.mmc.evict_threshold_high", 99), ("ock.mmc.evict_threshold_low", 98)):
        value = str(args.get(key, 1))
        if not value.isdecimal() or not 1 <= int(value) <= most:
            yield Finding.at(f"{MASTER}.args.{key}", value, f"{value} is not a percentage from 1 to {most}")


def _protocol(case: Case) -> str:
    given = case.context.description.store.options.get(PROTOCOL)
    hosts = [process.host for dummy, dummy, process in case.engines]
    return str(given) if given else memcache.protocol(case.context, hosts[0]) if hosts else ""


@RULES.rule(
    "MEMCACHE-MEMORY",
    "Choose a smaller segment_size, or put fewer ranks on the host.",
    "vllm-ascend kv_cache_pool_ascend_store.md: dram.size is the memory of each rank",
)
def memory(case: Case) -> t.Iterator[Finding]:
    """MemCache's memory on a host is more than 60 % of the host's (inference_memory, in GiB).

    Every rank allocates its own; loading the model then runs out of memory.
    """
    if not used(case, "memcache"):
        return
    text = memcache.dram(case.context)
    each, ranks = size(text) or 0, {}
    for service, instance, process in case.engines:
        if service.kind != "encode" and "store" in case.context.transfer_of(instance.pool):
            ranks[process.host.name] = ranks.get(process.host.name, 0) + len(service.devices)
    for name, count in ranks.items():
        room = case.context.hosts[name].memory
        if room and each * count > 0.6 * room * GIB:
            problem = f"{count} ranks on {name} use {each * count // GIB} GiB of its {room} GiB"
            yield Finding.at(f"{STORE}.segment_size", text, problem)


@RULES.rule(
    "MEMCACHE-PACKAGE",
    "Use inference_runtime: docker, or a release from 0.18.0 on, whose package brings memcache_hybrid.",
    "requirements.txt of vllm-ascend 0.18.0 to 0.30.0rc2: memcache_hybrid; 0.13.0 has none",
)
def package(case: Case) -> t.Iterator[Finding]:
    """Nothing installs MemCache where its programs are planned.

    The meta service or the engines fail to start: no module memcache_hybrid.
    """
    context = case.context
    if not used(case, "memcache") or context.contained or context.description.engine_install == "site":
        return
    if context.release.name in ORDER and ORDER[context.release.name] < ORDER[PACKAGED]:
        problem = f"release {context.release.name} does not bring memcache_hybrid"
        yield Finding.at(f"{STORE}.backend", "memcache", problem)
    service = case.named("memcache_meta")
    if service and service.host not in {engine.host for engine, dummy, dummy in case.engines}:
        problem = (
            f"the meta service is planned on {service.host}, which has no engine and thus no environment with MemCache"
        )
        fix = "Set inference_mooncake_master.group to a group with a host that has engines, or use inference_runtime: docker."
        yield Finding.at(f"{MASTER}.group", context.description.mooncake_master.group, problem, fix)


@RULES.rule(
    "STORE-EXTERNAL",
    "Start the workers of Yuanrong yourself and set YR_CONFIG_PATH (or DS_WORKER_ADDR for older releases) in inference_env, or use mooncake.",
    "vllm-ascend kv_cache_pool_ascend_store.md: Yuanrong backend; the collection starts no service for it",
)
def external(case: Case) -> t.Iterator[Finding]:
    """The store's backend is not managed by the collection, and the engines have no settings for it.

    Engines look for a worker of Yuanrong and end at start.
    """
    if not used(case, "yuanrong"):
        return
    for view in case.engine_views:
        pooled = "store" in case.context.transfer_of(view.instance.pool)
        if pooled and view.kind != "encode" and not any(view.env.get(name) for name in YUANRONG):
            problem = f"the backend yuanrong needs {' or '.join(YUANRONG)}, and pool {view.kind} has none of them"
            yield Finding.at(f"{STORE}.backend", "yuanrong", problem)
    store, master = case.context.description.store, case.context.description.mooncake_master
    unread = [name for name in ("segment_size", "buffer_size", "options") if getattr(store, name)]
    if unread:
        problem = f"{', '.join(unread)} {'has' if len(unread) == 1 else 'have'} no effect with backend yuanrong"
        yield Finding.at(STORE, "", problem, "Remove it.", "warning")
    if master != Master():
        yield Finding.at(MASTER, "", f"{MASTER} has no effect with backend yuanrong", "Remove it.", "warning")
