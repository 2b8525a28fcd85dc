# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine processes: one service for each process of each instance."""

from __future__ import annotations

import posixpath
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._context import Context
from ansible_collections.ascend.inference.plugins.plugin_utils._placement import Instance, Process
from ansible_collections.ascend.inference.plugins.plugin_utils._ports import api_port
from ansible_collections.ascend.inference.plugins.plugin_utils._render.kv import kv_transfer_config
from ansible_collections.ascend.inference.plugins.plugin_utils._render.mooncake import NAME as MASTER
from ansible_collections.ascend.inference.plugins.plugin_utils._render.mooncake import client_config, engine_venv
from ansible_collections.ascend.inference.plugins.plugin_utils._render.vllm import merged, words
from ansible_collections.ascend.inference.plugins.plugin_utils._service import Health, Port, Service, Start, Stop
from ansible_collections.ascend.inference.plugins.plugin_utils._topology import HostWords


def engine_services(context: Context) -> list[Service]:
    """Every engine process of the deployment."""
    return [_service(context, instance, process) for instance in context.instances for process in instance.processes]


def is_headless(instance: Instance, process: Process) -> bool:
    """Under internal load balancing only the first process of an instance has an API server."""
    return process.number > 0 and instance.pool.load_balancing == "internal"


def _service(context: Context, instance: Instance, process: Process) -> Service:
    name = instance.process_name(process)
    directory = context.service_directory(name)
    port = api_port(context.ports[instance.name], process)
    headless = is_headless(instance, process)
    return Service(
        name=name,
        kind=instance.kind,
        host=process.host.name,
        address=process.host.address,
        instance=instance.number,
        rank=process.number,
        devices=process.devices,
        argv=(
            posixpath.join(context.venv(engine_venv(context)), "bin", "vllm"),
            "serve",
            context.description.model.path,
            *words(_arguments(context, instance, process, port)),
        ),
        env=_environment(context, instance, process, directory),
        ports=_ports(context, instance, process, port),
        files=(client_config(context, directory),) if context.store else (),
        work_directory=directory,
        log=context.log(name),
        health=None
        if headless
        else Health(f"http://{process.host.address}:{port}/health", context.description.start_timeout),
        start=Start(20, (MASTER,) if context.store else (), {"memlock": "unlimited", "nofile": 1048576}),
        stop=Stop("TERM", context.description.stop_timeout),
    )


def _arguments(context: Context, instance: Instance, process: Process, port: int) -> dict[str, t.Any]:
    """Derived flags, then the user's: of all engines, of the pool, of the host."""
    pool, description = instance.pool, context.description
    derived: dict[str, t.Any] = (
        {"headless": True} if is_headless(instance, process) else {"host": process.host.address, "port": port}
    )
    derived["served-model-name"] = description.model.name or posixpath.basename(description.model.path)
    derived["tensor-parallel-size"] = pool.tensor_parallel_size
    if pool.data_parallel_size > 1:
        derived.update(_data_parallel(context, instance, process))
    if pool.pipeline_parallel_size > 1:
        derived["pipeline-parallel-size"] = pool.pipeline_parallel_size
    if pool.prefill_context_parallel_size > 1:
        derived["prefill-context-parallel-size"] = pool.prefill_context_parallel_size
    if pool.decode_context_parallel_size > 1:
        derived["decode-context-parallel-size"] = pool.decode_context_parallel_size
    if pool.expert_parallel:
        derived["enable-expert-parallel"] = True
    own = pool.hosts.get(process.host.name, HostWords())
    asked = merged(description.args, pool.args, own.args)
    config = kv_transfer_config(context, instance)
    last = {"kv-transfer-config": config} if config and "kv-transfer-config" not in asked else {}
    return {**derived, **{key: asked[key] for key in sorted(asked)}, **last}


def _data_parallel(context: Context, instance: Instance, process: Process) -> dict[str, t.Any]:
    """Ranks, as vLLM's internal or external load balancing wants them (rules.md G3)."""
    flags: dict[str, t.Any] = {"data-parallel-size": instance.pool.data_parallel_size}
    if instance.pool.load_balancing == "external":
        flags["data-parallel-rank"] = process.first_rank
    else:
        flags["data-parallel-size-local"] = process.local_ranks
        if process.first_rank:
            flags["data-parallel-start-rank"] = process.first_rank
    flags["data-parallel-address"] = instance.first.host.address
    flags["data-parallel-rpc-port"] = context.ports[instance.name].dp_rpc
    return flags


def _environment(context: Context, instance: Instance, process: Process, directory: str) -> dict[str, str]:
    description, pool = context.description, instance.pool
    env: dict[str, t.Any] = {"VLLM_HOST_IP": process.host.address, "PYTHONHASHSEED": "0"}
    if context.store:
        env["MOONCAKE_CONFIG_PATH"] = posixpath.join(directory, "mooncake.json")
    env.update(_cpu(context, instance) if description.engine == "vllm_cpu" else _npu(context, instance, process))
    env.update(description.env)
    env.update(pool.env)
    env.update(pool.hosts.get(process.host.name, HostWords()).env)
    return {key: _text(env[key]) for key in sorted(env) if env[key] is not None}


def _cpu(context: Context, instance: Instance) -> dict[str, t.Any]:
    env: dict[str, t.Any] = {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": plugin_path(context),
        "VLLM_CACHE_ROOT": posixpath.join(context.description.root, "cache", "vllm"),
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_NO_USAGE_STATS": "1",
    }
    if context.p2p and instance.kind == "prefill":
        env["VLLM_MOONCAKE_BOOTSTRAP_PORT"] = context.ports[instance.name].bootstrap
    return env


def plugin_path(context: Context) -> str:
    """Directory of our plugin for vLLM on CPU, beside the engine's environment."""
    return posixpath.join(context.venv(engine_venv(context)), "share", "ascend_inference_cpu")


def _npu(context: Context, instance: Instance, process: Process) -> dict[str, t.Any]:
    interface = process.host.interface
    return {
        "ASCEND_RT_VISIBLE_DEVICES": ",".join(str(one) for one in process.devices),
        "GLOO_SOCKET_IFNAME": interface,
        "HCCL_IF_BASE_PORT": context.ports[instance.name].hccl,
        "HCCL_IF_IP": process.host.address,
        "HCCL_SOCKET_IFNAME": interface,
        "TP_SOCKET_IFNAME": interface,
    }


def _ports(context: Context, instance: Instance, process: Process, port: int) -> tuple[Port, ...]:
    assigned, found = context.ports[instance.name], []
    if not is_headless(instance, process):
        found.append(Port("api", port, protocol="http"))
    if context.description.engine == "vllm_cpu":
        if context.p2p and instance.kind == "prefill":
            found.append(Port("bootstrap", assigned.bootstrap, protocol="http"))
        return tuple(found)
    if context.p2p:
        size = instance.pool.rank_devices
        found.append(Port("kv", assigned.kv + process.first_rank * size, process.local_ranks * size))
    if instance.pool.data_parallel_size > 1 and process.number == 0:
        found.append(Port("dp_rpc", assigned.dp_rpc))
    found.append(Port("hccl", assigned.hccl, max(16, len(process.devices))))
    return tuple(found)


def _text(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
