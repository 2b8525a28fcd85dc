# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLMDataDist's rank table, from the plan and the devices' own facts.

One file, the same on every host; schema, order and traps: vLLM-Ascend's gen_ranktable.py and llmdatadist_c_mgr_connector
at v0.11.0. Its generator script is not used: it keeps stale tables and fails with device lists.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import Complaint, PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils._observed._case import (
    fabric_address,
    links_by_device,
    npus_by_device,
)

KINDS = ("prefill", "decode")
Entry = dict[str, str]


def rank_table(plan: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The global table: ``{version, server_count, prefill_device_list, decode_device_list, status}``.

    ``facts`` maps a host to ``{npu: <npu_info>, hccn: <hccn_info>}``; on A3 ``gather: [table, superpod]`` is needed.
    All values are strings. Devices stand in the order in which their engine sees them; ``cluster_id`` counts through
    prefill and decode. Raises ``PlanError`` naming every device whose address or super device id is not known.
    """
    hardware = {one["name"]: one["hardware"] for one in plan["hosts"]}
    lists: dict[str, list[Entry]] = {kind: [] for kind in KINDS}
    complaints: list[Complaint] = []
    for kind in KINDS:
        for service in (one for one in plan["services"] if one["kind"] == kind):
            for device in service["devices"]:
                entry, missing = _entry(service, int(device), hardware[service["host"]], facts.get(service["host"], {}))
                complaints += missing
                lists[kind].append(entry)
    if not all(lists.values()):
        complaints.append(Complaint("plan", "RANK-TABLE", "a rank table needs prefill and decode engines with devices"))
    if complaints:
        raise PlanError(complaints)
    for number, entry in enumerate((*lists["prefill"], *lists["decode"]), 1):
        entry["cluster_id"] = str(number)
    servers = {one["host"] for one in plan["services"] if one["kind"] in KINDS}
    return {
        "version": "1.2",
        "server_count": str(len(servers)),
        "prefill_device_list": lists["prefill"],
        "decode_device_list": lists["decode"],
        "status": "completed",
    }


def _entry(
    service: t.Mapping[str, t.Any], device: int, hardware: str, facts: t.Mapping[str, t.Any]
) -> tuple[Entry, list[Complaint]]:
    link = links_by_device(facts.get("hccn") or {}).get(device, {})
    npu = npus_by_device(facts.get("npu") or {}).get(device, {})
    entry = {
        "server_id": str(service["address"]),
        "device_id": str(device),
        "device_ip": fabric_address(link, "hccs" if hardware == "a3" else "roce"),
    }
    if hardware == "a3":
        entry["super_pod_id"] = _known(npu.get("super_pod_id"))
        entry["super_device_id"] = _known(npu.get("sdid"))
    path = f"{service['host']} device {device}"
    source = {"device_ip": "hccn_info (vnic on A3, else ip)"}
    return entry, [
        Complaint(path, "RANK-TABLE", f"{key} is not known", f"Gather {source.get(key, 'npu_info superpod')} first.")
        for key in sorted(entry)
        if not entry[key]
    ]


def _known(value: t.Any) -> str:
    return "" if value is None else str(value)


def rank_table_json(plan: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any]) -> str:
    """The rank table as the file's text."""
    return json.dumps(rank_table(plan, facts), indent=2) + "\n"
