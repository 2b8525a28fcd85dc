# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan with the facts gathered from its hosts."""

from __future__ import annotations

import collections
import functools
import typing as t
from dataclasses import dataclass, field

from .thresholds import Thresholds

Record = t.Mapping[str, t.Any]
Result = t.TypeVar("Result")


@dataclass(frozen=True)
class Observed:
    """``plan`` as ``launch_plan`` returns it; ``facts`` as ``check_facts`` does: a host's name to the parts ``host``,
    ``npu``, ``hccn``, ``ping``, ``tcp``, ``controller`` and ``runtime``, each a module's result or ``{error: message}``, and ``unreachable`` if the
    connection failed. ``left_out`` are planned hosts that --limit excludes; they are not checked."""

    plan: Record
    facts: t.Mapping[str, Record]
    thresholds: Thresholds = field(default_factory=Thresholds)
    left_out: frozenset[str] = frozenset()
    pairs: tuple[tuple[tuple[str, int], tuple[str, int]], ...] = ()  # pairs to ping, see pairs.py
    wanted_pairs: int = 0  # total number of pairs in the plan
    connections: t.Mapping[str, t.Mapping[str, t.Any]] = field(default_factory=dict)  # to test, see connections.py
    wanted_connections: int = 0  # total number in the plan
    broken: frozenset[str] = frozenset()  # hosts and devices with an error that explains failed pings
    lost: frozenset[str] = frozenset()  # hosts with an error that explains failed TCP connections
    silent: frozenset[str] = frozenset()  # hosts and devices with an error that explains pings that were not run
    computed: dict[str, t.Any] = field(default_factory=dict, compare=False)  # results of functions with computed_once

    def hosts(self) -> list[Record]:
        """The plan's hosts, without excluded ones."""
        return [host for host in self.plan["hosts"] if host["name"] not in self.left_out]

    @functools.cached_property
    def _by_address(self) -> dict[str, str]:
        owners: dict[str, str] = {}
        for host, device, record in self.each_link():
            address = fabric_address(record, plane(self.plan, host))
            if address:
                owners.setdefault(address, place(host, device))  # a rule reports the second owner
        return owners

    def names(self) -> dict[str, str]:
        """Address on the KV plane -> the device that has it."""
        return self._by_address

    def services(self, host: str) -> list[Record]:
        """The plan's services on a host."""
        return self._services.get(host, [])

    @functools.cached_property
    def _services(self) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for service in self.plan["services"]:
            found.setdefault(service["host"], []).append(service)
        return found

    def planned_devices(self, host: str) -> dict[int, str]:
        """Planned devices of a host, each with the service that gets it."""
        return {int(device): service["name"] for service in self.services(host) for device in service["devices"]}

    def expects_npus(self, host: Record) -> bool:
        """Whether the host has planned NPUs, so that facts of npu-smi and hccn_tool are required."""
        return self.plan["engine_facts"]["npus"] and bool(self.planned_devices(host["name"]))

    def part(self, host: Record, kind: str) -> Record:
        """A part of a host's facts; empty if it is missing or failed."""
        found = (self.facts.get(host["name"]) or {}).get(kind)
        return found if found and "error" not in found else {}

    def gathered(self, kind: str) -> list[tuple[Record, Record]]:
        """Hosts for which a kind of facts was gathered, with those facts."""
        found = ((host, self.part(host, kind)) for host in self.hosts())
        return [(host, facts) for host, facts in found if facts]

    def failed(self) -> list[tuple[Record, str, str]]:
        """Facts that could not be gathered: the host, the kind of facts, the error."""
        return [
            (host, kind, str(facts["error"]))
            for host in self.hosts()
            for kind, facts in sorted((self.facts.get(host["name"]) or {}).items())
            if isinstance(facts, dict) and "error" in facts
        ]

    def unreachable(self) -> dict[str, str]:
        """Hosts whose connection failed during the check, with the reason; including hosts without any facts."""
        found = {}
        for host in self.hosts():
            facts = self.facts.get(host["name"]) or {}
            if facts.get("unreachable"):
                found[host["name"]] = str(facts["unreachable"])
            elif not facts:
                found[host["name"]] = ""
        return found

    def npus(self) -> list[tuple[Record, dict[int, Record]]]:
        """Hosts with their dies by physical device id."""
        return [(host, npus_by_device(facts)) for host, facts in self.gathered("npu")]

    def links(self) -> list[tuple[Record, dict[int, Record]]]:
        """Hosts with hccn_tool's output for each planned device."""
        found = []
        for host, facts in self.gathered("hccn"):
            planned = self.planned_devices(host["name"])
            records = links_by_device(facts)
            found.append((host, {device: records[device] for device in sorted(records) if device in planned}))
        return found

    def each_link(self) -> t.Iterator[tuple[Record, int, Record]]:
        """Every planned device with hccn_tool's output: host, device, record."""
        for host, links in self.links():
            for device in sorted(links):
                yield host, device, links[device]

    def each_npu(self) -> t.Iterator[tuple[Record, int, str, Record]]:
        """Every planned device that npu-smi lists: host, device, its service, its row."""
        for host, npus in self.npus():
            for device, service in sorted(self.planned_devices(host["name"]).items()):
                if device in npus:
                    yield host, device, service, npus[device]


def computed_once(function: t.Callable[[Observed], Result]) -> t.Callable[[Observed], Result]:
    """For a function of plan and facts that several rules call. Its result must not depend on ``broken``, ``lost`` and ``silent``."""

    @functools.wraps(function)
    def known(case: Observed) -> Result:
        if function.__qualname__ not in case.computed:
            case.computed[function.__qualname__] = function(case)
        return case.computed[function.__qualname__]

    return known


def npus_by_device(facts: Record) -> dict[int, Record]:
    """npu_info's dies by physical device id; tables without one (A2) count devices as NPUs.

    A die whose id is unknown in a table that has ids is left out: its NPU id is another die's device id.
    """
    npus = facts.get("npus") or []
    key = "device_id" if any(npu.get("device_id") is not None for npu in npus) else "npu_id"
    return {int(npu[key]): npu for npu in npus if npu.get(key) is not None}


def links_by_device(facts: Record) -> dict[int, Record]:
    """hccn_info's devices by physical device id."""
    return {int(link["device_id"]): link for link in facts.get("devices") or []}


def place(host: Record, device: int | None = None) -> str:
    """The path of a finding: the host, or the host and the device."""
    return str(host["name"]) if device is None else f"{host['name']} device {device}"


def plane(plan: Record, host: Record) -> str:
    """The plane that carries KV: ``hccs`` inside a super pod of A3, unless the plan uses RoCE; ``host`` inside an A2 server.

    HCCS joins the NPUs of one A2 server, so engines of one server need no RoCE ports (vllm-ascend #14506), unless HCCL or the store is told to
    use them there as well.
    """
    if host["hardware"] == "a3" and plan.get("link") != "roce":
        return "hccs"
    return "host" if host["hardware"] == "a2" and plan.get("link") != "roce" and _alone(plan) else "roce"


def _alone(plan: Record) -> bool:
    """Whether all engines are on one host, and none uses RoCE inside of it."""
    first = ""
    for service in plan["services"]:
        if service["devices"]:
            first = first or str(service["host"])
            if service["host"] != first or str((service.get("env") or {}).get("HCCL_INTRA_ROCE_ENABLE", "0")) == "1":
                return False
    return bool(first)


def fabric_address(record: Record, on: str) -> str:
    """A device's address on a plane: the virtual NIC's for ``hccs``, the RoCE port's for ``roce``."""
    source = record.get("vnic") if on == "hccs" else record.get("ip")
    return str((source or {}).get("address") or "")


def majority(values: t.Mapping[str, str]) -> str:
    """The most frequent value; of equally frequent ones the first in sort order. Empty values do not count."""
    known = collections.Counter(value for value in values.values() if value)
    return min(known, key=lambda value: (-known[value], value)) if known else ""


def later(case: Observed, host: Record, option: str) -> str:
    """The value of an option of a role that runs after the check, as text (see check_facts)."""
    found = (case.part(host, "host").get("later") or {}).get(option)
    return "" if found is None else str(found).strip()
