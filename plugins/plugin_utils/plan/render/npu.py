# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment of an engine on NPUs, by hardware, link and release. The user's variables take precedence."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ...description.variables import Host
from ..deployment import Context
from ..placement import Instance, Process
from ..service import File

CONNECT_TIMEOUT = 10000  # milliseconds, for connecting and for transferring
RDMA_TIMEOUT = 17  # 4.096 us x 2^17: half a second. HCCL tries 7 times, with its default 20 longer than CONNECT_TIMEOUT
JEMALLOC = ("/usr/lib/{}-linux-gnu/libjemalloc.so.2", "/usr/lib64/libjemalloc.so.2")
PROXY_NAMES = "http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY"
# Mutually exclusive environment variables: if the user sets one, the planner sets no other.
EXCLUSIVE = ("ASCEND_BUFFER_POOL", "ASCEND_ENABLE_USE_FABRIC_MEM", "ASCEND_USE_ASYNC_TRANSFER")
# What Mooncake's ``make install`` makes, and where the role records the finished build.
BUILT = {
    "prefix": "/usr/local",
    "libraries": "/usr/local/lib",
    "program": "/usr/local/bin/mooncake_master",
    "stamp": "/usr/local/share/ascend-inference/mooncake",
}


def npu_environment(
    context: Context, instance: Instance, process: Process, user_env: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """The planner's variables of one process; ``user_env`` are the user's, which may exclude some."""
    interface = process.host.interface
    env: dict[str, t.Any] = {
        "ASCEND_RT_VISIBLE_DEVICES": ",".join(str(device) for device in process.devices),
        "GLOO_SOCKET_IFNAME": interface,
        "HCCL_IF_BASE_PORT": context.ports[instance.process_name(process)].hccl,
        "HCCL_IF_IP": process.host.address,
        "HCCL_SOCKET_IFNAME": interface,
        "OMP_NUM_THREADS": 10,
        "OMP_PROC_BIND": "false",
        "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
        "TASK_QUEUE_ENABLE": 1,
        "TP_SOCKET_IFNAME": interface,
        "VLLM_ENGINE_READY_TIMEOUT_S": context.description.start_timeout,
    }
    if context.release.use_v1_env:
        env["VLLM_USE_V1"] = 1
    if instance.processes[-1].host is not instance.first.host:
        env["HCCL_CONNECT_TIMEOUT"] = 1200
    env.update(_transfer(context, instance, process))
    env.update(_link(context, process.host, context.transfer_of(instance.pool)))
    if context.description.kv_hold_timeout and context.release.free_timeout_env:
        env[context.release.free_timeout_env] = context.description.kv_hold_timeout
    ruled_out = EXCLUSIVE if any(name in user_env for name in EXCLUSIVE) else ()
    return {name: value for name, value in env.items() if value != "" and name not in ruled_out}


def link_of(context: Context, host: Host) -> str:
    """The link between NPUs of different hosts: inference_link, else the generation's default."""
    link = context.description.link
    return link if link != "auto" else {"a3": "hccs"}.get(host.hardware, "roce")


def _transfer(context: Context, instance: Instance, process: Process) -> dict[str, t.Any]:
    env: dict[str, t.Any] = {}
    transfers = context.transfer_of(instance.pool)
    if instance.kind == "encode":
        return env
    if any(transfer.startswith("mooncake") or transfer == "store" for transfer in transfers):
        env.update(ASCEND_CONNECT_TIMEOUT=CONNECT_TIMEOUT, ASCEND_TRANSFER_TIMEOUT=CONNECT_TIMEOUT)
    if "llmdatadist" in transfers and context.release.rank_table_env:
        env[context.release.rank_table_env] = rank_table_path(context)
        env[context.release.llmdatadist_port_env] = context.ports[instance.process_name(process)].llmdatadist
        if context.release.llmdatadist_bind_env:
            env[context.release.llmdatadist_bind_env] = process.host.address
    return env


def _link(context: Context, host: Host, transfers: t.Container[str]) -> dict[str, t.Any]:
    """Variables for the link between NPUs; the store needs more than engine-to-engine transfer.

    ACL_OP_INIT_MODE is in upstream's guides of Mooncake on A3, and in none of LLMDataDist (release notes: only for V0 speculative decoding).
    """
    link, pooled = link_of(context, host), context.store and context.description.store.backend == "mooncake"
    env: dict[str, t.Any] = {"HCCL_RDMA_TIMEOUT": RDMA_TIMEOUT} if link == "roce" and host.hardware != "950" else {}
    if host.hardware == "a3" and link == "hccs" and "llmdatadist" not in transfers:
        env["ACL_OP_INIT_MODE"] = 1
    if (host.hardware == "a2" and context.store) or (host.hardware == "a3" and link == "roce"):
        env["HCCL_INTRA_ROCE_ENABLE"] = 1
    if pooled:
        env.update(_pooled(context, host, link))
    return env


def _pooled(context: Context, host: Host, link: str) -> dict[str, t.Any]:
    release = context.release
    env: dict[str, t.Any] = {"ASCEND_AUTO_CONNECT": 1} if release.cann_version >= (9,) else {}
    if host.hardware == "a3" and link == "hccs" and release.cann_version >= (9,) and fabric(context):
        env["ASCEND_ENABLE_USE_FABRIC_MEM"] = 1
    elif host.hardware in ("a2", "a3") and release.buffer_pool_env:
        env[release.buffer_pool_env] = "0:0" if host.hardware == "a3" and link == "roce" else "4:8"
    return env


def fabric(context: Context) -> bool:
    """Whether the release's Mooncake supports fabric memory with driver 25.5 or later (kv_pool.md 5.1)."""
    return context.release.mooncake_version >= (0, 3, 11)


def rank_table_path(context: Context) -> str:
    """Path of LLMDataDist's rank table, equal on all hosts."""
    return posixpath.join(context.directory, "ranktable.json")


def sources(context: Context) -> tuple[str, ...]:
    """CANN's shell files; images source them in ~/.bashrc, which services do not read."""
    root = context.description.cann_path
    return (
        posixpath.join(root, "ascend-toolkit", "set_env.sh"),
        posixpath.join(root, "nnal", "atb", "set_env.sh"),
    )


def shell_file(context: Context, directory: str, user_env: t.Mapping[str, t.Any], preload: bool) -> File:
    """The shell file of a service: search paths that extend CANN's, jemalloc if installed, no HTTP proxy.

    ``user_env`` are the user's values that extend a variable's existing value; ``preload``: jemalloc is wanted.
    """
    toolkit = posixpath.join(context.description.cann_path, "ascend-toolkit", "latest")
    lines = ["# Written by ascend.inference; read by the service before it starts.", f"unset {PROXY_NAMES}"]
    if context.release.mooncake_install != "package" and context.everywhere:
        libraries = f"{BUILT['libraries']}:{toolkit}/python/site-packages:{toolkit}/python/site-packages/mooncake"
        lines.append(f'export LD_LIBRARY_PATH="{libraries}:${{LD_LIBRARY_PATH:-}}"')
    if preload:
        names = " ".join(JEMALLOC).format('"$(uname -m)"')
        lines.append(f"for library in {names}; do")
        lines.append('  if [ -e "$library" ]; then export LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}"; break; fi')
        lines.append("done")
    lines += [f"export {name}={_quoted(name, str(user_env[name]))}" for name in sorted(user_env)]
    return File(f"{directory}/shell.sh", "\n".join(lines) + "\n")


def preloads(context: Context, host: Host, user_env: t.Mapping[str, t.Any]) -> bool:
    """Whether an engine gets jemalloc: it does unless the host is not tuned, or the user sets LD_PRELOAD, also to nothing.

    Mooncake's store needs it (vllm-ascend #5609); vLLM-Ascend's model guides set it for engines without a store as well.
    """
    return "LD_PRELOAD" not in user_env and bool(context.store or host.tune_profile != "none")


def refers_to_itself(name: str, value: t.Any) -> bool:
    """Whether a value extends the variable itself, as in ``/opt/lib:$LD_LIBRARY_PATH``: only a shell can expand it."""
    return bool(re.search(rf"\$(?:{name}\b|{{{name}\b)", str(value)))


def _quoted(name: str, value: str) -> str:
    """A double-quoted shell string in which only the variable itself is expanded (empty if unset)."""
    pieces = re.split(rf"\$(?:{name}\b|{{{name}[^}}]*}})", value)
    safe = (re.sub(r'(["\\$`])', r"\\\1", piece) for piece in pieces)
    return '"' + f"${{{name}:-}}".join(safe) + '"'
