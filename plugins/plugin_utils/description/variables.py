# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's words: what an inventory says of a deployment, as frozen records.

A word that is not known is refused with its path. Defaults that depend on the release, the engine or the hosts are
not filled here but by the planner, which knows them.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
from dataclasses import dataclass, field

from .findings import Finding
from .kubernetes import Kubernetes
from .loader import Reader, choice, firsts, number, words

POOLS = ("encode", "prefill", "decode", "colocated")
PREFIX = "inference_"

# Variables that steer the playbooks, not the deployment: the planner passes them by.
OPERATIONAL = frozenset(
    PREFIX + name
    for name in (
        "benchmark",
        "benchmark_clients",
        "benchmark_requests",
        "cache",
        "check_html",
        "check_ignore",
        "check_json",
        "group",
        "manifests_file",
        "plan",
        "plan_commands",
        "plan_file",
        "plan_only",
        "plan_show",
        "preflight",
        "prepare",
        "remove_caches",
        "remove_models",
        "report_file",
        "role_name",
        "status_file",
        "verify",
        "verify_file",
    )
)
DEVICES = {"a2": 8, "a3": 16, "950": 8, "310p": 8, "910a": 8}  # NPUs (dies) of a server of each generation
HOST_WORDS = ("address", "devices", "hardware", "interface", "memory", "super_pod")


@dataclass(frozen=True)
class Model:
    """The served model: ``path`` on every engine's host, ``name`` that clients ask for."""

    path: str
    name: str = ""
    source: str = ""
    moe: str = choice("auto", "true", "false")


@dataclass(frozen=True)
class Ports:
    """First ports, where the planner shall not choose.

    One number is the first port of the pool's first instance on a host (further instances of that host follow at a
    distance); a list has one number for each instance: of the pool, or of the host where it is given for a host.
    """

    api: tuple[int, ...] = firsts()
    kv: tuple[int, ...] = firsts()
    dp_rpc: tuple[int, ...] = firsts()
    hccl: tuple[int, ...] = firsts()
    bootstrap: tuple[int, ...] = firsts()
    llmdatadist: tuple[int, ...] = firsts()


@dataclass(frozen=True)
class HostWords:
    """What one host of a pool has of its own."""

    args: dict[str, t.Any] = words()
    env: dict[str, t.Any] = words()
    ports: Ports = field(default_factory=Ports)


@dataclass(frozen=True)
class Pool:
    """One kind of instance: how many, how large, on which hosts, with which arguments."""

    group: str = ""
    model: str = ""
    instances: int = number(1, 0)
    instances_per_host: int = number(0, 0)
    hosts_per_instance: int = number(0, 0)
    data_parallel_size: int = number(1)
    tensor_parallel_size: int = number(1)
    pipeline_parallel_size: int = number(1)
    prefill_context_parallel_size: int = number(1)
    decode_context_parallel_size: int = number(1)
    expert_parallel: bool = False
    load_balancing: str = choice("internal", "external")
    devices: tuple[int, ...] = ()
    device_offset: int = number(0, 0)
    args: dict[str, t.Any] = words()
    env: dict[str, t.Any] = words()
    kv: dict[str, t.Any] = words()
    kv_transfer: str = ""
    hosts: dict[str, HostWords] = field(default_factory=dict)
    ports: Ports = field(default_factory=Ports)

    @property
    def rank_devices(self) -> int:
        """Devices of one data-parallel rank."""
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.prefill_context_parallel_size

    @property
    def devices_per_instance(self) -> int:
        """Devices of one instance over all its hosts."""
        return self.data_parallel_size * self.rank_devices


@dataclass(frozen=True)
class Pools:
    """The pools that a deployment may have."""

    encode: Pool | None = None
    prefill: Pool | None = None
    decode: Pool | None = None
    colocated: Pool | None = None

    def present(self) -> dict[str, Pool]:
        """The pools that are described, in start order."""
        return {name: pool for name in POOLS if (pool := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Router:
    """The proxy in front of the engines."""

    flavour: str = choice(
        "", "vllm_router", "load_balance", "layerwise", "epd", "epd_layerwise", "dp", "hybrid", "none"
    )
    group: str = "router"
    port: int = number(8000, 1, 65535)
    metrics_port: int = number(0, 0, 65535)
    bind: str = ""
    frontend: str = choice("none", "nginx")
    frontend_port: int = number(8443, 1, 65535)
    frontend_status_port: int = number(8011, 1, 65535)
    frontend_bind: str = ""
    certificate: str = ""
    certificate_key: str = ""
    args: dict[str, t.Any] = words()
    env: dict[str, t.Any] = words()


@dataclass(frozen=True)
class Master:
    """mooncake_master, the store's metadata service."""

    group: str = "mooncake_master"
    port: int = number(0, 0, 65535)
    metrics_port: int = number(9003, 1, 65535)
    http_metadata_port: int = number(0, 0, 65535)
    args: dict[str, t.Any] = words()
    env: dict[str, t.Any] = words()


@dataclass(frozen=True)
class Store:
    """The pool of KV cache in host memory that engines share through Mooncake."""

    backend: str = choice("mooncake", "memcache", "yuanrong")
    segment_size: str = ""
    buffer_size: str = ""
    options: dict[str, t.Any] = words()


@dataclass(frozen=True)
class EncoderCache:
    """What encoders hand to prefill: vLLM's ec_transfer_config, through a directory that both see."""

    connector: str = "ECExampleConnector"
    path: str = ""


@dataclass(frozen=True)
class Container:
    """How containers are made, where the runtime has them."""

    os: str = choice("ubuntu", "openeuler")
    shm_size: str = "16g"
    mounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """Everything a user says of one deployment."""

    model: Model
    pools: Pools
    release: str = ""
    release_base: str = ""
    engine: str = choice("vllm_ascend", "vllm_cpu")
    engine_version: str = ""
    runtime: str = choice("systemd", "docker", "supervisor", "kubernetes")
    deployment: str = "inference"
    root: str = "/opt/ascend-inference"
    user: str = ""
    kv_transfer: str = ""
    kv_hold_timeout: int = number(0, 0)
    link: str = choice("auto", "hccs", "roce")
    hardware: str = choice("", "a2", "a3", "950", "310p", "910a", "cpu")
    devices: int = number(0, 0)
    interface: str = ""
    image: str = ""
    container: Container = field(default_factory=Container)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    cann_path: str = "/usr/local/Ascend"
    args: dict[str, t.Any] = words()
    env: dict[str, t.Any] = words()
    router: Router = field(default_factory=Router)
    mooncake_master: Master = field(default_factory=Master)
    store: Store = field(default_factory=Store)
    encoder_cache: EncoderCache = field(default_factory=EncoderCache)
    start_timeout: int = number(1800, 1)
    stop_timeout: int = number(60, 1)
    secrets: dict[str, t.Any] = words()
    rules_ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class Host:
    """One host of the inventory as the planner sees it; ``devices`` are physical ids, ``memory`` is in GiB (0: unknown)."""

    name: str
    address: str
    interface: str
    hardware: str
    devices: tuple[int, ...]
    groups: tuple[str, ...]
    memory: int = 0
    here: bool = False  # the machine that Ansible itself runs on, under one name of perhaps several


def natural(name: str) -> tuple[t.Any, ...]:
    """Sort key that puts node2 before node10."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


def read_description(variables: t.Mapping[str, t.Any]) -> tuple[Description, list[Finding]]:
    """Read ``inference_*`` variables; returns the description and every complaint about its words."""
    reader = Reader()
    raw = {
        key[len(PREFIX) :]: variables[key]
        for key in variables
        if key.startswith(PREFIX) and key not in OPERATIONAL and key[len(PREFIX) :] not in HOST_WORDS
    }
    for name in ("devices", "hardware", "interface"):
        if PREFIX + name in variables:
            raw[name] = variables[PREFIX + name]
    description = reader.record(Description, raw, "inference")
    return description, [_rename(finding) for finding in reader.findings]


def _rename(finding: Finding) -> Finding:
    """Say ``inference_pools.decode`` where the reader walked ``inference.pools.decode``."""
    return dataclasses.replace(
        finding,
        path=finding.path.replace("inference.", PREFIX, 1),
        value="" if finding.path.startswith("inference.secrets") else finding.value,
    )


def read_hosts(
    inventory: t.Mapping[str, t.Mapping[str, t.Any]], description: Description
) -> tuple[dict[str, Host], list[Finding]]:
    """Read each host's own words.

    ``inventory`` maps a host's name to ``{groups: [...], variables: {...}}``; only ``inference_address``,
    ``inference_interface``, ``inference_devices`` (a count or a list of physical ids), ``inference_hardware``,
    ``inference_memory`` (GiB), ``ansible_host`` and ``ansible_connection`` are read.
    """
    reader, hosts = Reader(), {}
    for name in sorted(inventory, key=natural):
        variables = inventory[name].get("variables", {})
        hardware = str(variables.get(PREFIX + "hardware") or description.hardware or _default_hardware(description))
        hosts[name] = Host(
            name=name,
            address=str(variables.get(PREFIX + "address") or variables.get("ansible_host") or name),
            interface=str(variables.get(PREFIX + "interface") or description.interface),
            hardware=hardware,
            devices=_devices(reader, variables.get(PREFIX + "devices", description.devices), name, hardware),
            groups=tuple(sorted(inventory[name].get("groups", ()))),
            memory=_memory(reader, variables.get(PREFIX + "memory"), name),
            here=variables.get("ansible_connection") == "local",
        )
    return hosts, reader.findings


def _memory(reader: Reader, raw: t.Any, host: str) -> int:
    """A host's memory in GiB; 0 where nobody says it."""
    try:
        return int(raw or 0)
    except (TypeError, ValueError):
        reader.complain(f"{host}.inference_memory", raw, "a number of GiB is expected here")
        return 0


def _default_hardware(description: Description) -> str:
    return "cpu" if description.engine == "vllm_cpu" else "a3"


def _devices(reader: Reader, raw: t.Any, host: str, hardware: str) -> tuple[int, ...]:
    """Physical ids of a host's devices: a list as it stands, a count from 0 on, else what the hardware has."""
    if hardware == "cpu":
        return ()
    try:
        if isinstance(raw, (list, tuple)):
            return tuple(sorted({int(one) for one in raw}))
        return tuple(range(int(raw or DEVICES.get(hardware, 8))))
    except (TypeError, ValueError):
        message = "a number of devices or a list of device ids is expected here"
        reader.complain(f"{host}.inference_devices", raw, message)
        return ()
