# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the fabric between the NPUs: links, addresses, TLS, reachability."""

from __future__ import annotations

import typing as t

from ..plan.rules.base import Found, Rule
from .observed import Observed, Record, fabric_address, place, plane


def _each(case: Observed) -> t.Iterator[tuple[Record, int, Record]]:
    for host, links in case.links():
        for device in sorted(links):
            yield host, device, links[device]


def unanswered(case: Observed) -> t.Iterator[Found]:
    """Devices of which hccn_tool could not say something that was asked."""
    for host, device, record in _each(case):
        for query in sorted(record.get("errors") or {}):
            yield Found(place(host, device), record["errors"][query], f"hccn_tool does not answer for {query}")


def link_down(case: Observed) -> t.Iterator[Found]:
    """Devices whose port has no link."""
    for host, device, record in _each(case):
        if record.get("link") is not None and str(record["link"]).lower() != "up":
            yield Found(place(host, device), record["link"], "the device's network link is down")


def net_health(case: Observed) -> t.Iterator[Found]:
    """Devices whose network check does not end in success."""
    for host, device, record in _each(case):
        if record.get("healthy") is False and str(record.get("link") or "up").lower() == "up":
            yield Found(place(host, device), record.get("net_health"), "the device's network check does not succeed")


def no_address(case: Observed) -> t.Iterator[Found]:
    """Devices without an address on the plane that carries KV."""
    for host, device, record in _each(case):
        asked = "vnic" if plane(case.plan, host) == "hccs" else "ip"
        if (
            asked in record
            and not fabric_address(record, plane(case.plan, host))
            and asked not in (record.get("errors") or {})
        ):
            yield Found(place(host, device), "", f"the device has no {asked} address")


def address_twice(case: Observed) -> t.Iterator[Found]:
    """Two devices with the same address."""
    owner: dict[str, str] = {}
    for host, device, record in _each(case):
        address = fabric_address(record, plane(case.plan, host))
        other = owner.setdefault(address, place(host, device)) if address else ""
        if other and other != place(host, device):
            yield Found(place(host, device), address, f"{other} has the same address")


def stale(case: Observed) -> t.Iterator[Found]:
    """Devices whose live address is not the one in /etc/hccn.conf, which is what engines read."""
    for host, facts in case.asked("hccn"):
        planned = case.planned_devices(host["name"])
        for one in facts.get("stale") or []:
            device = int(one["device_id"])
            if device in planned:
                live, wanted = one.get("live"), one.get("expected") or one.get("file")
                yield Found(place(host, device), live, f"the live address is {live}, the file says {wanted}")


def tls_differs(case: Observed) -> t.Iterator[Found]:
    """Devices whose TLS switch differs from the others'."""
    seen = [(place(host, device), record.get("tls_enabled")) for host, device, record in _each(case)]
    known = [one for one in seen if one[1] is not None]
    off = [one for one in known if one[1] is False]
    usual = len(off) * 2 < len(known)
    if len({one[1] for one in known}) > 1:
        for where, value in known:
            if value != usual:
                yield Found(
                    where, "on" if value else "off", f"TLS is {_word(value)} here and {_word(usual)} on most devices"
                )


def _word(value: t.Any) -> str:
    return "on" if value else "off"


def unreachable(case: Observed) -> t.Iterator[Found]:
    """Devices that do not reach each other: one finding for a device that nobody reaches or that reaches nobody."""
    tried, failed = _pairs(case)
    deaf = {one for one in {pair[1] for pair in failed} if _all(tried, failed, 1, one)}
    mute = {one for one in {pair[0] for pair in failed} if _all(tried, failed, 0, one)} - deaf
    for name in sorted(deaf):
        yield Found(name, message="no other device reaches it")
    for name in sorted(mute):
        yield Found(name, message="it reaches no other device")
    for source, target in sorted(failed):
        if target not in deaf and source not in mute | deaf:
            yield Found(source, target, f"{target} is not reached: {failed[source, target]}")


def _pairs(case: Observed) -> tuple[set[tuple[str, str]], dict[tuple[str, str], str]]:
    """Pairs of devices that were pinged, and those that failed with the reason."""
    names, tried, failed = case.names(), set(), {}
    for host, facts in case.asked("ping"):
        for device, peers in (facts.get("matrix") or {}).items():
            tried |= {(place(host, int(device)), names.get(peer, peer)) for peer in peers}
        for one in facts.get("unreachable_pairs") or []:
            peer = str(one.get("address") or one.get("sdid"))
            failed[place(host, int(one["device_id"])), names.get(peer, peer)] = str(one.get("reason"))
    return tried | set(failed), failed


def _all(tried: set[tuple[str, str]], failed: t.Collection[tuple[str, str]], side: int, name: str) -> bool:
    """Whether every ping on this side of the device failed, and there were several."""
    pairs = [one for one in tried if one[side] == name]
    return len(pairs) > 1 and all(one in failed for one in pairs)


def gateway(case: Observed) -> t.Iterator[Found]:
    """A2 devices without gateway or detection address, whose network health cannot be told."""
    for host, device, record in _each(case):
        missing = [name for name in ("gateway", "netdetect") if name in record and not record[name]]
        if missing and host["hardware"] == "a2":
            yield Found(place(host, device), ", ".join(missing), f"{' and '.join(missing)} is not set")


def no_file(case: Observed) -> t.Iterator[Found]:
    """Hosts without a usable /etc/hccn.conf: KV transfer gives garbage there, silently."""
    for host, facts in case.asked("hccn"):
        if "hccn_conf" not in facts:
            continue
        known = {int(one) for one in facts["hccn_conf"] or {}}
        missing = sorted(set(case.planned_devices(host["name"])) - known)
        if missing and host["hardware"] != "a3":
            yield Found(place(host), missing, f"/etc/hccn.conf has no address for devices {missing}")


RULES = (
    Rule(
        "HCCN-ANSWER",
        "error",
        "hccn_tool answers every question for every planned device.",
        "Run the same command by hand as root; a busy or hanging tool often means another one still runs.",
        "hccn_tool",
        unanswered,
    ),
    Rule(
        "LINK-DOWN",
        "error",
        "Every planned device has its network link up.",
        "Look at the optical module and the switch port (hccn_tool -i <device> -lldp -g names it).",
        "failure mode N3",
        link_down,
    ),
    Rule(
        "NET-HEALTH",
        "error",
        "Every planned device's network check succeeds.",
        "Check netdetect and gateway of the device, and that the detection address answers.",
        "failure mode N3",
        net_health,
    ),
    Rule(
        "NPU-ADDRESS",
        "error",
        "Every planned device has an address on the plane that carries KV.",
        "Set it with ascend.inference.hccn_config.",
        "failure mode N3",
        no_address,
    ),
    Rule(
        "NPU-ADDRESS-TWICE",
        "error",
        "No two devices share an address.",
        "Correct one of them with ascend.inference.hccn_config.",
        "failure mode N3",
        address_twice,
    ),
    Rule(
        "HCCN-STALE",
        "error",
        "A device's live address is the one in /etc/hccn.conf.",
        "Write it anew with ascend.inference.hccn_config, or re-apply the file and reboot.",
        "vllm-ascend PR #16847",
        stale,
    ),
    Rule(
        "TLS-DIFFERS",
        "error",
        "The TLS switch is the same on all devices of all hosts.",
        "ascend.inference.hccn_config with tls: false on the devices named.",
        "vllm-ascend #10224, #2900",
        tls_differs,
    ),
    Rule(
        "PEER-UNREACHABLE",
        "error",
        "Prefill and decode devices reach each other.",
        "Check VLAN, gateway and routes of both devices; on A3 the super pod.",
        "failure mode N3, N6",
        unreachable,
    ),
    Rule(
        "NET-GATEWAY",
        "warning",
        "Devices on RoCE have a gateway and a detection address.",
        "Set gateway and netdetect with ascend.inference.hccn_config.",
        "failure mode N3",
        gateway,
    ),
    Rule(
        "HCCN-CONF",
        "error",
        "/etc/hccn.conf holds the address of every planned device.",
        "Configure the devices with ascend.inference.hccn_config, which writes the file.",
        "vllm-ascend #7711",
        no_file,
    ),
)
