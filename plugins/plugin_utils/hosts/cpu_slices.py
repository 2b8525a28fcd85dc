# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which CPUs belong to which NPU, as vLLM-Ascend's CPU binding divides them. Pure: numbers in, numbers out.

Source: ``vllm_ascend/cpu_binding.py`` (0.18 and later). On A3 it divides all allowed CPUs by all NPUs of the host; on A2 and 310P it divides
the CPUs that ``npu-smi info -t topo`` names for each NPU. In each slice the first two CPUs are for the two interrupts of the NPU,
the last two for threads of CANN, and those between for the worker.

One difference: on A2 vLLM-Ascend adds the next NUMA node to each NPU's CPUs, so that slices of different NPUs overlap. Here they never
do: an interrupt stays on its NPU's node.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

LEAST = 5  # CPUs of an NPU: two for interrupts, one for the worker, two for threads of CANN
SLICED = ("a3",)  # generations whose CPUs are divided without regard to the topology
WITHOUT = ("950", "cpu")  # no such interrupts

Cpus = tuple[int, ...]


@dataclass(frozen=True)
class Slices:
    """``cpus`` maps an NPU to its CPUs, sorted. ``problems`` maps an NPU to what is wrong with its slice.

    NPUs with too few CPUs have no slice. One whose slice is not NUMA-local has both.
    """

    cpus: t.Mapping[int, Cpus]
    problems: t.Mapping[int, str]

    def interrupts(self) -> dict[int, tuple[int, int]]:
        """By NPU, the CPU of ``sq_send_trigger_irq`` and the CPU of ``cq_update_irq``."""
        return {npu: (cpus[0], cpus[1]) for npu, cpus in self.cpus.items()}


def housekeeping(nodes: t.Mapping[int, t.Iterable[int]], count: int) -> Cpus:
    """The first ``count`` CPUs of each NUMA node: taken evenly, so that what is left is still divided along the nodes."""
    return tuple(sorted(cpu for cpus in nodes.values() for cpu in sorted(cpus)[:count]))


def slices(
    generation: str,
    allowed: t.Iterable[int],
    nodes: t.Mapping[int, t.Iterable[int]],
    npus: t.Iterable[int],
    affinity: t.Mapping[int, t.Iterable[int]],
    locality: t.Mapping[int, int] | None = None,
) -> Slices:
    """Divide the CPUs.

    ``allowed`` are the CPUs that engines may use, ``nodes`` the CPUs of each NUMA node, ``npus`` the physical ids of all NPUs of the
    host, ``affinity`` the CPUs near each NPU (empty: not known), ``locality`` the NUMA node of each NPU (missing or -1: not known).
    """
    usable, ids = tuple(sorted(set(allowed))), sorted(set(npus))
    if not ids or generation in WITHOUT:
        return Slices({}, {})
    near = {npu: tuple(sorted(set(affinity.get(npu) or ()) & set(usable))) for npu in ids}
    by_topology = generation not in SLICED and any(affinity.get(npu) for npu in ids)
    divided = _by_affinity(near) if by_topology else _evenly(usable, ids)
    owner = {cpu: node for node, cpus in nodes.items() for cpu in cpus}
    cpus, problems = {}, {}
    for npu in ids:
        if by_topology and not affinity.get(npu):
            problems[npu] = "the CPUs near it are not known"
            continue
        found = divided[npu]
        if len(found) < LEAST:
            problems[npu] = f"{len(found)} CPUs are left for it, and it needs {LEAST}"
            continue
        cpus[npu] = found
        problem = _remote(found, owner, (locality or {}).get(npu, -1))
        if problem:
            problems[npu] = problem
    return Slices(cpus, problems)


def _evenly(usable: Cpus, npus: t.Sequence[int]) -> dict[int, Cpus]:
    """Equal parts in the order of ids; the first ones get the remainder, one CPU each."""
    base, extra = divmod(len(usable), len(npus))
    found, first = {}, 0
    for number, npu in enumerate(npus):
        last = first + base + (number < extra)
        found[npu] = usable[first:last]
        first = last
    return found


def _by_affinity(near: t.Mapping[int, Cpus]) -> dict[int, Cpus]:
    """Each set of CPUs divided among the NPUs that have it; the last one gets the remainder, as in vLLM-Ascend.

    CPUs that several different sets share belong to the set of the lowest NPU.
    """
    found: dict[int, Cpus] = {}
    taken: set[int] = set()
    for near_cpus in dict.fromkeys(near.values()):
        owners = [npu for npu, cpus in near.items() if cpus == near_cpus]
        free = [cpu for cpu in near_cpus if cpu not in taken]
        size = len(free) // len(owners)
        for number, npu in enumerate(owners):
            last = len(free) if number == len(owners) - 1 else (number + 1) * size
            found[npu] = tuple(free[number * size : last])
        taken.update(free)
    return found


def _remote(cpus: Cpus, owner: t.Mapping[int, int], node: int) -> str:
    """What is wrong if the two interrupts' CPUs are not on the NPU's node, or not on one; empty if nothing is."""
    found = sorted({owner[cpu] for cpu in cpus[:2] if cpu in owner})
    if len(found) > 1:
        return f"its CPUs {cpus[0]} and {cpus[1]} are on the NUMA nodes {found[0]} and {found[1]}"
    if node >= 0 and found and found[0] != node:
        return f"its CPUs are on NUMA node {found[0]}, and the NPU is on node {node}"
    return ""
