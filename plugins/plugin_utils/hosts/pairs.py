# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of devices to ping: those of the plan's transfers, and a ring through each instance.

A decode rank reads KV from the prefill ranks that hold its heads. With tensor parallel sizes P and D (P a multiple of D) decode
rank j of a data parallel group reads from prefill ranks j*P/D to (j+1)*P/D-1, of any prefill group (vllm-ascend,
distributed/mooncake_connector.py). HCCL's collectives go round the ranks of an instance.
"""

from __future__ import annotations

import typing as t

from .observed import Observed, Record, fabric_address, links_by_device, npus_by_device, plane

MODES = ("plan", "ring", "full", "none")
MOST = 32  # maximum number of peers of one device in mode plan; the report states the coverage
Device = tuple[str, int]  # host, physical id
Pair = tuple[Device, Device]


def planned_pairs(plan: Record, mode: str = "plan", left_out: t.Collection[str] = ()) -> tuple[list[Pair], int]:
    """Pairs (source, target) of devices on different hosts to ping, sorted, and the total number in the plan.

    Devices of one host are not paired. ``ring``: only the instances' rings; ``full``: every device with all of other hosts.
    """
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; known modes: {', '.join(MODES)}")
    if mode == "none" or not plan["engine_facts"]["npus"]:
        return [], 0
    instances = _instances(plan)
    pairs = {pair for pair in _rings(instances) if _between_hosts(pair)}
    wanted = len(pairs)
    if mode == "full":
        devices = {device for ranks in instances.values() for device in ranks}
        pairs = {pair for first in devices for second in devices if _between_hosts(pair := (first, second))}
        wanted = len(pairs)
    elif mode == "plan":
        for shift, (device, sources) in enumerate(_transfers(plan, instances)):
            wanted += len(sources)
            pairs |= {(device, source) for source in _spread(sources, shift)}
    return sorted(pair for pair in pairs if not {pair[0][0], pair[1][0]} & set(left_out)), wanted


def _between_hosts(pair: Pair) -> bool:
    return pair[0][0] != pair[1][0]


def _spread(sources: list[Device], shift: int) -> list[Device]:
    """At most MOST sources, evenly spaced; a different ``shift`` for each device makes them cover all together."""
    if len(sources) <= MOST:
        return sources
    step = len(sources) / MOST
    return [sources[(int(number * step) + shift) % len(sources)] for number in range(MOST)]


def _instances(plan: Record) -> dict[tuple[str, int], list[Device]]:
    """Kind and number of each instance -> its devices in the order of its ranks."""
    found: dict[tuple[str, int], list[Device]] = {}
    for service in sorted(
        plan["services"], key=lambda service: (service["kind"], service["instance"], service["rank"])
    ):
        if service["devices"]:
            devices = [(str(service["host"]), int(device)) for device in service["devices"]]
            found.setdefault((service["kind"], service["instance"]), []).extend(devices)
    return found


def _rings(instances: t.Mapping[tuple[str, int], list[Device]]) -> list[Pair]:
    pairs = []
    for ranks in instances.values():
        pairs += [(ranks[number], ranks[(number + 1) % len(ranks)]) for number in range(len(ranks))]
    return pairs


def _transfers(
    plan: Record, instances: t.Mapping[tuple[str, int], list[Device]]
) -> t.Iterator[tuple[Device, list[Device]]]:
    """Pairs of decode devices and the prefill devices of other hosts that they can read from."""
    sizes = {(service["kind"], service["instance"]): _tensor_parallel_size(service) for service in plan["services"]}
    sources: dict[tuple[int, int], list[Device]] = {}
    for key, ranks in instances.items():
        own = sizes[key]
        for number, device in enumerate(ranks if key[0] == "decode" else []):
            rank = number % own
            if (own, rank) not in sources:
                sources[own, rank] = list(_read_by(rank, own, instances, sizes))
            yield device, [source for source in sources[own, rank] if source[0] != device[0]]


def _read_by(
    rank: int, size: int, instances: t.Mapping[tuple[str, int], list[Device]], sizes: t.Mapping[tuple[str, int], int]
) -> t.Iterator[Device]:
    """The prefill devices that hold the heads of a decode rank."""
    for key, ranks in instances.items():
        if key[0] == "prefill":
            running = sizes[key]
            ratio = max(1, running // size)
            first = rank * ratio % running
            for group in range(0, len(ranks), running):
                yield from ranks[group + first : group + first + ratio]


def _tensor_parallel_size(service: Record) -> int:
    argv = list(service["argv"])
    for option in ("--tensor-parallel-size", "-tp"):
        if option in argv[:-1]:
            return max(1, int(argv[argv.index(option) + 1]))
    return 1


def fabric_peers(
    plan: Record, facts: t.Mapping[str, Record], mode: str = "plan", left_out: t.Collection[str] = ()
) -> dict[str, list[dict[str, t.Any]]]:
    """For each planned host the peers that its devices ping, as the module hccn_ping takes them: ``[{address, sdid, devices}]``.

    A device without a known address is omitted; a rule reports it. Each address occurs once per host.
    """
    case = Observed(plan, facts)
    records = {host["name"]: host for host in case.hosts()}
    peers: dict[str, dict[str, dict[str, t.Any]]] = {name: {} for name in records}
    known = {name: _addresses(case, host) for name, host in records.items()}
    for (host, device), (other, target) in planned_pairs(plan, mode, left_out)[0]:
        if host not in peers:
            continue
        peer = known.get(other, {}).get(target)
        if peer:
            entry = peers[host].setdefault(peer["address"], {**peer, "devices": []})
            entry["devices"].append(device)
    return {name: list(found.values()) for name, found in peers.items()}


def _addresses(case: Observed, host: Record) -> dict[int, dict[str, t.Any]]:
    on = plane(case.plan, host)
    npus = npus_by_device(case.part(host, "npu"))
    found = {}
    for device, link in links_by_device(case.part(host, "hccn")).items():
        address = fabric_address(link, on)
        if address:
            sdid = (npus.get(device) or {}).get("sdid") if on == "hccs" else None
            found[device] = {"address": address} if sdid is None else {"address": address, "sdid": sdid}
    return found


def fabric_plane(plan: Record, host: str) -> str:
    """The plane on which a host pings: ``hccs`` or ``roce``, also where KV stays inside one host."""
    return (
        "hccs" if plane(plan, next(record for record in plan["hosts"] if record["name"] == host)) == "hccs" else "roce"
    )
