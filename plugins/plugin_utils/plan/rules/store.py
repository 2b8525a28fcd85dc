# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the shared KV cache store: mooncake_master's options, mooncake.json, sizes and leases."""

from __future__ import annotations

import dataclasses
import posixpath
import re
import typing as t

from ...description.findings import Finding, nearest
from ...description.texts import KINDS
from ...description.values import canonical, read_json, size
from ...description.variables import Master, Store
from ...releases import options
from .base import Case, Rules
from .engine_view import extra_of

RULES = Rules()
GIB = 2**30
SMALLEST = 2**20  # bytes of a size of the store: fewer are a unit that was left out
LARGEST = 8 * 2**40  # memory of a host, in bytes
MASTER = "inference_mooncake_master.args"
OPTIONS = "inference_store.options"
LOOPBACK = re.compile(r"127\.|localhost:|\[::1\]")
# Keys of mooncake.json of releases from which nothing was collected, and those that vLLM's own connector reads on CPUs as well
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
    """mooncake_master's options and values."""
    service = case.named("mooncake_master")
    flags = [argument[2:].partition("=") for argument in (service.argv if service else ()) if argument.startswith("--")]
    return {name: value for name, dummy, value in flags}


def master_path(case: Case, flag: str) -> str:
    """Path of an option of mooncake_master."""
    for key in case.context.description.mooncake_master.args:
        if canonical(key).replace("-", "_") == flag:
            return f"{MASTER}.{key}"
    return f"{MASTER}.{flag}"


def client(case: Case) -> dict[str, t.Any]:
    """mooncake.json as the engines get it."""
    for service, dummy, dummy in case.engines:
        for file in service.files:
            if file.path.endswith("mooncake.json"):
                return t.cast("dict[str, t.Any]", read_json(file.content))
    return {}


def client_path(case: Case, key: str) -> str:
    """Path of a key of mooncake.json."""
    own = {"global_segment_size": "inference_store.segment_size", "local_buffer_size": "inference_store.buffer_size"}
    return f"{OPTIONS}.{key}" if key in case.context.description.store.options else own.get(key, f"{OPTIONS}.{key}")


def truth(raw: t.Any) -> bool:
    """Whether an option or key is true."""
    return str(raw).lower() in ("true", "1", "yes", "")


@RULES.rule(
    "MASTER-FLAG",
    "Correct or remove the option.",
    "mooncake_master --helpfull of 0.3.7.post2 to 0.3.13.post1: gflags end the process",
)
def master_flag(case: Case) -> t.Iterator[Finding]:
    """mooncake_master does not know an option.

    It fails to start, and no engine can use the store.
    """
    version = case.context.release.mooncake
    known = options.known("mooncake_master", version) if version else {}
    for flag in master_flags(case) if known else ():
        if flag in known:
            continue
        spans = options.spans("mooncake_master", flag)
        problem = f"mooncake_master {version} has no option --{flag}"
        if spans:
            since, last = spans[0].since, spans[-1].last
            problem += f"; it was added in {since}" if since else f"; it was removed after {last}"
        yield Finding.at(master_path(case, flag), "", problem, nearest(flag, known))


@RULES.rule(
    "MASTER-VALUE",
    "Set a value of the right type.",
    "mooncake_master: 'illegal value', or an abort for a ratio outside of 0 to 1",
)
def master_value(case: Case) -> t.Iterator[Finding]:
    """An option of mooncake_master has a value of the wrong type.

    mooncake_master fails to start.
    """
    known = options.known("mooncake_master", case.context.release.mooncake or options.OLDEST_MASTER)
    for flag, value in master_flags(case).items():
        kind = known[flag].kind if flag in known else ""
        expected = ""
        if kind == "int" and not re.fullmatch(r"-?\d+", value):
            expected = "a whole number"
        elif kind == "float" and not re.fullmatch(r"-?\d+(\.\d+)?([eE]-?\d+)?", value):
            expected = "a number"
        elif kind == "bool" and value.lower() not in ("true", "false", "1", "0", "yes", "no", "t", "f", "y", "n", ""):
            expected = "true or false"
        elif kind == "float" and "ratio" in flag and not 0 <= float(value) <= 1:
            expected = "a ratio from 0 to 1"
        if expected:
            yield Finding.at(master_path(case, flag), value, f"--{flag} takes {expected}, not {value or 'nothing'}")


@RULES.rule(
    "STORE-ADDRESS",
    "Write the master's host:port, or a backend's URL such as etcd://host:2379.",
    "Mooncake docs: master_server_address; vllm-ascend kv_pool.md",
)
def master_address(case: Case) -> t.Iterator[Finding]:
    """The address of the store's master is not HOST:PORT or a URL, or is each host's own.

    Engines cannot connect to the master and end at start.
    """
    value = client(case).get("master_server_address")
    if value is None or "://" in str(value):
        return
    path, hosts = client_path(case, "master_server_address"), {service.host for service, dummy, dummy in case.engines}
    apart = not any(LOOPBACK.match(f"{service.address}:") for service, dummy, dummy in case.engines)  # not one machine
    if not KINDS["endpoint"].pattern.fullmatch(str(value)):
        yield Finding.at(path, value, f"'{value}' is not an address with a port")
    elif len(hosts) > 1 and apart and LOOPBACK.match(str(value)):
        yield Finding.at(path, value, f"'{value}' means each host itself, and engines run on {len(hosts)} hosts")


@RULES.rule(
    "STORE-BACKEND-DIFFERS",
    "Set inference_store.backend, which applies to all pools.",
    "vllm-ascend ascend_store: each backend is another service",
)
def backend_differs(case: Case) -> t.Iterator[Finding]:
    """A connector names another backend than inference_store.backend.

    The planner starts the service and writes the file of one backend; engines with another one do not start or share nothing.
    """
    planned = case.context.description.store.backend
    for view in case.engine_views if case.context.store and case.npu else ():
        for connector in view.connectors:
            value = extra_of(connector).get("backend")
            if value is not None and "Store" in str(connector.get("kv_connector")) and value != planned:
                path = view.kv_path("kv_connector_extra_config", "backend")
                yield Finding.at(path, value, f"backend is {value}, and inference_store.backend is {planned}")


@RULES.rule(
    "MASTER-DERIVED",
    "Set inference_mooncake_master.port, .metrics_port or .http_metadata_port.",
    "mooncake_master: --rpc_port wins over --port with a warning",
)
def master_derived(case: Case) -> t.Iterator[Finding]:
    """A port of mooncake_master is set as an option.

    The engines' mooncake.json and the firewall use the planned port, so nothing would listen where they connect.
    """
    service, flags = case.named("mooncake_master"), master_flags(case)
    names = {"rpc_port": "rpc", "metrics_port": "metrics", "http_metadata_server_port": "http_metadata"}
    planned = {port.name: str(port.first) for port in service.ports} if service else {}
    for flag, name in names.items():
        if flag in flags and name in planned and flags[flag] != planned[name]:
            problem = f"--{flag} differs from the planned port {planned[name]}"
            yield Finding.at(master_path(case, flag), flags[flag], problem)
    if "port" in flags:
        yield Finding.at(
            master_path(case, "port"),
            flags["port"],
            "--port is the deprecated name of --rpc_port, which the planner sets",
        )


@RULES.rule(
    "MASTER-OFFLOAD", "Keep one of them.", "Mooncake master.cpp: root_fs_dir and enable_offload are mutually exclusive"
)
def offload(case: Case) -> t.Iterator[Finding]:
    """mooncake_master has two offload modes.

    root_fs_dir and enable_offload are mutually exclusive; mooncake_master fails to start.
    """
    flags = master_flags(case)
    if "root_fs_dir" in flags and truth(flags.get("enable_offload", "false")):
        problem = "root_fs_dir and enable_offload are both set"
        yield Finding.at(master_path(case, "root_fs_dir"), flags["root_fs_dir"], problem)


@RULES.rule(
    "MASTER-HA",
    "Add etcd_endpoints (or ha_backend_type and ha_backend_connstring), and inference_store.options.master_server_address: etcd://...",
    "Mooncake docs: HA; clients with a plain address never fail over",
)
def high_availability(case: Case) -> t.Iterator[Finding]:
    """The high availability of mooncake_master is incomplete.

    Standbys and clients find the leader through a backend; clients with a plain address never fail over.
    """
    flags = master_flags(case)
    if not truth(flags.get("enable_ha", "false")):
        return
    if not flags.get("etcd_endpoints") and not flags.get("ha_backend_connstring"):
        yield Finding.at(master_path(case, "enable_ha"), "true", "enable_ha is true, but no backend is configured")
    elif "://" not in str(client(case).get("master_server_address", "")):
        address = client(case).get("master_server_address")
        problem = f"enable_ha is true, but clients have the plain address {address}"
        yield Finding.at(client_path(case, "master_server_address"), address, problem)


@RULES.rule(
    "TTL-TIMEOUT",
    "Set default_kv_lease_ttl to at least one second more than the longest of ASCEND_CONNECT_TIMEOUT and ASCEND_TRANSFER_TIMEOUT.",
    "vllm-ascend kv_pool.md; Mooncake #3076: lease_expired_before_data_transfer_completed",
)
def lease(case: Case) -> t.Iterator[Finding]:
    """The lease of a key is shorter than the longest transfer.

    Keys expire while they are being read, and the transfer fails (lease_expired_before_data_transfer_completed).
    """
    if not case.npu or not case.named("mooncake_master"):
        return
    default = 5000 if case.context.release.mooncake_version < (0, 3, 12) else 10000
    ttl = master_flags(case).get("default_kv_lease_ttl", str(default))
    if not ttl.isdecimal():
        return
    names = ("ASCEND_CONNECT_TIMEOUT", "ASCEND_TRANSFER_TIMEOUT")
    longest = [
        (int(view.env[name]), view, name) for view in case.engine_views for name in names if _number(view.env, name)
    ]
    most = max(longest, key=lambda item: item[0]) if longest else None
    if most and int(ttl) < most[0] + 1000:
        problem = f"the lease of {ttl} ms is shorter than {most[2]} of {most[1].kind} ({most[0]} ms) plus one second"
        written = "default_kv_lease_ttl" in {
            canonical(key).replace("-", "_") for key in case.context.description.mooncake_master.args
        }
        path = master_path(case, "default_kv_lease_ttl") if written else most[1].env_path(most[2])
        yield Finding.at(path, ttl if written else most[0], problem)


def _number(env: t.Mapping[str, str], name: str) -> bool:
    return env.get(name, "").isdecimal()


@RULES.rule(
    "MASTER-THREADS",
    "Remove rpc_thread_num, or raise it.",
    "vllm-ascend #4269: mount_segment_to_master_failed with 64 NPUs and 4 threads",
    "warning",
)
def threads(case: Case) -> t.Iterator[Finding]:
    """mooncake_master has too few threads for its ranks.

    All ranks mount their segments at once; with too few threads the mount fails (mount_segment_to_master_failed).
    """
    count = master_flags(case).get("rpc_thread_num", "")
    ranks = sum(len(service.devices) for service, dummy, dummy in case.engines)
    need = min(max(ranks // 4, 16), 64)
    if count.isdecimal() and case.npu and ranks >= 64 and int(count) < need:
        problem = f"{count} threads are too few for {ranks} ranks, which need {need}"
        yield Finding.at(master_path(case, "rpc_thread_num"), count, problem)


@RULES.rule(
    "MASTER-CLIENT-TTL",
    "Remove client_ttl, or set it to 120.",
    "Mooncake #2621; vllm-ascend #10964: SEGMENT_NOT_FOUND",
    "warning",
)
def client_ttl(case: Case) -> t.Iterator[Finding]:
    """The client_ttl of mooncake_master is too short for busy clients.

    With CPU binding or SSD offload a client misses heartbeats; the master then drops its segment
    (SEGMENT_NOT_FOUND).
    """
    ttl = master_flags(case).get("client_ttl", "10")
    binding = any(view.mapping("additional-config").get("enable_cpu_binding") for view in case.engine_views)
    busy = binding or truth(client(case).get("enable_ssd_offload", "false"))
    if case.named("mooncake_master") and case.npu and busy and ttl.isdecimal() and int(ttl) < 120:
        reason = "enable_cpu_binding" if binding else "SSD offload"
        yield Finding.at(master_path(case, "client_ttl"), ttl, f"{ttl} s is too short with {reason}")


@RULES.rule("SEGMENT-SIZE", "Write bytes, or a number with KB, MB, GB.", "vllm-ascend kv_pool.md: global_segment_size")
def segment_size(case: Case) -> t.Iterator[Finding]:
    """A size of the store is invalid, zero, or a few bytes.

    The engine fails to start, or adds no memory to the store.
    """
    rows = [(path, value, own) for path, value, own, _kinds in segments(case)]
    value = client(case).get("local_buffer_size")
    rows += [(client_path(case, "local_buffer_size"), value, False)] if value is not None else []
    for path, value, own in rows:
        found = size(value)
        if found is None or (not found and not own):
            yield Finding.at(path, value, f"'{value}' is not a valid size greater than zero")
        elif 0 < found < SMALLEST:
            yield Finding.at(path, value, f"'{value}' is {found} bytes")
    if rows and all(
        own and size(value) == 0 for path, value, own in rows if path != client_path(case, "local_buffer_size")
    ):
        yield Finding.at(rows[0][0], 0, "no pool contributes memory to the store", "Set it for one of the pools.")


def segments(case: Case) -> list[tuple[str, t.Any, bool, tuple[str, ...]]]:
    """Each segment size of the engines' ranks: path, value, whether it is of one pool, and the pools that have it."""
    found: dict[str, tuple[t.Any, bool, tuple[str, ...]]] = {}
    for instance in case.context.storing:
        kind, pool = instance.kind, instance.pool
        own = bool(pool.store_segment_size)
        path = f"inference_pools.{kind}.store_segment_size" if own else client_path(case, "global_segment_size")
        value = pool.store_segment_size if own else _shared_segment(case)
        if value is not None:
            kinds = found[path][2] if path in found else ()
            found[path] = (value, own, kinds if kind in kinds else (*kinds, kind))
    return [(path, *row) for path, row in found.items()]


def _shared_segment(case: Case) -> t.Any:
    """global_segment_size of a pool without an own one; None if no file has it."""
    for service, instance, _process in case.engines:
        if not instance.pool.store_segment_size:
            for file in service.files:
                if file.path.endswith("mooncake.json"):
                    return read_json(file.content).get("global_segment_size")
    return None


@RULES.rule(
    "SEGMENT-POOL",
    "Remove it, or use a Mooncake store in this pool.",
    "vllm-ascend MiniMax-M3.md, GLM5.3-Flash.md (0.30.0rc2): global_segment_size 0 in decode's mooncake.json",
)
def segment_of_a_pool(case: Case) -> t.Iterator[Finding]:
    """A pool has its own segment size and no Mooncake store.

    It would silently have no effect.
    """
    backend = case.context.description.store.backend
    for name, pool in case.context.description.pools.present().items():
        uses = name != "encode" and "store" in case.context.transfer_of(pool)
        if pool.store_segment_size and not (uses and backend == "mooncake"):
            problem = (
                f"the store is {backend}, whose memory is equal for all pools" if uses else f"pool {name} uses no store"
            )
            yield Finding.at(f"inference_pools.{name}.store_segment_size", pool.store_segment_size, problem)


@RULES.rule(
    "SEGMENT-ALIGN",
    "Write a whole number of GB, such as 30GB.",
    "vllm-ascend #8420, kv_pool.md: adxl MallocMem Invalid_Argument with fabric memory",
)
def segment_align(case: Case) -> t.Iterator[Finding]:
    """The segment size is not a multiple of 1 GiB.

    NPUs map host memory in pages of that size; the allocation fails (Invalid_Argument).
    """
    for path, value, _own, _kinds in segments(case) if case.npu else ():
        segment = size(value)
        if segment and segment % GIB:
            yield Finding.at(path, value, f"{value} is not a multiple of 1 GiB")


@RULES.rule(
    "HOST-MEMORY",
    "Choose a smaller segment_size, or put fewer ranks on the host.",
    "vllm-ascend kv_pool.md: every rank mounts a segment; 60 % leaves memory to load the model",
)
def host_memory(case: Case) -> t.Iterator[Finding]:
    """The segments of a host's ranks take more than 60 % of its memory (inference_memory, in GiB), or than any host has.

    Every rank mounts its own segment; loading the model then runs out of memory.
    """
    each = {kind: (path, value) for path, value, _own, kinds in segments(case) for kind in kinds}
    hosts: dict[str, list[tuple[str, t.Any, int]]] = {}
    for service, _instance, process in case.engines:
        if service.kind in each:
            hosts.setdefault(process.host.name, []).append((*each[service.kind], max(len(service.devices), 1)))
    for name, rows in hosts.items():
        memory, ranks = getattr(case.context.hosts[name], "memory", 0), sum(count for _path, _value, count in rows)
        total = sum((size(value) or 0) * count for _path, value, count in rows)
        path, value, _count = max(rows, key=lambda row: size(row[1]) or 0)
        if total and not memory and total > LARGEST:
            problem = f"{value} for each of {ranks} ranks on {name} are {total // GIB} GiB, more than any host has"
            yield Finding.at(path, value, problem)
        if total and memory and total > 0.6 * memory * GIB:
            yield Finding.at(path, value, f"{ranks} ranks on {name} use {total // GIB} GiB of its {memory} GiB")


@RULES.rule(
    "SEGMENT-HDK",
    "Choose 32GB or less for each rank, or make sure that the driver (HDK) is 25.5 or newer and accept this rule.",
    "Mooncake #3791: 4 KB page tables on the device before HDK 25.5",
    "warning",
)
def segment_hdk(case: Case) -> t.Iterator[Finding]:
    """A rank on A2 has a segment of more than 32 GB.

    Before HDK 25.5 the driver cannot register that much host memory for a rank.
    """
    old = {service.kind for service, _instance, process in case.engines if process.host.hardware == "a2"}
    for path, value, _own, kinds in segments(case):
        if (size(value) or 0) > 32 * GIB and old & set(kinds):
            yield Finding.at(path, value, f"a rank on A2 would register {value}, more than 32 GB")


@RULES.rule(
    "STORE-PROTOCOL",
    "Remove protocol.",
    "vllm-ascend AscendStore: NotImplementedError; rules of the CPU engine: tcp",
)
def protocol(case: Case) -> t.Iterator[Finding]:
    """The store's protocol does not fit the engine.

    NPUs need ascend and the CPU engine tcp; with another protocol the engine fails to start.
    """
    value, expected = client(case).get("protocol"), case.context.engine.protocol
    if value is not None and value != expected:
        problem = (
            f"protocol is {value}, but {'NPUs' if case.npu else case.context.engine.title} can use only {expected}"
        )
        yield Finding.at(client_path(case, "protocol"), value, problem)


@RULES.rule("STORE-METADATA", "Remove metadata_server.", "vllm-ascend #5044: only P2PHANDSHAKE works")
def metadata(case: Case) -> t.Iterator[Finding]:
    """The key metadata_server is set for a store on NPUs.

    On NPUs engines exchange metadata directly; only P2PHANDSHAKE works.
    """
    value = client(case).get("metadata_server")
    if case.npu and value is not None and value != "P2PHANDSHAKE":
        yield Finding.at(client_path(case, "metadata_server"), value, f"{value} is not P2PHANDSHAKE")


@RULES.rule(
    "STORE-KEY",
    "Correct or remove the key.",
    "mooncake.json is read with .get(): an unknown key has no effect",
    "warning",
)
def store_key(case: Case) -> t.Iterator[Finding]:
    """mooncake.json has a key that the release does not read.

    It is ignored without a message, so the setting has no effect.
    """
    if case.context.description.store.backend != "mooncake":
        return  # other files, other keys
    known = (set(case.context.release.store_keys) or KEYS) if case.npu else KEYS | LATER_KEYS
    for key in case.context.description.store.options:
        if key not in known:
            value = case.context.description.store.options[key]
            problem = f"release {case.context.release.name} does not read the key '{key}'"
            yield Finding.at(f"{OPTIONS}.{key}", value, problem, nearest(key, known))


@RULES.rule(
    "STORE-BACKEND",
    "Use mooncake, or a release from 0.12.0rc1 on with NPUs.",
    "vllm-ascend AscendStoreConnector (0.12.0rc1): backend mooncake, memcache or yuanrong",
)
def backend(case: Case) -> t.Iterator[Finding]:
    """The release does not have the store's backend.

    Only AscendStoreConnector (0.12.0rc1 and later, on NPUs) supports backends other than mooncake.
    """
    value = case.context.description.store.backend
    if case.context.store and value != "mooncake" and "AscendStoreConnector" not in case.context.release.connectors:
        problem = f"release {case.context.release.name} has no {value} backend"
        yield Finding.at("inference_store.backend", value, problem)


@RULES.rule(
    "STORE-UNUSED",
    "Add store to inference_kv_transfer (mooncake+store), or remove these settings.",
    "design of the planner",
    "warning",
)
def unused(case: Case) -> t.Iterator[Finding]:
    """The store is configured, but no pool uses it.

    The settings have no effect.
    """
    description = case.context.description
    if case.context.store:
        return
    for path, settings, default in (
        ("inference_store", description.store, Store()),
        ("inference_mooncake_master", description.mooncake_master, Master()),
    ):
        if settings != default:
            changed = [
                field.name
                for field in dataclasses.fields(settings)
                if getattr(settings, field.name) != getattr(default, field.name)
            ]
            yield Finding.at(path, "", f"{', '.join(changed)} is set, but no pool uses the store")


@RULES.rule(
    "SSD-OFFLOAD",
    "Set an absolute path without '..', use release 0.23 or later, and inference_mooncake_master.args.enable_offload: true.",
    "vllm-ascend kv_pool.md (0.23): SSD offload; Mooncake 0.3.11",
)
def ssd(case: Case) -> t.Iterator[Finding]:
    """SSD offload is incomplete.

    It needs a directory, Mooncake 0.3.11 or later, and enable_offload of mooncake_master; otherwise nothing is
    written to the SSD or the engine fails to start.
    """
    config = client(case)
    if not truth(config.get("enable_ssd_offload", "false")):
        return
    path = str(config.get("ssd_offload_path", ""))
    if not posixpath.isabs(path) or ".." in path.split("/"):
        yield Finding.at(client_path(case, "ssd_offload_path"), path, f"'{path}' is not an absolute path without '..'")
    if case.context.release.mooncake_version < (0, 3, 11):
        mooncake = f"Mooncake {case.context.release.mooncake}" if case.context.release.mooncake else "no Mooncake"
        problem = f"release {case.context.release.name} has {mooncake}, which does not support SSD offload"
        yield Finding.at(client_path(case, "enable_ssd_offload"), True, problem)
    elif not truth(master_flags(case).get("enable_offload", "false")):
        yield Finding.at(client_path(case, "enable_ssd_offload"), True, "enable_offload of mooncake_master is false")
