# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the pool of KV cache: mooncake_master's flags, mooncake.json, sizes and leases."""

from __future__ import annotations

import json
import posixpath
import re
import typing as t

from ...description.findings import nearest
from ...description.variables import Master, Store
from ...releases import options
from ..render.vllm import canonical
from .base import Case, Found, Rules

RULES = Rules()
GIB = 2**30
MASTER = "inference_mooncake_master.args"
OPTIONS = "inference_store.options"
# mooncake.json as vllm-ascend's AscendStore backend reads it, and what came with 0.23 (SSD, placement)
KEYS = {
    "local_hostname",
    "metadata_server",
    "protocol",
    "device_name",
    "master_server_address",
    "global_segment_size",
    "local_buffer_size",
    "use_ascend_direct",
    "alloc_in_same_node",
}
LATER_KEYS = {"preferred_segment", "prefer_alloc_in_same_node", "enable_ssd_offload", "ssd_offload_path"}


def master_flags(case: Case) -> dict[str, str]:
    """mooncake_master's flags and values."""
    service = case.named("mooncake_master")
    words = [one[2:].partition("=") for one in (service.argv if service else ()) if one.startswith("--")]
    return {name: value for name, dummy, value in words}


def master_path(case: Case, flag: str) -> str:
    """Where a flag of mooncake_master stands."""
    for key in case.context.description.mooncake_master.args:
        if canonical(key).replace("-", "_") == flag:
            return f"{MASTER}.{key}"
    return {"rpc_port": "inference_mooncake_master.port", "metrics_port": "inference_mooncake_master.metrics_port"}.get(
        flag, f"{MASTER}.{flag}"
    )


def client(case: Case) -> dict[str, t.Any]:
    """mooncake.json as the engines get it."""
    for service, dummy, dummy in case.engines:
        for file in service.files:
            if file.path.endswith("mooncake.json"):
                return t.cast("dict[str, t.Any]", json.loads(file.content))
    return {}


def client_path(case: Case, key: str) -> str:
    """Where a key of mooncake.json stands."""
    own = {"global_segment_size": "inference_store.segment_size", "local_buffer_size": "inference_store.buffer_size"}
    return f"{OPTIONS}.{key}" if key in case.context.description.store.options else own.get(key, f"{OPTIONS}.{key}")


def size(raw: t.Any) -> int | None:
    """A size in bytes: 1073741824, '30GB', '512mb'; None where it is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", str(raw).strip().lower())
    if not found:
        return None
    return int(float(found.group(1)) * 2 ** {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[found.group(2)])


def truth(raw: t.Any) -> bool:
    """Whether a flag or key is switched on."""
    return str(raw).lower() in ("true", "1", "yes", "")


@RULES.rule(
    "MASTER-FLAG",
    "Correct or remove the flag.",
    "mooncake_master --helpfull of 0.3.7.post2 to 0.3.13.post1: gflags end the process",
)
def master_flag(case: Case) -> t.Iterator[Found]:
    """mooncake_master knows every flag: an unknown one ends it at start."""
    version = case.context.release.mooncake
    known = options.known("mooncake_master", version) if version else {}
    for flag in master_flags(case) if known else ():
        if flag in known:
            continue
        spans = options.spans("mooncake_master", flag)
        text = f"mooncake_master {version} has no flag --{flag}"
        if spans:
            text += f"; it came with {spans[0].since}" if spans[0].since else f"; it went after {spans[-1].last}"
        yield Found(master_path(case, flag), message=text, fix=nearest(flag, known).strip())


@RULES.rule(
    "MASTER-VALUE",
    "Write a value of the right kind.",
    "mooncake_master: 'illegal value', or an abort for a ratio outside of 0 to 1",
)
def master_value(case: Case) -> t.Iterator[Found]:
    """mooncake_master's values are of the kind that it reads."""
    known = options.known("mooncake_master", case.context.release.mooncake or options.OLDEST_MASTER)
    for flag, value in master_flags(case).items():
        kind = known[flag].kind if flag in known else ""
        problem = ""
        if kind == "int" and not re.fullmatch(r"-?\d+", value):
            problem = "a whole number is expected"
        elif kind == "float" and not re.fullmatch(r"-?\d+(\.\d+)?([eE]-?\d+)?", value):
            problem = "a number is expected"
        elif kind == "bool" and value.lower() not in ("true", "false", "1", "0", "yes", "no", "t", "f", "y", "n", ""):
            problem = "true or false is expected"
        elif kind == "float" and "ratio" in flag and not 0 <= float(value) <= 1:
            problem = "a ratio from 0 to 1 is expected"
        if problem:
            yield Found(master_path(case, flag), value, problem)


@RULES.rule(
    "MASTER-DERIVED",
    "Set inference_mooncake_master.port, .metrics_port or .http_metadata_port.",
    "mooncake_master: --rpc_port wins over --port with a warning",
)
def master_derived(case: Case) -> t.Iterator[Found]:
    """mooncake_master's ports are said once, where the engines' mooncake.json and the firewall read them too."""
    service, flags = case.named("mooncake_master"), master_flags(case)
    names = {"rpc_port": "rpc", "metrics_port": "metrics", "http_metadata_server_port": "http_metadata"}
    planned = {one.name: str(one.first) for one in service.ports} if service else {}
    for flag, name in names.items():
        if flag in flags and name in planned and flags[flag] != planned[name]:
            yield Found(master_path(case, flag), flags[flag], f"the plan has {planned[name]}")
    if "port" in flags:
        yield Found(master_path(case, "port"), flags["port"], "--port is the old name of --rpc_port, which wins")


@RULES.rule(
    "MASTER-OFFLOAD", "Keep one of them.", "Mooncake master.cpp: root_fs_dir and enable_offload exclude each other"
)
def offload(case: Case) -> t.Iterator[Found]:
    """mooncake_master offloads either to root_fs_dir or with enable_offload."""
    flags = master_flags(case)
    if "root_fs_dir" in flags and truth(flags.get("enable_offload", "false")):
        yield Found(master_path(case, "root_fs_dir"), flags["root_fs_dir"])


@RULES.rule(
    "MASTER-HA",
    "Add etcd_endpoints (or ha_backend_type and ha_backend_connstring), and inference_store.options.master_server_address: etcd://...",
    "Mooncake docs: HA; clients with a plain address never fail over",
)
def high_availability(case: Case) -> t.Iterator[Found]:
    """A master with enable_ha has a backend, and its clients ask the backend for the leader."""
    flags = master_flags(case)
    if not truth(flags.get("enable_ha", "false")):
        return
    if not flags.get("etcd_endpoints") and not flags.get("ha_backend_connstring"):
        yield Found(master_path(case, "enable_ha"), "true", "no backend is named")
    elif "://" not in str(client(case).get("master_server_address", "")):
        address = client(case).get("master_server_address")
        yield Found(
            client_path(case, "master_server_address"), address, "a client with a plain address never fails over"
        )


@RULES.rule(
    "TTL-TIMEOUT",
    "Raise default_kv_lease_ttl a second above the longest of ASCEND_CONNECT_TIMEOUT and ASCEND_TRANSFER_TIMEOUT.",
    "vllm-ascend kv_pool.md; Mooncake #3076: lease_expired_before_data_transfer_completed",
)
def lease(case: Case) -> t.Iterator[Found]:
    """A key's lease outlives the longest transfer by a second, or keys vanish while they are read."""
    if not case.npu or not case.named("mooncake_master"):
        return
    default = 5000 if case.context.release.mooncake_version < (0, 3, 12) else 10000
    told = master_flags(case).get("default_kv_lease_ttl", str(default))
    if not told.isdecimal():
        return
    names = ("ASCEND_CONNECT_TIMEOUT", "ASCEND_TRANSFER_TIMEOUT")
    longest = [
        (int(words.env[name]), words, name) for words in case.words for name in names if _number(words.env, name)
    ]
    most = max(longest, key=lambda one: one[0]) if longest else None
    if most and int(told) < most[0] + 1000:
        text = f"the lease is {told} ms, {most[2]} of {most[1].kind} is {most[0]} ms"
        asked = "default_kv_lease_ttl" in {
            canonical(one).replace("-", "_") for one in case.context.description.mooncake_master.args
        }
        path = master_path(case, "default_kv_lease_ttl") if asked else most[1].env_path(most[2])
        yield Found(path, told if asked else most[0], text)


def _number(env: t.Mapping[str, str], name: str) -> bool:
    return env.get(name, "").isdecimal()


@RULES.rule(
    "MASTER-THREADS",
    "Leave rpc_thread_num out, or raise it.",
    "vllm-ascend #4269: mount_segment_to_master_failed with 64 NPUs and 4 threads",
    "warning",
)
def threads(case: Case) -> t.Iterator[Found]:
    """mooncake_master has a thread for every four ranks, from 16 to 64: they all mount their segments at once."""
    told = master_flags(case).get("rpc_thread_num", "")
    ranks = sum(len(service.devices) for service, dummy, dummy in case.engines)
    need = min(max(ranks // 4, 16), 64)
    if told.isdecimal() and case.npu and ranks >= 64 and int(told) < need:
        yield Found(master_path(case, "rpc_thread_num"), told, f"{ranks} ranks want {need}")


@RULES.rule(
    "MASTER-CLIENT-TTL",
    "Leave client_ttl out, or set it to 120.",
    "Mooncake #2621; vllm-ascend #10964: SEGMENT_NOT_FOUND",
    "warning",
)
def client_ttl(case: Case) -> t.Iterator[Found]:
    """A busy client misses its heartbeats: with enable_cpu_binding or SSD offload the master waits 120 s for it."""
    told = master_flags(case).get("client_ttl", "10")
    binding = any(one.mapping("additional-config").get("enable_cpu_binding") for one in case.words)
    busy = binding or truth(client(case).get("enable_ssd_offload", "false"))
    if case.named("mooncake_master") and case.npu and busy and told.isdecimal() and int(told) < 120:
        yield Found(master_path(case, "client_ttl"), told)


@RULES.rule("SEGMENT-SIZE", "Write bytes, or a number with KB, MB, GB.", "vllm-ascend kv_pool.md: global_segment_size")
def segment_size(case: Case) -> t.Iterator[Found]:
    """The segment and the buffer have a size that is understood and not nothing."""
    for key in ("global_segment_size", "local_buffer_size"):
        told = client(case).get(key)
        if told is not None and not size(told):
            yield Found(client_path(case, key), told)


@RULES.rule(
    "SEGMENT-ALIGN",
    "Write a whole number of GB, such as 30GB.",
    "vllm-ascend #8420, kv_pool.md: adxl MallocMem Invalid_Argument with fabric memory",
)
def segment_align(case: Case) -> t.Iterator[Found]:
    """Each rank's segment is a multiple of 1 GiB: NPUs map host memory in pages of that size."""
    told = size(client(case).get("global_segment_size", GIB))
    if case.npu and told and told % GIB:
        yield Found(client_path(case, "global_segment_size"), client(case)["global_segment_size"])


@RULES.rule(
    "HOST-MEMORY",
    "Choose a smaller segment_size, or put fewer ranks on the host.",
    "vllm-ascend kv_pool.md: every rank mounts a segment; 60 % leaves room for the model's loading",
)
def host_memory(case: Case) -> t.Iterator[Found]:
    """The segments of a host's ranks take no more than 60 % of its memory (inference_memory, in GiB)."""
    told, ranks = size(client(case).get("global_segment_size", 0)), {}
    for service, dummy, process in case.engines:
        if service.kind != "encode":
            ranks[process.host.name] = ranks.get(process.host.name, 0) + max(len(service.devices), 1)
    for name in ranks:
        memory = getattr(case.context.hosts[name], "memory", 0)
        if told and memory and told * ranks[name] > 0.6 * memory * GIB:
            text = f"{ranks[name]} ranks on {name} take {told * ranks[name] // GIB} GiB of its {memory} GiB"
            yield Found(client_path(case, "global_segment_size"), client(case)["global_segment_size"], text)


@RULES.rule(
    "SEGMENT-HDK",
    "Choose 32GB or less for each rank, or make sure that the driver (HDK) is 25.5 or newer and accept this rule.",
    "Mooncake #3791: 4 KB page tables on the device before HDK 25.5",
    "warning",
)
def segment_hdk(case: Case) -> t.Iterator[Found]:
    """On A2 a rank registers more than 32 GB of host memory only with HDK 25.5 or newer."""
    told = size(client(case).get("global_segment_size", 0))
    if told and told > 32 * GIB and any(process.host.hardware == "a2" for dummy, dummy, process in case.engines):
        yield Found(client_path(case, "global_segment_size"), client(case)["global_segment_size"])


@RULES.rule(
    "STORE-PROTOCOL",
    "Leave protocol out.",
    "vllm-ascend AscendStore: NotImplementedError; rules of the CPU engine: tcp",
)
def protocol(case: Case) -> t.Iterator[Found]:
    """The pool's protocol is ascend on NPUs and tcp on CPU."""
    told, wanted = client(case).get("protocol"), "ascend" if case.npu else "tcp"
    if told is not None and told != wanted:
        yield Found(client_path(case, "protocol"), told, f"{wanted} is expected")


@RULES.rule(
    "STORE-METADATA", "Leave metadata_server out.", "vllm-ascend #5044: P2PHANDSHAKE is the only one that works"
)
def metadata(case: Case) -> t.Iterator[Found]:
    """On NPUs engines find each other themselves: metadata_server is P2PHANDSHAKE."""
    told = client(case).get("metadata_server")
    if case.npu and told is not None and told != "P2PHANDSHAKE":
        yield Found(client_path(case, "metadata_server"), told)


@RULES.rule(
    "STORE-KEY",
    "Correct or remove the key.",
    "mooncake.json is read with .get(): an unknown key does nothing",
    "warning",
)
def store_key(case: Case) -> t.Iterator[Found]:
    """mooncake.json has keys that the release reads."""
    known = KEYS | (LATER_KEYS if not case.npu or case.context.release.vllm_version >= (0, 21) else set())
    for key in case.context.description.store.options:
        if key not in known:
            yield Found(
                f"{OPTIONS}.{key}", case.context.description.store.options[key], fix=nearest(key, known).strip()
            )


@RULES.rule(
    "STORE-BACKEND",
    "Use mooncake, or a release from 0.12.0rc1 on with NPUs.",
    "vllm-ascend AscendStoreConnector (0.12.0rc1): backend mooncake, memcache or yuanrong",
)
def backend(case: Case) -> t.Iterator[Found]:
    """The store's backend is one that the release has."""
    told = case.context.description.store.backend
    if case.context.store and told != "mooncake" and "AscendStoreConnector" not in case.context.release.connectors:
        yield Found("inference_store.backend", told)


@RULES.rule(
    "STORE-UNUSED",
    "Add store to inference_kv_transfer (mooncake+store), or remove these words.",
    "the planner",
    "warning",
)
def unused(case: Case) -> t.Iterator[Found]:
    """Words for the pool of KV cache do something: some pool uses the store."""
    words = case.context.description
    if case.context.store:
        return
    for path, told, default in (
        ("inference_store", words.store, Store()),
        ("inference_mooncake_master", words.mooncake_master, Master()),
    ):
        if told != default:
            yield Found(path, message="no pool uses the store, so this does nothing")


@RULES.rule(
    "SSD-OFFLOAD",
    "Give an absolute path without '..', a release from 0.23 on, and inference_mooncake_master.args.enable_offload: true.",
    "vllm-ascend kv_pool.md (0.23): SSD offload; Mooncake 0.3.11",
)
def ssd(case: Case) -> t.Iterator[Found]:
    """Offloading to SSD has a path, a Mooncake that can and a master that does."""
    config = client(case)
    if not truth(config.get("enable_ssd_offload", "false")):
        return
    path = str(config.get("ssd_offload_path", ""))
    if not posixpath.isabs(path) or ".." in path.split("/"):
        yield Found(client_path(case, "ssd_offload_path"), path, "an absolute path without '..' is expected")
    if case.context.release.mooncake_version < (0, 3, 11):
        text = f"release {case.context.release.name} has Mooncake {case.context.release.mooncake or 'none'}"
        yield Found(client_path(case, "enable_ssd_offload"), True, text)
    elif not truth(master_flags(case).get("enable_offload", "false")):
        yield Found(client_path(case, "enable_ssd_offload"), True, "mooncake_master does not offload")
