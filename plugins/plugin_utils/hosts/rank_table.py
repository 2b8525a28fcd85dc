# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLMDataDist's rank table, from the plan and the devices' own facts.

One file, the same on every host; schema, order and traps: vLLM-Ascend's gen_ranktable.py and llmdatadist_c_mgr_connector
at v0.11.0. Its generator script is not used: it keeps stale tables and fails with device lists.
"""

from __future__ import annotations

import ipaddress
import typing as t

from ..description.findings import Finding, PlanError
from .observed import fabric_address, links_by_device, npus_by_device

KINDS = ("prefill", "decode")
Entry = dict[str, str]


def rank_table(plan: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The global table: ``{version, server_count, prefill_device_list, decode_device_list, status}``.

    ``facts`` maps a host to ``{npu: <npu_info>, hccn: <hccn_info>}``, or ``{error: message}`` for one that failed; on A3
    ``gather: [table, superpod]`` is needed. All values are strings. Devices are in the order in which their engine
    uses them; ``cluster_id`` is numbered over prefill and decode. Raises ``PlanError`` with every host whose facts are
    missing and every device whose address or super device id is unknown, or is that of another device, too: any of both hosts may be wrong.
    """
    hardware = {host["name"]: host["hardware"] for host in plan["hosts"]}
    lists: dict[str, list[Entry]] = {kind: [] for kind in KINDS}
    engines = [service for service in plan["services"] if service["kind"] in KINDS]
    hosts = sorted({engine["host"] for engine in engines})
    findings = [finding for name in hosts for finding in _unanswered(name, facts, hardware)]
    silent = {finding.path for finding in findings}  # devices of these hosts are not reported individually
    places: dict[str, Entry] = {}
    for kind in KINDS:
        for service in (engine for engine in engines if engine["kind"] == kind and engine["host"] not in silent):
            for device in service["devices"]:
                entry, missing = _entry(service, int(device), hardware[service["host"]], facts.get(service["host"], {}))
                findings += missing
                lists[kind].append(entry)
                places[f"{service['host']} device {device}"] = entry
    findings += _claimed(places, plan, [name for name in hosts if name not in silent], facts)
    if not findings and not all(lists.values()):
        findings.append(Finding("plan", "RANK-TABLE", "a rank table needs prefill and decode engines with devices"))
    if findings:
        raise PlanError(findings)
    for number, entry in enumerate((*lists["prefill"], *lists["decode"]), 1):
        entry["cluster_id"] = str(number)
    return {
        "version": "1.2",
        "server_count": str(len(hosts)),
        "prefill_device_list": lists["prefill"],
        "decode_device_list": lists["decode"],
        "status": "completed",
    }


def _unanswered(host: str, facts: t.Mapping[str, t.Any], hardware: t.Mapping[str, str]) -> list[Finding]:
    """Findings for missing facts of a host."""
    found = facts.get(host) or {}
    if not found:
        text, fix = (
            "the addresses of its NPUs were not gathered",
            "The rank table needs all hosts: run without --limit.",
        )
        return [Finding(host, "RANK-TABLE", text, fix)]
    tools = {"hccn": "hccn_tool", "npu": "npu-smi"} if hardware[host] == "a3" else {"hccn": "hccn_tool"}
    try:
        _addresses(host, hardware[host], found)
        npus_by_device(found.get("npu") or {})
    except (AttributeError, KeyError, TypeError, ValueError):
        return [Finding(host, "RANK-TABLE", "its answer has a wrong form", "Look at what runs as Python on this host.")]
    return [
        Finding(
            host, "RANK-TABLE", f"{tool} failed: {found[kind]['error']}", f"Fix {tool} on the host, then run again."
        )
        for kind, tool in tools.items()
        if "error" in (found.get(kind) or {})
    ]


def _entry(
    service: t.Mapping[str, t.Any], device: int, hardware: str, facts: t.Mapping[str, t.Any]
) -> tuple[Entry, list[Finding]]:
    link = links_by_device(facts.get("hccn") or {}).get(device, {})
    npu = npus_by_device(facts.get("npu") or {}).get(device, {})
    entry = {
        "server_id": str(service["address"]),
        "device_id": str(device),
        "device_ip": _address(fabric_address(link, _plane(hardware))),
    }
    if hardware == "a3":
        entry["super_pod_id"] = _known(npu.get("super_pod_id"))
        entry["super_device_id"] = _known(npu.get("sdid"))
    path = f"{service['host']} device {device}"
    return entry, [
        Finding(path, "RANK-TABLE", f"{key} is unknown", _fix(key, device, hardware, link))
        for key in sorted(entry)
        if not entry[key]
    ]


def _addresses(host: str, hardware: str, facts: t.Mapping[str, t.Any]) -> dict[str, str]:
    """{device: its address on the plane of KV} of a host, as it answered."""
    links = links_by_device(facts.get("hccn") or {})
    return {
        f"{host} device {device}": _address(fabric_address(link, _plane(hardware))) for device, link in links.items()
    }


def _claimed(
    places: t.Mapping[str, Entry], plan: t.Mapping[str, t.Any], hosts: t.Iterable[str], facts: t.Mapping[str, t.Any]
) -> list[Finding]:
    """Findings for addresses and super devices that are those of another device or host, too."""
    hardware = {host["name"]: host["hardware"] for host in plan["hosts"]}
    known = {place: found for name in hosts for place, found in _addresses(name, hardware[name], facts[name]).items()}
    servers = {str(service["address"]): str(service["host"]) for service in plan["services"]}
    found = []
    for place, entry in places.items():
        host, address = place.rpartition(" device ")[0], entry["device_ip"]
        query = "vnic" if _plane(hardware[host]) == "hccs" else "ip"
        fix = f"Look with hccn_tool -i DEVICE -{query} -g which host has it, and correct the other one."
        others = [
            f"also that of {other}"
            for other, theirs in known.items()
            if address and theirs == address and other != place
        ]
        others += [f"the address of {servers[address]}"] if address in servers else []
        found += [Finding(place, "RANK-TABLE", f"device_ip {address} is {other}", fix) for other in others]
        own = (entry.get("super_pod_id"), entry.get("super_device_id"))
        for other, theirs in places.items():
            if all(own) and other != place and own == (theirs.get("super_pod_id"), theirs.get("super_device_id")):
                problem = f"super_device_id {own[1]} of super pod {own[0]} is also that of {other}"
                found.append(Finding(place, "RANK-TABLE", problem, "Compare npu-smi info -t spod-info of both hosts."))
    return found


def _plane(hardware: str) -> str:
    return "hccs" if hardware == "a3" else "roce"


def _fix(key: str, device: int, hardware: str, link: t.Mapping[str, t.Any]) -> str:
    if key != "device_ip":
        return "npu-smi info -t spod-info must show it; gather npu_info superpod, and check the configuration of the super pod."
    query = "vnic" if hardware == "a3" else "ip"
    error = (link.get("errors") or {}).get(query)
    way = (
        "bring up the virtual NIC with the driver"
        if hardware == "a3"
        else "set inference_fabric.addresses and run the playbook fabric"
    )
    return f"hccn_tool -i {device} -{query} -g shows no address{f' ({error})' if error else ''}: {way}, then run again."


def _address(text: str) -> str:
    """The address of a device; empty if a host answered something else, which engines of all hosts would read."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return ""
    return "" if found.is_loopback or found.is_multicast or found.is_unspecified else str(found)


def _known(value: t.Any) -> str:
    return "" if value is None else str(value)
