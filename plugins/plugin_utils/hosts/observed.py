# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan beside what was observed on its hosts."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

Record = t.Mapping[str, t.Any]


@dataclass(frozen=True)
class Observed:
    """``plan`` as ``launch_plan`` returns it; ``facts`` maps a host to the results of host_info (``host``), npu_info
    (``npu``), hccn_info (``hccn``) and hccn_ping (``ping``), each optional: what was not asked is not judged. A module
    that failed is ``{error: message}``."""

    plan: Record
    facts: t.Mapping[str, Record]

    def hosts(self) -> list[Record]:
        """The plan's hosts."""
        return list(self.plan["hosts"])

    def names(self) -> dict[str, str]:
        """Address on the KV plane -> the device that has it."""
        return {
            address: place(host, device)
            for host, links in self.links()
            for device in links
            if (address := fabric_address(links[device], plane(self.plan, host)))
        }

    def services(self, host: str) -> list[Record]:
        """The plan's services on a host."""
        return [one for one in self.plan["services"] if one["host"] == host]

    def planned_devices(self, host: str) -> dict[int, str]:
        """Planned devices of a host, each with the service that gets it."""
        return {int(device): one["name"] for one in self.services(host) for device in one["devices"]}

    def asked(self, kind: str) -> list[tuple[Record, Record]]:
        """Hosts for which a kind of facts was gathered, with those facts."""
        found = ((one, self.facts.get(one["name"], {}).get(kind)) for one in self.hosts())
        return [(host, facts) for host, facts in found if facts and "error" not in facts]

    def failed(self) -> list[tuple[Record, str, str]]:
        """Questions that a host could not answer: the host, the kind of facts, the error."""
        return [
            (host, kind, str(facts["error"]))
            for host in self.hosts()
            for kind, facts in sorted((self.facts.get(host["name"]) or {}).items())
            if facts and "error" in facts
        ]

    def npus(self) -> list[tuple[Record, dict[int, Record]]]:
        """Hosts with their dies by physical device id."""
        return [(host, npus_by_device(facts)) for host, facts in self.asked("npu")]

    def links(self) -> list[tuple[Record, dict[int, Record]]]:
        """Hosts with what hccn_tool says of each planned device."""
        found = []
        for host, facts in self.asked("hccn"):
            planned = self.planned_devices(host["name"])
            records = links_by_device(facts)
            found.append((host, {device: records[device] for device in sorted(records) if device in planned}))
        return found


def npus_by_device(facts: Record) -> dict[int, Record]:
    """npu_info's dies by physical device id; tables without one (A2) count devices as NPUs."""
    found = {}
    for one in facts.get("npus") or []:
        device = one["npu_id"] if one.get("device_id") is None else one["device_id"]
        if device is not None:
            found[int(device)] = one
    return found


def links_by_device(facts: Record) -> dict[int, Record]:
    """hccn_info's devices by physical device id."""
    return {int(one["device_id"]): one for one in facts.get("devices") or []}


def place(host: Record, device: int | None = None) -> str:
    """The path of a finding: the host, and the device where it is one's."""
    return str(host["name"]) if device is None else f"{host['name']} device {device}"


def plane(plan: Record, host: Record) -> str:
    """The plane that carries KV between hosts: ``hccs`` inside a super pod of A3, unless the plan says RoCE."""
    return "hccs" if host["hardware"] == "a3" and plan.get("link") != "roce" else "roce"


def fabric_address(record: Record, on: str) -> str:
    """A device's address on a plane: the virtual NIC's for ``hccs``, the RoCE port's for ``roce``."""
    source = record.get("vnic") if on == "hccs" else record.get("ip")
    return str((source or {}).get("address") or "")
