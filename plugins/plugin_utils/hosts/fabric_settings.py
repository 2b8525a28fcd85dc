# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From ``inference_fabric`` and the devices' facts to the settings of each device, or findings. Pure: the texts of files are given."""

from __future__ import annotations

import ipaddress
import typing as t

from ...module_utils.hccn.changes import problems
from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.text import one_line
from ..description.findings import Finding
from ..description.variables import DEVICES, MOST_DEVICES
from .observed import Record, links_by_device, npus_by_device

Interface = ipaddress.IPv4Interface
Slot = tuple[str, int]  # host and physical id of a device
STOPPED = (
    "absent",
    "created",
    "dead",
    "exited",
    "failed",
    "fatal",
    "inactive",
    "stopped",
)  # of all runtimes, first word
BUSY = "A change of the network breaks the connections of engines that run on the device."
LARGEST = 4096  # addresses of one list
WHY = {
    "FABRIC-FACTS": "Without the present settings nothing can be decided.",
    "FABRIC-VALUE": "hccn_tool needs an IPv4 address with its network.",
    "FABRIC-FEW": "Each device needs its own address.",
    "FABRIC-TWICE": "Transfers reach the wrong device, or none.",
    "FABRIC-GATEWAY": "A device reaches its gateway only within its own network.",
    "FABRIC-TLS": "Devices with and without TLS cannot connect: transfers fail with status 103900.",
    "FABRIC-ORDER": "An address must be free before another host takes it.",
    "FABRIC-DEVICE": "hccn_tool refuses the setting.",
}


def fabric_settings(hosts: t.Sequence[Record], facts: Record, files: t.Mapping[str, str]) -> dict[str, t.Any]:
    """The settings of all devices, or findings.

    ``hosts`` are the plan's, each with its ``name`` and perhaps ``fabric``; ``facts`` maps a host to hccn_info's result with ip and
    gateway; ``files`` maps ``addresses_file`` to its text. Returns ``{order, devices, moves, findings}``: the hosts in the order in
    which they change, the option ``devices`` of hccn_config by host, the hosts whose addresses change, and findings as dicts.
    """
    case = _Case(hosts, facts, files)
    case.assign()
    entries = {name: case.entries(name) for name in case.described}
    entries = {name: found for name, found in entries.items() if found}
    for name, found in entries.items():
        case.findings += _refused(name, found)
    case.one_tls()
    moves = [name for name in entries if any(case.moves((name, entry["device"])) for entry in entries[name])]
    order = case.in_order(list(entries))
    unique = sorted(set(case.findings))
    return {"order": order, "devices": entries, "moves": moves, "findings": [finding.as_dict() for finding in unique]}


class _Case:
    """One decision: what is described, what is there, and what each device gets."""

    def __init__(self, hosts: t.Sequence[Record], facts: Record, files: t.Mapping[str, str]) -> None:
        self.hardware = {str(host["name"]): str(host.get("hardware", "")) for host in hosts}
        self.described: dict[str, Record] = {str(host["name"]): host["fabric"] for host in hosts if host.get("fabric")}
        self.files = files
        self.findings: list[Finding] = []
        self.links: dict[str, dict[int, Record]] = {}
        for host in hosts:
            found = facts.get(host["name"]) or {}
            message = str(found.get("msg") or "the devices were not read")
            try:
                if "devices" in found:
                    self.links[str(host["name"])] = _links(found)
            except (AttributeError, KeyError, TypeError, ValueError):
                message = "its answer has a wrong form"
            if str(host["name"]) not in self.links and host.get("fabric"):
                self.add(str(host["name"]), "FABRIC-FACTS", message, "Fix hccn_tool on the host, then run again.")
        self.given: dict[Slot, Interface] = {}
        self.gateways: dict[Slot, str] = {}
        self.slots = [(name, device) for name in self.described for device in self.devices(name)]
        self.current = {slot: self.present(slot) for slot in self.everywhere()}

    def add(self, path: str, rule: str, problem: str, fix: str, value: str = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(path, rule, problem, fix, value=value, why=WHY[rule]))

    def devices(self, name: str) -> list[int]:
        """The devices of a host that are configured: the named ones, else all."""
        links, named = self.links.get(name, {}), [int(device) for device in self.described[name]["devices"]]
        missing = sorted(set(named) - set(links)) if links else []
        if missing:
            problem = f"the host has no device {', '.join(map(str, missing))}"
            self.add(name, "FABRIC-VALUE", problem, "Correct inference_fabric.devices.", str(named))
        return sorted(set(named) & set(links)) if named else sorted(links)

    def everywhere(self) -> list[Slot]:
        """All known devices, also those of hosts that are not described."""
        return [(name, device) for name, links in self.links.items() for device in sorted(links)]

    def present(self, slot: Slot) -> Interface | None:
        """The address that a device has."""
        found = self.links[slot[0]][slot[1]].get("ip") or {}
        try:
            return Interface(f"{found['address']}/{found['netmask']}")
        except (KeyError, ValueError):
            return None

    def moves(self, slot: Slot) -> bool:
        """Whether the address of a device changes."""
        return slot in self.given and self.given[slot] != self.current[slot]

    # -- addresses

    def assign(self) -> None:
        """Give each device its address: first those of files, then each list to the hosts that share it."""
        for name, fabric in self.described.items():
            if fabric["addresses_file"]:
                self._from_file(name, fabric["addresses_file"])
        lists: dict[tuple[t.Any, ...], list[str]] = {}
        for name, fabric in self.described.items():
            if fabric["addresses"]:
                key = (tuple(fabric["addresses"]), fabric["order"], fabric["prefer"])
                lists.setdefault(key, []).append(name)
        for (texts, order, prefer), names in lists.items():
            self._from_list(self._expanded(names[0], texts), names, order, prefer)
        self._no_address_twice()

    def _from_file(self, name: str, path: str) -> None:
        wanted: dict[int, tuple[t.Any, ...]] = {}
        lines: dict[int, int] = {}
        for number, line in enumerate(self.files.get(path, "").splitlines(), 1):
            parts = line.split("#")[0].replace(",", " ").split()
            if not parts or parts[0] != name:
                continue
            try:
                device, address = int(parts[1]), Interface(parts[2])
                if "/" not in parts[2] or len(parts) > 4:
                    raise ValueError
            except (ValueError, IndexError):
                problem = f"line {number} is not HOST DEVICE ADDRESS/PREFIX [GATEWAY]"
                self.add(path, "FABRIC-VALUE", problem, "Correct the line.", line[:80])
                continue
            if device in wanted:
                problem = f"lines {lines[device]} and {number} are of one device"
                self.add(path, "FABRIC-VALUE", problem, "Remove one of them.", line[:80])
            elif name in self.links and device not in self.links[name]:
                problem = f"line {number} is of a device that the host does not have"
                self.add(path, "FABRIC-VALUE", problem, "Correct the line.", line[:80])
            wanted.setdefault(device, (address, *parts[3:4]))
            lines.setdefault(device, number)
        for device in self.devices(name):
            if device in wanted:
                self.given[name, device] = wanted[device][0]
                if len(wanted[device]) > 1:
                    self.gateways[name, device] = str(wanted[device][1])
            elif not self.described[name]["addresses"]:
                problem = f"{path} has no address for the device"
                self.add(f"{name} device {device}", "FABRIC-FEW", problem, f"Add a line for it to {path}.")

    def _expanded(self, name: str, texts: t.Iterable[str]) -> list[Interface]:
        found: list[Interface] = []
        for index, text in enumerate(texts):
            first, dash, rest = str(text).replace(" ", "").partition("-")
            last, slash, prefix = (rest if dash else first).partition("/")
            try:
                start = Interface(f"{first.partition('/')[0]}/{prefix}")
                end = Interface(f"{last}/{prefix}")
                count = int(end.ip) - int(start.ip) + 1
                if not slash or count < 1 or start.network != end.network or count > LARGEST:
                    raise ValueError
            except ValueError:
                problem = f"'{text}' is neither an address with its prefix length nor a range within one network"
                fix = "Write 10.20.0.10/24, or 10.20.0.10-10.20.0.73/24."
                self.add(f"{name}.inference_fabric.addresses[{index}]", "FABRIC-VALUE", problem, fix, str(text))
                continue
            found += [Interface(f"{start.ip + step}/{prefix}") for step in range(count)]
        return found

    def _from_list(self, addresses: list[Interface], names: list[str], order: str, prefer: str) -> None:
        slots = [slot for slot in self.slots if slot[0] in names and slot not in self.given]
        if order == "device":
            slots.sort(key=lambda slot: self.devices(slot[0]).index(slot[1]))  # stable: hosts stay in their order
        if prefer == "keep":
            self._keep(addresses, slots)
            taken = self._taken()
            free = [address for address in addresses if address.ip not in taken]
            waiting = [slot for slot in slots if slot not in self.given]
        else:
            free, waiting = addresses, slots
            self._compare_numbers(names)
        if len(free) < len(waiting):
            problem = f"{len(free)} addresses are free for {len(waiting)} devices of {', '.join(names)}"
            fix = "Add addresses to inference_fabric.addresses, or name fewer devices in inference_fabric.devices."
            self.add(f"{names[0]}.inference_fabric.addresses", "FABRIC-FEW", problem, fix)
        self.given.update(zip(waiting, free, strict=False))

    def _keep(self, addresses: list[Interface], slots: list[Slot]) -> None:
        """Devices that have an address of the list keep it; of two of one host with the same one, the first."""
        by_address = {address.ip: address for address in addresses}
        used = self._taken()
        for slot in slots:
            own = self.current[slot]
            if own and own.ip in by_address:
                self._compare_holders(own.ip)
            if own and own.ip in by_address and own.ip not in used:
                self.given[slot] = by_address[own.ip]
                used.add(own.ip)

    def _compare_holders(self, address: ipaddress.IPv4Address) -> None:
        """An address that two hosts answer is an error: one of them would take it from the other by its answer."""
        held = [slot for slot, other in self.current.items() if other and other.ip == address]
        if len({name for name, dummy in held}) > 1:
            problem = f"{address} is answered by {' and '.join(f'{name} device {device}' for name, device in held)}"
            fix = "Look with hccn_tool -i DEVICE -ip -g which one is wrong, and set another address there, or set inference_fabric.prefer: plan."
            self.add("inference_fabric.addresses", "FABRIC-TWICE", problem, fix, str(address))

    def _compare_numbers(self, names: list[str]) -> None:
        """Where hosts share a list by places, the number of a host's devices moves those of the next one, so it is not the host's to say."""
        for name in names if len(names) > 1 else []:
            links, wanted = len(self.links.get(name, {})), DEVICES.get(self.hardware[name], 0)
            if links and links != wanted and not self.described[name]["devices"]:
                problem = f"the host answers {links} devices, and an {self.hardware[name]} host has {wanted}"
                self.add(name, "FABRIC-VALUE", problem, "If it has so many, name them in inference_fabric.devices.")

    def _taken(self) -> set[ipaddress.IPv4Address]:
        """Addresses that are given, or that devices have which get none."""
        staying = {address.ip for slot, address in self.current.items() if address and not self._gets(slot)}
        return staying | {address.ip for address in self.given.values()}

    def _gets(self, slot: Slot) -> bool:
        fabric = self.described.get(slot[0]) or {}
        return slot in self.given or (bool(fabric.get("addresses")) and slot in self.slots)

    def _no_address_twice(self) -> None:
        owners: dict[ipaddress.IPv4Address, str] = {}
        for slot, address in self.current.items():
            if address and not self._gets(slot):
                owners.setdefault(address.ip, f"{slot[0]} device {slot[1]}")
        for slot, address in self.given.items():
            where = f"{slot[0]} device {slot[1]}"
            other = owners.setdefault(address.ip, where)
            if other != where:
                problem = f"{address.ip} is the address of {other}, too"
                self.add(where, "FABRIC-TWICE", problem, "Correct inference_fabric.addresses.", str(address))

    # -- settings of one host

    def entries(self, name: str) -> list[dict[str, t.Any]]:
        """The option ``devices`` of hccn_config for a host; devices without any setting are left out."""
        fabric, found = self.described[name], []
        for device in self.devices(name) if name in self.links else []:
            slot, entry = (name, device), {"device": device}
            if slot in self.given:
                entry.update(ip=str(self.given[slot].ip), netmask=str(self.given[slot].netmask))
            gateway = self._gateway(slot, fabric)
            netdetect = fabric["netdetect"]
            if netdetect == "gateway":
                netdetect = gateway or self.links[name][device].get("gateway") or ""
                if not netdetect:
                    fix = "Set inference_fabric.gateway, or an address as inference_fabric.netdetect."
                    self.add(f"{name} device {device}", "FABRIC-GATEWAY", "netdetect is gateway, and it has none", fix)
            values = {"gateway": gateway, "netdetect": netdetect, "mtu": fabric["mtu"]}
            entry.update({key: value for key, value in values.items() if value})
            if fabric["tls"] is not None:
                entry["tls"] = fabric["tls"]
            if len(entry) > 1:
                found.append(entry)
        return found

    def _gateway(self, slot: Slot, fabric: Record) -> str:
        """The gateway of a device: of its line in the file, or the first of the list in its network."""
        wanted = [self.gateways[slot]] if slot in self.gateways else list(fabric["gateway"])
        own = self.given.get(slot) or self.current[slot]
        if not wanted:
            return ""
        where, network = f"{slot[0]} device {slot[1]}", own.network if own else None
        found = [_address_in(text, network) for text in wanted] if network else []
        matching = [address for address in found if address]
        if not matching:
            problem = f"no gateway of {', '.join(wanted)} is in the device's network {network or '(it has no address)'}"
            self.add(where, "FABRIC-GATEWAY", problem, "Correct inference_fabric.gateway.", ", ".join(wanted))
            return ""
        if matching[0] == str(own.ip if own else ""):
            problem = f"the device's address {matching[0]} is its gateway"
            self.add(where, "FABRIC-GATEWAY", problem, "Take it out of inference_fabric.addresses.", matching[0])
        return matching[0]

    def one_tls(self) -> None:
        """TLS is described alike on all hosts."""
        described = {name: fabric["tls"] for name, fabric in self.described.items() if fabric["tls"] is not None}
        if len(set(described.values())) > 1:
            on = [name for name, value in described.items() if value]
            off = [name for name, value in described.items() if not value]
            problem = f"TLS is true for {', '.join(on)} and false for {', '.join(off)}"
            self.add("inference_fabric.tls", "FABRIC-TLS", problem, "Set it once, to false, for all hosts.")

    # -- order of hosts

    def in_order(self, names: list[str]) -> list[str]:
        """Hosts in an order in which each address is free when it is taken."""
        holders = {address.ip: slot[0] for slot, address in self.current.items() if address and self.moves(slot)}
        after = {
            name: {
                holders[address.ip]
                for slot, address in self.given.items()
                if slot[0] == name and self.moves(slot) and holders.get(address.ip, name) != name
            }
            for name in names
        }
        order: list[str] = []
        while len(order) < len(names):
            ready = [name for name in names if name not in order and after[name] <= set(order)]
            if not ready:
                left = [name for name in names if name not in order]
                problem = f"{', '.join(left)} exchange addresses, so none of them can change first"
                fix = "Set inference_fabric.prefer: keep, or give one of them other addresses first."
                self.add("inference_fabric.addresses", "FABRIC-ORDER", problem, fix)
                ready = left
            order += ready
        return order


def _links(facts: Record) -> dict[int, Record]:
    """The devices of a host. Raises ``ValueError`` and others if a host answered something else."""
    links = links_by_device(facts)
    if len(links) > MOST_DEVICES or not all(isinstance(link.get("ip") or {}, dict) for link in links.values()):
        raise ValueError
    return links


def _address_in(text: str, network: ipaddress.IPv4Network) -> str:
    """The gateway ``text`` (an address, first or last) in a network; empty if it is in another one, or no address."""
    if text in ("first", "last"):
        return str(network[1] if text == "first" else network[-2]) if network.num_addresses > 2 else ""
    try:
        return text if ipaddress.IPv4Address(text) in network else ""
    except ValueError:
        return ""


def _refused(name: str, entries: list[dict[str, t.Any]]) -> t.Iterator[Finding]:
    """What hccn_config would refuse."""
    for problem in problems(entries):
        device, dummy, text = problem.partition(": ")
        path = f"{name} {device}" if text else name
        yield Finding(path, "FABRIC-DEVICE", text or problem, "Correct inference_fabric.", why=WHY["FABRIC-DEVICE"])


def busy_devices(plan: Record, host: str, npu: Record, status: Record) -> dict[int, str]:
    """Devices of a host that an engine uses, with what uses them.

    ``npu`` is npu_info's result, ``status`` that of service_status. A service of an earlier plan counts for all devices of the host.
    """
    found: dict[int, str] = {}
    npus = npus_by_device(npu)
    planned = {service["name"]: service["devices"] for service in plan["services"] if service["host"] == host}
    for service in status.get("services") or []:
        if service["kind"] in ENGINE_KINDS and service["state"].split(" ")[0] not in STOPPED:
            for device in planned.get(service["service"], npus):
                found[int(device)] = f"service {service['service']} is {service['state']}"
    for device, record in npus.items():
        names = [
            one_line(f"{process.get('name') or 'process'} ({process.get('pid')})")
            for process in record.get("processes") or []
        ]
        if names:
            found[device] = "; ".join([*filter(None, [found.get(device)]), f"processes on it: {', '.join(names)}"])
    return found


def _unknown_services(status: Record) -> str:
    """Why service_status does not tell which services run; empty if it does. With failed_when a failed result is marked by its message alone."""
    if status.get("msg") or "services" not in status:
        return one_line(str(status.get("msg") or "no answer"))
    return one_line("; ".join(map(str, status["findings"]))) if status.get("unreadable") else ""


def fabric_refusals(
    plan: Record, order: t.Iterable[str], forecasts: Record, npus: Record, statuses: Record
) -> list[dict[str, str]]:
    """Findings that prevent the change: forecasts that failed, and devices in use that would change.

    ``forecasts`` maps a host to the result of hccn_config in check mode.
    """
    found = []
    for host in order:
        forecast, npu = forecasts.get(host) or {}, npus.get(host) or {}
        if "steps" not in forecast:
            problem = str(forecast.get("msg") or "the host did not answer")
            found.append(Finding(host, "FABRIC-REFUSED", problem, "Correct the reason, then run again."))
            continue
        changing = sorted({int(step["device"]) for step in forecast["steps"]})
        if changing and "npus" not in npu:
            problem = f"npu-smi does not show which processes use the devices: {npu.get('msg') or 'no answer'}"
            found.append(Finding(host, "FABRIC-BUSY", problem, "Fix npu-smi on the host, then run again.", why=BUSY))
            continue
        status = statuses.get(host) or {}
        unknown = _unknown_services(status)
        if changing and unknown:
            problem, fix = f"it is not known which services run: {unknown}", "Correct the reason, then run again."
            found.append(Finding(host, "FABRIC-BUSY", problem, fix, why=BUSY))
            continue
        busy = busy_devices(plan, host, npu, status)
        for device in [device for device in changing if device in busy]:
            fix = "Stop the services and processes, then run again."
            found.append(Finding(f"{host} device {device}", "FABRIC-BUSY", busy[device], fix, why=BUSY))
    return [finding.as_dict() for finding in found]
