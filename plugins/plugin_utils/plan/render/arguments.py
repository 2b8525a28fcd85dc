# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of ``vllm serve`` for one process: derived from the topology, then overridden by the user's."""

from __future__ import annotations

import typing as t

from ...description.variables import HostSettings
from ..deployment import Context
from ..placement import Instance, Process
from ..ports import Assigned
from .kv import ec_transfer_config, kv_transfer_config
from .vllm import compact, merged

# Flags of the API server, which a process without one refuses (vLLM: --headless) or ignores.
API_ONLY = ("api-server-count", "host", "port")
BLOCK_SIZE = 128  # tokens in a block of the KV cache, unless block-size says otherwise


def arguments(context: Context, instance: Instance, process: Process) -> dict[str, t.Any]:
    """Derived flags, then the user's: of all engines, of the pool, of the host."""
    pool, ports = instance.pool, context.ports[instance.process_name(process)]
    own = pool.hosts.get(process.host.name, HostSettings())
    user_options = merged(context.description.args, pool.args, own.args)
    if instance.headless(process):
        derived: dict[str, t.Any] = {"headless": True}
        user_options = {key: user_options[key] for key in user_options if key not in API_ONLY}
    else:
        derived = {"host": process.host.address, "port": ports.api}
    derived["served-model-name"] = context.served_name
    derived.update(_sizes(instance, process, ports))
    if context.engine.shutdown_timeout and context.release.shutdown_timeout:
        derived["shutdown-timeout"] = context.description.stop_timeout
    last = {key: value for key, value in _configurations(context, instance, process).items() if key not in user_options}
    if "kv-transfer-config" in {**user_options, **last} and _spread(context, instance):
        derived["cp-kv-cache-interleave-size"] = (
            user_options.get("block-size") or BLOCK_SIZE
        )  # connectors transfer blocks
    return {**derived, **{key: user_options[key] for key in sorted(user_options)}, **last}


def _spread(context: Context, instance: Instance) -> bool:
    """Whether context parallelism of an engine on NPUs spreads the KV cache; without an option by single tokens."""
    return context.engine.npus and instance.pool.context_parallel_size > 1 and context.release.vllm_version >= (0, 12)


def _configurations(context: Context, instance: Instance, process: Process) -> dict[str, str]:
    """The connectors' configurations as JSON, equal for all processes of an instance on a host."""
    key = ("configurations", instance.name, process.host.name)
    if key not in context.memo:
        found = {
            "kv-transfer-config": kv_transfer_config(context, instance, process),
            "ec-transfer-config": ec_transfer_config(context, instance),
        }
        context.memo[key] = {name: compact(value) for name, value in found.items() if value}
    return t.cast("dict[str, str]", context.memo[key])


def _sizes(instance: Instance, process: Process, ports: Assigned) -> dict[str, t.Any]:
    pool = instance.pool
    flags: dict[str, t.Any] = {"tensor-parallel-size": pool.tensor_parallel_size}
    if pool.data_parallel_size > 1:
        flags.update(_data_parallel(instance, process, ports))
    for name in ("pipeline", "prefill_context", "decode_context"):
        size = getattr(pool, f"{name}_parallel_size")
        if size > 1:
            flags[f"{name.replace('_', '-')}-parallel-size"] = size
    if pool.expert_parallel:
        flags["enable-expert-parallel"] = True
    if instance.nodes_per_rank > 1:
        flags["nnodes"] = len(instance.processes)
        flags["node-rank"] = process.number
        flags["master-addr"] = instance.first.host.address
        flags["master-port"] = ports.dp_rpc
    return flags


def _data_parallel(instance: Instance, process: Process, ports: Assigned) -> dict[str, t.Any]:
    """Options of data-parallel ranks, for vLLM's internal or external load balancing."""
    flags: dict[str, t.Any] = {"data-parallel-size": instance.pool.data_parallel_size}
    if instance.pool.load_balancing == "external":
        flags["data-parallel-rank"] = process.first_rank
    else:
        flags["data-parallel-size-local"] = process.local_ranks
        if process.first_rank:
            flags["data-parallel-start-rank"] = process.first_rank
    flags["data-parallel-address"] = instance.first.host.address
    flags["data-parallel-rpc-port"] = ports.dp_rpc
    return flags
