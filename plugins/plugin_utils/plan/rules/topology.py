# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the topology: which pools make a service, on which hosts, with which devices."""

from __future__ import annotations

import typing as t

from ...description.findings import nearest
from ..placement import group_of, hosts_of
from .base import Case, Found, Rules

RULES = Rules()


@RULES.rule(
    "TOPO-POOLS", "Describe the missing pool in inference_pools.", "vllm-ascend docs: disaggregated_prefill design"
)
def pools(case: Case) -> t.Iterator[Found]:
    """A service needs prefill and decode pools, or a colocated one."""
    words = case.context.description.pools
    serving = words.prefill or words.decode or words.colocated
    if words.prefill and not words.decode and not words.colocated:
        yield Found("inference_pools", message="there is a prefill pool but no decode pool")
    if words.decode and not words.prefill and not words.colocated:
        yield Found("inference_pools", message="there is a decode pool but no prefill pool")
    if not serving:
        yield Found("inference_pools", message="there is no pool that answers requests")


@RULES.rule("POOL-EMPTY", "Set instances to 1 or more, or leave the pool out.", "the planner")
def empty_pool(case: Case) -> t.Iterator[Found]:
    """A pool without an instance serves nothing."""
    for name, pool in case.context.description.pools.present().items():
        if not pool.instances and not case.in_pods:
            yield Found(f"inference_pools.{name}.instances", 0)


@RULES.rule("POOL-HOST", "Correct the name, or put the host into the pool's group.", "the planner")
def pool_hosts(case: Case) -> t.Iterator[Found]:
    """Words for one host of a pool name a host of that pool; a typing error would drop them silently."""
    for name, pool in case.context.description.pools.present().items():
        members = [one.name for one in hosts_of(group_of(name, pool), case.context.hosts)]
        for host in pool.hosts:
            if host not in members:
                yield Found(
                    f"inference_pools.{name}.hosts.{host}",
                    message=f"the pool has no host of this name. {nearest(host, members)}".strip(),
                )


@RULES.rule(
    "DEV-OVERLAP", "Give the pools different devices, or leave them to the planner.", "vllm-ascend #4725, #11968"
)
def device_overlap(case: Case) -> t.Iterator[Found]:
    """A device belongs to one service."""
    owner: dict[tuple[str, int], tuple[str, t.Any]] = {}
    for service, instance, _process in case.engines:
        for device in service.devices:
            name, other = owner.setdefault((service.host, device), (service.name, instance))
            if name != service.name:
                blamed = other if other.pool.devices and not instance.pool.devices else instance
                text = f"{name} and {service.name} both want this device of {service.host}"
                yield Found(devices_path(blamed), device, text)


def devices_path(instance: t.Any) -> str:
    """The word that decides on a pool's devices."""
    if instance.pool.devices:
        return f"inference_pools.{instance.kind}.devices"
    return f"inference_pools.{instance.kind}.{'device_offset' if instance.pool.device_offset else 'instances'}"


@RULES.rule(
    "DEV-MISSING", "Correct inference_devices of the host or the pool's devices.", "CANN: invalid device id at start"
)
def devices_exist(case: Case) -> t.Iterator[Found]:
    """A planned device exists on its host."""
    for service, instance, process in case.engines:
        missing = [one for one in service.devices if one not in process.host.devices]
        if missing:
            text = f"{service.host} has devices {list(process.host.devices)}"
            yield Found(devices_path(instance), missing, text)


@RULES.rule(
    "DEV-PAIRS",
    "Give each process whole pairs (0 and 1, 2 and 3, ...), or make sure that CANN is 8.5.1 or newer.",
    "vllm-ascend #6597",
    "warning",
)
def device_pairs(case: Case) -> t.Iterator[Found]:
    """On A3 two devices are the dies of one NPU, and a process that sees only one of them fails before CANN 8.5.1."""
    if case.context.release.cann_version >= (8, 5, 1) or not case.npu:
        return
    for service, instance, process in case.engines:
        own = set(service.devices)
        if process.host.hardware == "a3" and any(device ^ 1 not in own for device in own):
            yield Found(devices_path(instance), list(service.devices))


@RULES.rule(
    "HARDWARE-MIX",
    "Give every instance hosts of one generation.",
    "HCCL: one generation a communicator; vllm-ascend #5599",
)
def hardware_mix(case: Case) -> t.Iterator[Found]:
    """The hosts of one instance are of one hardware generation."""
    for one in case.context.instances:
        kinds = sorted({process.host.hardware for process in one.processes})
        if len(kinds) > 1:
            yield Found(
                f"inference_pools.{one.kind}", ", ".join(kinds), f"{one.name} spans hosts of {' and '.join(kinds)}"
            )


@RULES.rule(
    "HARDWARE-PD",
    "Use A2, A3 or 950 hosts, or a colocated pool without a connector.",
    "vllm-ascend Dockerfile.310p: no Mooncake; LLMDataDist: same hardware on both sides",
)
def hardware_pd(case: Case) -> t.Iterator[Found]:
    """The hardware can carry KV cache between engines: not 310P and older, and LLMDataDist not between generations."""
    kinds: dict[str, str] = {}
    for service, instance, process in case.engines:
        if process.host.hardware in ("310p", "910a") and case.context.transfer_of(instance.pool):
            yield Found(
                f"inference_pools.{service.kind}", process.host.hardware, f"{service.host} is {process.host.hardware}"
            )
        kinds.setdefault(process.host.hardware, service.kind)
    if len(kinds) > 1 and "llmdatadist" in case.context.everywhere:
        yield Found("inference_kv_transfer", "llmdatadist", f"it cannot connect {' and '.join(sorted(kinds))}")


@RULES.rule(
    "IMAGE-HARDWARE",
    "Choose a release with images for this hardware, or name your own with inference_image.",
    "vllm-ascend Dockerfiles by tag",
)
def image_hardware(case: Case) -> t.Iterator[Found]:
    """The release has images for the hosts' hardware."""
    description, known = case.context.description, case.context.release.image_hardware
    if description.runtime not in ("docker", "kubernetes") or description.image or not known or not case.npu:
        return
    for hardware in sorted({process.host.hardware for dummy, dummy, process in case.engines}):
        if hardware not in known:
            text = f"release {case.context.release.name} has images for {', '.join(known)}"
            yield Found("inference_hardware", hardware, text)


@RULES.rule(
    "HOST-ADDRESS",
    "Set inference_address of each host to its own address in the network of the cluster.",
    "vllm-ascend #2390, #3633: addresses that others cannot reach",
)
def addresses(case: Case) -> t.Iterator[Found]:
    """Every host has an address of its own that the others can reach."""
    used = {service.host for service in case.services}
    apart = not all(case.context.hosts[name].here for name in used)  # one machine reaches its own loopback addresses
    owner: dict[str, str] = {}
    for name in sorted(used):
        address = case.context.hosts[name].address
        local = address.startswith("127.") or address in ("localhost", "::1")
        if address in ("0.0.0.0", "::"):  # compared with, nothing binds here
            yield Found(f"{name}.inference_address", address, "this is no address of a host")
        elif local and apart and len(used) > 1:
            yield Found(f"{name}.inference_address", address, "other hosts cannot reach a loopback address")
        other = owner.setdefault(address, name)
        if other != name and not local:
            yield Found(f"{name}.inference_address", address, f"{other} has the same address")


@RULES.rule(
    "ADDRESS-IPV6",
    "Use IPv4 addresses.",
    "vllm-ascend #4103; the proxies split host:port at the first colon",
)
def ipv6(case: Case) -> t.Iterator[Found]:
    """Mooncake's AscendDirect refuses IPv6 up to 0.14, and the releases' proxies never learn IPv6 instances later."""
    for name in sorted({service.host for service, dummy, dummy in case.engines}):
        if ":" in case.context.hosts[name].address:
            severity = "" if case.npu and case.context.release.vllm_version < (0, 15) else "warning"
            yield Found(f"{name}.inference_address", case.context.hosts[name].address, severity=severity)


@RULES.rule(
    "INTERFACE",
    "Set inference_interface of the host (or of all) to the name of the network card that owns its address.",
    "vllm-ascend #167, #2390, #3633",
    "warning",
)
def interfaces(case: Case) -> t.Iterator[Found]:
    """Gloo and HCCL guess a network card where none is named, and guess wrong on hosts that have several."""
    if not case.npu or case.in_pods:
        return
    for name in sorted({service.host for service, dummy, dummy in case.engines}):
        if not case.context.hosts[name].interface:
            yield Found(f"{name}.inference_interface")


@RULES.rule(
    "SINGLE-HOST",
    "Leave one host in the group, or name another group.",
    "the planner: one router, one mooncake_master in a deployment",
    "warning",
)
def single(case: Case) -> t.Iterator[Found]:
    """A group whose service exists once holds one host; of several only the first is used."""
    words = case.context.description
    for name, group, kind in (
        ("inference_router", words.router.group, "router"),
        ("inference_mooncake_master", words.mooncake_master.group, "mooncake_master"),
    ):
        members = hosts_of(group, case.context.hosts)
        if len(members) > 1 and case.named(kind):
            yield Found(
                f"{name}.group", group, f"{', '.join(one.name for one in members)} are in it, {members[0].name} is used"
            )


@RULES.rule(
    "INSTANCE-SPREAD",
    "Give every instance a host, or set instances_per_host.",
    "the planner",
    "warning",
)
def unused_hosts(case: Case) -> t.Iterator[Found]:
    """Hosts of a pool's group that carry no instance stay idle."""
    busy = {service.host for service in case.services}
    for name, pool in case.context.description.pools.present().items():
        idle = [one.name for one in hosts_of(group_of(name, pool), case.context.hosts) if one.name not in busy]
        if idle:
            yield Found(f"inference_pools.{name}.instances", pool.instances, f"idle: {', '.join(idle[:8])}")
