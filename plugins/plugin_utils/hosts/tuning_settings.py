# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a host's profile of tuning and its facts to the settings that it gets. Pure.

Sources: vLLM-Ascend's optimization_and_tuning, sections 4.1 to 4.3 (swappiness, NUMA balancing, governor); its cpu_binding.py (interrupts);
its kv_pool guide (huge pages). Limits of units and ``vm.max_map_count`` belong to every deployment, tuned or not (role service).
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...module_utils.host.cpu_list import parse_cpus, spell_cpus
from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from .cpu_slices import Slices, housekeeping, slices
from .observed import Observed, Record, npus_by_device

SAFE = {
    "vm.swappiness": "1",  # 0 would let the kernel end processes although memory could be swapped
    "kernel.numa_balancing": "0",  # moves pages of engines that are bound to a NUMA node
}
GOVERNORS = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"  # missing on many Kunpeng hosts
PAGES = "/sys/kernel/mm/transparent_hugepage/"
# always lets the kernel compact memory in page faults, which stalls engines (TensorRT-LLM #15431)
TRANSPARENT = {"enabled": "madvise", "defrag": "defer+madvise"}
HUGE = "vm.nr_hugepages"
SHARE = 0.6  # of the memory that huge pages may take (knowledge of Mooncake's store)
BALANCER = "irqbalance.service"
UNITS = "/etc/systemd/system"
DROP_IN = "50-ascend-inference-tuning.conf"
HEAD = "# Written by the Ansible collection ascend.inference (playbook tune). Removed when the settings are set back.\n[Service]\n"


@dataclass(frozen=True)
class Wanted:
    """The options of host_tuning, the slices behind them, and what prevents settings: ``problems`` by rule, as (device or None, value, text)."""

    sysctl: dict[str, str] = field(default_factory=dict)
    sysfs: dict[str, str] = field(default_factory=dict)
    interrupts: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    services: dict[str, str] = field(default_factory=dict)
    devices: dict[int, str] = field(default_factory=dict)  # PCI address of each device whose interrupts are bound
    problems: dict[str, list[tuple[int | None, str, str]]] = field(default_factory=dict)

    def options(self) -> dict[str, t.Any]:
        """The options of host_tuning."""
        return {name: getattr(self, name) for name in ("sysctl", "sysfs", "interrupts", "files", "services")}

    def add(self, rule: str, device: int | None, value: t.Any, problem: str) -> None:
        """Note what prevents a setting."""
        self.problems.setdefault(rule, []).append((device, str(value), problem))


def state_of(case: Observed, host: Record) -> Record:
    """The gathered state of a host's settings; empty if it was not gathered."""
    return t.cast("Record", case.part(host, "host").get("tuning") or {})


def wanted(case: Observed, host: Record) -> Wanted:
    """The settings of a host. Without facts, or with the profile none, there are no settings."""
    tune, state, found = host.get("tune") or {}, state_of(case, host), Wanted()
    if not state or tune.get("profile", "none") == "none":
        return found
    found.sysctl.update(SAFE)
    found.sysfs[GOVERNORS] = "performance"
    if tune["profile"] == "latency":
        if tune["transparent_huge_pages"]:
            found.sysfs.update({PAGES + name: value for name, value in TRANSPARENT.items()})
        _huge_pages(tune, state, found)
        _latency(case, host, tune, state, found)
    return found


def _huge_pages(tune: Record, state: Record, found: Wanted) -> None:
    """At least the pages of the store's segments; others' pages are never taken away."""
    mib, memory = int(tune["huge_pages_mib"]), state.get("memory") or {}
    size, total = int(memory.get("hugepage_size_kib") or 0), int(memory.get("memory_total_mib") or 0)
    if not mib or not size or HUGE not in state["sysctl"]:
        return
    if mib > SHARE * total:
        text = f"the store's segments need {mib} MiB in huge pages, and 60 % of the memory are {int(SHARE * total)} MiB"
        found.add("TUNE-HUGE-PAGES", None, f"{mib} MiB", text)
        return
    before = state["remembered"].get("/proc/sys/vm/nr_hugepages") or state["sysctl"][HUGE]
    found.sysctl[HUGE] = str(max(-(-mib * 1024 // size), int(before.strip() or 0)))


def _latency(case: Observed, host: Record, tune: Record, state: Record, found: Wanted) -> None:
    nodes = {int(node): parse_cpus(cpus) for node, cpus in state["nodes"].items()}
    count = int(tune["housekeeping"])
    if count and not case.plan["runtime_settings"].get("drop_ins"):
        text = "only units of systemd can be kept off housekeeping CPUs, so there are none"
        found.add("TUNE-HOUSEKEEPING", None, str(count), text)
        count = 0  # vLLM-Ascend divides the CPUs that an engine may use, so ours must be the same
    kept = housekeeping(nodes, count)
    allowed = tuple(cpu for cpu in parse_cpus(state["online"]) if cpu not in kept)
    if kept:
        _services(case, host, kept, allowed, found)
    addresses = {
        device: str(npu["bus_id"]).lower()
        for device, npu in npus_by_device(case.part(host, "npu")).items()
        if npu.get("bus_id")
    }
    divided = _divided(host, state, allowed, nodes, addresses)
    planned = case.planned_devices(host["name"])
    pairs = divided.interrupts()
    present = {device for device in addresses if addresses[device] in state["interrupts"]}
    for device in sorted(present & set(planned) & set(divided.problems)):
        found.add("TUNE-SLICES", device, "", divided.problems[device])
    bound = [device for device in sorted(planned) if device in pairs and device in present]
    for device in sorted(set(addresses) & set(planned) - present):
        found.add(
            "TUNE-INTERRUPTS",
            device,
            addresses[device],
            "the kernel has no sq_send_trigger_irq for it",
        )
    bindings = {addresses[device]: [str(cpu) for cpu in pairs[device]] for device in bound}
    if not addresses:
        bindings = _as_bound(state)
        stay = f"; {len(bindings)} of them stay bound as they are" if bindings else ""
        text = f"the addresses of its NPUs on the PCI bus are not known (npu-smi){stay}"
        found.add("TUNE-INTERRUPTS", None, "", text)
    if _as_root(case, host):
        text = "its engines run as root, so vLLM-Ascend binds the interrupts itself, and stops irqbalance for good"
        found.add("TUNE-BINDERS", None, "", text)
        return
    if _bind(tune, state, bindings, found):
        found.devices.update({device: addresses[device] for device in bound})


def _divided(
    host: Record,
    state: Record,
    allowed: t.Sequence[int],
    nodes: t.Mapping[int, t.Sequence[int]],
    addresses: t.Mapping[int, str],
) -> Slices:
    known = {device: state["interrupts"].get(address) or {} for device, address in addresses.items()}
    near = {device: parse_cpus(item.get("near") or "") for device, item in known.items()}
    locality = {device: int(item.get("node", -1)) for device, item in known.items()}
    return slices(host["hardware"], allowed, nodes, addresses, near, locality)


def _as_bound(state: Record) -> dict[str, list[str]]:
    """What an earlier run bound, by PCI address. One failure of npu-smi does not undo the binding of a host that serves."""
    remembered = {key.split(" ")[1] for key in state["remembered"] if key.startswith("interrupt ")}
    now = {address: item["cpus"] for address, item in state["interrupts"].items() if address in remembered}
    return {
        address: [cpus["send"], cpus["update"]]
        for address, cpus in sorted(now.items())
        if cpus["send"].isdigit() and cpus["update"].isdigit()
    }


def _bind(tune: Record, state: Record, bindings: t.Mapping[str, list[str]], found: Wanted) -> bool:
    """The interrupts' CPUs by PCI address, and what irqbalance has to do for them to stay there; False if nothing is bound."""
    numbers = sorted(number for address in bindings for number in state["interrupts"][address]["numbers"].values())
    mode, balancer = tune["irqbalance"], state["irqbalance"]
    if mode == "leave" and balancer["active"] and not set(numbers) <= set(balancer["banned"]):
        text = "irqbalance runs and would move the NPUs' interrupts back within seconds, so they are not bound"
        found.add("TUNE-IRQBALANCE", None, "active", text)
        return False
    if not bindings:
        return False
    found.interrupts.update(bindings)
    if mode == "stop":
        found.services[BALANCER] = "stopped"
    elif mode == "exclude":
        found.services[BALANCER] = "excluding"
        cpus = [int(cpu) for pair in bindings.values() for cpu in pair]
        found.files[f"{UNITS}/{BALANCER}.d/{DROP_IN}"] = _excluding(numbers, cpus)
    return True


def _excluding(numbers: t.Sequence[int], bound: t.Iterable[int]) -> str:
    """The drop-in of irqbalance. Distributions pass its options in one of two variables."""
    cpus = spell_cpus(bound)
    options = " ".join(f"--banirq={number}" for number in numbers)
    lines = [f"IRQBALANCE_BANNED_CPULIST={cpus}", f"IRQBALANCE_ARGS={options}", f"OPTIONS={options}"]
    return HEAD + "".join(f'Environment="{line}"\n' for line in lines)


def _services(case: Observed, host: Record, kept: t.Sequence[int], allowed: t.Sequence[int], found: Wanted) -> None:
    """Drop-ins with the CPUs of each service: all engines get the same ones, or vLLM-Ascend's slices would overlap."""
    folder = case.plan["runtime_settings"]["drop_ins"]
    for service in case.services(host["name"]):
        cpus = allowed if service["kind"] in ENGINE_KINDS else kept
        found.files[f"{folder}/{service['unit']}.d/{DROP_IN}"] = f"{HEAD}CPUAffinity={spell_cpus(cpus)}\n"


def _as_root(case: Observed, host: Record) -> bool:
    """Whether engines run as root outside of containers: then they may write below /proc/irq."""
    facts = case.plan["runtime_facts"]
    user = case.part(host, "host").get("user") or {}
    return not facts["contained"] and not facts["own_user"] and user.get("uid") == 0
