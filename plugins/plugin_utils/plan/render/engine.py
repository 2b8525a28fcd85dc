# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine processes: one service for each process of each instance."""

from __future__ import annotations

import json
import posixpath
import typing as t

from ...description.variables import HostSettings, RankSettings
from ..deployment import Context
from ..placement import Instance, Process
from ..ports import bound, carries
from ..service import File, Health, Service, Start, Stop, base_url
from .arguments import arguments
from .container import container, with_paths
from .links import link_watch
from .metadata_services import engine_environment, metadata_service_of, service_names
from .mooncake import engine_venv
from .npu import npu_environment, preloads, rank_table_path, refers_to_itself, shell_file, sources
from .paths import seen
from .vllm import command_line

GRACE = 30  # seconds between an engine's shutdown timeout and the runtime's SIGKILL


def engine_services(context: Context) -> list[Service]:
    """Every engine process of the deployment."""
    return [_service(context, instance, process) for instance in context.instances for process in instance.processes]


def command(context: Context, name: str) -> str:
    """A command of the engine's virtual environment by path, or of a container by name."""
    return name if context.contained else context.program(engine_venv(context), name)


def _service(context: Context, instance: Instance, process: Process) -> Service:
    name, description = instance.process_name(process), context.description
    directory = context.service_directory(name)
    assigned, headless = context.ports[name], instance.headless(process)
    user_env, for_shell = _user_environment(instance, process, context)
    preload = preloads(context, process.host, {**user_env, **for_shell})
    npu, metadata_service = context.engine.npus, metadata_service_of(context, instance)
    store = metadata_service.engine_file(context, directory, process.host, instance.pool) if metadata_service else None
    model = instance.pool.model or description.model.path
    files = (
        *((store,) if store else ()),
        *_files(context, instance),
        *((shell_file(context, directory, for_shell, preload),) if npu else ()),
    )
    derived = engine_environment(context, metadata_service, store.path) if metadata_service and store else {}
    watch = link_watch(context, instance, process)
    argv = (command(context, "vllm"), "serve", model, *command_line(arguments(context, instance, process)))
    env = _environment(context, instance, process, derived, user_env)
    return Service(
        name=name,
        kind=instance.kind,
        host=process.host.name,
        address=process.host.address,
        instance=instance.number,
        rank=process.number,
        devices=process.devices,
        argv=argv,
        env=env,
        secret_env={"VLLM_API_KEY": "api_key"} if "api_key" in description.secrets and not headless else {},
        ports=bound(instance, process, assigned, context.transfer_of(instance.pool), context.engine),
        source=(*sources(context), files[-1].path) if npu else (),
        files=files,
        work_directory=directory,
        health=None
        if headless
        else Health(f"{base_url(process.host.address, assigned.api)}/health", description.start_timeout),
        start=Start(
            20,
            service_names(context, metadata_service) if metadata_service else (),
            {"memlock": "unlimited", "nofile": 1048576},
        ),
        stop=Stop(
            "TERM",
            description.stop_timeout
            + (GRACE if context.engine.shutdown_timeout and context.release.shutdown_timeout else 0),
        ),
        container=with_paths(context, container(context, process.host, name, directory, model), seen(argv, env))
        if context.contained and context.engine.images
        else None,
        link_watch=watch,
        peers=_peers(instance),
        code_directory=context.code_directory(name) if watch else "",
    )


def _peers(instance: Instance) -> tuple[str, ...]:
    """The addresses of the processes' hosts, in order; empty if it is one host."""
    addresses = tuple(dict.fromkeys(process.host.address for process in instance.processes))
    return addresses if len(addresses) > 1 else ()


def _files(context: Context, instance: Instance) -> tuple[File, ...]:
    if "llmdatadist" in context.transfer_of(instance.pool):
        return (File(rank_table_path(context), generated="rank_table"),)
    return ()


def _user_environment(
    instance: Instance, process: Process, context: Context
) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """The user's environment of a process, and separately the variables that extend themselves and need a shell."""
    own = instance.pool.hosts.get(process.host.name, HostSettings())
    rank = instance.pool.ranks.get(str(process.first_rank), RankSettings())
    user_env = {**context.description.env, **instance.pool.env, **own.env, **rank.env}
    shell = {}
    if context.engine.npus:
        shell = {name: value for name, value in user_env.items() if refers_to_itself(name, value)}
    return {name: value for name, value in user_env.items() if name not in shell}, shell


def _environment(
    context: Context,
    instance: Instance,
    process: Process,
    derived: t.Mapping[str, str],
    user_env: t.Mapping[str, t.Any],
) -> dict[str, str]:
    env: dict[str, t.Any] = {"VLLM_HOST_IP": process.host.address, "PYTHONHASHSEED": "0", **derived}
    if context.engine.npus:
        env.update(npu_environment(context, instance, process, user_env))
    env.update(_of_the_engine(context, instance, process))
    env.update(user_env)
    return {key: _text(env[key]) for key in sorted(env) if env[key] is not None}


def _of_the_engine(context: Context, instance: Instance, process: Process) -> dict[str, t.Any]:
    env: dict[str, t.Any] = dict(context.engine.environment)
    if context.engine.plugin:
        env["PYTHONPATH"] = plugin_path(context)
    if not context.engine.npus:
        env["VLLM_CACHE_ROOT"] = posixpath.join(context.shared_directory("cache"), "vllm")
    if context.engine.connectors and instance.kind == "prefill" and carries(context.transfer_of(instance.pool)):
        env["VLLM_MOONCAKE_BOOTSTRAP_PORT"] = context.ports[instance.process_name(process)].bootstrap
        if context.description.kv_hold_timeout:  # of vLLM's own connector, from 0.13 on
            env["VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"] = context.description.kv_hold_timeout
    return env


def plugin_path(context: Context) -> str:
    """Directory of our plugin for the engine, beside its environment."""
    return posixpath.join(context.venv(engine_venv(context)), "share", context.engine.plugin)


def _text(value: t.Any) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"), sort_keys=True)
    return str(value).lower() if isinstance(value, bool) else str(value)
