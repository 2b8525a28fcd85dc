# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the topology: pools, hosts and devices."""

from __future__ import annotations

import typing as t

from ....module_utils.tools.engine_kinds import ENGINE_KINDS
from ...description.findings import Finding, nearest
from ..placement import Instance, group_of, hosts_of
from ..service import every_address
from .base import Case, Rules

RULES = Rules()


@RULES.rule(
    "TOPO-POOLS", "Describe the missing pool in inference_pools.", "vllm-ascend docs: disaggregated_prefill design"
)
def pools(case: Case) -> t.Iterator[Finding]:
    """A required pool is missing.

    Requests need prefill and decode pools or a colocated pool; with only one of prefill and decode every request
    fails.
    """
    planned = case.context.description.pools
    names = ", ".join(planned.present()) or "none"
    blank = [name for name in ENGINE_KINDS if f"inference_pools.{name}" in case.empty]
    fix = "".join(f"Write {name}: {{}} if all defaults of the pool are meant. " for name in blank)
    if planned.prefill and not planned.decode and not planned.colocated:
        yield Finding.at("inference_pools", names, "there is a prefill pool but no decode pool", fix)
    if planned.decode and not planned.prefill and not planned.colocated:
        yield Finding.at("inference_pools", names, "there is a decode pool but no prefill pool", fix)
    if not (planned.prefill or planned.decode or planned.colocated):
        problem = "no pool can answer requests: define prefill and decode, or colocated"
        yield Finding.at("inference_pools", names, problem, fix)


@RULES.rule("POOL-EMPTY", "Set instances to 1 or more, or remove the pool.", "design of the planner")
def empty_pool(case: Case) -> t.Iterator[Finding]:
    """A pool has no instances.

    Nothing is started for it, so requests that need it fail.
    """
    for name, pool in case.context.description.pools.present().items():
        if not pool.instances and not case.in_pods:
            yield Finding.at(f"inference_pools.{name}.instances", 0, f"pool {name} has no instances")


@RULES.rule("POOL-HOST", "Correct the name, or put the host into the pool's group.", "design of the planner")
def pool_hosts(case: Case) -> t.Iterator[Finding]:
    """A pool has settings for a host that is not in its group.

    The settings would silently have no effect.
    """
    for name, pool in case.context.description.pools.present().items():
        members = [host.name for host in hosts_of(group_of(name, pool), case.context.hosts)]
        for host in pool.hosts:
            if host not in members:
                problem = f"host '{host}' is not in the group '{group_of(name, pool)}' of pool {name}"
                yield Finding.at(f"inference_pools.{name}.hosts.{host}", "", problem, nearest(host, members))


@RULES.rule(
    "POOL-RANK",
    "Set load_balancing: external, with which each rank is a process, and use numbers below data_parallel_size.",
    "vllm-ascend GLM5.3-Flash.md (0.30.0rc2): run_dp_template.sh exports variables of each rank",
)
def pool_ranks(case: Case) -> t.Iterator[Finding]:
    """A pool has settings for a data-parallel rank that is no process of its own.

    The settings would silently have no effect, or be those of other ranks as well.
    """
    for name, pool in case.context.description.pools.present().items():
        for rank in pool.ranks:
            path, count = f"inference_pools.{name}.ranks.{rank}", pool.data_parallel_size
            if not rank.isdecimal() or str(int(rank)) != rank or int(rank) >= count:
                yield Finding.at(path, "", f"there is no rank {rank}; an instance has the ranks 0 to {count - 1}")
            elif count > 1 and pool.load_balancing == "internal" and not case.in_pods:
                yield Finding.at(path, "", f"rank {rank} shares its process with others (load_balancing: internal)")


@RULES.rule(
    "DEV-OVERLAP", "Give the pools different devices, or let the planner choose them.", "vllm-ascend #4725, #11968"
)
def device_overlap(case: Case) -> t.Iterator[Finding]:
    """Two services are planned on the same device.

    The second process to start fails or runs out of device memory.
    """
    owner: dict[tuple[str, int], tuple[str, Instance]] = {}
    for service, instance, _process in case.engines:
        for device in service.devices:
            name, other = owner.setdefault((service.host, device), (service.name, instance))
            if name != service.name:
                blamed = other if _chosen(other) and not _chosen(instance) else instance
                problem = f"{name} and {service.name} both use device {device} of {service.host}"
                yield Finding.at(devices_path(blamed), device, problem)


def _chosen(instance: Instance) -> bool:
    """Whether the user says which devices the pool gets."""
    return bool(instance.pool.devices or instance.pool.device_offset)


def devices_path(instance: Instance) -> str:
    """The variable that sets a pool's devices."""
    if instance.pool.devices:
        return f"inference_pools.{instance.kind}.devices"
    return f"inference_pools.{instance.kind}.{'device_offset' if instance.pool.device_offset else 'instances'}"


@RULES.rule(
    "DEV-MISSING", "Correct inference_devices of the host or the pool's devices.", "CANN: invalid device id at start"
)
def devices_exist(case: Case) -> t.Iterator[Finding]:
    """A pool uses devices that the host does not have, or one of them twice.

    The engine fails to start: invalid device id, or two workers on one device.
    """
    for service, instance, process in case.engines:
        twice = sorted({device for device in service.devices if service.devices.count(device) > 1})
        if twice:
            yield Finding.at(devices_path(instance), twice, f"{service.name} would get device {_listed(twice)} twice")
        missing = [device for device in service.devices if device not in process.host.devices]
        if missing:
            problem = f"{service.host} has no device {_listed(missing)}; it has {_listed(process.host.devices)}"
            yield Finding.at(devices_path(instance), missing, problem)


def _listed(devices: t.Iterable[int]) -> str:
    return ", ".join(str(device) for device in devices) or "none"


@RULES.rule(
    "DEV-PAIRS",
    "Assign whole pairs (0 and 1, 2 and 3, ...) to each process, or use CANN 8.5.1 or newer.",
    "vllm-ascend #6597",
    "warning",
)
def device_pairs(case: Case) -> t.Iterator[Finding]:
    """A process on A3 uses only one die of an NPU.

    On A3 two devices are the two dies of one NPU; before CANN 8.5.1 a process that has only one of them fails.
    """
    if case.context.release.cann_version >= (8, 5, 1) or not case.npu:
        return
    for service, instance, process in case.engines:
        own = set(service.devices)
        single = [device for device in service.devices if device ^ 1 not in own]
        if process.host.hardware == "a3" and single:
            problem = f"{service.name} uses device {_listed(single)} without the other die of the same NPU"
            yield Finding.at(devices_path(instance), list(service.devices), problem)


@RULES.rule(
    "HARDWARE-MIX",
    "Assign hosts of one hardware generation to each instance.",
    "HCCL: one generation per communicator; vllm-ascend #5599",
)
def hardware_mix(case: Case) -> t.Iterator[Finding]:
    """An instance spans hosts of different hardware generations.

    HCCL cannot create a communicator across generations.
    """
    for instance in case.context.instances:
        kinds = sorted({process.host.hardware for process in instance.processes})
        if len(kinds) > 1:
            problem = f"{instance.name} spans hosts of {' and '.join(kinds)}"
            yield Finding.at(f"inference_pools.{instance.kind}", ", ".join(kinds), problem)


@RULES.rule(
    "HARDWARE-PD",
    "Use A2, A3 or 950 hosts, or a colocated pool without a connector.",
    "vllm-ascend Dockerfile.310p: no Mooncake; LLMDataDist: same hardware on both sides",
)
def hardware_pd(case: Case) -> t.Iterator[Finding]:
    """The hosts' hardware does not support this KV transfer.

    310P and older have no connector, and LLMDataDist does not connect different generations.
    """
    kinds: dict[str, str] = {}
    for service, instance, process in case.engines:
        hardware = process.host.hardware
        if hardware in ("310p", "910a") and case.context.transfer_of(instance.pool):
            problem = f"{service.host} is {hardware}, which cannot transfer KV cache"
            yield Finding.at(f"inference_pools.{service.kind}", hardware, problem)
        kinds.setdefault(hardware, service.kind)
    if len(kinds) > 1 and "llmdatadist" in case.context.everywhere:
        problem = f"llmdatadist cannot connect {' and '.join(sorted(kinds))}"
        yield Finding.at("inference_kv_transfer", "llmdatadist", problem)


@RULES.rule(
    "IMAGE-HARDWARE",
    "Choose a release with images for this hardware, or set inference_image to your own image.",
    "vllm-ascend Dockerfiles by tag",
)
def image_hardware(case: Case) -> t.Iterator[Finding]:
    """The release has no image for the hosts' hardware.

    An image for other hardware fails at the first operator.
    """
    description, known = case.context.description, case.context.release.image_hardware
    if not case.context.contained or description.image or not known or not case.npu:
        return
    for hardware in sorted({process.host.hardware for dummy, dummy, process in case.engines}):
        if hardware not in known:
            problem = f"release {case.context.release.name} has no image for {hardware}, only for {', '.join(known)}"
            yield Finding.at("inference_hardware", hardware, problem)


@RULES.rule(
    "HOST-ADDRESS",
    "Set inference_address of each host to its own address in the network of the cluster.",
    "vllm-ascend #2390, #3633: addresses that other hosts cannot reach",
)
def addresses(case: Case) -> t.Iterator[Finding]:
    """A host's address is not unique or not reachable by other hosts.

    Peers and the router use this address; KV transfers and requests to it fail.
    """
    used = {service.host for service in case.services}
    remote = not all(case.context.hosts[name].here for name in used)  # a single machine can use loopback addresses
    owner: dict[str, str] = {}
    for name in sorted(used):
        address = case.context.hosts[name].address
        local = address.startswith("127.") or address in ("localhost", "::1")
        if every_address(address):
            yield Finding.at(f"{name}.inference_address", address, f"{address} is not the address of a host")
        elif local and remote and len(used) > 1:
            yield Finding.at(f"{name}.inference_address", address, "other hosts cannot reach a loopback address")
        other = owner.setdefault(address, name)
        if other != name and not local:
            yield Finding.at(f"{name}.inference_address", address, f"{other} has the same address")


@RULES.rule(
    "ADDRESS-IPV6",
    "Use IPv4 addresses.",
    "vllm-ascend #4103; the proxies split host:port at the first colon",
)
def ipv6(case: Case) -> t.Iterator[Finding]:
    """An engine's host has an IPv6 address.

    Mooncake's AscendDirect refuses IPv6 up to vLLM 0.14, and the proxies cannot add IPv6 instances at run time.
    """
    for name in sorted({service.host for service, dummy, dummy in case.engines}):
        address = case.context.hosts[name].address
        if ":" in address:
            severity = "" if case.npu and case.context.release.vllm_version < (0, 15) else "warning"
            problem = f"{name} has an IPv6 address"
            yield Finding.at(f"{name}.inference_address", address, problem, severity=severity)


@RULES.rule(
    "INTERFACE",
    "Set inference_interface of the host (or of all) to the name of the network interface that has its address.",
    "vllm-ascend #167, #2390, #3633",
    "warning",
)
def interfaces(case: Case) -> t.Iterator[Finding]:
    """A host's network interface is not set.

    Gloo and HCCL then select one themselves, possibly the wrong one on hosts with several.
    """
    if not case.npu or case.in_pods:
        return
    for name in sorted({service.host for service, dummy, dummy in case.engines}):
        if not case.context.hosts[name].interface:
            yield Finding.at(f"{name}.inference_interface", "", "inference_interface is not set")


@RULES.rule(
    "SINGLE-HOST",
    "Keep one host in the group, or set another group.",
    "design of the planner: one router and one mooncake_master per deployment",
    "warning",
)
def single(case: Case) -> t.Iterator[Finding]:
    """The group of a single-instance service has several hosts.

    Only the first host runs the service; the others are ignored.
    """
    description = case.context.description
    for name, group, kind in (
        ("inference_router", description.router.group, "router"),
        ("inference_mooncake_master", description.mooncake_master.group, "mooncake_master"),
    ):
        members = [host.name for host in hosts_of(group, case.context.hosts)]
        if kind == "mooncake_master" and case.context.masters:
            continue  # several hosts are wanted
        count = sum(service.kind == kind for service in case.services)
        if len(members) > max(count, 1) and case.named(kind):
            given = f"{members[0]} gets the {kind}" if count == 1 else f"{count} of them get a {kind}"
            problem = f"group '{group}' has the hosts {', '.join(members)}; only {given}"
            yield Finding.at(f"{name}.group", group, problem)


@RULES.rule(
    "INSTANCE-SPREAD",
    "Plan more instances, set instances_per_host, or remove the hosts from the group.",
    "design of the planner",
    "warning",
)
def unused_hosts(case: Case) -> t.Iterator[Finding]:
    """Hosts of a pool's group have no instance.

    Their devices stay idle.
    """
    busy = {service.host for service in case.services}
    placed = {instance.kind for instance in case.context.instances}  # where none fits, an error says so
    for name, pool in case.context.description.pools.present().items():
        members = hosts_of(group_of(name, pool), case.context.hosts) if name in placed or not pool.instances else []
        idle = [host.name for host in members if host.name not in busy]
        if idle:
            problem = f"{', '.join(idle[:8])}{' and more' if len(idle) > 8 else ''} of pool {name} stay idle"
            yield Finding.at(f"inference_pools.{name}.instances", pool.instances, problem)
