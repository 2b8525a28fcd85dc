# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mooncake's store: the master's command line and the clients' mooncake.json."""

from __future__ import annotations

import json
import posixpath
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._context import Context
from ansible_collections.ascend.inference.plugins.plugin_utils._render.vllm import merged
from ansible_collections.ascend.inference.plugins.plugin_utils._service import File, Health, Port, Service, Start, Stop
from ansible_collections.ascend.inference.plugins.plugin_utils._topology import Host

NAME = "mooncake-master"
RPC, HTTP_METADATA = 9400, 9401


def ports(context: Context) -> tuple[int, int, int]:
    """RPC, metrics and HTTP metadata ports of the master; the last is 0 where engines find each other themselves."""
    words = context.description.mooncake_master
    http = words.http_metadata_port or (HTTP_METADATA if context.description.engine == "vllm_cpu" else 0)
    return words.port or RPC, words.metrics_port, http


def master_service(context: Context, host: Host) -> Service:
    """mooncake_master on ``host``; flags are gflags, an unknown one ends the process (rules.md §6.2)."""
    words, (rpc, metrics, http) = context.description.mooncake_master, ports(context)
    flags: dict[str, t.Any] = {"rpc_address": host.address, "rpc_port": rpc, "metrics_port": metrics}
    if http:
        flags.update(enable_http_metadata_server="true", http_metadata_server_host=host.address)
        flags["http_metadata_server_port"] = http
    flags.update({key.replace("-", "_"): value for key, value in merged(words.args).items()})
    binary = posixpath.join(context.venv(engine_venv(context)), "bin", "mooncake_master")
    planned = [Port("rpc", rpc), Port("metrics", metrics, protocol="http")]
    return Service(
        name=NAME,
        kind="mooncake_master",
        host=host.name,
        address=host.address,
        argv=(binary, *(f"--{key}={_word(flags[key])}" for key in flags if flags[key] is not None)),
        env={key: str(words.env[key]) for key in sorted(words.env)},
        ports=tuple(planned + ([Port("http_metadata", http, protocol="http")] if http else [])),
        work_directory=context.service_directory(NAME),
        log=context.log(NAME),
        start=Start(10),
        health=Health(f"http://{host.address}:{metrics}/health", 120),
        stop=Stop("TERM", 30),
    )


def client_config(context: Context, directory: str) -> File:
    """mooncake.json of one engine: strict JSON, keys of the release (rules.md §6.1)."""
    rpc, _metrics, http = ports(context)
    address = context.master.address if context.master else ""
    cpu = context.description.engine == "vllm_cpu"
    store = context.description.store
    config: dict[str, t.Any] = {
        "metadata_server": f"http://{address}:{http}/metadata" if cpu else "P2PHANDSHAKE",
        "master_server_address": f"{address}:{rpc}",
        "protocol": "tcp" if cpu else "ascend",
        "device_name": "",
        "global_segment_size": _size(store.segment_size or ("512mb" if cpu else "1GB")),
    }
    if cpu or store.buffer_size:
        config["local_buffer_size"] = _size(store.buffer_size or "128mb")
    config.update(store.options)
    return File(posixpath.join(directory, "mooncake.json"), json.dumps(config, indent=2, sort_keys=True) + "\n")


def engine_venv(context: Context) -> str:
    """Name of the engine's virtual environment: one for each release, so that an upgrade never damages what runs."""
    return f"{context.description.engine}-{context.release.name.replace('cpu-', '')}"


def _size(raw: str) -> int | str:
    return int(raw) if raw.isdigit() else raw


def _word(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
