# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine processes: one service for each process of each instance."""

from __future__ import annotations

import json
import posixpath
import typing as t

from ...description.variables import HostWords
from ..deployment import Context
from ..placement import Instance, Process
from ..ports import at_host
from ..service import File, Health, Port, Service, Start, Stop
from .arguments import arguments, is_headless
from .container import container
from .kv import WITH_PORT
from .memcache import NAME as META
from .memcache import local_config
from .mooncake import NAME as MASTER
from .mooncake import client_config, engine_venv
from .npu import npu_environment, rank_table_path, refers_to_itself, shell_file, sources
from .vllm import words

GRACE = 30  # seconds between an engine's own end of waiting and the runtime's SIGKILL


def engine_services(context: Context) -> list[Service]:
    """Every engine process of the deployment."""
    return [_service(context, instance, process) for instance in context.instances for process in instance.processes]


def command(context: Context, name: str) -> str:
    """A command of the engine's environment: in its directory, or by name where a container brings it."""
    return name if context.contained else posixpath.join(context.venv(engine_venv(context)), "bin", name)


def _service(context: Context, instance: Instance, process: Process) -> Service:
    name, description = instance.process_name(process), context.description
    directory = context.service_directory(name)
    port = at_host(instance, process, "api", context.ports[instance.name].api) + process.local_index
    headless = is_headless(instance, process)
    asked, for_shell = _asked(instance, process, context)
    npu = description.engine == "vllm_ascend"
    files = _files(context, instance, process, directory) + (
        (shell_file(context, directory, for_shell),) if npu else ()
    )
    return Service(
        name=name,
        kind=instance.kind,
        host=process.host.name,
        address=process.host.address,
        instance=instance.number,
        rank=process.number,
        devices=process.devices,
        argv=(
            command(context, "vllm"),
            "serve",
            instance.pool.model or description.model.path,
            *words(arguments(context, instance, process, port)),
        ),
        env=_environment(context, instance, process, directory, asked),
        secret_env={"VLLM_API_KEY": "api_key"} if "api_key" in description.secrets and not headless else {},
        ports=_ports(context, instance, process, port),
        source=(*sources(context), files[-1].path) if npu else (),
        files=files,
        work_directory=directory,
        log=context.log(name),
        health=None if headless else Health(f"http://{process.host.address}:{port}/health", description.start_timeout),
        start=Start(20, _needs(context, instance), {"memlock": "unlimited", "nofile": 1048576}),
        stop=Stop("TERM", description.stop_timeout + (GRACE if npu and context.release.shutdown_timeout else 0)),
        container=container(context, process.host, name, directory) if context.contained and npu else None,
    )


def _needs(context: Context, instance: Instance) -> tuple[str, ...]:
    """The service that keeps track of the pool, where the engine has a part in one of ours."""
    stored = "store" in context.transfer_of(instance.pool) and instance.kind != "encode"
    name = {"mooncake": MASTER, "memcache": META}.get(context.description.store.backend, "")
    return (name,) if stored and name else ()


def _files(context: Context, instance: Instance, process: Process, directory: str) -> tuple[File, ...]:
    files: tuple[File, ...] = ()
    if MASTER in _needs(context, instance):
        files += (client_config(context, directory, process.host.address),)
    if META in _needs(context, instance):
        files += (local_config(context, directory, process.host),)
    if "llmdatadist" in context.transfer_of(instance.pool):
        files += (File(rank_table_path(context), generated="rank_table"),)
    return files


def _asked(instance: Instance, process: Process, context: Context) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """The user's environment for a process, and apart what only a shell can set because it extends what is there."""
    own = instance.pool.hosts.get(process.host.name, HostWords())
    asked = {**context.description.env, **instance.pool.env, **own.env}
    shell = {}
    if context.description.engine == "vllm_ascend":
        shell = {name: value for name, value in asked.items() if refers_to_itself(name, value)}
    return {name: value for name, value in asked.items() if name not in shell}, shell


def _environment(
    context: Context, instance: Instance, process: Process, directory: str, asked: t.Mapping[str, t.Any]
) -> dict[str, str]:
    env: dict[str, t.Any] = {"VLLM_HOST_IP": process.host.address, "PYTHONHASHSEED": "0"}
    if MASTER in _needs(context, instance):
        env["MOONCAKE_CONFIG_PATH"] = posixpath.join(directory, "mooncake.json")
    if context.description.engine == "vllm_cpu":
        env.update(_cpu(context, instance))
    else:
        env.update(npu_environment(context, instance, process, asked))
    env.update(asked)
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


def _ports(context: Context, instance: Instance, process: Process, port: int) -> tuple[Port, ...]:
    assigned, found = context.ports[instance.name], []
    if not is_headless(instance, process):
        found.append(Port("api", port, protocol="http"))
    words = context.transfer_of(instance.pool) if instance.kind != "encode" else ()
    if context.description.engine == "vllm_cpu":
        if context.p2p and instance.kind == "prefill":
            found.append(Port("bootstrap", assigned.bootstrap, protocol="http"))
        return tuple(found)
    workers = process.local_ranks * instance.pool.rank_devices // instance.nodes_per_rank
    if any(one in WITH_PORT for one in words):
        found.append(Port("kv", at_host(instance, process, "kv", assigned.kv) + process.first_worker, workers))
    if "llmdatadist" in words:
        first = at_host(instance, process, "llmdatadist", assigned.llmdatadist)
        found.append(Port("llmdatadist", first + process.local_index * workers, workers))
    if process.number == 0 and (instance.pool.data_parallel_size > 1 or instance.nodes_per_rank > 1):
        found.append(Port("dp_rpc", assigned.dp_rpc))
    if process.local_index == 0:  # shared by the instance's processes on the host, by device
        found.append(Port("hccl", assigned.hccl, 16))
    return tuple(found)


def _text(value: t.Any) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"), sort_keys=True)
    return str(value).lower() if isinstance(value, bool) else str(value)
