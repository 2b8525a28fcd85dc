# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the modules' results to facts by host, and from facts to the devices that ping each other."""

from __future__ import annotations

import typing as t

from .observed import Observed, Record, fabric_address, links_by_device, npus_by_device, plane

KINDS = ("host", "npu", "hccn", "ping", "runtime")
REGISTERED = "__host_check_"
TOLD = ("model_repair", "mooncake_method", "torch_npu_python")
MODES = ("rail", "ring", "full", "none")


def check_facts(
    plan: Record, hostvars: t.Mapping[str, Record], registered: str = REGISTERED
) -> dict[str, dict[str, Record]]:
    """What a role registered on each planned host under ``registered`` and the kind of facts.

    An unreachable host has nothing, a failed module its error (``failed_when: false`` hides ``failed``, but only failures
    carry ``msg``). Under ``told`` stand the words of roles that run after the check and supply what it would miss.
    """
    facts: dict[str, dict[str, Record]] = {}
    for host in plan["hosts"]:
        variables = hostvars.get(host["name"]) or {}
        found = {}
        for kind in KINDS:
            result = variables.get(registered + kind)
            if result and not result.get("unreachable") and not result.get("skipped"):
                found[kind] = {"error": str(result["msg"])} if "msg" in result else result
        if "host" in found:
            found["host"] = {**found["host"], "told": {key: variables.get(key) for key in TOLD}}
        facts[host["name"]] = found
    return facts


def fabric_peers(plan: Record, facts: t.Mapping[str, Record], host: str, mode: str = "rail") -> list[dict[str, t.Any]]:
    """The devices of other hosts that this host's planned devices have to reach.

    ``[{address, sdid, devices}]`` as hccn_ping takes them: ``devices`` are the own ones that ping the peer. ``rail`` pairs the
    same position on each other host, ``ring`` the same position on the next host, ``full`` all with all.
    """
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is not one of {', '.join(MODES)}")
    case = Observed(plan, facts)
    engines = [one["name"] for one in case.hosts() if case.planned_devices(one["name"])]
    if host not in engines or mode == "none":
        return []
    own = sorted(case.planned_devices(host))
    others = [engines[(engines.index(host) + 1) % len(engines)]] if mode == "ring" else engines
    peers = []
    for other in others:
        if other == host:
            continue
        for position, device in enumerate(sorted(case.planned_devices(other))):
            pinging = own if mode == "full" else [own[position % len(own)]]
            peer = _peer(case, other, device)
            if peer["address"]:
                peers.append({**peer, "devices": pinging})
    return peers


def _peer(case: Observed, host: str, device: int) -> dict[str, t.Any]:
    facts = case.facts.get(host) or {}
    record = next(one for one in case.hosts() if one["name"] == host)
    on = plane(case.plan, record)
    link = links_by_device(facts.get("hccn") or {}).get(device) or {}
    npu = npus_by_device(facts.get("npu") or {}).get(device) or {}
    peer = {"address": fabric_address(link, on)}
    if on == "hccs" and npu.get("sdid") is not None:
        peer["sdid"] = npu["sdid"]
    return peer


def fabric_plane(plan: Record, host: str) -> str:
    """The plane on which a host pings: ``hccs`` or ``roce``."""
    return plane(plan, next(one for one in plan["hosts"] if one["name"] == host))
